//! Test with three nginx servers that have equal files, behind a gateway.
//! The test uses HTTP/1.1 and HTTP/2, with TLS and without.
//! Connections end after some requests, and one nginx is killed, stopped and started again.

use super::programs::{Certificates, Nginx, run};
use super::running::{Running, config};
use bytes::Bytes;
use http::uri::Authority;
use http::{Request, StatusCode};
use http_body_util::{BodyExt, Empty};
use rustix::process::Signal;
use serde_json::json;
use sha2::{Digest, Sha256};
use std::net::SocketAddr;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;
use tailcut_proxy::Running as _;
use tailcut_rans::connections::{ConnectionConfig, Connections, Connector, Protocol};
use tailcut_rans::socket::SocketOptions;
use tower_service::Service;

const SIZES: [usize; 4] = [0, 1_000, 100_000, 3_000_000];

fn digest(bytes: &[u8]) -> String {
    Sha256::digest(bytes)
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect()
}

/// Returns a folder with files that are named by their sizes, and the names with digests.
fn files() -> (tempfile::TempDir, Vec<(String, String)>) {
    let folder = tempfile::tempdir().expect("a folder");
    // The user of nginx has to read these files.
    let open = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(folder.path(), open).expect("a folder of ours");
    let digests = SIZES.map(|size| {
        let bytes: Vec<u8> = (0..size).map(|at| (at * 7 + at / 251) as u8).collect();
        std::fs::write(folder.path().join(size.to_string()), &bytes).expect("a file");
        (size.to_string(), digest(&bytes))
    });
    (folder, digests.to_vec())
}

fn curl(certificates: &Certificates, at: SocketAddr, path: &str, more: &[&str]) -> Command {
    let mut command = Command::new("curl");
    command.args(["--silent", "--show-error", "--fail", "--max-time", "20"]);
    command.args(["--cacert", &certificates.path("ca.pem")]);
    command.args([
        "--resolve",
        &format!("gate.example:{}:127.0.0.1", at.port()),
    ]);
    command
        .args(more)
        .arg(format!("https://gate.example:{}/{path}", at.port()));
    command
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn files_arrive_whole_over_every_protocol_and_certificates_are_checked_on_both_sides() {
    let (folder, digests) = files();
    let certificates = Certificates::new(&["files.example", "gate.example", "client.example"]);
    let nginx = [(); 3].map(|()| Nginx::start(folder.path(), &certificates, 1_000));
    let pem = |name: &str| certificates.path(name);
    let tls = json!({
        "certificate": pem("gate.example.pem"), "key": pem("gate.example.key"), "client_ca": pem("ca.pem"),
    });
    let replica_tls = json!({
        "ca": pem("ca.pem"), "server_name": "files.example",
        "certificate": pem("client.example.pem"), "key": pem("client.example.key"),
    });
    let own = [
        "--cert",
        &pem("client.example.pem"),
        "--key",
        &pem("client.example.key"),
    ];
    for (protocol, scheme) in [
        ("http1", "http"),
        ("http2", "http"),
        ("http1", "https"),
        ("http2", "https"),
    ] {
        let replicas: Vec<String> = nginx
            .iter()
            .map(|nginx| match (scheme, protocol) {
                ("https", _) => nginx.tls,
                (_, "http2") => nginx.two,
                _ => nginx.one,
            })
            .map(|address| format!("{scheme}://{address}"))
            .collect();
        let mut keys =
            json!({ "replicas": replicas, "protocol": protocol, "purges": "yes", "tls": tls });
        if scheme == "https" {
            keys["replica_tls"] = replica_tls.clone();
        }
        let gateway = Running::start(&[], keys).await;
        for version in ["--http1.1", "--http2"] {
            for (path, expected) in &digests {
                let out = folder.path().join("out");
                let out = out.to_str().expect("text");
                let more = [&own[..], &[version, "--output", out]].concat();
                run(&mut curl(&certificates, gateway.address, path, &more));
                let found = digest(&std::fs::read(out).expect("a file"));
                assert_eq!(&found, expected, "{scheme} {protocol} {version} {path}");
            }
            let who = run(&mut curl(
                &certificates,
                gateway.address,
                "who",
                &[&own[..], &[version]].concat(),
            ));
            let verified = if scheme == "https" { "SUCCESS" } else { "" };
            let spoken = if protocol == "http1" {
                "HTTP/1.1"
            } else {
                "HTTP/2.0"
            };
            assert_eq!(
                who,
                format!("{verified} gate.example {spoken}"),
                "{version}"
            );
        }
        // A client without a certificate must be refused.
        let refused = curl(&certificates, gateway.address, "who", &[])
            .output()
            .expect("curl");
        assert!(!refused.status.success());
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn large_files_come_from_two_nginx_at_once_with_the_tag_of_both() {
    let (folder, digests) = files();
    let certificates = Certificates::new(&["files.example", "gate.example", "client.example"]);
    let nginx = [(); 2].map(|()| Nginx::start(folder.path(), &certificates, 1_000));
    let replicas = nginx.each_ref().map(|nginx| nginx.one);
    let keys = json!({ "ranges": "64KiB", "purges": "yes" });
    let gateway = Running::start(&replicas, keys).await;
    let direct = Running::start(&replicas[..1], json!({})).await;
    for version in super::common::VERSIONS {
        for (path, expected) in &digests {
            let ask = || super::common::get(&format!("/{path}"));
            let own = direct.send(version, ask()).await;
            let answer = gateway.send(version, ask()).await;
            assert_eq!(answer.status(), StatusCode::OK, "{path}");
            for field in ["etag", "content-length", "content-type", "last-modified"] {
                assert_eq!(
                    answer.headers().get(field),
                    own.headers().get(field),
                    "{field}"
                );
            }
            assert!(!answer.headers().contains_key("content-range"));
            let body = answer
                .into_body()
                .collect()
                .await
                .expect("a body")
                .to_bytes();
            assert_eq!(&digest(&body), expected, "{path}");
        }
    }
    let metric = |name: &str| gateway.metric(&format!("tailcut_gateway_{name}{{route=\"test\"}}"));
    // Each file of more than one range was transferred in ranges over both versions of HTTP.
    assert_eq!(
        metric("range_objects_total"),
        4.0,
        "{}",
        gateway.gateway.metrics()
    );
    // Extra bytes belong to a piece that one replica has partly sent and the other replica delivers.
    // Extra bytes are at most 3 % of all bytes in ranges.
    assert!(metric("range_extra_bytes_total") <= 0.03 * 2.0 * 3_100_000.0);
    // The gateway splits neither range requests nor conditional requests of clients.
    let mut part = super::common::get("/3000000");
    part.headers_mut()
        .insert("range", "bytes=5-9".parse().expect("a field"));
    let answer = gateway.send(super::common::Version::One, part).await;
    assert_eq!(answer.status(), StatusCode::PARTIAL_CONTENT);
}

#[tokio::test]
async fn a_replica_whose_certificate_is_anothers_is_not_asked() {
    let (folder, _) = files();
    let certificates = Certificates::new(&["files.example", "gate.example", "client.example"]);
    let nginx = Nginx::start(folder.path(), &certificates, 1_000);
    let keys = json!({
        "replicas": [format!("https://{}", nginx.tls)],
        "replica_tls": { "ca": certificates.path("ca.pem"), "server_name": "other.example" },
    });
    let gateway = Running::start(&[], keys).await;
    let answer = gateway
        .send(super::common::Version::One, super::common::get("/1000"))
        .await;
    assert_eq!(answer.status(), StatusCode::BAD_GATEWAY);
}

type Client = Connections<Connector, Empty<Bytes>>;

fn client(to: SocketAddr) -> Client {
    let authority = Authority::try_from(to.to_string()).expect("an address");
    let options = SocketOptions::default();
    let connector =
        Connector::new(authority.clone(), options, Duration::from_secs(5)).expect("a port");
    let config = ConnectionConfig {
        protocol: Protocol::Two,
        ..ConnectionConfig::default()
    };
    Connections::new(connector, authority, config)
}

/// Requests files of different sizes repeatedly, and checks each file against its digest. Returns the number of files.
async fn load(
    to: SocketAddr,
    digests: &[(String, String)],
    clients: usize,
    requests: usize,
    done: &Arc<AtomicUsize>,
) {
    let mut all = tokio::task::JoinSet::new();
    let client = client(to);
    for number in 0..clients {
        let (mut client, digests, done) = (client.clone(), digests.to_vec(), Arc::clone(done));
        all.spawn(async move {
            for turn in 0..requests {
                // One request in forty is for a large file.
                let (path, expected) = match (number + turn) % 40 {
                    0 => &digests[2],
                    _ => &digests[1],
                };
                let uri = format!("http://files/{path}");
                let request = Request::get(uri).body(Empty::new()).expect("a request");
                let answer = client.call(request).await.expect("an answer");
                assert_eq!(answer.status(), StatusCode::OK);
                let body = answer
                    .into_body()
                    .collect()
                    .await
                    .expect("a whole body")
                    .to_bytes();
                assert_eq!(&digest(&body), expected);
                done.fetch_add(1, Ordering::Relaxed);
            }
        });
    }
    while let Some(ended) = all.join_next().await {
        ended.expect("every request is answered");
    }
}

/// Starts three nginx servers that end a connection after `requests` requests. Also returns their certificates.
fn nginx_of(folder: &Path, requests: u32) -> ([Nginx; 3], Certificates) {
    let certificates = Certificates::new(&["files.example"]);
    let nginx = [(); 3].map(|()| Nginx::start(folder, &certificates, requests));
    (nginx, certificates)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn connections_that_nginx_ends_after_some_requests_cost_none() {
    let (folder, digests) = files();
    let (nginx, _certificates) = nginx_of(folder.path(), 100);
    for protocol in ["http1", "http2"] {
        let replicas = nginx.each_ref().map(|nginx| match protocol {
            "http1" => nginx.one,
            _ => nginx.two,
        });
        let keys = json!({ "protocol": protocol, "purges": "yes" });
        let gateway = Running::start(&replicas, keys).await;
        let done = Arc::default();
        load(gateway.address, &digests, 16, 60, &done).await;
        assert_eq!(done.load(Ordering::Relaxed), 16 * 60);
        let name = "tailcut_gateway_requests_total{route=\"test\",status=\"2xx\"}";
        assert_eq!(gateway.metric(name), 960.0, "{protocol}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn replicas_that_are_killed_stopped_and_started_again_under_load_cost_no_request() {
    let (folder, digests) = files();
    let (mut nginx, _certificates) = nginx_of(folder.path(), 1_000);
    for protocol in ["http1", "http2"] {
        let replicas = nginx.each_ref().map(|nginx| match protocol {
            "http1" => nginx.one,
            _ => nginx.two,
        });
        // Answers of 100,000 bytes also count as small. The gateway reads them completely, so none is cut.
        let keys = json!({
            "protocol": protocol, "purges": "yes", "whole": "128KiB", "answer_timeout": "2s",
        });
        let mut gateway = Running::start(&replicas, keys.clone()).await;
        let done: Arc<AtomicUsize> = Arc::default();
        let (to, told, counted) = (gateway.address, digests.clone(), Arc::clone(&done));
        let loading = tokio::spawn(async move { load(to, &told, 16, 100, &counted).await });
        let after = async |count: usize| {
            while done.load(Ordering::Relaxed) < count && !loading.is_finished() {
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
        };
        after(100).await;
        nginx[0].kill();
        after(300).await;
        nginx[0].restart();
        after(500).await;
        nginx[1].signal(Signal::STOP);
        after(700).await;
        nginx[1].signal(Signal::CONT);
        after(800).await;
        // The configuration changes while requests are open.
        let mut other = keys.clone();
        other["duplicates"] = json!("off");
        gateway
            .gateway
            .reload(&config(&replicas, &other))
            .await
            .expect("reloaded");
        after(1_100).await;
        nginx[2].kill();
        loading.await.expect("no request is lost");
        nginx[2].restart();
    }
}

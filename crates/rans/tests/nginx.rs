//! Test of downloads of files in ranges from two real nginx servers.

mod common;
#[allow(dead_code, reason = "the other tests use the rest of it")]
#[path = "common/plain_client.rs"]
mod plain_client;

use bytes::Bytes;
use common::{Version, get};
use http_body_util::BodyExt;
use plain_client::PlainClient;
use sha2::{Digest, Sha256};
use std::fs::{self, File};
use std::io::{BufRead, BufReader};
use std::net::{SocketAddr, TcpListener};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, SystemTime};
use tailcut_rans::client::{Client, ClientConfig, Purges, Replica};
use tailcut_rans::ranges::{Ranges, RangesConfig};
use tempfile::TempDir;
use tower_service::Service;

const OBJECT: usize = 5_000_000;

/// Process of nginx with one file. Dropping this value ends the process.
struct Nginx {
    child: Child,
    folder: TempDir,
    address: SocketAddr,
}

impl Nginx {
    fn new(bytes: &[u8], changed: SystemTime) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let at = folder.path().display().to_string();
        put(folder.path(), bytes, changed);
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = listener.local_addr().expect("an address");
        drop(listener);
        let paths = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"];
        let paths = paths.map(|name| format!("{name}_temp_path {at}/{name};"));
        let config = format!(
            "daemon off; master_process off; pid {at}/pid; error_log stderr notice;\n\
             events {{}}\n\
             http {{ access_log off; {} server {{ listen {address}; root {at}; }} }}\n",
            paths.join(" ")
        );
        let path = folder.path().join("nginx.conf");
        fs::write(&path, config).expect("a file");
        // nginx may be outside the user's `PATH`.
        let inherited = std::env::var("PATH").unwrap_or_default();
        let mut child = Command::new("nginx")
            .env("PATH", format!("{inherited}:/usr/sbin"))
            .arg("-p")
            .arg(folder.path())
            .arg("-c")
            .arg(path)
            .stderr(Stdio::piped())
            .spawn()
            .expect("nginx, which .ci/tools installs");
        // nginx prints a line when its sockets are open.
        let said = BufReader::new(child.stderr.take().expect("its errors"));
        let mut lines = said.lines();
        lines
            .find(|line| line.as_ref().is_ok_and(|line| line.contains("OS:")))
            .expect("nginx starts")
            .expect("a line");
        std::thread::spawn(move || lines.for_each(drop));
        Self {
            child,
            folder,
            address,
        }
    }
}

fn put(folder: &Path, bytes: &[u8], changed: SystemTime) {
    // The file is replaced as in a deployment: open descriptors still refer to the old file.
    let new = folder.join("new");
    fs::write(&new, bytes).expect("a file");
    let file = File::options().append(true).open(&new).expect("the file");
    file.set_modified(changed).expect("a time");
    fs::rename(new, folder.join("object")).expect("the file");
}

impl Drop for Nginx {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn bytes(seed: usize) -> Bytes {
    (0..OBJECT).map(|at| (at * 31 / 7 + seed) as u8).collect()
}

async fn ranges(servers: &[Nginx; 2]) -> Ranges<PlainClient> {
    let mut replicas = Vec::new();
    for server in servers {
        // With HTTP/1.1, each range has its own connection.
        let client = PlainClient::to(Version::One, server.address).await;
        replicas.push(Replica {
            primary: client.clone(),
            copy: client,
            purges: Purges::No,
        });
    }
    let client = Client::new(replicas, ClientConfig::default(), 1).expect("a client");
    let config = RangesConfig {
        piece: 50_000,
        window: 1_000_000,
        ..RangesConfig::default()
    };
    Ranges::new(client, config).expect("a configuration")
}

#[tokio::test]
async fn a_file_comes_from_two_nginx_and_from_one_where_their_tags_differ() {
    let (object, other) = (bytes(0), bytes(1));
    let changed = SystemTime::UNIX_EPOCH + Duration::from_secs(1_700_000_000);
    let later = changed + Duration::from_secs(1);
    let servers = [(); 2].map(|()| Nginx::new(&object, changed));
    let mut ranges = ranges(&servers).await;
    let answer = ranges.call(get("/object")).await.expect("an answer");
    let read = answer
        .into_body()
        .collect()
        .await
        .expect("bytes")
        .to_bytes();
    assert_eq!(Sha256::digest(&read), Sha256::digest(&object));
    let place = tempfile::tempfile().expect("a file");
    ranges.download(get("/object"), place).await.expect("bytes");
    let counts = ranges.counts();
    assert_eq!((counts.objects, counts.given_up), (2, 0));
    assert!(counts.parts >= 200, "{counts:?}");

    // One nginx gets a new file during the download. The other nginx delivers the rest of the old file.
    let mut body = ranges
        .call(get("/object"))
        .await
        .expect("an answer")
        .into_body();
    let mut hash = Sha256::new();
    let first = body.frame().await.expect("bytes").expect("bytes");
    hash.update(first.into_data().expect("bytes"));
    put(servers[0].folder.path(), &other, later);
    while let Some(frame) = body.frame().await {
        hash.update(frame.expect("bytes").into_data().expect("bytes"));
    }
    assert_eq!(hash.finalize(), Sha256::digest(&object));
    assert_eq!(ranges.counts().given_up, 1);

    // The files now differ, so one nginx has to send the whole object.
    let answer = ranges.call(get("/object")).await.expect("an answer");
    let read = answer
        .into_body()
        .collect()
        .await
        .expect("bytes")
        .to_bytes();
    let hash = Sha256::digest(&read);
    assert!([&object, &other].map(Sha256::digest).contains(&hash));
    assert_eq!(ranges.counts().given_up, 2);
}

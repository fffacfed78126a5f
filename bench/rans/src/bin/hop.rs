//! Cost of a hop: CPU time of `tailcut guard` for a request, compared with HAProxy.
//! HAProxy has the configuration that the docs recommend.
//! The guard and HAProxy have the same classes and workers, and process 32 requests at the same time.
//! Each round measures the guard first and HAProxy second. The program needs HAProxy.
//!
//! ```sh
//! cargo run --release --manifest-path bench/rans/Cargo.toml --bin hop -- [ROUNDS] [REQUESTS]
//! ```

#[path = "../../../../crates/rans/tests/common/programs.rs"]
mod programs;

use bytes::Bytes;
use clap::Parser;
use http::uri::Authority;
use http::{HeaderValue, Request, Response};
use http_body_util::{BodyExt, Full};
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use programs::haproxy;
use std::convert::Infallible;
use std::net::SocketAddr;
use std::process::{Child, Command};
use tailcut_rans::connections::{CONNECT_TIME, ConnectionConfig, Connections, Connector, Protocol};
use tailcut_rans::guard::program::{GuardCommand, execute};
use tailcut_rans::socket::SocketOptions;
use tailcut_units::median;
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;
use tower_service::Service;

/// Number of concurrent requests.
const CONCURRENCY: usize = 32;
/// Number of requests that the service processes at the same time. Other requests wait in their class.
const WORKERS: u32 = 16;

#[derive(Parser)]
struct Flags {
    #[command(flatten)]
    guard: GuardCommand,
}

/// Starts a service that answers each request immediately with 1 KB.
async fn service() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let address = listener.local_addr().expect("an address");
    let body = Bytes::from(vec![b'x'; 1024]);
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let body = body.clone();
            let _ = stream.set_nodelay(true);
            let answer = service_fn(move |_| {
                let answer = Response::new(Full::new(body.clone()));
                async move { Ok::<_, Infallible>(answer) }
            });
            tokio::spawn(
                hyper::server::conn::http1::Builder::new()
                    .serve_connection(TokioIo::new(stream), answer),
            );
        }
    });
    address
}

/// Process of `tailcut guard`. Dropping this value ends the process.
struct Guard {
    child: Child,
    address: SocketAddr,
}

impl Drop for Guard {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

async fn guard(to: SocketAddr) -> Guard {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let address = listener.local_addr().expect("an address");
    drop(listener);
    let own = std::env::current_exe().expect("this program");
    let mut command = Command::new(own);
    command.args([
        "guard",
        "--listen",
        &address.to_string(),
        "--to",
        &to.to_string(),
    ]);
    command.args(["--workers", &WORKERS.to_string(), "--no-admin"]);
    let child = command.stdout(std::process::Stdio::null()).spawn();
    let child = child.expect("this program");
    while TcpStream::connect(address).await.is_err() {
        tokio::time::sleep(std::time::Duration::from_millis(10)).await;
    }
    Guard { child, address }
}

/// Returns the CPU time of all threads of a process, in nanoseconds.
fn cpu(process: u32) -> u64 {
    let tasks = std::fs::read_dir(format!("/proc/{process}/task")).expect("/proc");
    let of = |task: std::io::Result<std::fs::DirEntry>| {
        let path = task.expect("a thread").path().join("schedstat");
        let text = std::fs::read_to_string(path).unwrap_or_default();
        text.split(' ')
            .next()
            .and_then(|text| text.parse::<u64>().ok())
    };
    tasks.filter_map(of).sum()
}

fn connections(protocol: Protocol, to: SocketAddr) -> Connections<Connector, Full<Bytes>> {
    let to = Authority::try_from(to.to_string()).expect("an address");
    let connector = Connector::new(to.clone(), SocketOptions::default(), CONNECT_TIME);
    let config = ConnectionConfig {
        protocol,
        ..ConnectionConfig::default()
    };
    Connections::new(connector.expect("a port"), to, config)
}

/// Sends requests on new connections. Half of the requests have the class of duplicates.
async fn load(protocol: Protocol, to: SocketAddr, requests: usize) {
    let connections = [connections(protocol, to), connections(protocol, to)];
    let mut asking = JoinSet::new();
    for number in 0..CONCURRENCY {
        let mut connections = connections[number % 2].clone();
        let class = HeaderValue::from_static(["u=3", "u=6"][number % 2]);
        asking.spawn(async move {
            for _ in 0..requests / CONCURRENCY {
                let request = Request::get("/").header("priority", class.clone());
                let request = request.body(Full::default()).expect("a request");
                let answer = connections.call(request).await.expect("an answer");
                assert_eq!(answer.status(), 200);
                let body = answer.into_body().collect().await.expect("a body");
                assert_eq!(body.to_bytes().len(), 1024);
            }
        });
    }
    while let Some(ended) = asking.join_next().await {
        ended.expect("no panic");
    }
}

async fn measure(rounds: usize, requests: usize) {
    let to = service().await;
    let (guard, haproxy) = (guard(to).await, haproxy(to, WORKERS));
    println!(
        "{rounds} rounds of {requests} requests each, 1 KB, {CONCURRENCY} at once, {WORKERS} workers\n\n\
         | protocol | guard, us | HAProxy, us | guard / HAProxy, median (least to most) |\n|---|---|---|---|"
    );
    for (name, protocol) in [("HTTP/1.1", Protocol::One), ("HTTP/2", Protocol::Two)] {
        let of_haproxy = match protocol {
            Protocol::One => haproxy.one,
            Protocol::Two => haproxy.two,
        };
        let ends = [
            (guard.child.id(), guard.address),
            (haproxy.id(), of_haproxy),
        ];
        let mut costs = [Vec::new(), Vec::new()];
        // The first round does not count. In this round, both programs open connections and fill caches.
        for round in 0..=rounds {
            for (end, costs) in ends.iter().zip(&mut costs) {
                let before = cpu(end.0);
                load(protocol, end.1, requests).await;
                let asked = requests / CONCURRENCY * CONCURRENCY;
                if round > 0 {
                    costs.push((cpu(end.0) - before) as f64 / 1e3 / asked as f64);
                }
            }
        }
        let mut ratios: Vec<f64> = costs[0].iter().zip(&costs[1]).map(|(a, b)| a / b).collect();
        let ratio = median(&mut ratios).unwrap_or(f64::NAN);
        let [one, other] = costs.map(|mut costs| median(&mut costs).unwrap_or(f64::NAN));
        println!(
            "| {name} | {one:.1} | {other:.1} | {ratio:.2} ({:.2} to {:.2}) |",
            ratios[0],
            ratios[ratios.len() - 1]
        );
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1).peekable();
    if arguments.peek().is_some_and(|first| first == "guard") {
        return Ok(execute(&Flags::parse_from(arguments).guard)?);
    }
    let rounds = arguments.next().map_or(Ok(9), |text| text.parse())?;
    let requests = arguments.next().map_or(Ok(20_000), |text| text.parse())?;
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()?;
    runtime.block_on(measure(rounds, requests));
    Ok(())
}

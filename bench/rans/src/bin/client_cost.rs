//! Cost of the client layer: CPU time of a request of 1 KB, compared with a plain hyper client.
//! There are 32 concurrent requests. Each round measures all cases one at a time, on one thread.
//! The servers run in another process, so that their CPU time does not count.
//!
//! ```sh
//! cargo run --release --manifest-path bench/rans/Cargo.toml --bin client_cost -- [ROUNDS] [REQUESTS]
//! ```
//!
//! With a protocol and a case (`client_cost 1 1000 http2 off`) the program runs only this case.
//! A run of only one case is for counting instructions with `valgrind --tool=callgrind`.
//! Run `bench/rans/target/release/client_cost 1 1000 http2 off` once with 1000 and once with 2000 requests.
//! The difference is the number of instructions for 1000 requests.

use bytes::Bytes;
use http::uri::Authority;
use http::{Request, Response};
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::{TokioExecutor, TokioIo};
use hyper_util::server::conn::auto;
use std::convert::Infallible;
use std::error::Error;
use std::io::{BufRead, BufReader};
use std::net::SocketAddr;
use std::process::{Child, Command, Stdio};
use tailcut_rans::client::{Client, ClientConfig, Purges, Replica};
use tailcut_rans::connections::{ConnectionConfig, Connections, Connector, Protocol, replica};
use tokio::net::TcpListener;
use tower_service::Service;

const BYTES: usize = 1_024;
const CONCURRENCY: usize = 32;
const REPLICAS: usize = 2;

type Failure = Box<dyn Error + Send + Sync>;

/// Returns the CPU time of this thread in nanoseconds.
fn cpu() -> u64 {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat");
    let text = text.expect("Linux, with its scheduler's statistics");
    let first = text.split(' ').next().expect("the first field");
    first.parse().expect("a number")
}

/// Runs servers that answer every request immediately. Prints their addresses, one on each line.
async fn serve() -> Result<(), Failure> {
    let mut all = tokio::task::JoinSet::new();
    for _ in 0..REPLICAS {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        println!("{}", listener.local_addr()?);
        all.spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let _ = stream.set_nodelay(true);
                let answer = service_fn(|_: Request<Incoming>| async {
                    Ok::<_, Infallible>(Response::new(Full::<Bytes>::from(Bytes::from_static(
                        &[7; BYTES],
                    ))))
                });
                let mut builder = auto::Builder::new(TokioExecutor::new());
                builder
                    .http2()
                    .max_pending_accept_reset_streams(Some(1_000_000));
                tokio::spawn(async move {
                    // The client may close the connection at any time, so errors are ignored.
                    let _ = builder.serve_connection(TokioIo::new(stream), answer).await;
                });
            }
        });
    }
    while all.join_next().await.is_some() {}
    Ok(())
}

struct Servers {
    child: Child,
    addresses: Vec<SocketAddr>,
}

impl Servers {
    fn start() -> Result<Self, Failure> {
        let mut command = Command::new(std::env::current_exe()?);
        let mut child = command.arg("serve").stdout(Stdio::piped()).spawn()?;
        let out = child.stdout.take().ok_or("no standard output")?;
        let lines = BufReader::new(out).lines().take(REPLICAS);
        let addresses = lines.map(|line| Ok::<_, Failure>(line?.parse()?));
        let addresses = addresses.collect::<Result<_, _>>()?;
        Ok(Self { child, addresses })
    }
}

impl Drop for Servers {
    fn drop(&mut self) {
        // The process may have ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Measures the CPU time of a request in nanoseconds.
async fn measure<S, R>(service: S, host: SocketAddr, requests: usize) -> Result<f64, Failure>
where
    S: Service<Request<Full<Bytes>>, Response = Response<R>> + Clone + Send + 'static,
    S::Error: Into<Failure> + Send,
    S::Future: Send,
    R: http_body::Body<Data = Bytes, Error: Into<Failure>> + Send,
{
    let uri: http::Uri = format!("http://{host}/").parse()?;
    let round = async |requests: usize| {
        let mut all = tokio::task::JoinSet::new();
        for _ in 0..CONCURRENCY {
            let (mut service, uri) = (service.clone(), uri.clone());
            all.spawn(async move {
                for _ in 0..requests.div_ceil(CONCURRENCY) {
                    let request = Request::get(uri.clone()).body(Full::<Bytes>::default())?;
                    std::future::poll_fn(|cx| service.poll_ready(cx))
                        .await
                        .map_err(Into::into)?;
                    let answer = service.call(request).await.map_err(Into::into)?;
                    let body = std::pin::pin!(answer.into_body());
                    let body = body.collect().await.map_err(Into::into)?;
                    assert_eq!(body.to_bytes().len(), BYTES);
                }
                Ok::<_, Failure>(())
            });
        }
        while let Some(ended) = all.join_next().await {
            ended??;
        }
        Ok::<_, Failure>(())
    };
    // All connections are opened before the measurement.
    // With HTTP/1.1, each purged request also needs a new connection, so there are many connections.
    round(CONCURRENCY * 40).await?;
    let before = cpu();
    round(requests).await?;
    Ok((cpu() - before) as f64 / requests as f64)
}

const CASES: [&str; 4] = ["bare", "way", "off", "duplicates"];

async fn case(
    name: &str,
    protocol: Protocol,
    addresses: &[SocketAddr],
    requests: usize,
) -> Result<f64, Failure> {
    let config = ConnectionConfig {
        protocol,
        idle: 256,
        // The limit is so high that no connection is replaced, because that cost is not part of the measurement.
        resets: 100_000,
        ..ConnectionConfig::default()
    };
    let host = addresses[0];
    let authority = |address: &SocketAddr| Authority::try_from(address.to_string());
    let settings = ClientConfig {
        resets: tailcut_rans::client::ResetBudget {
            rate: 1e9,
            burst: 1_000_000,
        },
        // The servers have no guards, but every request has to be copied.
        budget: None,
        trial: None,
        ..ClientConfig::default()
    };
    let client = async |settings| {
        let mut replicas: Vec<Replica<Connections<Connector, Full<Bytes>>>> = Vec::new();
        for address in addresses {
            replicas.push(replica(&authority(address)?, config, None, Purges::Yes)?);
        }
        Ok::<_, Failure>(Client::new(replicas, settings, 1)?)
    };
    match name {
        "bare" => {
            let mut connector = HttpConnector::new();
            connector.set_nodelay(true);
            let client = hyper_util::client::legacy::Client::builder(TokioExecutor::new())
                .http2_only(protocol == Protocol::Two)
                .build::<_, Full<Bytes>>(connector);
            measure(client, host, requests).await
        }
        "way" => {
            let connections = replica(&authority(&host)?, config, None, Purges::Yes)?.primary;
            measure(connections, host, requests).await
        }
        "off" => measure(client(settings.single()).await?, host, requests).await,
        "duplicates" => measure(client(settings).await?, host, requests).await,
        _ => Err(format!("found the case {name:?}; allowed: {}", CASES.join(", ")).into()),
    }
}

fn protocol(name: &str) -> Result<Protocol, Failure> {
    match name {
        "http1" => Ok(Protocol::One),
        "http2" => Ok(Protocol::Two),
        _ => Err(format!("found the protocol {name:?}; allowed: http1, http2").into()),
    }
}

/// Returns the median, the minimum and the maximum as text.
fn spread(mut all: Vec<f64>) -> String {
    all.sort_by(f64::total_cmp);
    format!(
        "{:.2} ({:.2} to {:.2})",
        all[all.len() / 2],
        all[0],
        all[all.len() - 1]
    )
}

fn main() -> Result<(), Failure> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    if arguments.first().is_some_and(|first| first == "serve") {
        return runtime.block_on(serve());
    }
    let number = |at: usize, default| match arguments.get(at) {
        Some(text) => text
            .parse::<usize>()
            .map_err(|_| format!("found {text:?}; allowed: a number")),
        None => Ok(default),
    };
    let (rounds, requests) = (number(0, 9)?.max(1), number(1, 4_000)?.max(1));
    let servers = Servers::start()?;
    let addresses = &servers.addresses;
    if let (Some(told), Some(name)) = (arguments.get(2), arguments.get(3)) {
        let cost = runtime.block_on(case(name, protocol(told)?, addresses, requests))?;
        println!("{told} {name}: {:.2} us", cost / 1e3);
        return Ok(());
    }
    println!(
        "{rounds} rounds of {requests} requests, concurrency {CONCURRENCY}: median (least to most)\n"
    );
    println!("| protocol | case | us of CPU for a request | us more than bare | ratio to bare |");
    println!("|---|---|---|---|---|");
    for told in ["http1", "http2"] {
        let mut costs: [Vec<f64>; 4] = Default::default();
        for _ in 0..rounds {
            for (name, costs) in CASES.iter().zip(&mut costs) {
                costs.push(
                    runtime.block_on(case(name, protocol(told)?, addresses, requests))? / 1e3,
                );
            }
        }
        let bare = costs[0].clone();
        for (name, costs) in CASES.iter().zip(costs) {
            let pairs = costs.iter().zip(&bare);
            let beyond = pairs.clone().map(|(cost, bare)| cost - bare).collect();
            let against = pairs.map(|(cost, bare)| cost / bare).collect();
            println!(
                "| {told} | {name} | {} | {} | {} |",
                spread(costs),
                spread(beyond),
                spread(against)
            );
        }
    }
    Ok(())
}

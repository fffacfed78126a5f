//! Do copies ever make it worse? A client with copies and its trial, compared with the same client without copies.
//! Two guarded services of 64 workers sleep in the place of work. Requests arrive at random times, over real sockets.
//! The two clients take turns, so a change of the machine affects both.
//!
//! ```sh
//! cargo run --release --manifest-path bench/rans/Cargo.toml --bin harm -- [TURNS] [SECONDS] [SLOT MS] [MOST REQUESTS/S]
//! ```

#[path = "../../../../crates/rans/tests/common/draw.rs"]
mod draw;
#[path = "../interval.rs"]
mod interval;
#[path = "../../../../crates/rans/tests/common/work.rs"]
mod work;

use bytes::Bytes;
use draw::{exponential, uniform};
use http::uri::Authority;
use http::{Request, StatusCode};
use http_body_util::{BodyExt, Full};
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo};
use hyper_util::server::conn::auto::Builder;
use interval::ratio;
use rand_core::SeedableRng;
use rand_xoshiro::Xoshiro256PlusPlus;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tailcut_rans::client::{Client, ClientConfig, Purges, ResetBudget, TrialSlots};
use tailcut_rans::connections::{ConnectionConfig, Connections, Connector, replica};
use tailcut_rans::guard::{GuardConfig, GuardLayer, OnCancel};
use tokio::net::TcpListener;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep_until};
use tower_layer::Layer;
use tower_service::Service;
use work::Work;

type Failure = Box<dyn std::error::Error>;
type Copies = Client<Connections<Connector, Full<Bytes>>>;

const WORKERS: u32 = 64;
const REPLICAS: u32 = 2;
/// Factor of a slow execution, and its probability.
const SLOW: (u32, f64) = (10, 0.05);

/// Starts a guarded service in which some executions are slow, each one independently.
async fn serve(slow: f64, seed: u64) -> Result<SocketAddr, Failure> {
    let random = Mutex::new(Xoshiro256PlusPlus::seed_from_u64(seed));
    let factor = move || {
        let mut random = random.lock().ok()?;
        Some(if uniform(&mut random) < slow {
            SLOW.0
        } else {
            1
        })
    };
    let guard = GuardLayer::new(GuardConfig {
        workers: WORKERS,
        queue: u32::MAX,
        on_cancel: OnCancel::Kill,
        ..GuardConfig::default()
    });
    let service = guard.layer(Work {
        factor: Arc::new(factor),
        own_queue: None,
    });
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let address = listener.local_addr()?;
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let service = service.clone();
            tokio::spawn(async move {
                let answering = service_fn(move |request| service.clone().call(request));
                let builder = Builder::new(TokioExecutor::new());
                let serving = builder.serve_connection(TokioIo::new(stream), answering);
                // A client closes the connections of purged copies, so errors are ignored.
                let _ = serving.await;
            });
        }
    });
    Ok(address)
}

fn client(addresses: &[SocketAddr], config: ClientConfig) -> Result<Copies, Failure> {
    let mut replicas = Vec::new();
    for address in addresses {
        let to = Authority::try_from(address.to_string())?;
        replicas.push(replica(
            &to,
            ConnectionConfig::default(),
            None,
            Purges::Learn,
        )?);
    }
    Ok(Client::new(replicas, config, 1)?)
}

/// Sends requests at this rate for this time. Returns their latencies in seconds.
async fn turn(client: &Copies, work: Duration, rate: f64, time: Duration, seed: u64) -> Vec<f64> {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
    let (mut at, end) = (Instant::now(), Instant::now() + time);
    let mut requests = JoinSet::new();
    while at < end {
        at += Duration::from_secs_f64(exponential(&mut random, 1.0 / rate));
        sleep_until(at).await;
        let mut client = client.clone();
        let request = Request::get(format!("/{}", work.as_nanos())).body(Full::default());
        requests.spawn(async move {
            // The time counts from the moment at which the request should begin.
            let answer = client
                .call(request.expect("a request"))
                .await
                .expect("an answer");
            assert_eq!(answer.status(), StatusCode::OK);
            answer.into_body().collect().await.expect("a body");
            at.elapsed().as_secs_f64()
        });
    }
    requests.join_all().await
}

fn mean(latencies: &[f64]) -> f64 {
    latencies.iter().sum::<f64>() / latencies.len() as f64
}

fn p99(latencies: &mut [f64]) -> f64 {
    latencies.sort_by(f64::total_cmp);
    latencies[latencies.len() * 99 / 100]
}

async fn measure(turns: u64, time: Duration, slot: Duration, most: f64) -> Result<(), Failure> {
    println!(
        "| work | slow executions | load | requests for each client | mean with copies / without | p99 | copies help |\n\
         |---|---|---|---|---|---|---|"
    );
    for work in [1, 5, 20, 100].map(Duration::from_millis) {
        for slow in [SLOW.1, 0.0] {
            for load in [0.3, 0.6, 0.9] {
                let mean_work = work.as_secs_f64() * (1.0 + slow * f64::from(SLOW.0 - 1));
                let rate = load * f64::from(WORKERS * REPLICAS) / mean_work;
                let row = format!("| {work:?} | {:.0} % | {load}", slow * 100.0);
                if rate > most {
                    println!("{row} | not run: {rate:.0} requests/s | | | |");
                    continue;
                }
                let mut addresses = Vec::new();
                for seed in 0..u64::from(REPLICAS) {
                    addresses.push(serve(slow, seed).await?);
                }
                let config = ClientConfig {
                    resets: ResetBudget::UNBOUNDED,
                    trial: Some(TrialSlots {
                        length: slot,
                        seed: 0,
                    }),
                    ..ClientConfig::default()
                };
                let clients = [
                    client(&addresses, config)?,
                    client(&addresses, config.single())?,
                ];
                // The first turn opens connections. In it the trial begins, too.
                for client in &clients {
                    turn(client, work, rate, time, 0).await;
                }
                let (mut means, mut tails, mut requests) = (Vec::new(), Vec::new(), 0);
                for seed in 1..=turns {
                    let mut with = turn(&clients[0], work, rate, time, seed).await;
                    let mut without = turn(&clients[1], work, rate, time, seed).await;
                    requests += with.len();
                    means.push(mean(&with) / mean(&without));
                    tails.push(p99(&mut with) / p99(&mut without));
                }
                let trial = clients[0].trial().map(|report| report.verdict);
                println!(
                    "{row} | {requests} | {} | {} | {trial:?} |",
                    ratio(&means),
                    ratio(&tails)
                );
            }
        }
    }
    Ok(())
}

fn main() -> Result<(), Failure> {
    let mut arguments = std::env::args().skip(1);
    let turns = arguments.next().map_or(Ok(6), |text| text.parse())?;
    let seconds = arguments.next().map_or(Ok(60), |text| text.parse())?;
    let slot = arguments.next().map_or(Ok(5_000), |text| text.parse())?;
    let most = arguments.next().map_or(Ok(2_000.0), |text| text.parse())?;
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()?;
    let [time, slot] = [seconds * 1_000, slot].map(Duration::from_millis);
    runtime.block_on(measure(turns, time, slot, most))
}

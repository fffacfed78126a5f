//! Client that sends requests at random times, with or without copies.
//! Only primaries are measured, so a primary is not dropped when its copy arrives first.
//! A copy is dropped when its primary has arrived.

use super::{Combination, draw};
use bytes::Bytes;
use http::Request;
use http_body_util::{BodyExt, Empty};
use hyper::client::conn::http2::{SendRequest, handshake};
use hyper_util::rt::{TokioExecutor, TokioIo};
use rand_core::SeedableRng;
use rand_xoshiro::Xoshiro256PlusPlus;
use std::error::Error;
use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration;
use tailcut_rans::priority::{PRIORITY, field};
use tailcut_rans::socket::SocketOptions;
use tailcut_requests::Class;
use tokio::net::TcpSocket;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep_until};

type Sender = SendRequest<Empty<Bytes>>;

/// Mean time that a worker needs for a request, in seconds.
const MEAN_WORK: f64 = 0.1;
/// Size of an answer in bytes.
const BYTES: usize = 5_000;
/// Requests per second of each client. Together, the two clients use 44 % of the 64 workers of both servers.
/// The answers use 61 % of the link's 20 Mb/s (headers included).
const RATE: f64 = 140.0;
/// Time at the start that is not measured, because the queues are still filling.
const WARM: Duration = Duration::from_secs(2);
/// Time after which a primary counts as lost.
const DRAIN: Duration = Duration::from_secs(20);

async fn connect(
    server: Ipv4Addr,
    class: Class,
    combination: Combination,
) -> Result<Sender, Box<dyn Error>> {
    let socket = TcpSocket::new_v4()?;
    let options = SocketOptions {
        dscp: combination.marks.map(|marks| marks[class as usize]),
        ..SocketOptions::default()
    };
    options.set(&socket);
    let stream = socket.connect(SocketAddr::from((server, 80))).await?;
    let (sender, connection) = handshake(TokioExecutor::new(), TokioIo::new(stream)).await?;
    tokio::spawn(connection);
    Ok(sender)
}

/// Sends a request, and reads the answer.
async fn ask(mut sender: Sender, class: Class, path: String) -> Result<(), hyper::Error> {
    let request = Request::get(path).header(PRIORITY, field(class));
    let request = request.body(Empty::new()).expect("a path of digits");
    sender.ready().await?;
    let mut body = sender.send_request(request).await?.into_body();
    while let Some(frame) = body.frame().await {
        frame?;
    }
    Ok(())
}

/// Sends requests for the given time, and prints the latency of each primary in milliseconds.
pub async fn run(
    combination: Combination,
    seed: u64,
    time: Duration,
) -> Result<(), Box<dyn Error>> {
    let servers = [Ipv4Addr::new(10, 0, 0, 1), Ipv4Addr::new(10, 0, 0, 2)];
    let mut senders = Vec::new();
    for server in servers {
        let primary = connect(server, Class::Primary, combination).await?;
        senders.push((
            primary,
            connect(server, Class::Duplicate, combination).await?,
        ));
    }
    let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
    let begin = Instant::now();
    let mut due = begin;
    let mut asked = JoinSet::new();
    loop {
        due += Duration::from_secs_f64(draw::exponential(&mut random, 1.0 / RATE));
        let work = draw::exponential(&mut random, MEAN_WORK);
        // Random values are also drawn for a request that is not sent, so that they are the same in every combination.
        let first = usize::from(draw::uniform(&mut random) < 0.5);
        if due > begin + WARM + time {
            break;
        }
        sleep_until(due).await;
        let is_measured = due > begin + WARM;
        let (primary, copy) = (senders[first].0.clone(), senders[1 - first].1.clone());
        let path = format!("http://service/{}/{BYTES}", (work * 1e9) as u64);
        asked.spawn(async move {
            let copying = combination
                .copies
                .then(|| tokio::spawn(ask(copy, Class::Duplicate, path.clone())));
            let whole = tokio::time::timeout(DRAIN, ask(primary, Class::Primary, path)).await;
            if let Some(copying) = copying {
                copying.abort();
            }
            // A primary that did not arrive in time counts with the time limit as its latency.
            let is_there = matches!(whole, Ok(Ok(())));
            is_measured.then(|| (due.elapsed(), is_there))
        });
    }
    while let Some(ended) = asked.join_next().await {
        if let Some((latency, is_there)) = ended? {
            println!("{} {is_there}", latency.as_secs_f64() * 1e3);
        }
    }
    Ok(())
}

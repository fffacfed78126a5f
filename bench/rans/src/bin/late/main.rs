//! Bytes that still arrive after a purge.
//! The client reads a part of an endless answer over a link of 200 Mb/s, and drops the request after that.
//! The program creates a network namespace, so it needs root on Linux.
//!
//! ```sh
//! cargo run --release --manifest-path bench/rans/Cargo.toml --bin late -- [TIMES]
//! ```

mod link;

use bytes::Bytes;
use clap::Parser;
use http::uri::Authority;
use http::{Request, Response};
use http_body::{Body, Frame};
use http_body_util::{BodyExt, Full};
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo};
use hyper_util::server::conn::auto;
use link::Link;
use std::convert::Infallible;
use std::net::SocketAddr;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;
use tailcut_rans::connections::{CONNECT_TIME, ConnectionConfig, Connections, Connector, Protocol};
use tailcut_rans::guard::program::{GuardCommand, execute};
use tailcut_rans::guard::{GuardConfig, GuardLayer};
use tailcut_rans::socket::SocketOptions;
use tailcut_units::median;
use tokio::net::TcpListener;
use tower_layer::Layer;
use tower_service::Service;

/// Number of bytes that the client reads before the purge.
const TAKEN: usize = 10 << 20;
const PORT: u16 = 8080;

#[derive(Parser)]
struct Flags {
    #[command(flatten)]
    guard: GuardCommand,
}

/// Kind of server.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Server {
    /// Guard layer on sockets with the system's default options.
    System,
    /// Guard layer on sockets with a `TCP_NOTSENT_LOWAT` of 16 KB.
    LowWater,
    /// `tailcut guard` in front of a service.
    Sidecar,
}

/// Body of a response that never ends.
struct Endless(Bytes);

impl Body for Endless {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        Poll::Ready(Some(Ok(Frame::data(self.0.clone()))))
    }
}

async fn serve(at: SocketAddr, options: Option<SocketOptions>) {
    let listener = TcpListener::bind(at).await.expect("a port");
    let guard = GuardLayer::new(GuardConfig::default());
    let part = Bytes::from(vec![b'x'; 16 << 10]);
    let answer = service_fn(move |_| {
        let answer = Response::new(Endless(part.clone()));
        async move { Ok::<_, Infallible>(answer) }
    });
    let guarded = guard.layer(Cloned(answer));
    while let Ok((stream, _)) = listener.accept().await {
        match options {
            Some(options) => options.set(&stream),
            None => stream.set_nodelay(true).expect("an option"),
        }
        let guarded = guarded.clone();
        let answer = service_fn(move |request| guarded.clone().call(request));
        tokio::spawn(async move {
            let builder = auto::Builder::new(TokioExecutor::new());
            // Clients of this measurement close connections on purpose, so errors are ignored.
            let _ = builder.serve_connection(TokioIo::new(stream), answer).await;
        });
    }
}

/// Adapter from a hyper service to a tower service.
#[derive(Clone)]
struct Cloned<S>(S);

impl<S, R> Service<R> for Cloned<S>
where
    S: hyper::service::Service<R>,
{
    type Response = S::Response;
    type Error = S::Error;
    type Future = S::Future;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: R) -> S::Future {
        self.0.call(request)
    }
}

/// Runs the server at the far end of the link.
async fn behind_link(role: &str) {
    let outside = SocketAddr::from(([0, 0, 0, 0], PORT));
    match role {
        "system" => serve(outside, None).await,
        "low-water" => serve(outside, Some(SocketOptions::default())).await,
        _ => {
            let inside = SocketAddr::from(([127, 0, 0, 1], 9000));
            let flags = [
                "guard",
                "--listen",
                "0.0.0.0:8080",
                "--to",
                "9000",
                "--workers",
                "8",
                "--no-admin",
            ];
            let flags = Flags::parse_from(flags);
            std::thread::spawn(move || execute(&flags.guard));
            serve(inside, None).await;
        }
    }
}

/// Sends a request, reads some bytes, and drops the request.
/// Returns the bytes that still arrive over the link, in KB, including packet headers.
async fn late(link: &Link, protocol: Protocol) -> f64 {
    let to = Authority::try_from(format!("{}:{PORT}", link::SERVER)).expect("an address");
    let connector = Connector::new(to.clone(), SocketOptions::default(), CONNECT_TIME);
    let config = ConnectionConfig {
        protocol,
        ..ConnectionConfig::default()
    };
    let mut connections = Connections::new(connector.expect("a port"), to, config);
    let request = Request::get("/").body(Full::<Bytes>::default());
    let answer = connections
        .call(request.expect("a request"))
        .await
        .expect("an answer");
    let mut body = answer.into_body();
    let mut taken = 0;
    while taken < TAKEN {
        let frame = body.frame().await.expect("endless").expect("a frame");
        taken += frame.data_ref().map_or(0, Bytes::len);
    }
    drop(body);
    let purged = link.received();
    let mut last = purged;
    loop {
        tokio::time::sleep(Duration::from_millis(200)).await;
        let now = link.received();
        // The connection may stay open and exchange pings, so a few bytes always arrive.
        // If fewer bytes than this limit arrive, the answer has ended.
        if now - last < 2_000 {
            return (now - purged) as f64 / 1e3;
        }
        last = now;
    }
}

async fn measure(times: usize) -> Result<(), Box<dyn std::error::Error>> {
    println!(
        "200 Mb/s, 100 KB of buffer in the link; bytes that arrive after a purge, KB; {times} purges each\n\n\
         | server | protocol | median | most |\n|---|---|---|---|"
    );
    for (server, role) in [
        (Server::System, "system"),
        (Server::LowWater, "low-water"),
        (Server::Sidecar, "guard"),
    ] {
        let link = Link::new(role, PORT).await?;
        for (name, protocol) in [("HTTP/1.1", Protocol::One), ("HTTP/2", Protocol::Two)] {
            let mut values = Vec::new();
            for _ in 0..times {
                values.push(late(&link, protocol).await);
            }
            let median = median(&mut values).unwrap_or(f64::NAN);
            let most = values.last().unwrap_or(&f64::NAN);
            println!("| {server:?} | {name} | {median:.0} | {most:.0} |");
        }
    }
    Ok(())
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let first = std::env::args().nth(1);
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()?;
    if let Some(role @ ("system" | "low-water" | "guard")) = first.as_deref() {
        runtime.block_on(behind_link(role));
        return Ok(());
    }
    let times = first.map_or(Ok(11), |text| text.parse())?;
    runtime.block_on(measure(times))
}

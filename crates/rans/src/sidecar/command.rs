//! `tailcut guard`.

use super::metrics::metrics;
use super::pass::Pass;
use crate::guard::{GuardConfig, GuardLayer, OnCancel};
use crate::socket::{ClassMarks, MarkedStream, SocketOptions};
use anyhow::{Context, Result, bail};
use clap::{Args, ValueEnum};
use http::{Request, Response, StatusCode};
use http_body_util::Full;
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto;
use hyper_util::server::graceful::GracefulShutdown;
use std::convert::Infallible;
use std::io::Write;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;
use tokio::net::TcpListener;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::Semaphore;
use tower_layer::Layer;
use tower_service::Service;

/// In which the head of a request has to come.
const HEAD_TIME: Duration = Duration::from_secs(10);
/// Fields of a request with HTTP/2, in bytes. With HTTP/1.1 there are 100 at most, in 64 KiB.
const MOST_FIELDS: u32 = 64 << 10;
/// Requests on one HTTP/2 connection at once.
const MOST_STREAMS: u32 = 1_000;
/// Requests that a client resets before they were looked at: beyond it, its connection ends.
const MOST_PENDING_RESETS: usize = 10_000;
/// Before accepting is tried again when the process has no descriptors left.
const BACK_OFF: Duration = Duration::from_millis(20);

/// What happens to a running request whose client leaves.
#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
enum Cancel {
    /// Close the connection to the service, and give its worker to the next request
    Kill,
    /// Let the service finish, and keep its worker until then
    HoldSlot,
}

/// The flags of `tailcut guard`.
#[derive(Args, Debug)]
#[command(after_help = "\
The class of a request is the urgency of its Priority field (RFC 9218): u=0 to u=5, and none, are
primaries; u=6 are duplicates, which wait behind primaries; u=7 is optional work, which is refused
with 503 unless a worker is idle. A client that leaves takes its request along, whether it waits or
runs. HTTP/1.1 and HTTP/2 without TLS; to the service HTTP/1.1. docs/services.md tells all of it.

SIGTERM stops accepting, and lets open requests finish.

Examples:
  tailcut guard --listen 8080 --to 127.0.0.1:9000 --workers 8
  tailcut guard --listen 0.0.0.0:8080 --to 9000 --workers 4 --on-cancel hold-slot")]
pub struct GuardCommand {
    /// Where to accept requests; a port alone is one of 127.0.0.1
    #[arg(long, value_name = "ADDRESS:PORT", value_parser = address)]
    listen: SocketAddr,
    /// The service, with HTTP/1.1; a port alone is one of 127.0.0.1
    #[arg(long, value_name = "HOST:PORT", value_parser = target)]
    to: String,
    /// Requests that the service runs at once
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=100_000))]
    workers: u32,
    /// Requests that wait at most; beyond it the latest of the lowest class is refused with 503
    #[arg(long, value_name = "N", default_value_t = 1_024)]
    queue: u32,
    /// What happens to a running request whose client leaves
    #[arg(long, value_enum, default_value = "kill")]
    on_cancel: Cancel,
    /// What a refused client is told to wait, in seconds
    #[arg(long, value_name = "SECONDS", default_value_t = 1,
        value_parser = clap::value_parser!(u64).range(1..=86_400))]
    retry_after: u64,
    /// DSCP of what goes to clients, for primaries, duplicates and optional work, such as 0,1,1
    #[arg(long, value_name = "N,N,N")]
    dscp: Option<ClassMarks>,
    /// Connections at once
    #[arg(long, value_name = "N", default_value_t = 10_000,
        value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    connections: u32,
    /// Where health and metrics are served
    #[arg(long, value_name = "ADDRESS:PORT", default_value = "127.0.0.1:9465", value_parser = address)]
    admin: SocketAddr,
    /// Serve no health and no metrics
    #[arg(long, conflicts_with = "admin")]
    no_admin: bool,
    /// How long open requests may go on at the end
    #[arg(long, value_name = "MS", default_value_t = 10_000)]
    drain_timeout: u64,
}

fn address(text: &str) -> Result<SocketAddr, String> {
    if let Ok(port) = text.parse() {
        return Ok((Ipv4Addr::LOCALHOST, port).into());
    }
    let allowed = "allowed: an address and a port such as 0.0.0.0:8080 or [::1]:8080, or a port";
    text.parse().map_err(|_| allowed.to_owned())
}

fn target(text: &str) -> Result<String, String> {
    if let Ok(port) = text.parse::<u16>() {
        return Ok(format!("127.0.0.1:{port}"));
    }
    let is_one = text
        .parse::<http::uri::Authority>()
        .is_ok_and(|authority| authority.port_u16().is_some() && !authority.as_str().contains('@'));
    match is_one {
        true => Ok(text.to_owned()),
        false => Err("allowed: a host and a port such as 10.1.2.3:9000, or a port".to_owned()),
    }
}

/// Carries the command out.
///
/// # Errors
/// An address that cannot be listened on.
pub fn execute(command: &GuardCommand) -> Result<()> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()?;
    runtime.block_on(run(command))
}

fn say(what: &str) -> Result<()> {
    let mut out = std::io::stdout().lock();
    writeln!(out, "tailcut guard: {what}").context("cannot write standard output")
}

async fn listen(at: SocketAddr, flag: &str) -> Result<TcpListener> {
    let listening = TcpListener::bind(at).await;
    listening.with_context(|| format!("{flag} {at}: cannot listen there"))
}

async fn run(command: &GuardCommand) -> Result<()> {
    let mut terminate = signal(SignalKind::terminate())?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    let guard = GuardLayer::new(GuardConfig {
        workers: command.workers,
        queue: command.queue,
        on_cancel: match command.on_cancel {
            Cancel::Kill => OnCancel::Kill,
            Cancel::HoldSlot => OnCancel::HoldSlot,
        },
        retry_after: Duration::from_secs(command.retry_after),
    });
    let listener = listen(command.listen, "--listen").await?;
    let (at, to, workers) = (listener.local_addr()?, &command.to, command.workers);
    let plural = if workers == 1 { "" } else { "s" };
    say(&format!("{at} -> {to} ({workers} worker{plural})"))?;
    if !command.no_admin {
        let admin = listen(command.admin, "--admin").await?;
        say(&format!("admin: http://{}/metrics", admin.local_addr()?))?;
        tokio::spawn(serve_admin(admin, guard.clone()));
    }
    let service = guard.layer(Pass::to(&command.to)?);
    let graceful = GracefulShutdown::new();
    let places = Arc::new(Semaphore::new(command.connections as usize));
    let name = loop {
        let place = Arc::clone(&places).acquire_owned();
        let accepted = tokio::select! {
            _ = terminate.recv() => break "SIGTERM",
            _ = interrupt.recv() => break "SIGINT",
            accepted = async { (listener.accept().await, place.await) } => accepted,
        };
        let (Ok((stream, _)), Ok(place)) = accepted else {
            tokio::time::sleep(BACK_OFF).await;
            continue;
        };
        let service = service.clone();
        SocketOptions::default().set(&stream);
        let (stream, mark) = MarkedStream::new(stream, command.dscp.unwrap_or_default());
        let answering = service_fn(move |request| {
            mark.on_request(&request);
            service.clone().call(request)
        });
        let serving = builder()
            .serve_connection(TokioIo::new(stream), answering)
            .into_owned();
        let serving = graceful.watch(serving);
        tokio::spawn(async move {
            // A client that leaves, or speaks no HTTP, concerns nobody else.
            let _ = serving.await;
            drop(place);
        });
    };
    drop(listener);
    say(&format!("{name}: draining"))?;
    tokio::select! {
        () = graceful.shutdown() => Ok(()),
        () = tokio::time::sleep(Duration::from_millis(command.drain_timeout)) => Ok(()),
        // A second signal: the operator does not want to wait.
        _ = terminate.recv() => bail!("stopped before its requests had ended"),
        _ = interrupt.recv() => bail!("stopped before its requests had ended"),
    }
}

fn builder() -> auto::Builder<TokioExecutor> {
    let mut builder = auto::Builder::new(TokioExecutor::new());
    builder
        .http1()
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD_TIME)
        .max_buf_size(64 << 10);
    builder
        .http2()
        .timer(TokioTimer::new())
        .max_header_list_size(MOST_FIELDS)
        .max_concurrent_streams(MOST_STREAMS)
        .max_pending_accept_reset_streams(Some(MOST_PENDING_RESETS));
    builder
}

async fn serve_admin(listener: TcpListener, guard: GuardLayer) {
    let answer = move |request: Request<Incoming>| {
        let (status, text) = match request.uri().path() {
            "/healthz" => (StatusCode::OK, "ok\n".to_owned()),
            "/metrics" => (StatusCode::OK, metrics(&guard.counts())),
            _ => (
                StatusCode::NOT_FOUND,
                "known here: /healthz, /metrics\n".to_owned(),
            ),
        };
        let mut response = Response::new(Full::<bytes::Bytes>::from(text));
        *response.status_mut() = status;
        async move { Ok::<_, Infallible>(response) }
    };
    let places = Arc::new(Semaphore::new(64));
    loop {
        let Ok(place) = Arc::clone(&places).acquire_owned().await else {
            return;
        };
        let Ok((stream, _)) = listener.accept().await else {
            tokio::time::sleep(BACK_OFF).await;
            continue;
        };
        let answer = answer.clone();
        tokio::spawn(async move {
            let serving = hyper::server::conn::http1::Builder::new()
                .timer(TokioTimer::new())
                .header_read_timeout(HEAD_TIME)
                .keep_alive(false)
                .serve_connection(TokioIo::new(stream), service_fn(answer));
            // Whoever asks too slowly, or hangs up, gets no answer.
            let _ = serving.await;
            drop(place);
        });
    }
}

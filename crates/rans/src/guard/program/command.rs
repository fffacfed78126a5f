//! `tailcut guard`.

use super::metrics::metrics;
use super::pass::Pass;
use crate::guard::{GuardConfig, GuardLayer, OnCancel};
use crate::socket::{ClassMarks, ConnectionMark, Marked};
use anyhow::{Context, Result};
use clap::{Args, ValueEnum};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use tailcut_proxy::admin::{Admin, Pages};
use tailcut_proxy::http::{Front, Limits};
use tailcut_proxy::{Endpoint, Running, Signals, Watched, conduct, say};
use tower_layer::Layer;
use tower_service::Service;

/// Requests on one HTTP/2 connection at once.
const MOST_STREAMS: u32 = 1_000;

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
    #[arg(long, value_name = "HOST:PORT", value_parser = Endpoint::listening)]
    listen: Endpoint,
    /// The service, with HTTP/1.1; a port alone is one of 127.0.0.1
    #[arg(long, value_name = "HOST:PORT", value_parser = Endpoint::target)]
    to: Endpoint,
    /// Requests that the service runs at once
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=100_000))]
    workers: u32,
    /// Requests that wait at most; beyond it the latest of the lowest class is refused with 503
    #[arg(long, value_name = "N", default_value_t = 1_024)]
    queue: u32,
    /// What happens to a running request whose client leaves
    #[arg(long, value_enum, default_value = "kill")]
    on_cancel: Cancel,
    /// How long a request whose client has left keeps its worker with hold-slot, in seconds; then its
    /// connection to the service is closed
    #[arg(long, value_name = "SECONDS", default_value_t = 300,
        value_parser = clap::value_parser!(u64).range(1..=86_400))]
    hold_timeout: u64,
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
    #[arg(long, value_name = "HOST:PORT", default_value = "127.0.0.1:9465",
        value_parser = Endpoint::listening)]
    admin: Endpoint,
    /// Serve no health and no metrics
    #[arg(long, conflicts_with = "admin")]
    no_admin: bool,
    /// How long open requests may go on at the end
    #[arg(long, value_name = "MS", default_value_t = 10_000)]
    drain_timeout: u64,
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

/// The command, in what it says.
const NAME: &str = "tailcut guard";

async fn run(command: &GuardCommand) -> Result<()> {
    let signals = Signals::new()?;
    let guard = GuardLayer::new(GuardConfig {
        workers: command.workers,
        queue: command.queue,
        on_cancel: match command.on_cancel {
            Cancel::Kill => OnCancel::Kill,
            Cancel::HoldSlot => OnCancel::HoldSlot,
        },
        hold: Duration::from_secs(command.hold_timeout),
        retry_after: Duration::from_secs(command.retry_after),
    });
    let asked = &command.listen;
    let listening = asked.listen().await;
    let listener = listening.with_context(|| format!("--listen {asked}: cannot listen there"))?;
    let (at, to, workers) = (listener.local_addr()?, &command.to, command.workers);
    let plural = if workers == 1 { "" } else { "s" };
    say(NAME, &format!("{at} -> {to} ({workers} worker{plural})"))?;
    let shown = Arc::new(Shown {
        guard: guard.clone(),
        is_accepting: AtomicBool::new(true),
    });
    let admin = match command.no_admin {
        true => None,
        false => Some(Admin::start(&command.admin, Arc::clone(&shown) as _).await?),
    };
    if let Some(admin) = &admin {
        say(NAME, &format!("admin: http://{}/metrics", admin.address()))?;
    }
    let service = guard.layer(Pass::to(&command.to.to_string())?);
    let limits = Limits {
        connections: command.connections,
        streams: MOST_STREAMS,
        ..Limits::default()
    };
    let accept = Marked(command.dscp.unwrap_or_default());
    let front = Front::start(listener, limits, accept, move |_, mark: ConnectionMark| {
        let service = service.clone();
        move |request| {
            mark.on_request(&request);
            service.clone().call(request)
        }
    })?;
    let drain = Duration::from_millis(command.drain_timeout);
    let program = Program {
        front,
        shown,
        drain,
    };
    conduct(NAME, program, signals, Watched::default()).await
}

struct Shown {
    guard: GuardLayer,
    is_accepting: AtomicBool,
}

impl Pages for Shown {
    fn is_healthy(&self) -> bool {
        self.is_accepting.load(Ordering::Relaxed)
    }

    fn metrics(&self) -> String {
        metrics(&self.guard.counts())
    }
}

/// A guard that accepts.
struct Program {
    front: Front,
    shown: Arc<Shown>,
    drain: Duration,
}

impl Running for Program {
    const WORK: &'static str = "requests";

    fn files(&self) -> Vec<PathBuf> {
        Vec::new()
    }

    fn can_reload(&self) -> bool {
        false
    }

    async fn reload(&mut self) -> Result<Vec<String>> {
        Ok(Vec::new())
    }

    async fn stop(self) {
        self.shown.is_accepting.store(false, Ordering::Relaxed);
        self.front.drain(self.drain).await.end().await;
    }
}

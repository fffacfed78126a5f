//! A guard that accepts. It takes a new configuration while it runs: as a whole, or not at all.

use super::config::ProgramConfig;
use super::metrics::metrics;
use super::pass::{Pass, PassBody};
use crate::guard::{GuardLayer, GuardedBody};
use crate::socket::{ClassMarks, ConnectionMark, MarkedStream, SocketOptions};
use anyhow::Result;
use http::{Request, Response};
use hyper::body::Incoming;
use std::convert::Infallible;
use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::Duration;
use tailcut_proxy::admin::{Admin, Pages};
use tailcut_proxy::http::{Accept, Listeners, Site, Wanted};
use tailcut_proxy::tls::{self, ServerConfig, ServerTls, Stream};
use tailcut_proxy::{Endpoint, Running};
use tokio::net::TcpStream;
use tower_layer::Layer;
use tower_service::Service;

/// The service behind the listener, and TLS of the listener.
#[derive(Clone)]
struct Behind {
    guard: GuardLayer,
    to: Endpoint,
    pass: Pass,
    marks: ClassMarks,
    tls: Option<Arc<ServerConfig>>,
}

impl Behind {
    fn open(config: &ProgramConfig, guard: &GuardLayer, before: Option<Self>) -> Result<Self> {
        let tls = config.tls.as_ref().map(|tls| tls.config(&tls::HTTP));
        let pass = match before {
            Some(before) if before.to == config.to => before.pass,
            _ => Pass::to(&config.to)?,
        };
        Ok(Self {
            guard: guard.clone(),
            to: config.to.clone(),
            pass,
            marks: config.dscp,
            tls: tls.transpose()?,
        })
    }
}

impl Accept for Behind {
    type Stream = Stream<MarkedStream>;
    type Told = ConnectionMark;

    async fn accept(&self, stream: TcpStream) -> io::Result<(Self::Stream, ConnectionMark)> {
        SocketOptions::default().set(&stream);
        let (stream, mark) = MarkedStream::new(stream, self.marks);
        let (stream, _) = tls::accept(self.tls.clone(), stream).await?;
        Ok((stream, mark))
    }
}

impl Site for Behind {
    type Body = GuardedBody<PassBody>;
    type Error = Infallible;

    fn answer(
        self,
        _: SocketAddr,
        mark: ConnectionMark,
        request: Request<Incoming>,
    ) -> impl Future<Output = Result<Response<Self::Body>, Infallible>> + Send + 'static {
        mark.on_request(&request);
        self.guard.layer(self.pass).call(request)
    }
}

/// Pages of health and metrics.
struct Known {
    guard: GuardLayer,
    is_accepting: AtomicBool,
}

impl Pages for Known {
    fn is_healthy(&self) -> bool {
        self.is_accepting.load(Relaxed)
    }

    fn metrics(&self) -> String {
        metrics(&self.guard.counts())
    }
}

/// A guard that accepts.
pub struct Program {
    doors: Listeners<Behind>,
    admin: Option<Admin>,
    known: Arc<Known>,
    drain: Duration,
}

impl fmt::Debug for Program {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let at: Vec<_> = self.doors.all().map(|(_, at, _)| at).collect();
        f.debug_struct("Program")
            .field("listen", &at)
            .finish_non_exhaustive()
    }
}

impl Running for Program {
    const NAME: &'static str = "tailcut guard";
    const WORK: &'static str = "requests";
    type Config = ProgramConfig;

    fn routes(_: &ProgramConfig) -> usize {
        1
    }

    fn files(config: &ProgramConfig) -> Vec<PathBuf> {
        config.tls.iter().flat_map(ServerTls::files).collect()
    }

    async fn start(config: &ProgramConfig) -> Result<Self> {
        let known = Known {
            guard: GuardLayer::new(config.guard),
            is_accepting: AtomicBool::new(true),
        };
        let mut program = Self {
            doors: Listeners::default(),
            admin: None,
            known: Arc::new(known),
            drain: config.drain,
        };
        program.reload(config).await?;
        Ok(program)
    }

    fn addresses(&self, config: &ProgramConfig) -> Vec<String> {
        let (to, workers) = (&config.to, config.guard.workers);
        let plural = if workers == 1 { "" } else { "s" };
        let tls = if config.tls.is_some() { " (TLS)" } else { "" };
        let doors = self.doors.all();
        let doors = doors.map(|(_, at, _)| format!("{at}{tls} -> {to} ({workers} worker{plural})"));
        let admin = self.admin.as_ref().map(Admin::address);
        let admin = admin.map(|at| format!("admin: http://{at}/metrics"));
        doors.chain(admin).collect()
    }

    async fn reload(&mut self, config: &ProgramConfig) -> Result<()> {
        let asked = config.admin.as_ref();
        let admin = Admin::other(self.admin.as_ref(), asked, &self.known).await?;
        let before = self.doors.all().next().map(|(.., slot)| slot.site());
        let wanted = Wanted {
            name: "guard".to_owned(),
            listen: config.listen.clone(),
            limits: config.limits,
            site: Behind::open(config, &self.known.guard, before)?,
        };
        self.doors.exchange(vec![wanted]).await?;
        self.known.guard.set(config.guard);
        self.drain = config.drain;
        if admin.is_some() || config.admin.is_none() {
            self.admin = admin;
        }
        Ok(())
    }

    async fn stop(self) {
        self.known.is_accepting.store(false, Relaxed);
        self.doors.stop(self.drain).await;
    }
}

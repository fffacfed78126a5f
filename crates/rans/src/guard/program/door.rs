//! A guard that accepts. It takes a new configuration while it runs: as a whole, or not at all.

use super::config::ProgramConfig;
use super::metrics::metrics;
use super::pass::Pass;
use crate::guard::GuardLayer;
use crate::socket::{ClassMarks, ConnectionMark, MarkedStream, SocketOptions};
use anyhow::{Context as _, Result};
use std::fmt;
use std::io;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;
use tailcut_proxy::admin::{Admin, Pages};
use tailcut_proxy::http::{Accept, Front, Limits};
use tailcut_proxy::tls::{self, ServerConfig, ServerTls, Stream};
use tailcut_proxy::{Doors, Endpoint, Running, exchange};
use tokio::net::TcpStream;
use tower_layer::Layer;
use tower_service::Service;

/// The service behind the listener, and TLS of the listener.
#[derive(Clone)]
struct Behind {
    to: Endpoint,
    pass: Pass,
    marks: ClassMarks,
    tls: Option<Arc<ServerConfig>>,
}

impl Behind {
    fn open(config: &ProgramConfig, before: Option<Self>) -> Result<Self> {
        let tls = config.tls.as_ref().map(|tls| tls.config(&tls::HTTP));
        let pass = match before {
            Some(before) if before.to == config.to => before.pass,
            _ => Pass::to(&config.to)?,
        };
        Ok(Self {
            to: config.to.clone(),
            pass,
            marks: config.dscp,
            tls: tls.transpose()?,
        })
    }
}

/// What listeners and the pages of metrics see of a guard.
struct Known {
    guard: GuardLayer,
    is_accepting: AtomicBool,
    behind: RwLock<Behind>,
}

impl Known {
    fn behind(&self) -> Behind {
        let behind = self.behind.read();
        behind.unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Pages for Known {
    fn is_healthy(&self) -> bool {
        self.is_accepting.load(Relaxed)
    }

    fn metrics(&self) -> String {
        metrics(&self.guard.counts())
    }
}

/// Opens listeners.
struct Opener(Arc<Known>);

impl Accept for Opener {
    type Stream = Stream<MarkedStream>;
    type Told = ConnectionMark;

    async fn accept(&self, stream: TcpStream) -> io::Result<(Self::Stream, ConnectionMark)> {
        SocketOptions::default().set(&stream);
        let Behind { marks, tls, .. } = self.0.behind();
        let (stream, mark) = MarkedStream::new(stream, marks);
        let (stream, _) = tls::accept(tls, stream).await?;
        Ok((stream, mark))
    }
}

/// A listener.
struct Door {
    asked: Endpoint,
    front: Front,
    limits: Limits,
}

impl Doors for Opener {
    type Plan = (Endpoint, Limits);
    type Open = Door;

    fn serves(open: &Door, (at, _): &Self::Plan) -> bool {
        open.asked == *at
    }

    fn collide(open: &Door, (at, _): &Self::Plan) -> bool {
        open.front.address().port() == at.port
    }

    async fn open(&self, (at, limits): &Self::Plan) -> Result<Door> {
        let opening = || format!("cannot listen on {at}");
        let listener = at.listen().await.with_context(opening)?;
        let known = Arc::clone(&self.0);
        let accept = Self(Arc::clone(&self.0));
        let front = Front::start(listener, *limits, accept, move |_, mark: ConnectionMark| {
            let known = Arc::clone(&known);
            move |request| {
                mark.on_request(&request);
                known.guard.layer(known.behind().pass).call(request)
            }
        });
        Ok(Door {
            asked: at.clone(),
            front: front.with_context(opening)?,
            limits: *limits,
        })
    }

    async fn close(open: Door) -> Self::Plan {
        let at = open.asked.at_port(open.front.address().port());
        let drained = open.front.drain(open.limits.stall_time).await;
        // Its requests go on, and the port is free.
        tokio::spawn(drained.end());
        (at, open.limits)
    }
}

/// A guard that accepts.
pub struct Program {
    doors: Vec<Door>,
    admin: Option<Admin>,
    known: Arc<Known>,
    drain: Duration,
}

impl fmt::Debug for Program {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let at: Vec<_> = self.doors.iter().map(|door| &door.asked).collect();
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
            behind: RwLock::new(Behind::open(config, None)?),
        };
        let mut program = Self {
            doors: Vec::new(),
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
        let doors = self.doors.iter().map(|door| door.front.address());
        let doors = doors.map(|at| format!("{at}{tls} -> {to} ({workers} worker{plural})"));
        let admin = self.admin.as_ref().map(Admin::address);
        let admin = admin.map(|at| format!("admin: http://{at}/metrics"));
        doors.chain(admin).collect()
    }

    async fn reload(&mut self, config: &ProgramConfig) -> Result<()> {
        let asked = config.admin.as_ref();
        let admin = Admin::other(self.admin.as_ref(), asked, &self.known).await?;
        let behind = Behind::open(config, Some(self.known.behind()))?;
        let plans = vec![(config.listen.clone(), config.limits)];
        let opener = Opener(Arc::clone(&self.known));
        exchange(&opener, &mut self.doors, plans).await?;
        for door in &mut self.doors {
            door.limits = config.limits;
            door.front.limit(config.limits);
        }
        let now = self.known.behind.write();
        *now.unwrap_or_else(PoisonError::into_inner) = behind;
        self.known.guard.set(config.guard);
        self.drain = config.drain;
        if admin.is_some() || config.admin.is_none() {
            self.admin = admin;
        }
        Ok(())
    }

    async fn stop(self) {
        self.known.is_accepting.store(false, Relaxed);
        for door in self.doors {
            door.front.drain(self.drain).await.end().await;
        }
    }
}

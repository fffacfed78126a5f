//! What a process does at signals and when its files change.

use crate::config::Flags;
use crate::watch::Watched;
use anyhow::{Context, Result, bail};
use std::future::Future;
use std::io::{self, Write};
use std::path::PathBuf;
use tokio::signal::unix::{Signal, SignalKind, signal};

/// A line of a command for its operator.
fn say(name: &str, what: &str) -> Result<()> {
    let mut out = io::stdout().lock();
    writeln!(out, "{name}: {what}").context("cannot write standard output")
}

/// A proxy that runs until it gets a signal to stop.
pub trait Running: Sized {
    /// Name of the command in its messages.
    const NAME: &'static str;
    /// Work that is lost at a second signal, such as "flows".
    const WORK: &'static str;
    /// A configuration that was checked.
    type Config;

    /// Returns the number of routes.
    fn routes(config: &Self::Config) -> usize;

    /// Returns files that the configuration names, such as certificates: their changes are a reason to reload.
    fn files(config: &Self::Config) -> Vec<PathBuf>;

    /// Listens everywhere, or nowhere.
    fn start(config: &Self::Config) -> impl Future<Output = Result<Self>>;

    /// Returns a line for each address that it listens on.
    fn addresses(&self, config: &Self::Config) -> Vec<String>;

    /// Takes another configuration.
    ///
    /// # Errors
    /// An address that cannot be listened on. Then everything is as it was.
    fn reload(&mut self, config: &Self::Config) -> impl Future<Output = Result<()>>;

    /// Takes no new work, and resolves when the open work has ended, or its time is over.
    fn stop(self) -> impl Future<Output = ()>;
}

/// Runs a proxy with the configuration that `read` returns, until SIGTERM or SIGINT; a second signal does not wait for
/// open work. SIGHUP, and a change of a file, read the configuration again.
///
/// # Errors
/// A configuration that is not allowed, an address that cannot be listened on, standard output that cannot be
/// written, or work that had not ended at a second signal.
pub fn run<R: Running>(flags: &Flags, read: impl Fn() -> Result<R::Config>) -> Result<()> {
    let watched = Watched::new(flags.config.clone());
    let config = read()?;
    if flags.check {
        let routes = R::routes(&config);
        let valid = format!("the configuration is valid: {routes} route(s)");
        return say(R::NAME, &valid);
    }
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()?;
    runtime.block_on(async {
        let signals = Signals::new()?;
        let running = R::start(&config).await?;
        for line in running.addresses(&config) {
            say(R::NAME, &line)?;
        }
        let files = |config: &R::Config| {
            let named = R::files(config);
            flags.config.iter().cloned().chain(named).collect()
        };
        conduct(running, config, read, files, signals, watched).await
    })
}

/// Signals to a process, from when this was made.
#[derive(Debug)]
struct Signals {
    terminate: Signal,
    interrupt: Signal,
    hang_up: Signal,
}

enum Told {
    Stop(&'static str),
    Reload(String),
}

impl Signals {
    /// Takes SIGTERM, SIGINT and SIGHUP from now on.
    fn new() -> io::Result<Self> {
        Ok(Self {
            terminate: signal(SignalKind::terminate())?,
            interrupt: signal(SignalKind::interrupt())?,
            hang_up: signal(SignalKind::hangup())?,
        })
    }

    async fn next(&mut self, watched: &mut Watched) -> Told {
        tokio::select! {
            _ = self.terminate.recv() => Told::Stop("SIGTERM"),
            _ = self.interrupt.recv() => Told::Stop("SIGINT"),
            _ = self.hang_up.recv() => Told::Reload("SIGHUP".to_owned()),
            file = watched.changed() => Told::Reload(format!("{} has changed", file.display())),
        }
    }

    async fn stop(&mut self) {
        tokio::select! {
            _ = self.terminate.recv() => {}
            _ = self.interrupt.recv() => {}
        }
    }
}

/// `watched` are the files as they were before they were read.
async fn conduct<R: Running>(
    mut running: R,
    mut config: R::Config,
    read: impl Fn() -> Result<R::Config>,
    files: impl Fn(&R::Config) -> Vec<PathBuf>,
    mut signals: Signals,
    mut watched: Watched,
) -> Result<()> {
    let name = R::NAME;
    watched = watched.with(files(&config));
    loop {
        let why = match signals.next(&mut watched).await {
            Told::Stop(why) => {
                say(name, &format!("{why}: draining"))?;
                break;
            }
            Told::Reload(why) => why,
        };
        let before = Watched::new(files(&config));
        if files(&config).is_empty() {
            say(name, &format!("{why}: nothing to read again"))?;
            continue;
        }
        let reloaded = async {
            let next = read()?;
            running.reload(&next).await?;
            Ok::<_, anyhow::Error>(next)
        };
        match reloaded.await {
            Ok(next) => {
                config = next;
                say(name, &format!("{why}: reloaded"))?;
                for line in running.addresses(&config) {
                    say(name, &line)?;
                }
                // Other files may be named now.
                watched = before.with(files(&config));
            }
            Err(error) => {
                eprintln!("{name}: {why}: {error:#}");
                say(name, &format!("{why}: not reloaded"))?;
                watched = before;
            }
        }
    }
    tokio::select! {
        () = running.stop() => Ok(()),
        // The operator does not want to wait.
        () = signals.stop() => bail!("stopped before its {} had ended", R::WORK),
    }
}

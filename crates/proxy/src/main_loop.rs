//! Main loop of a proxy process: start, signals, reload and stop.

use crate::config::Flags;
use crate::descriptors;
use crate::log::Log;
use crate::watch::WatchedFiles;
use anyhow::{Context, Result, bail};
use std::future::Future;
use std::io::{self, Write};
use std::path::PathBuf;
use tokio::signal::unix::{Signal, SignalKind, signal};

/// Prints a line for the operator.
fn print_line(name: &str, what: &str) -> Result<()> {
    let mut out = io::stdout().lock();
    writeln!(out, "{name}: {what}").context("cannot write standard output")
}

/// Prints a line about a failure to standard error. If standard error is closed, the line is lost.
pub fn report(name: &str, what: &str) {
    // Without a reader of its messages, a proxy continues to carry flows.
    let _ = writeln!(io::stderr().lock(), "{name}: {what}");
}

/// Proxy that runs until it receives a signal to stop.
pub trait Running: Sized {
    /// Name of the command in its messages.
    const NAME: &'static str;
    /// Plural noun for the work that a second signal aborts, such as "flows".
    const WORK: &'static str;
    /// Checked configuration.
    type Config;

    /// Returns the number of routes.
    fn routes(config: &Self::Config) -> usize;

    /// Returns the files that the configuration names, such as certificates.
    /// The proxy reloads when one of them changes.
    fn files(config: &Self::Config) -> Vec<PathBuf>;

    /// Starts all listeners, or none if one fails.
    fn start(config: &Self::Config) -> impl Future<Output = Result<Self>>;

    /// Returns the logs of the proxy, if it has any.
    fn log(&self) -> Option<&Log> {
        None
    }

    /// Returns a line for each address on which the proxy listens.
    fn addresses(&self, config: &Self::Config) -> Vec<String>;

    /// Replaces the configuration.
    ///
    /// # Errors
    /// An address cannot be opened for listening. The old configuration then stays active.
    fn reload(&mut self, config: &Self::Config) -> impl Future<Output = Result<()>>;

    /// Stops accepting work. Resolves when the open work has ended, or when the drain timeout expires.
    fn stop(self) -> impl Future<Output = ()>;
}

/// Runs a proxy with the configuration that `read` returns, until SIGTERM or SIGINT.
/// A second such signal aborts the open work. SIGHUP or a change of a file reloads the configuration.
///
/// # Errors
/// The configuration is not valid, an address cannot be opened for listening, or standard output cannot be written.
/// A second signal that aborts open work is an error too.
pub fn run<R: Running>(flags: &Flags, read: impl Fn() -> Result<R::Config>) -> Result<()> {
    // The states of the files are recorded before the files are read, so that no change is missed.
    let watched = WatchedFiles::new(flags.config.clone());
    let config = read()?;
    if flags.check {
        let routes = R::routes(&config);
        let valid = format!("the configuration is valid: {routes} route(s)");
        return print_line(R::NAME, &valid);
    }
    descriptors::raise();
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()?;
    runtime.block_on(async {
        // Signal handlers are installed before the start, so that no signal during the start is lost.
        let signals = Signals::new()?;
        let running = R::start(&config).await?;
        for line in running.addresses(&config) {
            print_line(R::NAME, &line)?;
        }
        if let Some(log) = running.log() {
            log.errors(|| tracing::info!("started"));
        }
        let files = |config: &R::Config| {
            let named = R::files(config);
            flags.config.iter().cloned().chain(named).collect()
        };
        handle_events(running, config, read, files, signals, watched).await
    })
}

/// Receiver of signals that arrive after its creation.
#[derive(Debug)]
struct Signals {
    terminate: Signal,
    interrupt: Signal,
    hang_up: Signal,
}

enum Event {
    Stop(&'static str),
    Reload(String),
}

impl Signals {
    /// Installs handlers for SIGTERM, SIGINT and SIGHUP.
    fn new() -> io::Result<Self> {
        Ok(Self {
            terminate: signal(SignalKind::terminate())?,
            interrupt: signal(SignalKind::interrupt())?,
            hang_up: signal(SignalKind::hangup())?,
        })
    }

    async fn next(&mut self, watched: &mut WatchedFiles) -> Event {
        tokio::select! {
            _ = self.terminate.recv() => Event::Stop("SIGTERM"),
            _ = self.interrupt.recv() => Event::Stop("SIGINT"),
            _ = self.hang_up.recv() => Event::Reload("SIGHUP".to_owned()),
            file = watched.changed() => Event::Reload(format!("{} has changed", file.display())),
        }
    }

    async fn stop(&mut self) {
        tokio::select! {
            _ = self.terminate.recv() => {}
            _ = self.interrupt.recv() => {}
        }
    }
}

/// Handles signals and changes of files until the proxy stops.
/// `watched` contains the state of the files before they were first read, so that no change is missed.
async fn handle_events<R: Running>(
    mut running: R,
    mut config: R::Config,
    read: impl Fn() -> Result<R::Config>,
    files: impl Fn(&R::Config) -> Vec<PathBuf>,
    mut signals: Signals,
    mut watched: WatchedFiles,
) -> Result<()> {
    let name = R::NAME;
    watched = watched.with(files(&config));
    loop {
        let why = match signals.next(&mut watched).await {
            Event::Stop(why) => {
                print_line(name, &format!("{why}: draining"))?;
                break;
            }
            Event::Reload(why) => why,
        };
        // The states of the files are recorded before the files are read.
        // A change during the reload then starts another reload.
        let before = WatchedFiles::new(files(&config));
        if files(&config).is_empty() {
            print_line(name, &format!("{why}: nothing to read again"))?;
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
                print_line(name, &format!("{why}: reloaded"))?;
                if let Some(log) = running.log() {
                    log.errors(|| tracing::info!(cause = why, "reloaded"));
                }
                for line in running.addresses(&config) {
                    print_line(name, &line)?;
                }
                // The new configuration may name other files.
                watched = before.with(files(&config));
            }
            Err(error) => {
                report(name, &format!("{why}: {error:#}"));
                if let Some(log) = running.log() {
                    let error = format!("{error:#}");
                    log.errors(|| tracing::error!(cause = why, error, "not reloaded"));
                }
                print_line(name, &format!("{why}: not reloaded"))?;
                watched = before;
            }
        }
    }
    tokio::select! {
        () = running.stop() => Ok(()),
        // A second signal means that the operator does not want to wait.
        () = signals.stop() => bail!("stopped before its {} had ended", R::WORK),
    }
}

//! What a process does at signals and when its files change.

use crate::watch::Watched;
use anyhow::{Context, Result, bail};
use std::future::Future;
use std::io::{self, Write};
use std::path::PathBuf;
use tokio::signal::unix::{Signal, SignalKind, signal};

/// A line of a command for its operator.
///
/// # Errors
/// Standard output that cannot be written.
pub fn say(name: &str, what: &str) -> Result<()> {
    let mut out = io::stdout().lock();
    writeln!(out, "{name}: {what}").context("cannot write standard output")
}

/// What runs until it is told to end.
pub trait Running {
    /// Files whose change is a reason to [`reload`](Self::reload); none where only SIGHUP is.
    fn files(&self) -> Vec<PathBuf>;

    /// Whether there is something to read again.
    fn can_reload(&self) -> bool;

    /// Reads its configuration again. Gives what there is to say then.
    ///
    /// # Errors
    /// What is wrong with the configuration. Then everything is as it was.
    fn reload(&mut self) -> impl Future<Output = Result<Vec<String>>>;

    /// Takes no new work, and resolves when the work that is open has ended, or its time is over.
    fn stop(self) -> impl Future<Output = ()>;

    /// What is lost at a second signal, such as "flows".
    const WORK: &'static str;
}

/// Signals to a process, from when this was made.
#[derive(Debug)]
pub struct Signals {
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
    ///
    /// # Errors
    /// Where the system refuses.
    pub fn new() -> io::Result<Self> {
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

/// Runs until SIGTERM or SIGINT, then lets open work end; a second signal does not wait for it. SIGHUP, and a
/// file that changes, read the configuration again. `name` is the command's; `watched` are its files as they were
/// before they were read.
///
/// # Errors
/// Standard output that cannot be written, or work that had not ended at a second signal.
pub async fn conduct<R: Running>(
    name: &str,
    mut running: R,
    mut signals: Signals,
    mut watched: Watched,
) -> Result<()> {
    watched = watched.with(running.files());
    loop {
        let why = match signals.next(&mut watched).await {
            Told::Stop(why) => {
                say(name, &format!("{why}: draining"))?;
                break;
            }
            Told::Reload(why) => why,
        };
        if !running.can_reload() {
            say(name, &format!("{why}: nothing to read again"))?;
            continue;
        }
        let before = Watched::new(running.files());
        match running.reload().await {
            Ok(lines) => {
                say(name, &format!("{why}: reloaded"))?;
                for line in lines {
                    say(name, &line)?;
                }
                // Other files may be named now.
                watched = before.with(running.files());
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

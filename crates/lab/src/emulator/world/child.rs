//! Waiting for a child while signals come. Without threads: a process whose children are in another process
//! namespace than itself can start none.

use anyhow::{Context, Result};
use signal_hook::consts::SIGCHLD;
use signal_hook::iterator::Signals;
use std::process::{Child, Command, ExitStatus};

/// Starts a program and waits until it has ended. Tells `hear` of each of `signals` that comes meanwhile.
///
/// # Errors
/// The program cannot be started: the inner error. Or the system refuses.
pub fn attend(
    command: &mut Command,
    signals: &[i32],
    hear: impl FnMut(&Child, i32),
) -> Result<std::io::Result<ExitStatus>> {
    let mut waiting = Waiting::for_signals(signals)?;
    match command.spawn() {
        Ok(mut child) => waiting.wait(&mut child, hear).map(Ok),
        Err(error) => Ok(Err(error)),
    }
}

/// Signals that are listened for.
pub struct Waiting(Signals);

impl Waiting {
    /// Listens from now on. Begin before the child does, so that its end is not missed.
    ///
    /// # Errors
    /// The system refuses.
    pub fn for_signals(signals: &[i32]) -> Result<Self> {
        let all = signals.iter().chain(&[SIGCHLD]);
        let signals = Signals::new(all).context("cannot listen for signals")?;
        Ok(Self(signals))
    }

    /// Waits until a child has ended. Tells `hear` of each signal that comes meanwhile.
    ///
    /// # Errors
    /// The system refuses.
    pub fn wait(
        &mut self,
        child: &mut Child,
        mut hear: impl FnMut(&Child, i32),
    ) -> Result<ExitStatus> {
        loop {
            if let Some(status) = child.try_wait().context("cannot wait for a process")? {
                return Ok(status);
            }
            for signal in self.0.wait() {
                if signal != SIGCHLD {
                    hear(child, signal);
                }
            }
        }
    }
}

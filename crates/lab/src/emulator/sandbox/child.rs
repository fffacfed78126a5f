//! Functions that wait for a child process and for signals without a second thread.
//! A process whose children are in another process namespace cannot start threads.

use anyhow::{Context, Result};
use signal_hook::consts::SIGCHLD;
use signal_hook::iterator::Signals;
use std::process::{Child, Command, ExitStatus};

/// Starts a program and waits for the program's end.
/// Calls `on_signal` for each of `signals` that arrives before the end.
///
/// # Errors
/// The outer error means that the kernel rejects a call. The inner error means that the program cannot be started.
pub fn run_child(
    command: &mut Command,
    signals: &[i32],
    on_signal: impl FnMut(&Child, i32),
) -> Result<std::io::Result<ExitStatus>> {
    let mut waiting = SignalWait::for_signals(signals)?;
    match command.spawn() {
        Ok(mut child) => waiting.wait(&mut child, on_signal).map(Ok),
        Err(error) => Ok(Err(error)),
    }
}

/// Recorder of signals for which a process waits.
pub struct SignalWait(Signals);

impl SignalWait {
    /// Starts to record signals. Call this function before the child starts.
    /// A late call could miss the signal that reports the child's end.
    ///
    /// # Errors
    /// The kernel rejects the call.
    pub fn for_signals(signals: &[i32]) -> Result<Self> {
        let all = signals.iter().chain(&[SIGCHLD]);
        let signals = Signals::new(all).context("cannot listen for signals")?;
        Ok(Self(signals))
    }

    /// Waits until a child has ended. Calls `on_signal` for each signal that arrives before the end.
    ///
    /// # Errors
    /// The kernel rejects a call.
    pub fn wait(
        &mut self,
        child: &mut Child,
        mut on_signal: impl FnMut(&Child, i32),
    ) -> Result<ExitStatus> {
        loop {
            if let Some(status) = child.try_wait().context("cannot wait for a process")? {
                return Ok(status);
            }
            for signal in self.0.wait() {
                if signal != SIGCHLD {
                    on_signal(child, signal);
                }
            }
        }
    }
}

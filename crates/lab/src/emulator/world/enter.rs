//! A program on a host: it runs in the host's network and sees the host's own directories, and it keeps the
//! terminal, the open files and the user of the command that started it.

use super::child;
use super::mounts;
use super::namespaces::{self, Namespace};
use crate::emulator::control::Entered;
use anyhow::{Context, Result, anyhow};
use rustix::process::{Pid, Signal, kill_process};
use signal_hook::consts::{SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2};
use std::ffi::OsString;
use std::io::{self, IsTerminal};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, Command, ExitStatus};

/// Runs a program on a host to its end, and gives its exit code; 128 and the signal's number where a signal
/// ended it, 127 where there is no such program, 126 where it cannot be run.
///
/// This process must have one thread, and is on the host afterwards.
///
/// # Errors
/// The lab has gone, or the system refuses.
pub fn run(entered: &Entered, program: &[OsString]) -> Result<i32> {
    let directory = std::env::current_dir();
    move_in(entered)?;
    if let Ok(directory) = directory {
        // Where the host has no such directory, the program starts at the root.
        let _ = std::env::set_current_dir(directory);
    }
    let [name, arguments @ ..] = program else {
        return Err(anyhow!(
            "PROGRAM: found nothing; allowed: a program and its arguments"
        ));
    };
    let mut command = Command::new(name);
    command
        .args(arguments)
        .env("TAILCUT_HOST", entered.host.to_string());
    let die_with_us = || {
        rustix::process::set_parent_process_death_signal(Some(Signal::KILL))?;
        Ok(())
    };
    // SAFETY: between fork and exec only what is async-signal-safe may be called: this is one system call,
    // and it allocates nothing.
    unsafe { command.pre_exec(die_with_us) };
    let keys = [SIGINT, SIGQUIT];
    let has_terminal = io::stdin().is_terminal();
    let pass_on = |program: &Child, number: i32| {
        // The terminal's keys reach the program without us.
        if !(has_terminal && keys.contains(&number))
            && let Some(signal) = Signal::from_named_raw(number)
        {
            let _ = kill_process(Pid::from_child(program), signal);
        }
    };
    let signals = [SIGHUP, SIGTERM, SIGUSR1, SIGUSR2, SIGINT, SIGQUIT];
    match child::attend(&mut command, &signals, pass_on)? {
        Ok(status) => Ok(code(status)),
        Err(error) => {
            let shown = name.to_string_lossy();
            eprintln!("tailcut: cannot run {shown} on {}: {error}", entered.host);
            Ok(match error.kind() {
                io::ErrorKind::NotFound => 127,
                _ => 126,
            })
        }
    }
}

/// Moves this process to a host. Programs that it starts from then on are of the lab.
fn move_in(entered: &Entered) -> Result<()> {
    let kinds = Namespace::OF_LAB.into_iter().chain([Namespace::Network]);
    let kinds = kinds.filter(|kind| *kind != Namespace::User || entered.has_users);
    for (namespace, kind) in entered.namespaces.iter().zip(kinds) {
        namespaces::enter(namespace, kind)
            .with_context(|| format!("cannot enter {}: {kind:?}", entered.host))?;
    }
    for kind in [Namespace::Mount, Namespace::HostName] {
        namespaces::leave_for_new(kind).context("cannot make a namespace for the program")?;
    }
    let name = entered.host.to_string();
    rustix::system::sethostname(name.as_bytes()).context("cannot set the host's name")?;
    mounts::take(entered.host)
}

fn code(status: ExitStatus) -> i32 {
    let signal = || 128 + status.signal().unwrap_or_default();
    status.code().unwrap_or_else(signal)
}

//! Start of programs on a host. The program uses the network and the directories of the host.
//! The program has the terminal, the open files and the user of the command that starts it.

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

/// Runs a program on a host, and returns its exit code.
/// If a signal ended the program, the code is 128 plus the signal's number.
/// The code is 127 if the program does not exist, and 126 if it cannot run.
///
/// The calling process must have only one thread, and stays on the host afterwards.
///
/// # Errors
/// The lab has ended, or the kernel rejects a call.
pub fn run(entered: &Entered, program: &[OsString]) -> Result<i32> {
    let directory = std::env::current_dir();
    enter_host(entered)?;
    if let Ok(directory) = directory {
        // If the current directory does not exist on the host, the program starts in the root directory.
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
    // SAFETY: only async-signal-safe functions may be called between fork and exec.
    // The closure makes one system call and allocates no memory.
    unsafe { command.pre_exec(die_with_us) };
    let keys = [SIGINT, SIGQUIT];
    let has_terminal = io::stdin().is_terminal();
    let pass_on = |program: &Child, number: i32| {
        // If a user presses Ctrl-C or Ctrl-\, the terminal sends the signal to this process and to the program.
        // The lab's process must not forward the signal, or the program would receive the signal twice.
        if !(has_terminal && keys.contains(&number))
            && let Some(signal) = Signal::from_named_raw(number)
        {
            let _ = kill_process(Pid::from_child(program), signal);
        }
    };
    let signals = [SIGHUP, SIGTERM, SIGUSR1, SIGUSR2, SIGINT, SIGQUIT];
    match child::run_child(&mut command, &signals, pass_on)? {
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

/// Moves this process to a host. Programs that it starts later also run on this host.
fn enter_host(entered: &Entered) -> Result<()> {
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
    mounts::enter(entered.host)
}

fn code(status: ExitStatus) -> i32 {
    let signal = || 128 + status.signal().unwrap_or_default();
    status.code().unwrap_or_else(signal)
}

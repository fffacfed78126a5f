//! Main function of the lab's process.
//! The main function creates the hosts, runs the fabric on a second thread, and answers commands.
//! The process is the first in its process namespace. When it ends, the kernel therefore ends all processes of the lab.

use super::lab_process::LaunchMode;
use super::mounts;
use super::namespaces::{self, Namespace, leave_for_new};
use crate::emulator::control::{self, HostAccess};
use crate::emulator::host::{Host, KernelSettings};
use crate::emulator::network;
use crate::emulator::plan::LabPlan;
use anyhow::{Context, Result, anyhow, bail};
use nix::sys::signal::{SIGTERM, SigSet};
use nix::sys::signalfd::{SfdFlags, SignalFd};
use rustix::process::{Resource, Rlimit, Signal, WaitOptions, getrlimit, setrlimit};
use signal_hook::consts::SIGCHLD;
use std::io::Write;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixListener;
use tailcut_units::HostId;

/// Line that the lab's process prints when hosts and network are ready.
pub const READY: &str = "ready";
/// Number of files that the lab keeps open for each host. Two files belong to the namespace.
/// One file belongs to the network card, and one file to the counters.
const FILES_OF_HOST: u64 = 4;
/// Number of other files that the lab keeps open.
const OTHER_FILES: u64 = 64;

/// Runs the lab until its end. Standard input is the socket on which commands connect.
/// Standard output goes to the command that starts the lab: the notes, and as the last line [`READY`].
///
/// # Errors
/// The kernel rejects a call.
pub fn run_lab(mut plan: LabPlan, mode: LaunchMode) -> Result<()> {
    if mode.is_detached {
        rustix::process::setsid().context("cannot leave the terminal")?;
    } else {
        rustix::process::set_parent_process_death_signal(Some(Signal::KILL))
            .context("cannot make the lab end with its command")?;
    }
    if !rustix::process::getpid().is_init() {
        bail!("the lab's process is not the first of its process namespace");
    }
    let listener = std::io::stdin().as_fd().try_clone_to_owned();
    let listener = UnixListener::from(listener.context("no socket")?);
    end_at_sigterm()?;
    reap()?;
    // Dropping this value unregisters the congestion control, so it must live until the lab ends.
    let _congestion = plan.kernel.congestion.make_available()?;
    let hosts = make_hosts(&plan)?;
    for note in notes(&hosts, &plan.kernel) {
        println!("{note}");
    }
    let access = Hosts {
        has_users: mode.has_users,
        of_lab: Namespace::OF_LAB
            .into_iter()
            .filter(|kind| *kind != Namespace::User || mode.has_users)
            .map(|kind| namespaces::current(kind).context("cannot open a namespace"))
            .collect::<Result<_>>()?,
        networks: hosts
            .iter()
            .map(|host| host.namespace.try_clone().context("too many open files"))
            .collect::<Result<_>>()?,
    };
    let network = network::start(plan, hosts)?;
    println!("{READY}");
    std::io::stdout()
        .flush()
        .context("the command that started the lab has ended")?;
    control::serve(&listener, &network, &access).context("the lab's socket failed")
}

/// Returns notes for the user: about settings that the kernel does not have, and about the congestion control.
/// All hosts share one kernel, so the settings of the first host are sufficient.
fn notes(hosts: &[Host], settings: &KernelSettings) -> Vec<String> {
    let missing = hosts.first().map_or(&[][..], |host| &host.missing);
    let missing = missing.iter();
    missing
        .map(|key| format!("this kernel does not have the setting net.{key}"))
        .chain(settings.congestion.note.clone())
        .collect()
}

/// Creates the hosts of the lab. Afterwards, this thread is in an empty network namespace.
fn make_hosts(plan: &LabPlan) -> Result<Vec<Host>> {
    let hosts = plan.topology.hosts();
    raise_limit(u64::from(hosts) * FILES_OF_HOST + OTHER_FILES)?;
    for kind in [Namespace::Mount, Namespace::Ipc, Namespace::HostName] {
        leave_for_new(kind).with_context(|| format!("cannot make a namespace: {kind:?}"))?;
    }
    mounts::prepare(hosts, &plan.routers())?;
    let made = (0..hosts).map(|host| Host::create(HostId(host), hosts, &plan.kernel));
    let made = made.collect::<Result<_>>()?;
    leave_for_new(Namespace::Network).context("cannot make a network namespace")?;
    Ok(made)
}

/// Raises the limit of open files of this process to at least `needed`.
fn raise_limit(needed: u64) -> Result<()> {
    let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
    if current.is_none_or(|current| current >= needed) {
        return Ok(());
    }
    if let Some(maximum) = maximum.filter(|maximum| *maximum < needed) {
        bail!(
            "the hosts need {needed} open files, but this machine allows {maximum} (ulimit -Hn); use \
             fewer hosts"
        );
    }
    let raised = Rlimit {
        current: Some(needed),
        maximum,
    };
    setrlimit(Resource::Nofile, raised).context("cannot raise the limit of open files")
}

/// Starts a thread that ends this process at a SIGTERM from outside of the lab.
/// After the end of the process, the kernel ends the programs on the hosts and removes the lab's congestion control.
/// Call this function before other threads start, because new threads inherit the mask of signals.
fn end_at_sigterm() -> Result<()> {
    let mut signals = SigSet::empty();
    signals.add(SIGTERM);
    signals.thread_block().context("cannot block a signal")?;
    let arrivals = SignalFd::with_flags(&signals, SfdFlags::SFD_CLOEXEC);
    let arrivals = arrivals.context("cannot listen for signals")?;
    let wait = move || {
        while let Ok(Some(signal)) = arrivals.read_signal() {
            // A program on a host must not end the lab.
            // The sender has number 0 if it is outside of this process namespace.
            if signal.ssi_pid == 0 {
                std::process::exit(0);
            }
        }
    };
    let thread = std::thread::Builder::new().name("signals".to_owned());
    thread.spawn(wait).context("cannot start a thread")?;
    Ok(())
}

/// Starts a thread that collects the exit status of orphaned processes.
/// The kernel makes orphans children of the first process of their namespace, which is this process.
fn reap() -> Result<()> {
    let mut signals = signal_hook::iterator::Signals::new([SIGCHLD])
        .map_err(|error| anyhow!("cannot listen for signals: {error}"))?;
    let wait = move || {
        for _ in signals.forever() {
            while let Ok(Some(_)) = rustix::process::wait(WaitOptions::NOHANG) {}
        }
    };
    let thread = std::thread::Builder::new().name("reaper".to_owned());
    thread.spawn(wait).context("cannot start a thread")?;
    Ok(())
}

/// Access to the namespaces of all hosts.
struct Hosts {
    /// Whether the first namespace of `of_lab` is a user namespace.
    has_users: bool,
    /// Namespaces that all hosts share, in the order in which a program must enter them.
    of_lab: Vec<OwnedFd>,
    networks: Vec<OwnedFd>,
}

impl HostAccess for Hosts {
    fn access(&self, host: &str) -> Result<(u32, Vec<OwnedFd>), String> {
        let last = self.networks.len() - 1;
        let number = host
            .strip_prefix('h')
            .and_then(|number| number.parse().ok());
        let known = number.filter(|number: &u32| *number as usize <= last);
        let number = known.ok_or(format!("HOST: found {host}; allowed: h0 to h{last}"))?;
        let all = self.of_lab.iter().chain([&self.networks[number as usize]]);
        let namespaces = all.map(|namespace| namespace.try_clone());
        let namespaces = namespaces.collect::<std::io::Result<_>>();
        let namespaces = namespaces.map_err(|error| format!("cannot open {host}: {error}"))?;
        Ok((number, namespaces))
    }

    fn has_users(&self) -> bool {
        self.has_users
    }
}

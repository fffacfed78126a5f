//! The lab's own process: the first of its process namespace. It sets the hosts up, runs the fabric on a
//! thread of its own, answers commands, and takes everything with it when it ends.

use super::birth::Stage;
use super::mounts;
use super::namespaces::{self, Namespace, leave_for_new};
use crate::emulator::control::{self, Ways};
use crate::emulator::host::{Host, KernelSettings};
use crate::emulator::network;
use crate::emulator::plan::LabPlan;
use anyhow::{Context, Result, anyhow, bail};
use rustix::process::{Resource, Rlimit, Signal, WaitOptions, getrlimit, setrlimit};
use signal_hook::consts::SIGCHLD;
use std::io::Write;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixListener;
use tailcut_units::HostId;

/// What the lab's process says when hosts and network are there.
pub const READY: &str = "ready";
/// Files that each host keeps open, and those of the lab itself.
const FILES_OF_HOST: u64 = 4;
const OTHER_FILES: u64 = 64;

/// Lives the lab's life, and ends with it. Standard input is the socket that commands connect to; what goes
/// wrong at the start goes to standard output, for the command that waits there.
///
/// # Errors
/// The system refuses something.
pub fn live(mut plan: LabPlan, stage: Stage) -> Result<()> {
    if stage.is_detached {
        rustix::process::setsid().context("cannot leave the terminal")?;
    } else {
        rustix::process::set_parent_process_death_signal(Some(Signal::KILL))
            .context("cannot tie the lab to its command")?;
    }
    if !rustix::process::getpid().is_init() {
        bail!("the lab's process has no namespace of its own");
    }
    let listener = std::io::stdin().as_fd().try_clone_to_owned();
    let listener = UnixListener::from(listener.context("no socket")?);
    reap()?;
    // Held until the lab ends.
    let _congestion = plan.kernel.congestion.provide()?;
    let hosts = make_hosts(&plan)?;
    for note in notes(&hosts, &plan.kernel) {
        println!("{note}");
    }
    let ways = Hosts {
        has_users: stage.has_users,
        of_lab: Namespace::OF_LAB
            .into_iter()
            .filter(|kind| *kind != Namespace::User || stage.has_users)
            .map(|kind| namespaces::current(kind).context("cannot hold a namespace"))
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
        .context("nobody waits for the lab")?;
    control::serve(&listener, &network, &ways).context("the lab's socket failed")
}

/// What this kernel cannot do or does in its own way, said once for all hosts.
fn notes(hosts: &[Host], settings: &KernelSettings) -> Vec<String> {
    let missing = hosts.first().map_or(&[][..], |host| &host.missing);
    let missing = missing.iter();
    missing
        .map(|key| format!("this kernel has no net.{key}: it stays as it is"))
        .chain(settings.congestion.note.clone())
        .collect()
}

/// Makes the hosts. This thread is in an empty network afterwards.
fn make_hosts(plan: &LabPlan) -> Result<Vec<Host>> {
    let hosts = plan.topology.hosts();
    raise_limit(u64::from(hosts) * FILES_OF_HOST + OTHER_FILES)?;
    for kind in [Namespace::Mount, Namespace::Ipc, Namespace::HostName] {
        leave_for_new(kind).with_context(|| format!("cannot make a namespace: {kind:?}"))?;
    }
    mounts::lay_out(hosts, &plan.routers())?;
    let made = (0..hosts).map(|host| Host::create(HostId(host), hosts, &plan.kernel));
    let made = made.collect::<Result<_>>()?;
    leave_for_new(Namespace::Network).context("cannot make a network namespace")?;
    Ok(made)
}

/// Allows this process as many open files as it needs.
fn raise_limit(needed: u64) -> Result<()> {
    let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
    if current.is_none_or(|current| current >= needed) {
        return Ok(());
    }
    if let Some(maximum) = maximum.filter(|maximum| *maximum < needed) {
        bail!(
            "so many hosts need {needed} open files, and this machine allows {maximum} (ulimit -Hn); use \
             fewer hosts"
        );
    }
    let raised = Rlimit {
        current: Some(needed),
        maximum,
    };
    setrlimit(Resource::Nofile, raised).context("cannot raise the limit of open files")
}

/// Takes note of the death of processes whose parents have died before them: the first process of a
/// namespace inherits them.
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

/// The ways into the hosts.
struct Hosts {
    has_users: bool,
    of_lab: Vec<OwnedFd>,
    networks: Vec<OwnedFd>,
}

impl Ways for Hosts {
    fn way(&self, host: &str) -> Result<(u32, Vec<OwnedFd>), String> {
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

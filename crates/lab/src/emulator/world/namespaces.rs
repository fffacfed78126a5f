//! The kernel's namespaces: made, held, entered.

use rustix::fs::{Mode, OFlags};
use rustix::io::Result;
use rustix::thread::{LinkNameSpaceType, UnshareFlags, move_into_link_name_space, unshare_unsafe};
use std::os::fd::{AsFd, OwnedFd};

/// A kind of namespace.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Namespace {
    /// Users and what they may do.
    User,
    /// Processes, for those that are started from then on.
    Process,
    /// Mounted file systems.
    Mount,
    /// Networks.
    Network,
    /// The host's name.
    HostName,
    /// System V's and POSIX' ways for processes to talk.
    Ipc,
}

impl Namespace {
    /// Those of a lab that a program of a host enters before its own host's network, in the order in which
    /// it has to.
    pub const OF_LAB: [Self; 4] = [Self::User, Self::Process, Self::Ipc, Self::Mount];

    const fn flag(self) -> UnshareFlags {
        match self {
            Self::User => UnshareFlags::NEWUSER,
            Self::Process => UnshareFlags::NEWPID,
            Self::Mount => UnshareFlags::NEWNS,
            Self::Network => UnshareFlags::NEWNET,
            Self::HostName => UnshareFlags::NEWUTS,
            Self::Ipc => UnshareFlags::NEWIPC,
        }
    }

    const fn kind(self) -> LinkNameSpaceType {
        match self {
            Self::User => LinkNameSpaceType::User,
            Self::Process => LinkNameSpaceType::ProcessID,
            Self::Mount => LinkNameSpaceType::Mount,
            Self::Network => LinkNameSpaceType::Network,
            Self::HostName => LinkNameSpaceType::HostNameAndNISDomainName,
            Self::Ipc => LinkNameSpaceType::InterProcessCommunication,
        }
    }

    const fn file(self) -> &'static str {
        match self {
            Self::User => "user",
            Self::Process => "pid",
            Self::Mount => "mnt",
            Self::Network => "net",
            Self::HostName => "uts",
            Self::Ipc => "ipc",
        }
    }
}

/// Leaves the present namespace of a kind for a new one. A process with several threads can do so for
/// networks only.
///
/// # Errors
/// The system refuses.
pub fn leave_for_new(kind: Namespace) -> Result<()> {
    // SAFETY: the call is unsafe for the flags that take file descriptors or memory away from other threads
    // of the process. `Namespace` has none of them.
    unsafe { unshare_unsafe(kind.flag()) }
}

/// This thread's namespace of a kind, to be entered later.
///
/// # Errors
/// The system refuses.
pub fn current(kind: Namespace) -> Result<OwnedFd> {
    let path = format!("/proc/thread-self/ns/{}", kind.file());
    let flags = OFlags::RDONLY | OFlags::CLOEXEC;
    rustix::fs::open(path, flags, Mode::empty())
}

/// Enters a namespace.
///
/// # Errors
/// The system refuses.
pub fn enter(namespace: impl AsFd, kind: Namespace) -> Result<()> {
    move_into_link_name_space(namespace.as_fd(), Some(kind.kind()))
}

//! Namespaces of the kernel: functions that create, open and enter them.

use rustix::fs::{Mode, OFlags};
use rustix::io::Result;
use rustix::thread::{LinkNameSpaceType, UnshareFlags, move_into_link_name_space, unshare_unsafe};
use std::os::fd::{AsFd, OwnedFd};

/// Kind of namespace: the part of the system that it isolates.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Namespace {
    /// Namespace of users and their privileges.
    User,
    /// Namespace of processes.
    /// A new namespace applies to child processes that start later, but not to the process itself.
    Process,
    /// Namespace of mounted file systems.
    Mount,
    /// Namespace of network devices, addresses and routes.
    Network,
    /// Namespace of the host name.
    HostName,
    /// Namespace of System V and POSIX interprocess communication.
    Ipc,
}

impl Namespace {
    /// Namespaces of a lab, in the order in which a program on a host must enter them.
    /// The program enters the network namespace of the host last.
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

/// Creates a namespace and moves the calling thread into it.
/// If the process has several threads, only network namespaces are possible.
///
/// # Errors
/// The kernel rejects the call.
pub fn leave_for_new(kind: Namespace) -> Result<()> {
    // SAFETY: the call is unsafe only for flags that remove file descriptors or memory from other threads.
    // No variant of `Namespace` has a flag that removes file descriptors or memory.
    unsafe { unshare_unsafe(kind.flag()) }
}

/// Opens the current namespace of this thread. A thread can later enter the returned namespace.
///
/// # Errors
/// The kernel rejects the call.
pub fn current(kind: Namespace) -> Result<OwnedFd> {
    let path = format!("/proc/thread-self/ns/{}", kind.file());
    let flags = OFlags::RDONLY | OFlags::CLOEXEC;
    rustix::fs::open(path, flags, Mode::empty())
}

/// Moves the calling thread into a namespace.
///
/// # Errors
/// The kernel rejects the call.
pub fn enter(namespace: impl AsFd, kind: Namespace) -> Result<()> {
    move_into_link_name_space(namespace.as_fd(), Some(kind.kind()))
}

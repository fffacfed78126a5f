//! Start of a lab's process. The process is the first in a new process namespace.
//! When this process ends, the kernel therefore ends all processes in this namespace.

use super::namespaces::{Namespace, leave_for_new};
use crate::emulator::control;
use anyhow::{Context, Result, anyhow, bail};
use rustix::io::Errno;
use std::fs;
use std::io::{self, BufRead, BufReader};
use std::os::fd::OwnedFd;
use std::process::{Child, Command, Stdio};

/// Environment variable of the lab's process. Its value is the name of a [`LaunchMode`].
const LAUNCH_MODE: &str = "TAILCUT_LAB_STAGE";

/// Options with which the lab's process was started.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LaunchMode {
    /// Whether the process continues when the command that started it ends.
    pub is_detached: bool,
    /// Whether the process has its own user namespace.
    pub has_users: bool,
}

impl LaunchMode {
    const ALL: [(&'static str, Self); 4] = [
        ("attached", Self::new(false, false)),
        ("attached-with-users", Self::new(false, true)),
        ("detached", Self::new(true, false)),
        ("detached-with-users", Self::new(true, true)),
    ];

    const fn new(is_detached: bool, has_users: bool) -> Self {
        Self {
            is_detached,
            has_users,
        }
    }

    /// Returns the options of this process; `None` for a process that is no lab.
    pub fn of_this_process() -> Option<Self> {
        let word = std::env::var(LAUNCH_MODE).ok()?;
        let mut all = Self::ALL.into_iter();
        all.find(|(name, _)| *name == word).map(|(_, mode)| mode)
    }

    fn word(self) -> &'static str {
        let mut all = Self::ALL.into_iter();
        all.find(|(_, mode)| *mode == self)
            .map_or("", |(name, _)| name)
    }
}

/// Starts the process of the lab `name`, and waits until the lab is ready.
/// The process runs the same program with the same arguments as this process.
/// Returns the process, and the notes that it has printed.
///
/// # Errors
/// The name is in use, the kernel allows no namespaces, or the lab could not be set up.
pub fn start_lab(name: &str, is_detached: bool) -> Result<(Child, Vec<String>)> {
    let listener = match control::listen(name) {
        Err(error) if error.kind() == io::ErrorKind::AddrInUse => bail!(
            "--name: found {name}, which {}",
            match control::is_foreign(name) {
                true => "a process of another user has taken; allowed: another name",
                false => "is already running; allowed: another name, or tailcut lab down first",
            }
        ),
        listener => listener.context("cannot open the lab's socket")?,
    };
    let has_users = gain_privileges()?;
    let mode = LaunchMode::new(is_detached, has_users);
    leave_for_new(Namespace::Process).context("cannot make a namespace for processes")?;
    let mut command = Command::new("/proc/self/exe");
    command
        .args(std::env::args_os().skip(1))
        .env(LAUNCH_MODE, mode.word())
        .stdin(Stdio::from(OwnedFd::from(listener)))
        .stdout(Stdio::piped());
    if is_detached {
        // The lab must not keep standard error open.
        // With an open standard error, a program that reads the command's output would wait until the lab ends.
        command.stderr(Stdio::null());
    }
    let mut child = command.spawn().context("cannot start the lab's process")?;
    let said = child.stdout.take().ok_or_else(|| anyhow!("no pipe"))?;
    let mut lines = BufReader::new(said).lines();
    let mut notes = Vec::new();
    loop {
        match lines.next() {
            Some(Ok(line)) if line == super::lab_main::READY => return Ok((child, notes)),
            Some(Ok(line)) => notes.push(line),
            Some(Err(_)) | None => {
                // The process has ended without the line `READY`, so its lines are an error message.
                let _ = child.wait();
                return Err(anyhow!(notes.join("\n")));
            }
        }
    }
}

/// Gains the privileges to create namespaces. Root already has them.
/// Any user except root gets the privileges in a new user namespace, in which the user has the number of root.
/// Returns whether this process is in a new user namespace.
///
/// # Errors
/// The system allows no user namespaces.
pub fn gain_privileges() -> Result<bool> {
    if rustix::process::geteuid().is_root() {
        return Ok(false);
    }
    let (user, group) = (rustix::process::geteuid(), rustix::process::getegid());
    match leave_for_new(Namespace::User) {
        Ok(()) => {}
        Err(Errno::PERM | Errno::NOSPC | Errno::USERS | Errno::INVAL) => bail!(refused()),
        Err(error) => return Err(error).context("cannot make a user namespace"),
    }
    let write =
        |file: &str, text: String| fs::write(format!("/proc/self/{file}"), text).context(refused());
    // An ordinary user may write `gid_map` only after setgroups is denied (user_namespaces(7)).
    write("setgroups", "deny".to_owned())?;
    write("uid_map", format!("0 {} 1", user.as_raw()))?;
    write("gid_map", format!("0 {} 1", group.as_raw()))?;
    Ok(true)
}

/// Returns the error text for a system on which ordinary users may not create user namespaces.
/// The text names the setting that allows user namespaces.
fn refused() -> &'static str {
    let restricted = "/proc/sys/kernel/apparmor_restrict_unprivileged_userns";
    match fs::read_to_string(restricted).is_ok_and(|value| value.trim() == "1") {
        true => {
            "this kernel does not allow user namespaces for ordinary users: run as root, or allow them \
             (sysctl kernel.apparmor_restrict_unprivileged_userns=0)"
        }
        false => {
            "this kernel does not allow user namespaces for ordinary users: run as root, or allow them (sysctl \
             user.max_user_namespaces=10000, and on older Debian kernel.unprivileged_userns_clone=1)"
        }
    }
}

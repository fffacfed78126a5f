//! How a lab's process comes into the world: the first one of process namespace of its own, so that the
//! kernel ends everything in it when it dies.

use super::namespaces::{Namespace, leave_for_new};
use crate::emulator::control;
use anyhow::{Context, Result, anyhow, bail};
use rustix::io::Errno;
use std::fs;
use std::io::{self, BufRead, BufReader};
use std::os::fd::OwnedFd;
use std::process::{Child, Command, Stdio};

/// Set in the environment of the lab's own process, with how it was begun.
const STAGE: &str = "TAILCUT_LAB_STAGE";

/// How a lab's own process was begun.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Stage {
    /// Whether it goes on when the command that began it ends.
    pub is_detached: bool,
    /// Whether it has a user namespace of its own.
    pub has_users: bool,
}

impl Stage {
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

    /// How this process was begun; `None` for one that is no lab's own.
    pub fn of_this_process() -> Option<Self> {
        let word = std::env::var(STAGE).ok()?;
        let mut all = Self::ALL.into_iter();
        all.find(|(name, _)| *name == word).map(|(_, stage)| stage)
    }

    fn word(self) -> &'static str {
        let mut all = Self::ALL.into_iter();
        all.find(|(_, stage)| *stage == self)
            .map_or("", |(name, _)| name)
    }
}

/// Starts this program again, with the same arguments, as the process of the lab `name`, and waits until the
/// lab is there. Gives the process, and what it said.
///
/// # Errors
/// The name is taken, the kernel allows no namespaces, or the lab could not be set up.
pub fn bear(name: &str, is_detached: bool) -> Result<(Child, Vec<String>)> {
    let listener = match control::listen(name) {
        Err(error) if error.kind() == io::ErrorKind::AddrInUse => bail!(
            "--name: found {name}, which runs already; allowed: another name, or tailcut lab down first"
        ),
        listener => listener.context("cannot open the lab's socket")?,
    };
    let has_users = take_power()?;
    let stage = Stage::new(is_detached, has_users);
    leave_for_new(Namespace::Process).context("cannot make a namespace for processes")?;
    let mut command = Command::new("/proc/self/exe");
    command
        .args(std::env::args_os().skip(1))
        .env(STAGE, stage.word())
        .stdin(Stdio::from(OwnedFd::from(listener)))
        .stdout(Stdio::piped());
    if is_detached {
        // Whoever reads what this command says is not to wait for the lab's end.
        command.stderr(Stdio::null());
    }
    let mut child = command.spawn().context("cannot start the lab's process")?;
    let said = child.stdout.take().ok_or_else(|| anyhow!("no pipe"))?;
    let mut lines = BufReader::new(said).lines();
    let mut notes = Vec::new();
    loop {
        match lines.next() {
            Some(Ok(line)) if line == super::inside::READY => return Ok((child, notes)),
            Some(Ok(line)) => notes.push(line),
            Some(Err(_)) | None => {
                let _ = child.wait();
                return Err(anyhow!(notes.join("\n")));
            }
        }
    }
}

/// Gets what it takes to make namespaces: root has it; others have it in a user namespace of their own, in
/// which they look like root. Gives whether it is so.
///
/// # Errors
/// The system allows no user namespaces.
pub fn take_power() -> Result<bool> {
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
    write("setgroups", "deny".to_owned())?;
    write("uid_map", format!("0 {} 1", user.as_raw()))?;
    write("gid_map", format!("0 {} 1", group.as_raw()))?;
    Ok(true)
}

/// What to allow where an ordinary user may not have a user namespace.
fn refused() -> &'static str {
    let restricted = "/proc/sys/kernel/apparmor_restrict_unprivileged_userns";
    match fs::read_to_string(restricted).is_ok_and(|value| value.trim() == "1") {
        true => {
            "this kernel allows no user namespaces to ordinary users: run as root, or allow them \
             (sysctl kernel.apparmor_restrict_unprivileged_userns=0)"
        }
        false => {
            "this kernel allows no user namespaces to ordinary users: run as root, or allow them (sysctl \
             user.max_user_namespaces=10000, and on older Debian kernel.unprivileged_userns_clone=1)"
        }
    }
}

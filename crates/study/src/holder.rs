//! Holder of a lock: a process on some machine.

use serde::{Deserialize, Serialize};
use std::fmt;
use std::fmt::Write as _;
use std::fs;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};
use tailcut_record::Fingerprint;

/// Process that holds a lock. The lock's file contains the fields of the holder.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Holder {
    /// Name of the machine.
    pub host: String,
    /// Process number on the machine.
    pub pid: u32,
    /// Scope of the process number: boot of the machine and process namespace. Empty if the system does not provide it.
    #[serde(default)]
    pub pids_of: String,
    /// Time when the process took the lock: RFC 3339, UTC, by the clock of its machine.
    pub since: String,
    /// Time of the last heartbeat, by the clock of the holder's machine.
    pub heartbeat: String,
    /// Unique mark of this lock.
    pub mark: String,
}

impl fmt::Display for Holder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "process {} on {}", self.pid, self.host)
    }
}

impl Holder {
    /// Returns this process at the current time.
    pub(crate) fn this() -> Self {
        let now = now();
        Self {
            host: host(),
            pid: std::process::id(),
            pids_of: pids_of(),
            since: now.clone(),
            heartbeat: now,
            mark: mark(),
        }
    }

    /// Returns whether the process number belongs to this machine.
    pub(crate) fn is_here(&self) -> bool {
        self.host == host() && self.pids_of == pids_of()
    }

    /// Returns whether the process has certainly ended.
    /// The end is certain if the process number belongs to this machine, and no process has this number.
    pub(crate) fn has_ended(&self) -> bool {
        let is_known = !self.pids_of.is_empty() && self.is_here();
        is_known && !is_running(self.pid)
    }

    /// Returns the seconds from the time when the holder took the lock to its last heartbeat.
    /// The two times are from the holder's clock.
    pub(crate) fn held_seconds(&self) -> f64 {
        let read = |text: &str| chrono::DateTime::parse_from_rfc3339(text).ok();
        match (read(&self.since), read(&self.heartbeat)) {
            (Some(since), Some(beat)) => (beat - since).num_seconds().max(0) as f64,
            _ => 0.0,
        }
    }
}

/// Returns the current time: RFC 3339, UTC, whole seconds.
pub(crate) fn now() -> String {
    chrono::Utc::now().to_rfc3339_opts(chrono::SecondsFormat::Secs, true)
}

/// Returns a unique text of 16 hexadecimal digits for names of files.
pub(crate) fn mark() -> String {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    let since_1970 = SystemTime::now().duration_since(UNIX_EPOCH);
    let nanos = since_1970.map_or(0, |since| since.as_nanos());
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    let mut all = Fingerprint::new();
    // Writing to a fingerprint cannot fail.
    let _ = write!(
        all,
        "{} {} {} {nanos} {number}",
        host(),
        pids_of(),
        std::process::id()
    );
    all.digits()[..16].to_owned()
}

#[cfg(unix)]
pub(crate) fn host() -> String {
    rustix::system::uname()
        .nodename()
        .to_string_lossy()
        .into_owned()
}

#[cfg(not(unix))]
pub(crate) fn host() -> String {
    "this machine".to_owned()
}

/// Returns whether a process with this number is running, according to `/proc`.
fn is_running(pid: u32) -> bool {
    let Ok(stat) = fs::read_to_string(format!("/proc/{pid}/stat")) else {
        return false;
    };
    // The state is the letter after the process name, which is in parentheses and may contain any character.
    // Z is a process that has ended, but whose parent has not read its exit status yet. X is a dead process.
    let state = stat.rsplit(") ").next().unwrap_or_default();
    !state.starts_with(['Z', 'X'])
}

/// Returns the scope in which a process number is unique. Empty if the system does not provide it.
fn pids_of() -> String {
    let boot = fs::read_to_string("/proc/sys/kernel/random/boot_id");
    let namespace = fs::read_link("/proc/self/ns/pid");
    match (boot, namespace) {
        (Ok(boot), Ok(namespace)) => format!("{} {}", boot.trim(), namespace.display()),
        _ => String::new(),
    }
}

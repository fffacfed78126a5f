//! Who holds a lock: a process on some machine.

use serde::{Deserialize, Serialize};
use std::fmt;
use std::fmt::Write as _;
use std::fs;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};
use tailcut_record::Fingerprint;

/// A process that holds a lock, as the lock's file tells it.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Holder {
    /// The name of its machine.
    pub host: String,
    /// Its number there.
    pub pid: u32,
    /// Within which that number means something: the machine's boot and its namespace of processes;
    /// empty where the system does not say.
    #[serde(default)]
    pub pids_of: String,
    /// Since when it has had the lock: RFC 3339, UTC, by its machine's clock.
    pub since: String,
    /// When it last said that it goes on, by the same clock.
    pub heartbeat: String,
    /// Tells this lock from every other.
    pub mark: String,
}

impl fmt::Display for Holder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "process {} on {}", self.pid, self.host)
    }
}

impl Holder {
    /// This process, now.
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

    /// Whether its number is one of this machine.
    pub(crate) fn is_here(&self) -> bool {
        self.host == host() && self.pids_of == pids_of()
    }

    /// Whether the process has certainly ended: its number is of this machine, and nobody has it.
    pub(crate) fn has_ended(&self) -> bool {
        let is_known = !self.pids_of.is_empty() && self.is_here();
        is_known && !is_running(self.pid)
    }

    /// Seconds from when it took the lock to its last heartbeat, by its own clock.
    pub(crate) fn held_seconds(&self) -> f64 {
        let read = |text: &str| chrono::DateTime::parse_from_rfc3339(text).ok();
        match (read(&self.since), read(&self.heartbeat)) {
            (Some(since), Some(beat)) => (beat - since).num_seconds().max(0) as f64,
            _ => 0.0,
        }
    }
}

/// This moment: RFC 3339, UTC, whole seconds.
pub(crate) fn now() -> String {
    chrono::Utc::now().to_rfc3339_opts(chrono::SecondsFormat::Secs, true)
}

/// Digits that nobody else has, for names of files.
pub(crate) fn mark() -> String {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    let since_1970 = SystemTime::now().duration_since(UNIX_EPOCH);
    let nanos = since_1970.map_or(0, |since| since.as_nanos());
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    let mut all = Fingerprint::new();
    // A fingerprint takes everything.
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

/// Whether a process of this number goes on, where the system tells that in `/proc`.
fn is_running(pid: u32) -> bool {
    let Ok(stat) = fs::read_to_string(format!("/proc/{pid}/stat")) else {
        return false;
    };
    // Behind the name, which may have anything in it, is a letter: Z for what has ended unnoticed.
    let state = stat.rsplit(") ").next().unwrap_or_default();
    !state.starts_with(['Z', 'X'])
}

/// What a process's number is unique within; empty where the system does not say.
fn pids_of() -> String {
    let boot = fs::read_to_string("/proc/sys/kernel/random/boot_id");
    let namespace = fs::read_link("/proc/self/ns/pid");
    match (boot, namespace) {
        (Ok(boot), Ok(namespace)) => format!("{} {}", boot.trim(), namespace.display()),
        _ => String::new(),
    }
}

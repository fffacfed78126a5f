//! Programs in network namespaces, and the CPU time that they take.

use std::ffi::OsString;
use std::io;
use std::process::{Command, Stdio};

/// A program that runs.
pub struct Running {
    pid: libc::pid_t,
    name: String,
}

/// What a program has used when it ended.
pub struct Ended {
    /// Seconds of CPU, user and system, of it and of its children.
    pub cpu: f64,
    /// Peak memory in bytes.
    pub memory: u64,
    is_well: bool,
}

/// Starts a program in a namespace, with its output to standard error only where it fails.
pub fn start(space: &str, command: &[OsString]) -> io::Result<Running> {
    let child = Command::new("ip")
        .args(["netns", "exec", space])
        .args(command)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(match std::env::var_os("BENCH_SHOWS") {
            Some(_) => Stdio::inherit(),
            None => Stdio::null(),
        })
        .spawn()?;
    Ok(Running {
        pid: child.id() as libc::pid_t,
        name: command
            .first()
            .map(|name| name.to_string_lossy().into_owned())
            .unwrap_or_default(),
    })
}

impl Running {
    /// Waits for its end.
    pub fn wait(self) -> io::Result<Ended> {
        let (mut status, mut usage) = (0, unsafe { std::mem::zeroed::<libc::rusage>() });
        // SAFETY: both are written to by the kernel and live until the call is over.
        let waited = unsafe { libc::wait4(self.pid, &mut status, 0, &mut usage) };
        if waited != self.pid {
            return Err(io::Error::last_os_error());
        }
        let seconds = |time: libc::timeval| time.tv_sec as f64 + time.tv_usec as f64 * 1e-6;
        Ok(Ended {
            cpu: seconds(usage.ru_utime) + seconds(usage.ru_stime),
            memory: usage.ru_maxrss as u64 * 1024,
            is_well: status == 0,
        })
    }

    /// The same; it has to end well.
    pub fn succeed(self) -> io::Result<Ended> {
        let name = self.name.clone();
        let ended = self.wait()?;
        match ended.is_well {
            true => Ok(ended),
            false => Err(io::Error::other(format!(
                "{name} failed (BENCH_SHOWS=1 shows what it says)"
            ))),
        }
    }

    /// Asks a daemon to end, and waits for that.
    pub fn stop(self) -> io::Result<Ended> {
        // SAFETY: a process of our own that nobody has waited for yet.
        unsafe { libc::kill(self.pid, libc::SIGTERM) };
        self.wait()
    }
}

/// Seconds of CPU that the whole machine has used: user, nice, system, interrupts.
pub fn machine() -> io::Result<f64> {
    let text = std::fs::read_to_string("/proc/stat")?;
    let first = text.lines().next().unwrap_or_default();
    let ticks: Vec<f64> = first
        .split_whitespace()
        .skip(1)
        .filter_map(|tick| tick.parse().ok())
        .collect();
    // SAFETY: it takes a number and gives one.
    let a_second = unsafe { libc::sysconf(libc::_SC_CLK_TCK) } as f64;
    // Idle and waiting for a disk are the fourth and fifth.
    let busy = [0, 1, 2, 5, 6]
        .iter()
        .filter_map(|at| ticks.get(*at))
        .sum::<f64>();
    Ok(busy / a_second)
}

/// Seconds of CPU of the kernel's threads for packets that nobody's system call handles.
pub fn softirqs() -> io::Result<f64> {
    let mut all = 0.0;
    for entry in std::fs::read_dir("/proc")? {
        let path = entry?.path();
        let name = std::fs::read_to_string(path.join("comm")).unwrap_or_default();
        if name.starts_with("ksoftirqd/") {
            let times = std::fs::read_to_string(path.join("schedstat")).unwrap_or_default();
            let ns: f64 = times
                .split_whitespace()
                .next()
                .and_then(|ns| ns.parse().ok())
                .unwrap_or(0.0);
            all += ns * 1e-9;
        }
    }
    Ok(all)
}

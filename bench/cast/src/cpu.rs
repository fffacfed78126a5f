//! Start of programs in network namespaces, and measurement of their CPU time.

use std::ffi::OsString;
use std::io;
use std::process::{Command, Stdio};

/// Running program.
pub struct Running {
    pid: libc::pid_t,
    name: String,
}

/// Resources that a program used from its start to its end.
pub struct Ended {
    /// CPU time of the program and its children in seconds, user and system.
    pub cpu: f64,
    /// Peak memory in bytes.
    pub memory: u64,
    is_well: bool,
}

/// Starts a program in a namespace, and discards its output.
/// If the variable BENCH_SHOWS is set, standard error is shown.
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
    /// Waits until the program ends.
    pub fn wait(self) -> io::Result<Ended> {
        let (mut status, mut usage) = (0, unsafe { std::mem::zeroed::<libc::rusage>() });
        // SAFETY: the kernel writes to both variables, and both variables live until the call returns.
        // `std::process::Child` cannot return the CPU time of the process.
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

    /// Waits until the program ends. Returns an error if it fails.
    pub fn succeed(self) -> io::Result<Ended> {
        let name = self.name.clone();
        let ended = self.wait()?;
        match ended.is_well {
            true => Ok(ended),
            false => Err(io::Error::other(format!(
                "{name} failed (BENCH_SHOWS=1 shows its output)"
            ))),
        }
    }

    /// Ends a daemon with SIGTERM, and waits for its end.
    pub fn stop(self) -> io::Result<Ended> {
        // SAFETY: the process is a child of this process, and no call has waited for it yet.
        unsafe { libc::kill(self.pid, libc::SIGTERM) };
        self.wait()
    }
}

/// Returns the CPU time of the whole machine in seconds: user (also with a low priority), system, and interrupts.
pub fn machine() -> io::Result<f64> {
    let text = std::fs::read_to_string("/proc/stat")?;
    let first = text.lines().next().unwrap_or_default();
    let ticks: Vec<f64> = first
        .split_whitespace()
        .skip(1)
        .filter_map(|tick| tick.parse().ok())
        .collect();
    // SAFETY: the call gets a number and returns a number. It uses no memory of this process.
    let a_second = unsafe { libc::sysconf(libc::_SC_CLK_TCK) } as f64;
    // The fourth and the fifth field are left out: the time without work, and the time of waits for disks.
    let busy = [0, 1, 2, 5, 6]
        .iter()
        .filter_map(|at| ticks.get(*at))
        .sum::<f64>();
    Ok(busy / a_second)
}

/// Returns the CPU time in seconds of the kernel's threads that process packets outside system calls.
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

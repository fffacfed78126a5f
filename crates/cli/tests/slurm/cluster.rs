//! Slurm cluster on this machine.
//! The daemons of the cluster use the loopback interface, and have their own files and ports.

use crate::test_dir::Ended;
use std::fs::{self, File, Permissions};
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

/// Time limit for operations that normally take seconds. Slow machines need more.
const PATIENCE: Duration = Duration::from_secs(240);

/// Interval between two checks of a condition.
const LOOK_EVERY: Duration = Duration::from_millis(100);

/// Repeats `look` until it succeeds. `what` names the condition in the error.
pub fn until<T>(what: &str, mut look: impl FnMut() -> Result<T, String>) -> T {
    let begun = Instant::now();
    loop {
        match look() {
            Ok(found) => return found,
            Err(seen) if begun.elapsed() > PATIENCE => panic!("no {what}: {seen}"),
            Err(_) => thread::sleep(LOOK_EVERY),
        }
    }
}

/// Cluster of a controller, a node with two processors, and the authentication service munge.
pub struct Cluster {
    munged: Child,
    controller: Child,
    node: Child,
    // Temporary directory of the cluster. The directory is removed after the daemons have ended.
    dir: tempfile::TempDir,
}

impl Cluster {
    pub fn start() -> Self {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let path = dir.path();
        // Jobs and daemons that run as other users need access to the directory.
        fs::set_permissions(path, Permissions::from_mode(0o755)).expect("permissions");
        let key = path.join("key");
        // The key need not be secret, because it authenticates only the daemons of this test.
        fs::write(&key, [b'k'; 1024]).expect("a key");
        fs::set_permissions(&key, Permissions::from_mode(0o400)).expect("permissions");
        for folder in ["state", "spool"] {
            fs::create_dir(path.join(folder)).expect("a folder");
        }
        fs::write(path.join("slurm.conf"), config(path)).expect("a configuration");
        let socket = path.join("munge");
        let in_dir = |flag: &str, name: &str| format!("--{flag}={}", path.join(name).display());
        let munged = daemon(path, "munged", |command| {
            command
                .args(["--foreground", "--force"])
                .args([in_dir("socket", "munge"), in_dir("key-file", "key")])
                .args([
                    in_dir("pid-file", "munged.pid"),
                    in_dir("seed-file", "seed"),
                ])
                .arg(in_dir("log-file", "munged.log"));
        });
        until("socket of munged", || match socket.exists() {
            true => Ok(()),
            false => Err(format!("{} is not there", socket.display())),
        });
        let controller = daemon(path, "slurmctld", |command| {
            command.arg("-D");
        });
        let cluster = Self {
            munged,
            controller,
            node: start_node(path),
            dir,
        };
        cluster.wait_for_node("idle");
        cluster
    }

    /// Returns a command with the environment of this cluster.
    pub fn with(&self, mut command: Command) -> Command {
        command.env("SLURM_CONF", self.dir.path().join("slurm.conf"));
        command
    }

    /// Runs a command of Slurm and returns its output.
    pub fn query(&self, program: &str, arguments: &[&str]) -> String {
        let mut command = self.with(Command::new(program));
        let output = command.args(arguments).output();
        let ended: Ended = output
            .unwrap_or_else(|error| missing(program, &error))
            .into();
        assert_eq!(
            ended.code,
            Some(0),
            "{program} {arguments:?}: {}",
            ended.stderr
        );
        ended.stdout
    }

    /// Waits until the node is in the state `state`, a name that `sinfo` prints.
    pub fn wait_for_node(&self, state: &str) {
        until(&format!("node that is {state}"), || {
            let command = self
                .with(Command::new("sinfo"))
                .args(["--noheader", "--format=%T"])
                .output();
            let output = command.unwrap_or_else(|error| missing("sinfo", &error));
            let said = String::from_utf8_lossy(&output.stdout).trim().to_owned();
            // A star after the name of a state means that the node has not responded recently.
            match output.status.success() && said.trim_end_matches('*') == state {
                true => Ok(()),
                false => Err(format!("{said} {}", self.logs())),
            }
        });
    }

    /// Waits until no job is running or waiting.
    pub fn wait_for_jobs(&self) {
        until("end of all jobs", || {
            let jobs = self.query("squeue", &["--noheader", "--format=%i %T %r"]);
            match jobs.trim().is_empty() {
                true => Ok(()),
                false => Err(format!("{jobs} {}", self.logs())),
            }
        });
    }

    /// Kills the daemon of the node.
    pub fn kill_node(&mut self) {
        self.node.kill().expect("a signal");
        self.node.wait().expect("its end");
    }

    /// Starts the daemon of the node again.
    pub fn start_node(&mut self) {
        self.node = start_node(self.dir.path());
    }

    /// Returns the last lines in the log files of the daemons.
    fn logs(&self) -> String {
        let log = |name: &str| {
            let log = fs::read_to_string(self.dir.path().join(name)).unwrap_or_default();
            let lines: Vec<&str> = log.lines().rev().take(15).collect();
            let lines: Vec<&str> = lines.into_iter().rev().collect();
            format!("\n{name}:\n{}", lines.join("\n"))
        };
        ["munged", "slurmctld", "slurmd"].map(log).concat()
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        // After a failed test, some jobs may still exist. They would outlive the node's daemon.
        let command = |program: &str| self.with(Command::new(program));
        let _ = command("scancel").args(["--me", "--quiet"]).status();
        let begun = Instant::now();
        let is_busy = || {
            let jobs = command("squeue").arg("--noheader").output();
            jobs.is_ok_and(|jobs| !jobs.stdout.is_empty())
        };
        while is_busy() && begun.elapsed() < Duration::from_secs(15) {
            thread::sleep(LOOK_EVERY);
        }
        for daemon in [&mut self.node, &mut self.controller, &mut self.munged] {
            let _ = daemon.kill();
            let _ = daemon.wait();
        }
    }
}

fn start_node(path: &Path) -> Child {
    daemon(path, "slurmd", |command| {
        command.args(["-D", "-N", "localhost"]);
    })
}

/// Starts a daemon as a child of the test, and writes its output to a file.
fn daemon(path: &Path, program: &str, arguments: impl FnOnce(&mut Command)) -> Child {
    let log = File::options()
        .create(true)
        .append(true)
        .open(path.join(program));
    let log = log.expect("a file");
    let mut command = Command::new(path_of(program));
    arguments(&mut command);
    command
        .env("SLURM_CONF", path.join("slurm.conf"))
        .current_dir(path)
        .stdin(Stdio::null())
        .stdout(log.try_clone().expect("a file"))
        .stderr(log)
        .spawn()
        .unwrap_or_else(|error| missing(program, &error))
}

/// Returns the path of a daemon, which may be in a directory that is not in the user's PATH.
fn path_of(program: &str) -> PathBuf {
    let places = ["/usr/sbin", "/usr/local/sbin"].map(|place| Path::new(place).join(program));
    let found = places.into_iter().find(|place| place.exists());
    found.unwrap_or_else(|| PathBuf::from(program))
}

fn missing(program: &str, error: &std::io::Error) -> ! {
    panic!(
        "{program}: {error}; install it (Debian and Ubuntu: apt-get install munge slurmctld slurmd \
         slurm-client)"
    )
}

fn config(path: &Path) -> String {
    // The two listeners are open at the same time, so their ports cannot be equal.
    let ports = [0, 0].map(|any| TcpListener::bind(("127.0.0.1", any)).expect("a port"));
    let [controller, node] = ports.map(|port| port.local_addr().expect("an address").port());
    let host = fs::read_to_string("/proc/sys/kernel/hostname").expect("a name");
    let host = host.trim().split('.').next().unwrap_or_default();
    let user = std::os::unix::fs::MetadataExt::uid(&fs::metadata(path).expect("the folder"));
    let dir = path.display();
    format!(
        "ClusterName=test
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={controller}
SlurmdPort={node}
SlurmUser={user}
SlurmdUser={user}
AuthType=auth/munge
CredType=cred/munge
# A job that is queued again begins only after its old credential has expired.
AuthInfo=socket={dir}/munge,cred_expire=5
StateSaveLocation={dir}/state
SlurmdSpoolDir={dir}/spool
SlurmctldPidFile={dir}/slurmctld.pid
SlurmdPidFile={dir}/slurmd.pid
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SwitchType=switch/none
MpiDefault=none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
SlurmdParameters=config_overrides
ReturnToService=2
SlurmdTimeout=5
KillWait=10
SchedulerParameters=sched_interval=1
NodeName=localhost NodeHostname={host} NodeAddr=127.0.0.1 CPUs=2
PartitionName=all Nodes=ALL Default=YES MaxTime=INFINITE
"
    )
}

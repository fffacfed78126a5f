//! Lab that a test starts. The lab ends when the test ends.

use serde_json::Value;
use std::fs;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

/// Path of the program `tailcut`.
pub const TAILCUT: &str = env!("CARGO_BIN_EXE_tailcut");

/// Time limit for operations that are normally fast.
pub const PATIENCE: Duration = Duration::from_secs(60);

/// Running lab.
pub struct Lab {
    /// Name of the lab.
    pub name: String,
    /// Command that started the lab.
    pub up: Child,
    /// Text that the command printed before the lab was ready.
    pub said: String,
}

/// Returns a lab name that no other test uses.
pub fn own_name() -> String {
    static NUMBER: AtomicU32 = AtomicU32::new(0);
    let number = NUMBER.fetch_add(1, Ordering::Relaxed);
    format!("test-{}-{number}", std::process::id())
}

/// Topology of four hosts in two racks over two spines.
pub const SMALL: &[&str] = &[
    "--topology",
    "leaf-spine:hosts=2,leaves=2,spines=2,rate=100Mbps",
    "--design",
    "cubic",
];

impl Lab {
    /// Starts a lab and waits until it is ready.
    pub fn up(arguments: &[&str]) -> Self {
        Self::up_as(&mut Command::new(TAILCUT), arguments)
    }

    /// Starts a lab with a command that runs `tailcut`, possibly as another user.
    pub fn up_as(command: &mut Command, arguments: &[&str]) -> Self {
        assert!(
            rustix::process::geteuid().is_root(),
            "these tests must run as root"
        );
        let name = own_name();
        command.args(["lab", "up", "--name", &name]).args(arguments);
        command.stderr(Stdio::piped()).stdin(Stdio::null());
        let mut lab = Self {
            up: command.spawn().expect("the program runs"),
            name,
            said: String::new(),
        };
        let lines = BufReader::new(lab.up.stderr.take().expect("a pipe"));
        for line in lines.lines() {
            let line = line.expect("text");
            lab.said += &line;
            lab.said.push('\n');
            if line.contains("Ctrl-C ends the lab") {
                return lab;
            }
        }
        panic!("no lab: {}", lab.said);
    }

    /// Returns a command that acts on this lab, such as `exec`.
    pub fn command(&self, command: &str) -> Command {
        let mut program = Command::new(TAILCUT);
        program.args(["lab", command, "--lab", &self.name]);
        program
    }

    /// Runs a program on a host to its end.
    pub fn exec(&self, host: &str, program: &[&str]) -> Output {
        let mut command = self.command("exec");
        command.arg(host).arg("--").args(program);
        command.output().expect("the program runs")
    }

    /// Runs a shell script on a host and returns its output.
    pub fn sh(&self, host: &str, script: &str) -> String {
        let output = self.exec(host, &["sh", "-c", script]);
        text(&output.stdout)
    }

    /// Starts a Python program on a host and waits until it prints `ready`. The program continues to run.
    pub fn python(&self, host: &str, script: &str) -> Server {
        let mut command = self.command("exec");
        command.args([host, "--", "python3", "-u", "-c", script]);
        command.stdout(Stdio::piped()).stdin(Stdio::null());
        let mut child = command.spawn().expect("the program runs");
        let mut out = BufReader::new(child.stdout.take().expect("a pipe"));
        let mut line = String::new();
        out.read_line(&mut line).expect("text");
        assert_eq!(line, "ready\n", "on {host}");
        Server { child, out }
    }

    /// Returns the status of the lab.
    pub fn status(&self) -> Value {
        let output = self.command("status").arg("--json").output();
        let output = output.expect("the program runs");
        assert!(output.status.success(), "{}", text(&output.stderr));
        serde_json::from_slice(&output.stdout).expect("JSON")
    }

    /// Returns the sum of a column over all links or hosts.
    pub fn sum(&self, of: &str, column: &str) -> u64 {
        let status = self.status();
        let rows = status[of].as_array().expect("rows").iter();
        rows.map(|row| row[column].as_u64().unwrap_or(0)).sum()
    }
}

impl Drop for Lab {
    fn drop(&mut self) {
        let _ = self.up.kill();
        let _ = self.up.wait();
    }
}

/// Program that runs on a host of the lab.
pub struct Server {
    /// Command that runs the program.
    pub child: Child,
    out: BufReader<std::process::ChildStdout>,
}

impl Server {
    /// Reads the next line that the program prints.
    pub fn line(&mut self) -> String {
        let mut line = String::new();
        self.out.read_line(&mut line).expect("text");
        line.trim_end().to_owned()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Writes a scenario to a directory. Returns the command that runs the scenario with `out` as its output directory.
pub fn run(directory: &Path, scenario: &str, out: &Path, more: &[&str]) -> Command {
    let file = directory.join("small.toml");
    fs::write(&file, scenario).expect("written");
    let mut command = Command::new(TAILCUT);
    command.arg("run").arg(file).arg("--out").arg(out);
    command.args(more);
    command
}

/// Runs a scenario on a clock. Returns the JSON summaries of its runs, whose files are in `out` below the directory.
pub fn summaries(directory: &Path, scenario: &str, clock: &str) -> Vec<Value> {
    let out = directory.join("out");
    let more = ["--clock", clock, "--json"];
    let output = run(directory, scenario, &out, &more).output();
    let output = output.expect("it runs");
    assert!(output.status.success(), "{}", text(&output.stderr));
    serde_json::from_slice(&output.stdout).expect("JSON")
}

/// Checks the counters of a run.
/// Each packet that was sent or copied must also be delivered, be dropped, or still be on its way.
pub fn books_hold(run: &Value) {
    let count = |what: &str| run[what]["packets"].as_u64().expect("a count");
    let seen = count("delivered") + count("dropped") + count("remaining");
    // Switches make additional copies of packets to multicast groups.
    assert_eq!(count("sent") + count("copied"), seen, "{run}");
}

/// Returns bytes as text.
pub fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// Waits until a condition is true. `what` names the condition in the error.
pub fn wait_until(what: &str, mut holds: impl FnMut() -> bool) {
    let began = Instant::now();
    while !holds() {
        assert!(began.elapsed() < PATIENCE, "{what}");
        std::thread::yield_now();
    }
}

/// Returns the processes of this machine whose command lines contain a word.
pub fn processes_with(word: &str) -> Vec<u32> {
    let entries = fs::read_dir("/proc").expect("/proc").flatten();
    let numbers = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    let with_word = numbers.filter(|number: &u32| {
        let line = fs::read(format!("/proc/{number}/cmdline")).unwrap_or_default();
        text(&line).split('\0').any(|part| part == word)
    });
    with_word.collect()
}

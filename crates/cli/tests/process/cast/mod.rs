//! End-to-end tests of `tailcut cast`: two processes, files, pipes, keys, kills.

mod check;
mod faults;
mod groups;
mod hostile;
mod hosts;
mod mtu;

use crate::test_dir::{Ended, TestDir};
use rustix::process::{Pid, Signal, kill_process};
use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::path::Path;
use std::process::{Child, ChildStderr, Command, Output, Stdio};
use std::thread;

/// Process of `tailcut cast` that waits for a transfer.
struct Listening {
    child: Child,
    said: BufReader<ChildStderr>,
    line: String,
    host: String,
}

impl Listening {
    fn start(test_dir: &TestDir, arguments: &[&str]) -> Self {
        let mut command = test_dir.command(arguments);
        Self::run(command.args(["--listen", "0"]))
    }

    /// Starts a command, and waits until it listens.
    fn run(command: &mut Command) -> Self {
        let mut child = command
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the command runs");
        let mut said = BufReader::new(child.stderr.take().expect("standard error"));
        let mut line = String::new();
        said.read_line(&mut line).expect("a line");
        let (_, after) = line
            .split_once(".0.0.1:")
            .or(line.split_once("0.0.0.0:"))
            .or(line.split_once("[::]:"))
            .unwrap_or_else(|| panic!("no address: {line}"));
        let port: String = after.chars().take_while(char::is_ascii_digit).collect();
        Self {
            child,
            said,
            host: format!("127.0.0.1:{port}"),
            line,
        }
    }

    fn signal(&self, signal: Signal) {
        let pid = Pid::from_raw(self.child.id() as i32).expect("a process");
        kill_process(pid, signal).expect("a signal");
    }

    fn end(mut self) -> Ended {
        let mut stdout = self.child.stdout.take().expect("standard output");
        // Both pipes are read at the same time, because a process blocks when one of its pipes is full.
        let printed = thread::spawn(move || {
            let mut bytes = Vec::new();
            stdout.read_to_end(&mut bytes).map(|_| bytes)
        });
        let mut stderr = self.line;
        self.said.read_to_string(&mut stderr).expect("text");
        let status = self.child.wait().expect("it ends");
        Ended::from(Output {
            status,
            stdout: printed.join().expect("no panic").expect("bytes"),
            stderr: stderr.into_bytes(),
        })
    }
}

/// Returns pseudorandom bytes.
fn bytes(length: usize) -> Vec<u8> {
    let mut state = 7u32;
    let byte = |_| {
        state ^= state << 13;
        state ^= state >> 17;
        state ^= state << 5;
        (state >> 24) as u8
    };
    (0..length).map(byte).collect()
}

fn recv<'a>(more: &[&'a str]) -> Vec<&'a str> {
    [&["cast", "recv"], more].concat()
}

#[test]
fn a_file_arrives_once_and_is_not_replaced_unless_somebody_says_so() {
    let test_dir = TestDir::new();
    fs::write(test_dir.path().join("file"), bytes(3_000_000)).expect("a file");
    fs::create_dir(test_dir.path().join("in")).expect("a directory");
    let mut other = bytes(3_000_000);
    other[7] ^= 1;
    // A repeated transfer succeeds. Other data with the same name is refused.
    let rounds = [
        (bytes(3_000_000), &[][..], 0),
        (bytes(3_000_000), &[], 0),
        (other.clone(), &[], 4),
        (other.clone(), &["--overwrite"], 0),
    ];
    for (contents, more, code) in rounds {
        fs::write(test_dir.path().join("file"), &contents).expect("a file");
        let arguments = [&recv(&["in", "--once"]), more].concat();
        let receiver = Listening::start(&test_dir, &arguments);
        let sent = test_dir.run(&["cast", "send", "file", &receiver.host]);
        assert_eq!(sent.code, Some(code), "{}", sent.stderr);
        let received = receiver.end();
        assert_eq!(received.code, Some(code), "{}", received.stderr);
        if code == 4 {
            for ended in [sent, received] {
                assert!(
                    ended.complaint().contains("--overwrite"),
                    "{}",
                    ended.stderr
                );
            }
        }
    }
    let copy = fs::read(test_dir.path().join("in/file")).expect("a file");
    assert!(copy == other);
}

#[test]
fn a_pipe_goes_to_a_pipe_under_a_key_and_json_tells_the_root() {
    let test_dir = TestDir::new();
    assert_eq!(test_dir.run(&["cast", "key", "key"]).code, Some(0));
    let again = test_dir.run(&["cast", "key", "key"]);
    assert_eq!(again.code, Some(2), "a key is not overwritten");
    let receiver = Listening::start(&test_dir, &recv(&["-", "--psk", "key"]));
    let mut sender = test_dir
        .command(&[
            "cast",
            "send",
            "--json",
            "-",
            &receiver.host,
            "--psk",
            "key",
        ])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("the command runs");
    let mut input = sender.stdin.take().expect("standard input");
    let text = "line\n".repeat(700_000);
    let written = text.clone();
    let writing = thread::spawn(move || input.write_all(written.as_bytes()));
    let received = receiver.end();
    writing.join().expect("no panic").expect("written");
    assert_eq!(received.code, Some(0), "{}", received.stderr);
    assert!(received.stdout == text);
    let output = sender.wait_with_output().expect("it ends");
    let stdout = String::from_utf8(output.stdout).expect("text");
    let last: serde_json::Value =
        serde_json::from_str(stdout.lines().last().expect("a line")).expect("JSON");
    assert_eq!(last["event"], "done");
    let root = last["root"].as_str().expect("a root");
    assert!(received.stderr.contains(root), "{}", received.stderr);
}

#[test]
fn another_key_gets_no_answer_and_other_machines_take_one() {
    let test_dir = TestDir::new();
    test_dir.file("file", "x");
    for key in ["key", "other"] {
        assert_eq!(test_dir.run(&["cast", "key", key]).code, Some(0));
    }
    let receiver = Listening::start(&test_dir, &recv(&[".", "--psk", "key"]));
    let sent = test_dir.run(&["cast", "send", "file", &receiver.host, "--psk", "other"]);
    assert_eq!(sent.code, Some(2));
    assert!(sent.complaint().contains("no answer"), "{}", sent.stderr);
    let sent = test_dir.run(&["cast", "send", "file", "192.0.2.1"]);
    assert_eq!(sent.code, Some(2));
    assert!(sent.complaint().contains("--psk FILE"), "{}", sent.stderr);
    let (_, port) = receiver.host.split_once(':').expect("a port");
    let second = test_dir.run(&recv(&[".", "--listen", port]));
    assert_eq!(second.code, Some(2));
    assert!(
        second.complaint().contains("another process"),
        "{}",
        second.stderr
    );
    receiver.signal(Signal::INT);
    assert_eq!(receiver.end().code, Some(130));
}

/// Waits until the first chunk of a file is verified.
fn until_a_slab_is_there(directory: &Path) {
    let length = || {
        let inside = fs::read_dir(directory.join(".tailcut")).ok()?;
        let mut paths = inside.filter_map(|entry| Some(entry.ok()?.path()));
        let records = paths.find(|path| path.extension().is_some_and(|end| end == "slabs"))?;
        Some(fs::metadata(records).ok()?.len())
    };
    // The first 112 bytes are a header, before the first chunk.
    while length().is_none_or(|length| length <= 112) {
        std::thread::yield_now();
    }
}

#[test]
fn what_has_arrived_survives_kill_9_of_either_end() {
    let test_dir = TestDir::new();
    let contents = bytes(96 << 20);
    fs::write(test_dir.path().join("file"), &contents).expect("a file");
    let directory = test_dir.path().join("in");
    fs::create_dir(&directory).expect("a directory");
    // The rate is low, so that the test can kill the process during the transfer.
    let slow = ["--rate", "200Mbps"];
    let start = |host: &str| {
        let arguments = [&["cast", "send", "file", host][..], &slow].concat();
        let mut command = test_dir.command(&arguments);
        command.stderr(Stdio::null()).spawn().expect("it runs")
    };
    let receiver = Listening::start(&test_dir, &recv(&["in"]));
    let mut sender = start(&receiver.host);
    until_a_slab_is_there(&directory);
    sender.kill().expect("killed");
    sender.wait().expect("it ends");
    receiver.signal(Signal::KILL);
    receiver.end();
    let receiver = Listening::start(&test_dir, &recv(&["in", "--once"]));
    let sent = test_dir.run(&["cast", "send", "--json", "file", &receiver.host]);
    assert_eq!(sent.code, Some(0), "{}", sent.stderr);
    let last = sent.stdout.lines().last().expect("a line");
    let last: serde_json::Value = serde_json::from_str(last).expect("JSON");
    let kept = last["progress"]["kept"].as_u64().expect("a number");
    assert!(kept >= 16 << 20, "{last}");
    assert_eq!(receiver.end().code, Some(0));
    assert!(fs::read(directory.join("file")).expect("a file") == contents);
}

#[test]
fn two_replicas_serve_and_one_fetches() {
    let test_dir = TestDir::new();
    fs::write(test_dir.path().join("file"), bytes(5_000_000)).expect("a file");
    fs::create_dir(test_dir.path().join("in")).expect("a directory");
    let replicas = [(); 2].map(|()| Listening::start(&test_dir, &["cast", "serve", "file"]));
    let (_, root) = replicas[0].line.split_once("root ").expect("a root");
    let (a, b) = (&replicas[0].host, &replicas[1].host);
    let got = test_dir.run(&["cast", "get", root.trim(), a, b, "-o", "in"]);
    assert_eq!(got.code, Some(0), "{}", got.stderr);
    assert!(fs::read(test_dir.path().join("in/file")).expect("a file") == bytes(5_000_000));
    let other = "0".repeat(64);
    let got = test_dir.run(&["cast", "get", &other, a, "-o", "in"]);
    assert_eq!(got.code, Some(4), "{}", got.stderr);
    for replica in replicas {
        replica.signal(Signal::INT);
        assert_eq!(replica.end().code, Some(130));
    }
}

#[test]
fn what_would_be_sent_is_listed() {
    let test_dir = TestDir::new();
    fs::create_dir(test_dir.path().join("tree")).expect("a directory");
    test_dir.file("tree/a", "four");
    test_dir.file("tree/b.tmp", "x");
    let listed = test_dir.run(&["cast", "send", "tree", "--dry-run", "--exclude", "*.tmp"]);
    assert_eq!(listed.code, Some(0), "{}", listed.stderr);
    assert!(listed.stdout.contains("4 tree/a"), "{}", listed.stdout);
    assert!(!listed.stdout.contains("b.tmp"), "{}", listed.stdout);
    let unread = test_dir.run(&["cast", "send", "nothing", "127.0.0.1"]);
    assert_eq!(unread.code, Some(2));
    assert!(
        unread
            .complaint()
            .starts_with("tailcut: nothing: cannot open")
    );
}

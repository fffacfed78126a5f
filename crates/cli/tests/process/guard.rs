//! End-to-end tests of `tailcut guard`: a service behind the guard, clients that disconnect, metrics, signals.

use crate::test_dir::TestDir;
use rustix::process::{Pid, Signal, kill_process};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::{Child, ChildStdout, Stdio};

struct Running {
    child: Child,
    said: BufReader<ChildStdout>,
    port: u16,
    admin: u16,
}

impl Running {
    fn start(test_dir: &TestDir, to: u16, more: &[&str]) -> Self {
        let to = to.to_string();
        let flags = ["guard", "--listen", "0", "--to", &to, "--admin", "0"];
        let mut child = test_dir
            .command(&[&flags, more].concat())
            .stdout(Stdio::piped())
            .spawn()
            .expect("the command runs");
        let mut said = BufReader::new(child.stdout.take().expect("standard output"));
        let mut port = || {
            let mut line = String::new();
            said.read_line(&mut line).expect("a line");
            let (_, after) = line.split_once("127.0.0.1:").expect("an address");
            let digits = after.split(|letter: char| !letter.is_ascii_digit());
            let port = digits.into_iter().next().and_then(|port| port.parse().ok());
            port.unwrap_or_else(|| panic!("no port in {line:?}"))
        };
        let (port, admin) = (port(), port());
        Self {
            child,
            said,
            port,
            admin,
        }
    }

    /// Sends a request without waiting for the response.
    fn send(&self, path: &str, urgency: u8) -> TcpStream {
        let mut stream = TcpStream::connect(("127.0.0.1", self.port)).expect("the guard");
        let request = format!(
            "GET {path} HTTP/1.1\r\nHost: shop.example\r\nPriority: u={urgency}\r\n\
             Connection: close\r\n\r\n"
        );
        stream.write_all(request.as_bytes()).expect("sent");
        stream
    }

    fn metrics(&self) -> String {
        let mut stream = TcpStream::connect(("127.0.0.1", self.admin)).expect("metrics");
        stream
            .write_all(b"GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n")
            .expect("sent");
        let mut page = String::new();
        stream.read_to_string(&mut page).expect("a page");
        page
    }

    fn until(&self, line: &str) {
        while !self.metrics().contains(line) {
            std::thread::yield_now();
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // In a successful test, the process has already ended, so the error is ignored.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Accepts a connection from the guard to the service, and reads the head of its request.
fn request(service: &TcpListener) -> (BufReader<TcpStream>, String) {
    let (stream, _) = service.accept().expect("a connection");
    let mut stream = BufReader::new(stream);
    let mut head = String::new();
    while !head.ends_with("\r\n\r\n") {
        assert!(stream.read_line(&mut head).expect("a line") > 0, "{head:?}");
    }
    (stream, head)
}

fn answer(mut to: BufReader<TcpStream>) {
    let answer = b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\nConnection: close\r\n\r\ndone";
    to.get_mut().write_all(answer).expect("sent");
}

fn read(mut from: TcpStream) -> String {
    let mut text = String::new();
    from.read_to_string(&mut text).expect("an answer");
    text
}

#[test]
fn a_guard_runs_primaries_first_and_drops_the_work_of_clients_that_leave() {
    let test_dir = TestDir::new();
    let service = TcpListener::bind("127.0.0.1:0").expect("a port");
    let to = service.local_addr().expect("an address").port();
    let mut guard = Running::start(&test_dir, to, &["--workers", "1"]);

    let first = guard.send("/first", 3);
    let (mut working, head) = request(&service);
    assert!(head.starts_with("GET /first HTTP/1.1\r\n"), "{head}");
    assert!(head.contains("host: shop.example\r\n"), "{head}");
    assert!(!head.contains("connection:"), "{head}");
    let low = guard.send("/low", 6);
    guard.until("tailcut_guard_queued{class=\"duplicate\"} 1\n");
    let high = guard.send("/high", 3);
    guard.until("tailcut_guard_queued{class=\"primary\"} 1\n");
    let refused = read(guard.send("/optional", 7));
    assert!(refused.starts_with("HTTP/1.1 503 "), "{refused}");
    assert!(refused.contains("retry-after: 1\r\n"), "{refused}");

    // When the client disconnects, the guard closes its connection to the service.
    drop(first);
    assert_eq!(working.read(&mut [0; 1]).expect("an end"), 0);
    let (next, head) = request(&service);
    assert!(head.starts_with("GET /high "), "{head}");
    answer(next);
    let (next, head) = request(&service);
    assert!(head.starts_with("GET /low "), "{head}");
    answer(next);
    for whole in [read(high), read(low)] {
        assert!(whole.starts_with("HTTP/1.1 200 OK\r\n"), "{whole}");
        assert!(whole.contains("via: 1.1 tailcut-guard\r\n"), "{whole}");
        assert!(whole.ends_with("done"), "{whole}");
    }
    guard.until("tailcut_guard_running 0\n");
    let page = guard.metrics();
    for line in [
        "tailcut_guard_killed_total{class=\"primary\"} 1\n",
        "tailcut_guard_shed_total{class=\"optional\"} 1\n",
        "tailcut_guard_done_total{class=\"duplicate\"} 1\n",
    ] {
        assert!(page.contains(line), "{page}");
    }

    // The guard must not end before the open request has got its response.
    let last = guard.send("/last", 3);
    let (working, _) = request(&service);
    kill_process(Pid::from_child(&guard.child), Signal::TERM).expect("a signal");
    let mut line = String::new();
    guard.said.read_line(&mut line).expect("a line");
    assert_eq!(line, "tailcut guard: SIGTERM: draining\n");
    answer(working);
    assert!(read(last).ends_with("done"));
    assert_eq!(guard.child.wait().expect("an end").code(), Some(0));
}

#[test]
fn a_service_that_is_not_there_is_a_bad_gateway() {
    let test_dir = TestDir::new();
    let nobody = TcpListener::bind("127.0.0.1:0").expect("a port");
    let to = nobody.local_addr().expect("an address").port();
    drop(nobody);
    let guard = Running::start(&test_dir, to, &["--workers", "2"]);
    let answer = read(guard.send("/", 3));
    assert!(answer.starts_with("HTTP/1.1 502 "), "{answer}");
    assert!(
        answer.ends_with("the service cannot be reached\n"),
        "{answer}"
    );
}

#[test]
fn a_wrong_address_or_number_is_refused_with_what_is_allowed() {
    let test_dir = TestDir::new();
    for (flags, said) in [
        (
            ["--listen", "nowhere", "--to", "1", "--workers", "1"],
            "allowed: \"host:port\"",
        ),
        (
            ["--listen", "0", "--to", "http://x", "--workers", "1"],
            "allowed: \"host:port\"",
        ),
        (
            ["--listen", "0", "--to", "1", "--workers", "0"],
            "command line: \"workers\" is 0; allowed: a whole number from 1 to 100000",
        ),
    ] {
        let ended = test_dir.run(&[&["guard"], &flags[..]].concat());
        assert_eq!(ended.code, Some(2), "{}", ended.stderr);
        assert!(ended.stderr.contains(said), "{}", ended.stderr);
    }
}

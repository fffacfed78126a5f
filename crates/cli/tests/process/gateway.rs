//! End-to-end tests of `tailcut gateway`: reload of a file, signals, metrics, wrong input.

use crate::test_dir::TestDir;
use rustix::process::{Pid, Signal, kill_process};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::{Child, ChildStdout, Stdio};

struct Running {
    child: Child,
    said: BufReader<ChildStdout>,
}

impl Running {
    fn start(test_dir: &TestDir, arguments: &[&str]) -> Self {
        let mut child = test_dir
            .command(&[&["gateway"], arguments].concat())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the command runs");
        let said = BufReader::new(child.stdout.take().expect("standard output"));
        Self { child, said }
    }

    fn line(&mut self) -> String {
        let mut line = String::new();
        self.said.read_line(&mut line).expect("a line");
        let line = line
            .strip_prefix("tailcut gateway: ")
            .expect("the command's name");
        line.trim_end().to_owned()
    }

    /// Returns the port in the next line of the output.
    fn port(&mut self) -> u16 {
        let line = self.line();
        let (_, after) = line.split_once("127.0.0.1:").expect("an address");
        let digits = after.split(|letter: char| !letter.is_ascii_digit()).next();
        let port = digits.and_then(|port| port.parse().ok());
        port.unwrap_or_else(|| panic!("no port in {line:?}"))
    }

    /// Reads lines of the output until a given line.
    fn until(&mut self, what: &str) {
        while self.line() != what {}
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // In a successful test, the process has already ended, so the error is ignored.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Starts a service that answers each request with its name, one request at a time.
fn service(name: &'static str) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = listener.local_addr().expect("an address").port();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let Ok(stream) = stream else { return };
            let mut stream = BufReader::new(stream);
            let mut head = String::new();
            while !head.ends_with("\r\n\r\n") {
                if stream.read_line(&mut head).unwrap_or(0) == 0 {
                    break;
                }
            }
            let length = name.len();
            let answer = format!(
                "HTTP/1.1 200 OK\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n{name}"
            );
            // Writing fails if the gateway has already closed the connection.
            let _ = stream.get_mut().write_all(answer.as_bytes());
        }
    });
    port
}

fn get(port: u16, path: &str) -> String {
    let mut stream = TcpStream::connect(("127.0.0.1", port)).expect("the gateway");
    let request = format!("GET {path} HTTP/1.1\r\nHost: shop.example\r\nConnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).expect("sent");
    let mut text = String::new();
    stream.read_to_string(&mut text).expect("an answer");
    text
}

#[test]
fn a_file_that_changes_is_read_again_and_one_that_is_wrong_changes_nothing() {
    let test_dir = TestDir::new();
    let (first, second) = (service("first"), service("second"));
    let config = |replica: u16| {
        format!(
            "admin = 0\n[[routes]]\nname = \"shop\"\nlisten = \"127.0.0.1:0\"\nreplicas = [{replica}]\n"
        )
    };
    test_dir.file("gateway.toml", &config(first));
    let mut gateway = Running::start(&test_dir, &["--config", "gateway.toml"]);
    let (port, admin) = (gateway.port(), gateway.port());
    assert!(get(port, "/").ends_with("first"));
    assert!(get(admin, "/healthz").ends_with("ok\n"));
    let page = get(admin, "/metrics");
    let line = "tailcut_gateway_requests_total{route=\"shop\",status=\"2xx\"} 1\n";
    assert!(page.contains(line), "{page}");

    // The gateway detects a change of the file without a signal.
    test_dir.file("gateway.toml", "routes = 7\n");
    gateway.until("gateway.toml has changed: not reloaded");
    assert!(get(port, "/").ends_with("first"));
    test_dir.file("gateway.toml", &config(second));
    kill_process(Pid::from_child(&gateway.child), Signal::HUP).expect("a signal");
    gateway.until("SIGHUP: reloaded");
    assert_eq!(gateway.port(), port);
    assert!(get(port, "/").ends_with("second"));

    kill_process(Pid::from_child(&gateway.child), Signal::TERM).expect("a signal");
    gateway.until("SIGTERM: draining");
    assert_eq!(gateway.child.wait().expect("an end").code(), Some(0));
}

#[test]
fn one_route_comes_from_flags() {
    let test_dir = TestDir::new();
    let replica = service("flags").to_string();
    let route = ["--listen", "0", "--replica", &replica, "--no-admin"];
    let mut gateway = Running::start(
        &test_dir,
        &[&route[..], &["--set", "limits.pending=5"]].concat(),
    );
    assert!(get(gateway.port(), "/").ends_with("flags"));
}

#[test]
fn a_wrong_configuration_is_refused_with_the_place_what_was_found_and_what_is_allowed() {
    let test_dir = TestDir::new();
    test_dir.file(
        "gateway.toml",
        "[[routes]]\nlisten = 1\nreplicas = [2]\npurges = \"often\"\n",
    );
    let ended = test_dir.run(&["gateway", "--config", "gateway.toml", "--check"]);
    assert_eq!(ended.code, Some(2));
    assert_eq!(
        ended.complaint(),
        r#"tailcut: gateway.toml:4:10: "routes[0].purges" is "often"; allowed: "learn", "yes", "no""#
    );
    for (key, complaint) in [
        (
            "tls.client_ca=gateway.toml",
            "\"routes[0].tls.certificate\" is absent; allowed: the path of a file in PEM",
        ),
        (
            "budget=200",
            "\"routes[0].budget\" is 200; allowed: a number of per cent from 0 to 100, in steps of 0.1",
        ),
        (
            "colour=red",
            "\"routes[0].colour\" is not a key here; allowed: name, listen, replicas, ",
        ),
    ] {
        let flags = [
            "gateway",
            "--check",
            "--listen",
            "1",
            "--replica",
            "2",
            "--set",
            key,
        ];
        let ended = test_dir.run(&flags);
        assert_eq!(ended.code, Some(2));
        let start = format!("tailcut: command line: {complaint}");
        assert!(ended.complaint().starts_with(&start), "{}", ended.stderr);
    }
    let good = [
        "gateway",
        "--check",
        "--listen",
        "1",
        "--replica",
        "https://a.example",
        "--set",
        "budget=2.5",
    ];
    let ended = test_dir.run(&good);
    assert_eq!(
        ended.stdout, "tailcut gateway: the configuration is valid: 1 route(s)\n",
        "{}",
        ended.stderr
    );
}

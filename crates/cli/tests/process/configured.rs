//! Tests of guard, gateway and proxy with configuration files.
//! The keys for listening, draining, the admin address, TLS and limits have the same effect in all three programs.

use crate::test_dir::TestDir;
use rustix::process::{Pid, Signal, kill_process};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

/// Top-level keys of the configuration, the same for all programs.
const TOP: &str = "admin = \"127.0.0.1:0\"\ndrain_timeout = \"1s\"\n";

/// Returns the keys of a listener, which are the same for all programs.
fn listener(connections: u32) -> String {
    format!(
        "listen = \"127.0.0.1:0\"\ntls = {{ certificate = \"pem/cert.pem\", key = \"pem/key.pem\" }}\n\
         limits = {{ connections = {connections} }}\n"
    )
}

/// Program: its arguments, and a function that returns its configuration.
/// The arguments of this function are the port of the service and the maximum number of connections.
type Program = (&'static [&'static str], fn(u16, u32) -> String);

const PROGRAMS: [Program; 3] = [
    (&["guard"], |to, connections| {
        format!("{TOP}{}to = {to}\nworkers = 4\n", listener(connections))
    }),
    (&["gateway"], |to, connections| {
        format!(
            "{TOP}[[routes]]\n{}replicas = [{to}]\n",
            listener(connections)
        )
    }),
    (&["proxy", "repnet"], |to, connections| {
        format!(
            "{TOP}[[routes]]\n{}name = \"a\"\nto = {to}\nreplicate = \"out\"\nmode = \"off\"\n",
            listener(connections)
        )
    }),
];

struct Running {
    child: Child,
    said: BufReader<ChildStdout>,
    port: u16,
    admin: u16,
}

impl Running {
    fn start(test_dir: &TestDir, arguments: &[&str]) -> Self {
        let mut child = test_dir
            .command(arguments)
            .stdout(Stdio::piped())
            .spawn()
            .expect("the command runs");
        let said = BufReader::new(child.stdout.take().expect("standard output"));
        let (port, admin) = (0, 0);
        let mut running = Self {
            child,
            said,
            port,
            admin,
        };
        running.learn();
        running
    }

    fn line(&mut self) -> String {
        let mut line = String::new();
        let read = self.said.read_line(&mut line).expect("a line");
        assert!(read > 0, "the program has ended");
        line
    }

    /// Reads the addresses on which the program listens from its output.
    fn learn(&mut self) {
        let mut port = || {
            let line = self.line();
            let (_, after) = line.split_once("127.0.0.1:").expect("an address");
            let digits = after.split(|letter: char| !letter.is_ascii_digit()).next();
            let port = digits.and_then(|port| port.parse().ok());
            (line.clone(), port.expect("a port"))
        };
        let (line, own) = port();
        assert!(line.contains(" (TLS) -> "), "{line}");
        let (_, admin) = port();
        (self.port, self.admin) = (own, admin);
    }

    fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.child), signal).expect("a signal");
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // In a successful test, the process has already ended, so the error is ignored.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Starts a service that responds with "hello". A request for /never gets no response.
/// The connection of this request is passed to the test instead.
fn service() -> (u16, Receiver<TcpStream>) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = listener.local_addr().expect("an address").port();
    let (note, noted) = channel();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let Ok(stream) = stream else { return };
            let note = note.clone();
            std::thread::spawn(move || {
                let mut stream = BufReader::new(stream);
                let mut head = String::new();
                while !head.ends_with("\r\n\r\n") {
                    if stream.read_line(&mut head).unwrap_or(0) == 0 {
                        return;
                    }
                }
                let mut stream = stream.into_inner();
                if head.starts_with("GET /never ") {
                    // Sending fails if the test has already ended.
                    let _ = note.send(stream);
                    return;
                }
                let answer =
                    b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nConnection: close\r\n\r\nhello";
                let _ = stream.write_all(answer);
            });
        }
    });
    (port, noted)
}

/// Returns a `curl` command that sends a request over TLS and checks the certificate.
fn curl(test_dir: &TestDir, port: u16, path: &str, seconds: &str) -> Command {
    let mut curl = Command::new("curl");
    curl.current_dir(test_dir.path())
        .args([
            "--silent",
            "--cacert",
            "pem/cert.pem",
            "--max-time",
            seconds,
        ])
        .args(["--resolve", &format!("here.example:{port}:127.0.0.1")])
        .arg(format!("https://here.example:{port}{path}"));
    curl
}

fn get(test_dir: &TestDir, port: u16) -> String {
    let answer = curl(test_dir, port, "/", "20").output().expect("curl runs");
    assert!(answer.status.success(), "{:?}", answer.status);
    String::from_utf8(answer.stdout).expect("text")
}

fn plain(port: u16, path: &str) -> String {
    let mut stream = TcpStream::connect(("127.0.0.1", port)).expect("a connection");
    let request = format!("GET {path} HTTP/1.1\r\nHost: x\r\n\r\n");
    stream.write_all(request.as_bytes()).expect("sent");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("an answer");
    answer
}

#[test]
fn the_same_keys_mean_the_same_for_guard_gateway_and_proxy() {
    let certified = rcgen::generate_simple_self_signed(vec!["here.example".to_owned()]);
    let certified = certified.expect("a certificate");
    let (to, never) = service();
    for (words, text) in PROGRAMS {
        let test_dir = TestDir::new();
        std::fs::create_dir(test_dir.path().join("pem")).expect("a folder");
        test_dir.file("pem/cert.pem", &certified.cert.pem());
        let key = test_dir.file("pem/key.pem", &certified.signing_key.serialize_pem());
        let for_us = std::os::unix::fs::PermissionsExt::from_mode(0o600);
        std::fs::set_permissions(key, for_us).expect("our file");
        test_dir.file("config.toml", &text(to, 2));
        let checked = test_dir.run(&[words, &["--config", "config.toml", "--check"]].concat());
        assert!(
            checked
                .stdout
                .ends_with(": the configuration is valid: 1 route(s)\n")
        );
        let mut running =
            Running::start(&test_dir, &[words, &["--config", "config.toml"]].concat());

        // The listener uses TLS, and the admin address returns the health.
        assert_eq!(get(&test_dir, running.port), "hello", "{words:?}");
        assert!(
            plain(running.admin, "/healthz").ends_with("ok\n"),
            "{words:?}"
        );

        // While two connections carry requests, further connections must wait.
        let mut held = [(); 2].map(|()| {
            let mut request = curl(&test_dir, running.port, "/never", "60");
            request.spawn().expect("curl runs")
        });
        let arrived = [(); 2].map(|()| never.recv_timeout(Duration::from_secs(20)));
        let beyond = curl(&test_dir, running.port, "/", "1")
            .status()
            .expect("curl runs");
        assert!(!beyond.success(), "{words:?}: a third connection is served");
        for request in &mut held {
            request.kill().expect("a signal");
            request.wait().expect("curl ends");
        }
        drop(arrived);
        assert_eq!(get(&test_dir, running.port), "hello", "{words:?}");

        // A wrong file has no effect. A corrected file is reloaded automatically.
        test_dir.file("config.toml", "listen = 1\nlimits = { connections = 0 }\n");
        running.signal(Signal::HUP);
        let line = running.line();
        assert!(line.ends_with(": SIGHUP: not reloaded\n"), "{line}");
        test_dir.file("config.toml", &text(to, 50));
        let line = running.line();
        assert!(
            line.ends_with(": config.toml has changed: reloaded\n"),
            "{line}"
        );
        running.learn();
        let held = [(); 2].map(|()| TcpStream::connect(("127.0.0.1", running.port)));
        assert_eq!(get(&test_dir, running.port), "hello", "{words:?}");
        drop(held);

        // An open request may continue until the drain timeout. After the timeout, its connection is closed.
        let mut open = curl(&test_dir, running.port, "/never", "60")
            .spawn()
            .expect("curl runs");
        let _open = never
            .recv_timeout(Duration::from_secs(20))
            .expect("a request");
        let began = Instant::now();
        running.signal(Signal::TERM);
        assert_eq!(
            running.child.wait().expect("an end").code(),
            Some(0),
            "{words:?}"
        );
        let time = began.elapsed();
        assert!((1..10).contains(&time.as_secs()), "{words:?}: {time:?}");
        assert!(!open.wait().expect("curl ends").success(), "{words:?}");
    }
}

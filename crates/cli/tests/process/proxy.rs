//! End-to-end tests of `tailcut proxy repnet`: signals, reload of a file, exit codes.

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
        let command = [&["proxy", "repnet"], arguments].concat();
        let mut child = test_dir
            .command(&command)
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
        assert!(line.starts_with("tailcut proxy: "), "{line:?}");
        line["tailcut proxy: ".len()..].trim_end().to_owned()
    }

    /// Returns the port in the next line of the output.
    fn port(&mut self) -> u16 {
        let line = self.line();
        let address = line
            .split(' ')
            .find_map(|word| word.strip_prefix("127.0.0.1:"));
        let port = address.and_then(|port| port.parse().ok());
        port.unwrap_or_else(|| panic!("no port in {line:?}"))
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

/// Opens a connection through the proxy and sends a message. Returns both ends of the connection.
fn through(port: u16, target: &TcpListener) -> (TcpStream, TcpStream) {
    let mut client = TcpStream::connect(("127.0.0.1", port)).expect("the proxy");
    let (mut server, _) = target.accept().expect("a connection");
    client.write_all(b"word").expect("sent");
    let mut word = [0; 4];
    server.read_exact(&mut word).expect("received");
    assert_eq!(&word, b"word");
    (client, server)
}

#[test]
fn a_file_is_read_again_at_sighup_and_sigterm_lets_open_flows_finish() {
    let target = TcpListener::bind("127.0.0.1:0").expect("a port");
    let to = target.local_addr().expect("an address");
    let route = |name: &str| {
        format!(r#"{{"name":"{name}","listen":"127.0.0.1:0","to":"{to}","replicate":"out"}}"#)
    };
    let config = |routes: &[&str]| {
        let routes: Vec<String> = routes.iter().map(|name| route(name)).collect();
        format!(r#"{{"routes":[{}],"admin":false}}"#, routes.join(","))
    };
    let test_dir = TestDir::new();
    test_dir.file("proxy.json", &config(&["first"]));
    let mut proxy = Running::start(&test_dir, &["--config", "proxy.json"]);
    let first = proxy.port();
    let (mut client, mut server) = through(first, &target);

    // A wrong file has no effect.
    test_dir.file("proxy.json", "{}");
    proxy.signal(Signal::HUP);
    assert_eq!(proxy.line(), "SIGHUP: not reloaded");
    drop(through(first, &target));

    test_dir.file("proxy.json", &config(&["second"]));
    proxy.signal(Signal::HUP);
    assert_eq!(proxy.line(), "SIGHUP: reloaded");
    let second = proxy.port();
    drop(through(second, &target));
    assert!(TcpStream::connect(("127.0.0.1", first)).is_err());

    proxy.signal(Signal::TERM);
    assert_eq!(proxy.line(), "SIGTERM: draining");
    // The route is removed, but its open flow still transfers bytes until it ends.
    server.write_all(b"answer").expect("sent");
    drop(server);
    let mut answer = String::new();
    client.read_to_string(&mut answer).expect("received");
    assert_eq!(answer, "answer");
    drop(client);
    assert_eq!(proxy.child.wait().expect("an end").code(), Some(0));
}

#[test]
fn a_reload_that_cannot_listen_leaves_every_route_as_it_was() {
    let target = TcpListener::bind("127.0.0.1:0").expect("a port");
    let to = target.local_addr().expect("an address");
    let somebody = TcpListener::bind("127.0.0.1:0").expect("a port");
    let taken = somebody.local_addr().expect("an address").port();
    let config = |routes: &[(&str, u16, &str)]| {
        let routes: Vec<String> = routes
            .iter()
            .map(|(name, listen, more)| {
                format!(r#"{{"name":"{name}","listen":"127.0.0.1:{listen}","to":"{to}"{more}}}"#)
            })
            .collect();
        format!(r#"{{"routes":[{}],"admin":false}}"#, routes.join(","))
    };
    let out = r#","replicate":"out""#;
    let test_dir = TestDir::new();
    test_dir.file("proxy.json", &config(&[("first", 0, out)]));
    let mut proxy = Running::start(&test_dir, &["--config", "proxy.json"]);
    let first = proxy.port();
    let refused = |proxy: &mut Running, routes: &[(&str, u16, &str)]| {
        test_dir.file("proxy.json", &config(routes));
        proxy.signal(Signal::HUP);
        assert_eq!(proxy.line(), "SIGHUP: not reloaded");
        drop(through(first, &target));
    };

    // The new configuration changes the old route and adds a route. Another process uses the port of the added route.
    refused(&mut proxy, &[("first", first, out), ("second", taken, out)]);
    // A second route takes over the port of the old route.
    // The proxy refuses this other route, because another process uses the replica port of the route.
    let inwards = format!(r#","replicate":"in","replicaPort":{taken}"#);
    refused(&mut proxy, &[("second", first, &inwards)]);

    // Without a conflict, the second route takes over the port of the old route.
    test_dir.file("proxy.json", &config(&[("second", first, out)]));
    proxy.signal(Signal::HUP);
    assert_eq!(proxy.line(), "SIGHUP: reloaded");
    assert_eq!(proxy.port(), first);
    drop(through(first, &target));
    proxy.signal(Signal::TERM);
    assert_eq!(proxy.line(), "SIGTERM: draining");
    assert_eq!(proxy.child.wait().expect("an end").code(), Some(0));
}

#[test]
fn a_wrong_configuration_is_refused_before_any_port_is_opened() {
    let test_dir = TestDir::new();
    let arguments = [
        "proxy",
        "repnet",
        "--route",
        "name=a,listen=1,to=x:2,replicate=up",
    ];
    let ended = test_dir.run(&arguments);
    assert_eq!(ended.code, Some(2));
    assert_eq!(
        ended.complaint(),
        r#"tailcut: command line: "routes[0].replicate" is "up"; allowed: "in", "out""#
    );
    let good = "name=a,listen=7379,to=x:2,replicate=in,maxBytes=Infinity,adaptive=false";
    let ended = test_dir.run(&["proxy", "repnet", "--check", "--route", good]);
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    assert_eq!(
        ended.stdout,
        "tailcut proxy: the configuration is valid: 1 route(s)\n"
    );
}

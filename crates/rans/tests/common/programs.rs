//! Processes of servers from other projects: HAProxy and nginx with the configurations of the docs, and Node.
#![allow(dead_code, reason = "each test file uses its own part")]

use std::fs;
use std::io::{BufRead, BufReader};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::Duration;
use tempfile::TempDir;

/// Process of a server that listens. Dropping this value ends the process.
#[derive(Debug)]
pub struct Program {
    child: Child,
    /// Address where the server accepts HTTP/1.1.
    pub one: SocketAddr,
    /// Address where the server accepts HTTP/2 without TLS.
    pub two: SocketAddr,
    /// Address of the metrics page. Only HAProxy has one.
    pub metrics: Option<SocketAddr>,
    _place: TempDir,
}

impl Drop for Program {
    fn drop(&mut self) {
        // The process may have ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Program {
    /// Returns the process identifier.
    pub fn id(&self) -> u32 {
        self.child.id()
    }
}

/// Returns addresses with ports that are free at this moment.
fn free_ports<const N: usize>() -> [SocketAddr; N] {
    let listeners = [(); N].map(|()| TcpListener::bind("127.0.0.1:0").expect("a port"));
    listeners.map(|listener| listener.local_addr().expect("an address"))
}

/// Returns a configuration of `docs/guards`. Its ports are replaced with ports of this host.
fn recipe(name: &str, ports: &[(&str, SocketAddr)]) -> String {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR"))
        .join("../../docs/guards")
        .join(name);
    let mut text = fs::read_to_string(&path).unwrap_or_else(|error| panic!("{path:?}: {error}"));
    for (told, address) in ports {
        assert!(text.contains(told), "{name} has no {told}");
        text = text.replace(told, &address.to_string());
    }
    text
}

/// Waits until the process listens at the address.
fn wait_for(address: SocketAddr, child: &mut Child, program: &str) {
    while TcpStream::connect(address).is_err() {
        if let Some(status) = child.try_wait().expect("a child") {
            panic!("{program} ended with {status}");
        }
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// Returns a command for a daemon. Its program may be outside the user's `PATH`.
fn program(name: &str) -> Command {
    let path = std::env::var("PATH").unwrap_or_default();
    let mut command = Command::new(name);
    command.env("PATH", format!("{path}:/usr/sbin"));
    let found = format!("{path}:/usr/sbin");
    let found = found
        .split(':')
        .map(|folder| PathBuf::from(folder).join(name));
    if let Some(found) = found.into_iter().find(|path| path.exists()) {
        command = Command::new(found);
    }
    command.stdout(Stdio::null());
    command
}

/// Addresses in the configurations of the docs. The tests replace them.
const OWN: [&str; 3] = ["127.0.0.1:8080", "127.0.0.1:8082", "127.0.0.1:9000"];

/// Starts HAProxy with the configuration of the docs, in front of a service with this number of workers.
pub fn haproxy(to: SocketAddr, workers: u32) -> Program {
    let [one, two, metrics] = free_ports();
    let ports = [(OWN[0], one), (OWN[1], two), (OWN[2], to)];
    let mut text = recipe(
        "haproxy.cfg",
        &[&ports[..], &[("127.0.0.1:8404", metrics)]].concat(),
    );
    for (own, ours) in [
        (" maxconn 8\n", format!(" maxconn {workers}\n")),
        (" ge 8 ", format!(" ge {workers} ")),
    ] {
        assert!(text.contains(own), "the recipe has no {own}");
        text = text.replace(own, &ours);
    }
    let place = tempfile::tempdir().expect("a folder");
    let path = place.path().join("haproxy.cfg");
    fs::write(&path, text).expect("a file");
    let mut command = program("haproxy");
    let mut child = command
        .arg("-f")
        .arg(&path)
        .arg("-db")
        .spawn()
        .expect("haproxy");
    wait_for(one, &mut child, "haproxy");
    Program {
        child,
        one,
        two,
        metrics: Some(metrics),
        _place: place,
    }
}

/// Starts nginx with the configuration of the docs, in front of a service. A connection ends after `requests` requests.
pub fn nginx(to: SocketAddr, requests: u32) -> Program {
    let [one, two] = free_ports();
    let text = recipe("nginx.conf", &[(OWN[0], one), (OWN[1], two), (OWN[2], to)]);
    let own = "keepalive_requests 1000000;";
    assert!(text.contains(own), "the recipe has no {own}");
    let text = text.replace(own, &format!("keepalive_requests {requests};"));
    let place = tempfile::tempdir().expect("a folder");
    // If root starts nginx, its workers run as another user. This user has to read the folder.
    let open = fs::Permissions::from_mode(0o755);
    fs::set_permissions(place.path(), open).expect("a folder of ours");
    let paths = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"];
    let paths = paths.map(|name| format!("{name}_temp_path {}/{name};", place.path().display()));
    let text = text.replace(
        "http {\n",
        &format!("http {{\naccess_log off;\n{}\n", paths.join("\n")),
    );
    let path = place.path().join("nginx.conf");
    fs::write(&path, text).expect("a file");
    let mut command = program("nginx");
    let pid = format!(
        "pid {}/pid; daemon off; master_process off; error_log stderr error;",
        place.path().display()
    );
    command.arg("-c").arg(&path).arg("-p").arg(place.path());
    command.args(["-e", "stderr", "-g", &pid]);
    let mut child = command.spawn().expect("nginx");
    wait_for(one, &mut child, "nginx");
    Program {
        child,
        one,
        two,
        metrics: None,
        _place: place,
    }
}

/// Starts an HTTP/2 service on Node. For `/A/B` it works A microseconds on a primary and B microseconds on a copy.
/// The work ends when its client cancels the request.
/// `/counts` returns how many requests began, were cancelled and ended.
pub fn node() -> Program {
    const SERVICE: &str = r#"
        const http2 = require('node:http2');
        const counts = { began: 0, left: 0, ended: 0 };
        const server = http2.createServer((request, response) => {
            if (request.url === '/counts') {
                response.end(`${counts.began} ${counts.left} ${counts.ended}`);
                return;
            }
            counts.began += 1;
            const work = request.url.split('/')[1 + Number(request.headers['tailcut-copy'])];
            const timer = setTimeout(() => {
                counts.ended += 1;
                response.end('done');
            }, Number(work) / 1000);
            response.on('close', () => {
                if (!response.writableEnded) {
                    counts.left += 1;
                    clearTimeout(timer);
                }
            });
        });
        server.listen(0, '127.0.0.1', () => console.log(server.address().port));
    "#;
    let place = tempfile::tempdir().expect("a folder");
    let mut command = Command::new("node");
    command.args(["-e", SERVICE]).stdout(Stdio::piped());
    let mut child = command.spawn().expect("node");
    let mut line = String::new();
    let out = child.stdout.take().expect("standard output");
    BufReader::new(out).read_line(&mut line).expect("a line");
    let port: u16 = line.trim().parse().expect("a port");
    let address = SocketAddr::from(([127, 0, 0, 1], port));
    Program {
        child,
        one: address,
        two: address,
        metrics: None,
        _place: place,
    }
}

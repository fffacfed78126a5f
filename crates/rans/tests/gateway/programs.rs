//! Processes of programs from other projects: nginx with files, Node, curl, and an S3 store with its client.

use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, DnType, IsCa, KeyPair};
use rustix::process::{Pid, Signal, kill_process};
use std::fs;
use std::io::{BufRead, BufReader};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;
use tempfile::TempDir;

/// Process that ends when this value is dropped.
pub struct Process(Child);

impl Drop for Process {
    fn drop(&mut self) {
        // The process may have ended already.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl Process {
    pub fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.0), signal).expect("a signal");
    }

    /// Starts a process, and waits until it listens at the address.
    fn listening(command: &mut Command, at: SocketAddr) -> Self {
        let child = command.stdin(Stdio::null()).spawn();
        let mut process = Self(child.unwrap_or_else(|error| panic!("{command:?}: {error}")));
        while TcpStream::connect(at).is_err() {
            if let Some(status) = process.0.try_wait().expect("a child") {
                panic!("{command:?} ended with {status}");
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        process
    }

    /// Starts a process, and waits until it prints its port.
    fn saying(command: &mut Command) -> (Self, SocketAddr) {
        let child = command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn();
        let mut process = Self(child.unwrap_or_else(|error| panic!("{command:?}: {error}")));
        let mut line = String::new();
        let out = process.0.stdout.take().expect("standard output");
        BufReader::new(out).read_line(&mut line).expect("a line");
        let port: u16 = line.trim().parse().expect("a port");
        (process, ([127, 0, 0, 1], port).into())
    }
}

/// Runs a program and returns its output.
pub fn run(command: &mut Command) -> String {
    let ended = command.stdin(Stdio::null()).output();
    let ended = ended.unwrap_or_else(|error| panic!("{command:?}: {error}"));
    let [out, err] =
        [ended.stdout, ended.stderr].map(|text| String::from_utf8_lossy(&text).into_owned());
    assert!(ended.status.success(), "{command:?}: {out}{err}");
    out
}

pub fn free_port() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    listener.local_addr().expect("an address")
}

/// Folder with certificates that the test creates.
pub struct Certificates {
    pub folder: TempDir,
}

impl Certificates {
    /// Creates an authority, and a certificate and a key for each name.
    /// The files are `ca.pem`, `NAME.pem` and `NAME.key`.
    pub fn new(names: &[&str]) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let write = |name: String, text: String| {
            let path = folder.path().join(name);
            fs::write(&path, text).expect("a file");
            // The gateway reads keys only if other users cannot read them.
            let for_us = std::os::unix::fs::PermissionsExt::from_mode(0o600);
            fs::set_permissions(path, for_us).expect("our file");
        };
        let mut params = CertificateParams::default();
        params
            .distinguished_name
            .push(DnType::CommonName, "authority");
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let key = KeyPair::generate().expect("a key");
        let authority = CertifiedIssuer::self_signed(params, key).expect("an authority");
        write("ca.pem".to_owned(), authority.pem());
        for name in names {
            let key = KeyPair::generate().expect("a key");
            let mut params = CertificateParams::new(vec![(*name).to_owned()]).expect("a name");
            params.distinguished_name.push(DnType::CommonName, *name);
            let certificate = params.signed_by(&key, &authority).expect("a certificate");
            write(format!("{name}.pem"), certificate.pem());
            write(format!("{name}.key"), key.serialize_pem());
        }
        Self { folder }
    }

    pub fn path(&self, name: &str) -> String {
        self.folder.path().join(name).display().to_string()
    }
}

/// Process of nginx that serves the files of a folder: with HTTP/1.1, with HTTP/2, and with both over TLS.
pub struct Nginx {
    pub one: SocketAddr,
    pub two: SocketAddr,
    pub tls: SocketAddr,
    config: PathBuf,
    process: Option<Process>,
    _folder: TempDir,
}

impl Nginx {
    /// Starts nginx. A connection ends after `requests` requests.
    /// Clients that connect to `tls` need a certificate of the authority.
    pub fn start(files: &Path, certificates: &Certificates, requests: u32) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let [one, two, tls] = [free_port(), free_port(), free_port()];
        let at = folder.path().display();
        let paths = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"];
        let paths = paths.map(|name| format!("{name}_temp_path {at}/{name};"));
        let pem = |name| certificates.path(name);
        let text = format!(
            "daemon off; master_process off; pid {at}/pid; error_log stderr crit;\n\
             events {{}}\n\
             http {{ access_log off; {} keepalive_requests {requests};\n\
             server {{ listen {one}; listen {two} http2; listen {tls} ssl http2; root {};\n\
             ssl_certificate {}; ssl_certificate_key {}; ssl_client_certificate {}; ssl_verify_client optional;\n\
             location /who {{ return 200 \"$ssl_client_verify $host $server_protocol\"; }} }} }}\n",
            paths.join(" "),
            files.display(),
            pem("files.example.pem"),
            pem("files.example.key"),
            pem("ca.pem"),
        );
        let config = folder.path().join("nginx.conf");
        fs::write(&config, text).expect("a file");
        let mut nginx = Self {
            one,
            two,
            tls,
            config,
            process: None,
            _folder: folder,
        };
        nginx.restart();
        nginx
    }

    pub fn restart(&mut self) {
        self.process = None;
        let path = std::env::var("PATH").unwrap_or_default();
        let mut command = Command::new("nginx");
        command.env("PATH", format!("{path}:/usr/sbin"));
        if Path::new("/usr/sbin/nginx").exists() {
            command = Command::new("/usr/sbin/nginx");
        }
        command.args(["-e", "stderr", "-c"]).arg(&self.config);
        self.process = Some(Process::listening(&mut command, self.one));
    }

    pub fn kill(&mut self) {
        self.process = None;
    }

    pub fn signal(&self, signal: Signal) {
        self.process.as_ref().expect("a process").signal(signal);
    }
}

/// Starts a service on Node with the module `http` or `http2`.
/// The service answers with the number of the request and the length of the body.
pub fn node(module: &str) -> (Process, SocketAddr) {
    let script = format!(
        "let count = 0;
         const server = require('node:{module}').createServer((request, response) => {{
             let length = 0;
             request.on('data', (data) => {{ length += data.length; }});
             request.on('end', () => response.end(`${{request.method}} ${{length}} ${{count += 1}}`));
         }});
         server.listen(0, '127.0.0.1', () => console.log(server.address().port));"
    );
    let mut command = Command::new("node");
    command.args(["-e", &script]);
    Process::saying(&mut command)
}

/// Returns the path of a Python that has moto and boto3.
pub fn python() -> PathBuf {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/services/bin/python");
    assert!(
        path.exists(),
        "target/services is missing: `make services` makes it"
    );
    path
}

/// Starts an S3 store that checks signatures. It listens on all addresses of this host.
pub fn store() -> (Process, u16) {
    let at = free_port();
    let mut command = Command::new(python());
    command.args([
        "-m",
        "moto.server",
        "-H",
        "0.0.0.0",
        "-p",
        &at.port().to_string(),
    ]);
    // The first three actions create a user with a key, so they need no signature.
    command.env("INITIAL_NO_AUTH_ACTION_COUNT", "3");
    command.stdout(Stdio::null()).stderr(Stdio::null());
    (Process::listening(&mut command, at), at.port())
}

//! Tests of the commands in `docs/services/README.md`: services and clients in Node, Python and Go.
//! Guards and the gateway are between services and clients.

use crate::test_dir::TestDir;
use std::collections::HashMap;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

/// Background process that is killed when this value is dropped.
struct Background(Child);

impl Drop for Background {
    fn drop(&mut self) {
        // The call fails if the process has already ended.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn docs() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/services")
}

/// Ports in the page's commands, each with the free port that replaces it.
struct Ports(HashMap<&'static str, u16>);

impl Ports {
    fn new() -> Self {
        let all = [
            "9001", "9002", "8001", "8002", "9465", "9466", "9467", "8080",
        ];
        // All listeners are open at the same time, so their ports cannot be equal.
        let listeners = all.map(|_| TcpListener::bind("127.0.0.1:0").expect("a port"));
        let ports = listeners.map(|one| one.local_addr().expect("an address").port());
        Self(all.into_iter().zip(ports).collect())
    }

    fn of(&self, text: &str) -> String {
        // Only whole numbers are replaced, because the digits of one port may be part of another number.
        let parts = text.split_inclusive(|letter: char| !letter.is_ascii_digit());
        parts
            .map(|part| {
                let number = part.trim_end_matches(|letter: char| !letter.is_ascii_digit());
                match self.0.get(number) {
                    Some(port) => format!("{port}{}", &part[number.len()..]),
                    None => part.to_owned(),
                }
            })
            .collect()
    }
}

fn metrics(port: u16) -> String {
    let mut stream = TcpStream::connect(("127.0.0.1", port)).expect("the gateway");
    let request = b"GET /metrics HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n";
    stream.write_all(request).expect("sent");
    let mut page = String::new();
    stream.read_to_string(&mut page).expect("a page");
    page
}

/// Runs the commands in the section of the page about a language.
fn follow(language: &str, names: [&str; 2]) {
    let page = std::fs::read_to_string(docs().join("README.md")).expect("the page");
    let (_, section) = page
        .split_once(&format!("## {language}\n"))
        .expect("a section");
    let (test_dir, ports) = (TestDir::new(), Ports::new());
    for name in names {
        let text = std::fs::read_to_string(docs().join(name)).expect("a file");
        assert!(section.contains(&text), "the page does not show {name}");
        test_dir.file(name, &ports.of(&text));
    }
    let (_, commands) = section.split_once("```sh\n").expect("commands");
    let (commands, _) = commands.split_once("```").expect("their end");
    let mut background = Vec::new();
    let mut said = String::new();
    for line in commands.lines() {
        let told = ports.of(line);
        let mut words: Vec<&str> = told.split(' ').collect();
        let is_background = words.pop_if(|last| *last == "&").is_some();
        let program = match words[0] {
            "tailcut" => env!("CARGO_BIN_EXE_tailcut"),
            program => program,
        };
        let mut command = Command::new(program);
        command.args(&words[1..]).current_dir(test_dir.path());
        // The cache of Go is kept between runs of this test.
        let cache = Path::new(env!("CARGO_TARGET_TMPDIR")).join("go");
        command.env("GOCACHE", cache).env("GO111MODULE", "off");
        command.env("CGO_ENABLED", "0");
        if !is_background {
            let ended = command.output();
            let ended = ended.unwrap_or_else(|error| panic!("{line}: {error}; see .ci/tools"));
            let [out, err] = [ended.stdout, ended.stderr]
                .map(|text| String::from_utf8_lossy(&text).into_owned());
            assert!(ended.status.success(), "{line}: {out}{err}");
            said = out;
            continue;
        }
        command.stdin(Stdio::null()).stdout(Stdio::null());
        let child = command.spawn();
        let mut child = Background(child.unwrap_or_else(|error| panic!("{line}: {error}")));
        let listens = match words.iter().position(|word| *word == "--listen") {
            Some(at) => words[at + 1],
            None => words[words.len() - 1],
        };
        let port: u16 = listens.parse().expect("a port");
        while TcpStream::connect(("127.0.0.1", port)).is_err() {
            let ended = child.0.try_wait().expect("a child");
            assert!(ended.is_none(), "{line} has ended");
            std::thread::sleep(Duration::from_millis(5));
        }
        background.push(child);
    }
    assert_eq!(said, "40 answers\n");
    let page = metrics(ports.0["9466"]);
    let purges = page
        .lines()
        .filter(|line| line.starts_with("tailcut_gateway_replica_purges{") && line.ends_with(" 1"));
    assert_eq!(purges.count(), 2, "{page}");
    let copies = page.lines().find_map(|line| {
        let (_, count) = line.split_once("tailcut_gateway_copies_total{")?;
        count.split(' ').next_back()?.parse::<u32>().ok()
    });
    // All requests have a copy, except the first few requests.
    // The gateway uses the first few requests to check whether the replicas can purge.
    assert!(copies.is_some_and(|copies| copies >= 20), "{page}");
}

#[test]
fn node() {
    follow("Node", ["service.mjs", "client.mjs"]);
}

#[test]
fn python() {
    follow("Python", ["service.py", "client.py"]);
}

#[test]
fn go() {
    follow("Go", ["service.go", "client.go"]);
}

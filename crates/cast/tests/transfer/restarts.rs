//! Tests of ends whose processes restart, and of hosts with several addresses.
//! The end that restarts is a child process of the test, so it can be killed without a last message.

use super::super::common::{SLAB, bytes, folder, sink, source};
use super::{GOES_ON, bind, file_of};
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use tailcut_cast::driver::{Endpoint, Failure, Options};
use tailcut_cast::files::{FileSource, Hash, Source, StreamSource};
use tailcut_cast::transfer::{Error, Event, Listener, SendOptions, get, send, serve};
use tailcut_cast::udp::Cause;

/// Environment variable of the child process: `recv` or `serve`.
const ROLE: &str = "TAILCUT_TEST_ROLE";
/// Environment variable of the child process: address of its socket.
const AT: &str = "TAILCUT_TEST_AT";
/// Environment variable of the child process: directory to receive into, or file to serve.
const PATH: &str = "TAILCUT_TEST_PATH";
/// Rate of the end that sends, in bytes per second. It is so small that the other end restarts during the transfer.
const RATE: u64 = 20 << 20;

fn at_rate(local: SocketAddr) -> Endpoint {
    let options = Options {
        rate: Some(RATE),
        ..Options::default()
    };
    Endpoint::bind(local, &options).expect("a port")
}

/// Receives or serves until it is killed. Other tests run this test as a child process.
#[test]
fn child() {
    let (Ok(role), Ok(at)) = (std::env::var(ROLE), std::env::var(AT)) else {
        return;
    };
    let path = PathBuf::from(std::env::var_os(PATH).expect("a path"));
    let endpoint = at_rate(at.parse().expect("an address"));
    // The name of the test is on the same line, so a line break comes before the address.
    writeln!(std::io::stdout(), "\nat {}", endpoint.local()).expect("a pipe");
    if role == "serve" {
        let mut source = source(&path);
        let root = source.root().expect("a root");
        serve(&endpoint, Box::new(source), root, &GOES_ON, &mut |_| ()).expect("no end");
    }
    let mut listener = Listener::new(&endpoint, &GOES_ON);
    loop {
        let offered = listener.accept().expect("an offer");
        // The other end reports the error.
        let _ = listener.receive(offered, Box::new(sink(&path)), &mut |_| ());
    }
}

/// End in a child process, which can restart at the same address.
struct Restarts {
    role: &'static str,
    path: PathBuf,
    at: SocketAddr,
    child: Child,
}

impl Restarts {
    fn start(role: &'static str, path: &Path) -> Self {
        let loopback = SocketAddr::from(([127, 0, 0, 1], 0));
        let (child, at) = Self::spawn(role, path, loopback);
        let path = path.to_owned();
        Self {
            role,
            path,
            at,
            child,
        }
    }

    fn spawn(role: &str, path: &Path, at: SocketAddr) -> (Child, SocketAddr) {
        let mut command = Command::new(std::env::current_exe().expect("this program"));
        command
            .args(["--exact", "transfer::restarts::child", "--nocapture"])
            .env(ROLE, role)
            .env(AT, at.to_string())
            .env(PATH, path)
            .stdout(Stdio::piped());
        let mut child = command.spawn().expect("a child");
        let out = BufReader::new(child.stdout.take().expect("a pipe"));
        let mut lines = out.lines().map_while(Result::ok);
        let at = lines.find_map(|line| line.strip_prefix("at ")?.parse().ok());
        (child, at.expect("an address"))
    }

    fn kill(&mut self) {
        self.child.kill().expect("a running child");
        self.child.wait().expect("an end");
    }

    fn restart(&mut self) {
        self.kill();
        (self.child, _) = Self::spawn(self.role, &self.path, self.at);
    }
}

impl Drop for Restarts {
    fn drop(&mut self) {
        // The child may have been killed already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Number of tenths of the data that were verified so far, up to three.
struct Thirds(u64);

impl Thirds {
    fn is_next(&mut self, event: &Event) -> bool {
        let Event::Progress(progress) = event else {
            return false;
        };
        let due = progress.total.unwrap_or(u64::MAX) / 10 * (self.0 + 1);
        let is_next = self.0 < 3 && progress.received.verified >= due;
        self.0 += u64::from(is_next);
        is_next
    }
}

#[test]
fn a_receiver_that_restarts_again_and_again_gets_the_file() {
    let (from, to) = (folder(), folder());
    let (file, contents) = file_of(from.path(), 40 * SLAB);
    let mut receiver = Restarts::start("recv", to.path());
    let (at, mut thirds, mut restarts) = (receiver.at, Thirds(0), 0);
    let mut on_event = |event: Event| {
        restarts += usize::from(event == Event::Restarted(at));
        if thirds.is_next(&event) {
            receiver.restart();
        }
    };
    let sender = at_rate(SocketAddr::from(([127, 0, 0, 1], 0)));
    let (source, options) = (Box::new(source(&file)), SendOptions::default());
    let summary = send(&sender, source, &[at], options, &GOES_ON, &mut on_event).expect("sent");
    summary.receivers[0].1.as_ref().expect("received");
    assert!(fs::read(to.path().join("file")).expect("a file") == contents);
    assert_eq!((thirds.0, restarts), (3, 3));
    assert!(summary.progress.received.kept > 0, "it began anew");
}

#[test]
fn the_only_replica_restarts_and_the_download_goes_on() {
    let (from, to) = (folder(), folder());
    let (file, contents) = file_of(from.path(), 40 * SLAB);
    let mut replica = Restarts::start("serve", &file);
    let (at, mut thirds, mut restarts) = (replica.at, Thirds(0), 0);
    let mut on_event = |event: Event| {
        restarts += usize::from(event == Event::Restarted(at));
        if thirds.is_next(&event) {
            replica.restart();
        }
    };
    let (root, mut sink) = (Hash::of(&contents), sink(to.path()));
    let taken = get(&bind(), root, &[at], &mut sink, &GOES_ON, &mut on_event).expect("fetched");
    assert_eq!(taken.root, root);
    assert!(fs::read(to.path().join("file")).expect("a file") == contents);
    assert_eq!((thirds.0, restarts), (3, 3));
}

#[test]
fn of_two_receivers_one_restarts_and_both_get_the_file() {
    let (from, to, also) = (folder(), folder(), folder());
    let (file, contents) = file_of(from.path(), 30 * SLAB);
    let mut receiver = Restarts::start("recv", to.path());
    let other = Restarts::start("recv", also.path());
    let (all, mut thirds) = ([receiver.at, other.at], Thirds(0));
    let mut on_event = |event: Event| {
        if thirds.is_next(&event) {
            receiver.restart();
        }
    };
    let sender = at_rate(SocketAddr::from(([127, 0, 0, 1], 0)));
    let (source, options) = (Box::new(source(&file)), SendOptions::default());
    let summary = send(&sender, source, &all, options, &GOES_ON, &mut on_event).expect("sent");
    for ((_, result), folder) in summary.receivers.iter().zip([&to, &also]) {
        result.as_ref().expect("received");
        assert!(fs::read(folder.path().join("file")).expect("a file") == contents);
    }
}

#[test]
fn a_stream_to_a_receiver_that_restarts_ends_with_this_reason() {
    let to = folder();
    let mut receiver = Restarts::start("recv", to.path());
    let (at, mut has_restarted) = (receiver.at, false);
    let mut on_event = |event: Event| {
        let is_begun = matches!(event, Event::Progress(progress) if progress.received.verified > 0);
        if is_begun && !has_restarted {
            has_restarted = true;
            receiver.restart();
        }
    };
    let contents = std::io::Cursor::new(bytes(40 * SLAB, 1));
    let source = Box::new(StreamSource::new(contents, b"dump").expect("a source"));
    let (sender, options) = (
        at_rate(SocketAddr::from(([127, 0, 0, 1], 0))),
        SendOptions::default(),
    );
    let summary = send(&sender, source, &[at], options, &GOES_ON, &mut on_event).expect("tried");
    let (_, result) = &summary.receivers[0];
    assert!(
        matches!(result, Err(Error::Restarted(peer)) if *peer == at),
        "{result:?}"
    );
}

#[test]
fn a_receiver_that_restarts_before_it_accepts_gets_the_offer_again() {
    let (from, to) = (folder(), folder());
    let (file, contents) = file_of(from.path(), SLAB);
    // This endpoint gets the offer, but it ends before it answers.
    let first = bind();
    let at = first.local();
    let into = to.path().to_owned();
    let receiver = std::thread::spawn(move || {
        drop(first.receive().expect("an offer"));
        drop(first);
        let endpoint = Endpoint::bind(at, &Options::default()).expect("the same port");
        let mut listener = Listener::new(&endpoint, &GOES_ON);
        let offered = listener.accept()?;
        listener.receive(offered, Box::new(sink(&into)), &mut |_| ())
    });
    let (source, options) = (Box::new(source(&file)), SendOptions::default());
    let summary = send(&bind(), source, &[at], options, &GOES_ON, &mut |_| ()).expect("sent");
    summary.receivers[0].1.as_ref().expect("received");
    receiver.join().expect("a thread").expect("received");
    assert!(fs::read(to.path().join("file")).expect("a file") == contents);
}

#[test]
fn a_closed_port_ends_the_first_attempt_at_once_and_says_why() {
    let from = folder();
    let (file, _) = file_of(from.path(), 10);
    let nobody = bind().local();
    let (source, options) = (Box::new(source(&file)), SendOptions::default());
    let summary = send(&bind(), source, &[nobody], options, &GOES_ON, &mut |_| ()).expect("tried");
    let (_, result) = &summary.receivers[0];
    let refused = Failure::Undeliverable(Cause::Port);
    assert!(
        matches!(result, Err(Error::Unreachable { failure, .. }) if *failure == refused),
        "{result:?}"
    );
}

#[test]
fn a_host_answers_from_the_address_that_was_asked() {
    let (from, to) = (folder(), folder());
    let (file, contents) = file_of(from.path(), 3 * SLAB);
    let any = SocketAddr::from(([0, 0, 0, 0], 0));
    let endpoint = at_rate(any);
    // All of 127.0.0.0/8 belongs to this host. Its answers come from 127.0.0.1 unless it chooses another address.
    let second = SocketAddr::from(([127, 0, 0, 2], endpoint.local().port()));
    let into = to.path().to_owned();
    let receiver = std::thread::spawn(move || {
        let mut listener = Listener::new(&endpoint, &GOES_ON);
        let offered = listener.accept()?;
        listener.receive(offered, Box::new(sink(&into)), &mut |_| ())
    });
    let sender = at_rate(any);
    let copy = Box::new(source(&file)) as Box<FileSource>;
    let options = SendOptions::default();
    let summary = send(&sender, copy, &[second], options, &GOES_ON, &mut |_| ()).expect("sent");
    summary.receivers[0].1.as_ref().expect("received");
    receiver.join().expect("a thread").expect("received");
    assert!(fs::read(to.path().join("file")).expect("a file") == contents);
}

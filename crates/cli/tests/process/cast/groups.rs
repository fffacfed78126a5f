//! Tests of one-to-many transfers with IP multicast, between hosts in network namespaces.

use super::hosts::Hosts;
use super::{Listening, bytes, recv};
use crate::test_dir::{Ended, TestDir};
use std::fs;
use std::process::{Child, Command, Stdio};

const GROUP: &str = "239.77.1.2";
const RECEIVERS: usize = 3;

/// Starts a receiver on a host. The receiver accepts one transfer and writes to its own directory.
fn receiver(hosts: &Hosts, test_dir: &TestDir, host: usize, more: &[&str]) -> Listening {
    let directory = format!("in-{host}");
    let _ = fs::create_dir(test_dir.path().join(&directory));
    let listens = [&directory, "--once", "--insecure", "--listen", "0.0.0.0"];
    let command = test_dir.command(&recv(&[&listens, more].concat()));
    Listening::run(&mut hosts.on(host, &command))
}

/// Creates a file of this length, and a network of one sender and several receivers.
fn file_of(length: usize) -> (TestDir, Vec<u8>, Hosts) {
    let test_dir = TestDir::new();
    let contents = bytes(length);
    fs::write(test_dir.path().join("file"), &contents).expect("a file");
    (test_dir, contents, Hosts::new(1 + RECEIVERS))
}

/// Starts receivers that all join the multicast group.
fn members(hosts: &Hosts, test_dir: &TestDir) -> Vec<Listening> {
    (2..2 + RECEIVERS)
        .map(|host| receiver(hosts, test_dir, host, &["--group", GROUP]))
        .collect()
}

/// Checks that a receiver exits successfully and that its file has the right contents.
fn has_it(test_dir: &TestDir, host: usize, receiver: Listening, contents: &[u8]) {
    let ended = receiver.end();
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    let copy = test_dir.path().join(format!("in-{host}/file"));
    assert!(fs::read(copy).expect("a file") == contents);
}

/// Starts a sender to all receivers.
fn sending(hosts: &Hosts, test_dir: &TestDir, more: &[&str]) -> Child {
    let mut command = send(hosts, test_dir, more);
    command.stderr(Stdio::piped()).spawn().expect("it runs")
}

fn send(hosts: &Hosts, test_dir: &TestDir, more: &[&str]) -> Command {
    let to: Vec<String> = (2..2 + RECEIVERS).map(|host| hosts.address(host)).collect();
    let to: Vec<&str> = to.iter().map(String::as_str).collect();
    let arguments = [&["cast", "send", "file"], &to[..], &["--insecure"], more].concat();
    hosts.on(1, &test_dir.command(&arguments))
}

#[test]
fn a_group_is_sent_one_copy_and_who_does_not_hear_it_one_of_its_own() {
    let (test_dir, contents, hosts) = file_of(20_000_000);
    // First number: receivers that do not get packets of the group.
    // Second number: expected copies that the sender transmits.
    for (deaf, copies) in [(0, 1), (1, 2), (RECEIVERS, RECEIVERS)] {
        let receivers: Vec<Listening> = (0..RECEIVERS)
            .map(|at| {
                let joins: &[&str] = if at < deaf { &[] } else { &["--group", GROUP] };
                receiver(
                    &hosts,
                    &test_dir,
                    2 + at,
                    &[joins, &["--overwrite"]].concat(),
                )
            })
            .collect();
        let before = hosts.bytes_sent(1);
        // At this limited rate, a receiver's socket buffer holds all packets that arrive while other programs run.
        // At full rate, packets would be lost, and the number of sent bytes would depend on the machine.
        let sent = send(&hosts, &test_dir, &["--group", GROUP, "--rate", "100Mbps"]).output();
        let sent = Ended::from(sent.expect("it runs"));
        assert_eq!(sent.code, Some(0), "{}", sent.stderr);
        let left = hosts.bytes_sent(1) - before;
        let share = left as f64 / contents.len() as f64;
        let range = copies as f64..copies as f64 + 0.5;
        assert!(
            range.contains(&share),
            "{copies} copies: {share}\n{}",
            sent.stderr
        );
        let told = sent.stderr.matches("does not hear the group").count();
        assert_eq!(told, deaf, "{}", sent.stderr);
        for (at, receiver) in receivers.into_iter().enumerate() {
            has_it(&test_dir, 2 + at, receiver, &contents);
        }
    }
}

#[test]
fn a_receiver_that_stops_is_dropped_when_told_so_and_the_others_get_everything() {
    let (test_dir, contents, hosts) = file_of(40_000_000);
    let receivers = members(&hosts, &test_dir);
    let more = ["--group", GROUP, "--drop-after", "1s", "--rate", "200Mbps"];
    let sender = sending(&hosts, &test_dir, &more);
    super::until_a_slab_is_there(&test_dir.path().join("in-2"));
    receivers[0].signal(rustix::process::Signal::STOP);
    let sent = Ended::from(sender.wait_with_output().expect("it ends"));
    assert_eq!(sent.code, Some(1), "{}", sent.stderr);
    assert!(sent.complaint().contains("10.77.0.2"), "{}", sent.stderr);
    receivers[0].signal(rustix::process::Signal::KILL);
    for (at, receiver) in receivers.into_iter().enumerate() {
        match at {
            0 => drop(receiver.end()),
            _ => has_it(&test_dir, 2 + at, receiver, &contents),
        }
    }
}

#[test]
fn a_receiver_that_hears_the_group_no_longer_gets_a_copy_of_its_own() {
    let (test_dir, contents, hosts) = file_of(40_000_000);
    let receivers = members(&hosts, &test_dir);
    // At this low rate, most of the file is missing when the test detects the first chunk, even on a busy machine.
    let more = ["--group", GROUP, "--rate", "80Mbps"];
    let sender = sending(&hosts, &test_dir, &more);
    super::until_a_slab_is_there(&test_dir.path().join("in-3"));
    hosts.deafen(3);
    let sent = Ended::from(sender.wait_with_output().expect("it ends"));
    assert_eq!(sent.code, Some(0), "{}", sent.stderr);
    // On a very busy machine, another host may respond too late and also get a separate copy.
    let told = "10.77.0.3:7413: does not hear the group";
    assert!(sent.stderr.contains(told), "{}", sent.stderr);
    for (at, receiver) in receivers.into_iter().enumerate() {
        has_it(&test_dir, 2 + at, receiver, &contents);
    }
}

#[test]
fn a_group_of_ipv6_is_heard_too() {
    let test_dir = TestDir::new();
    let contents = bytes(2_000_000);
    fs::write(test_dir.path().join("file"), &contents).expect("a file");
    let hosts = Hosts::new(3);
    let receivers = [2, 3].map(|host| {
        let directory = format!("in-{host}");
        fs::create_dir(test_dir.path().join(&directory)).expect("a directory");
        let listens = [&*directory, "--once", "--insecure", "--listen", "[::]"];
        let joins = ["--group", "ff05::7413", "--interface", "eth0"];
        let command = test_dir.command(&recv(&[&listens[..], &joins].concat()));
        Listening::run(&mut hosts.on(host, &command))
    });
    let to = ["[fd77::2]", "[fd77::3]"];
    let more = ["--insecure", "--group", "ff05::7413", "--interface", "eth0"];
    let arguments = [&["cast", "send", "file"], &to[..], &more].concat();
    let sent = hosts.on(1, &test_dir.command(&arguments)).output();
    let sent = Ended::from(sent.expect("it runs"));
    assert_eq!(sent.code, Some(0), "{}", sent.stderr);
    assert!(!sent.stderr.contains("does not hear"), "{}", sent.stderr);
    for receiver in receivers {
        assert_eq!(receiver.end().code, Some(0));
    }
}

#[test]
fn a_group_is_refused_where_it_could_not_be_heard() {
    let test_dir = TestDir::new();
    let alone = test_dir.run(&recv(&[".", "--group", GROUP]));
    assert_eq!(alone.code, Some(2));
    assert!(
        alone.complaint().contains("--listen 0.0.0.0"),
        "{}",
        alone.stderr
    );
}

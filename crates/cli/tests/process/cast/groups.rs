//! One to many by IP multicast, between hosts of a network.

use super::hosts::Hosts;
use super::{Listening, bytes, recv};
use crate::place::{Ended, Place};
use std::fs;
use std::process::{Child, Command, Stdio};

const GROUP: &str = "239.77.1.2";
const RECEIVERS: usize = 3;

/// A receiver on a host, into a directory of its own, once.
fn receiver(hosts: &Hosts, place: &Place, host: usize, more: &[&str]) -> Listening {
    let directory = format!("in-{host}");
    let _ = fs::create_dir(place.path().join(&directory));
    let listens = [&directory, "--once", "--insecure", "--listen", "0.0.0.0"];
    let command = place.command(&recv(&[&listens, more].concat()));
    Listening::run(&mut hosts.on(host, &command))
}

/// A file of so many bytes, and a network of a sender and the receivers.
fn file_of(length: usize) -> (Place, Vec<u8>, Hosts) {
    let place = Place::new();
    let contents = bytes(length);
    fs::write(place.path().join("file"), &contents).expect("a file");
    (place, contents, Hosts::new(1 + RECEIVERS))
}

/// Receivers that all hear the group.
fn members(hosts: &Hosts, place: &Place) -> Vec<Listening> {
    (2..2 + RECEIVERS)
        .map(|host| receiver(hosts, place, host, &["--group", GROUP]))
        .collect()
}

/// A receiver ends well, and has the file.
fn has_it(place: &Place, host: usize, receiver: Listening, contents: &[u8]) {
    let ended = receiver.end();
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    let copy = place.path().join(format!("in-{host}/file"));
    assert!(fs::read(copy).expect("a file") == contents);
}

/// A sender that is at it.
fn sending(hosts: &Hosts, place: &Place, more: &[&str]) -> Child {
    let mut command = send(hosts, place, more);
    command.stderr(Stdio::piped()).spawn().expect("it runs")
}

fn send(hosts: &Hosts, place: &Place, more: &[&str]) -> Command {
    let to: Vec<String> = (2..2 + RECEIVERS).map(|host| hosts.address(host)).collect();
    let to: Vec<&str> = to.iter().map(String::as_str).collect();
    let arguments = [&["cast", "send", "file"], &to[..], &["--insecure"], more].concat();
    hosts.on(1, &place.command(&arguments))
}

#[test]
fn a_group_is_sent_one_copy_and_who_does_not_hear_it_one_of_its_own() {
    let (place, contents, hosts) = file_of(20_000_000);
    // Copies that leave the sender: all hear the group, one does not, nobody does.
    for (deaf, copies) in [(0, 1), (1, 2), (RECEIVERS, RECEIVERS)] {
        let receivers: Vec<Listening> = (0..RECEIVERS)
            .map(|at| {
                let joins: &[&str] = if at < deaf { &[] } else { &["--group", GROUP] };
                receiver(&hosts, &place, 2 + at, &[joins, &["--overwrite"]].concat())
            })
            .collect();
        let before = hosts.bytes_sent(1);
        let sent = send(&hosts, &place, &["--group", GROUP]).output();
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
            has_it(&place, 2 + at, receiver, &contents);
        }
    }
}

#[test]
fn a_receiver_that_stops_is_dropped_when_told_so_and_the_others_get_everything() {
    let (place, contents, hosts) = file_of(40_000_000);
    let receivers = members(&hosts, &place);
    let more = ["--group", GROUP, "--drop-after", "1s", "--rate", "200Mbps"];
    let sender = sending(&hosts, &place, &more);
    super::until_a_slab_is_there(&place.path().join("in-2"));
    receivers[0].signal(rustix::process::Signal::STOP);
    let sent = Ended::from(sender.wait_with_output().expect("it ends"));
    assert_eq!(sent.code, Some(1), "{}", sent.stderr);
    assert!(sent.complaint().contains("10.77.0.2"), "{}", sent.stderr);
    receivers[0].signal(rustix::process::Signal::KILL);
    for (at, receiver) in receivers.into_iter().enumerate() {
        match at {
            0 => drop(receiver.end()),
            _ => has_it(&place, 2 + at, receiver, &contents),
        }
    }
}

#[test]
fn a_receiver_that_hears_the_group_no_longer_gets_a_copy_of_its_own() {
    let (place, contents, hosts) = file_of(40_000_000);
    let receivers = members(&hosts, &place);
    // Slow enough that most is still to come when this test sees the first slab, on a busy machine too.
    let more = ["--group", GROUP, "--rate", "80Mbps"];
    let sender = sending(&hosts, &place, &more);
    super::until_a_slab_is_there(&place.path().join("in-3"));
    hosts.deafen(3);
    let sent = Ended::from(sender.wait_with_output().expect("it ends"));
    assert_eq!(sent.code, Some(0), "{}", sent.stderr);
    // A host that is very busy may answer too late, and get a copy of its own, too.
    let told = "10.77.0.3:7413: does not hear the group";
    assert!(sent.stderr.contains(told), "{}", sent.stderr);
    for (at, receiver) in receivers.into_iter().enumerate() {
        has_it(&place, 2 + at, receiver, &contents);
    }
}

#[test]
fn a_group_of_ipv6_is_heard_too() {
    let place = Place::new();
    let contents = bytes(2_000_000);
    fs::write(place.path().join("file"), &contents).expect("a file");
    let hosts = Hosts::new(3);
    let receivers = [2, 3].map(|host| {
        let directory = format!("in-{host}");
        fs::create_dir(place.path().join(&directory)).expect("a directory");
        let listens = [&*directory, "--once", "--insecure", "--listen", "[::]"];
        let joins = ["--group", "ff05::7413", "--interface", "eth0"];
        let command = place.command(&recv(&[&listens[..], &joins].concat()));
        Listening::run(&mut hosts.on(host, &command))
    });
    let to = ["[fd77::2]", "[fd77::3]"];
    let more = ["--insecure", "--group", "ff05::7413", "--interface", "eth0"];
    let arguments = [&["cast", "send", "file"], &to[..], &more].concat();
    let sent = hosts.on(1, &place.command(&arguments)).output();
    let sent = Ended::from(sent.expect("it runs"));
    assert_eq!(sent.code, Some(0), "{}", sent.stderr);
    assert!(!sent.stderr.contains("does not hear"), "{}", sent.stderr);
    for receiver in receivers {
        assert_eq!(receiver.end().code, Some(0));
    }
}

#[test]
fn a_group_is_refused_where_it_could_not_be_heard() {
    let place = Place::new();
    let alone = place.run(&recv(&[".", "--group", GROUP]));
    assert_eq!(alone.code, Some(2));
    assert!(
        alone.complaint().contains("--listen 0.0.0.0"),
        "{}",
        alone.stderr
    );
}

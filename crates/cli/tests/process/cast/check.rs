//! Tests of `tailcut cast check`: its reports about hosts that respond and hosts that do not.

use super::hosts::{Hosts, PORT};
use super::{Listening, recv};
use crate::test_dir::{Ended, TestDir};
use rustix::process::Signal;
use serde_json::Value;

fn check<'a>(more: &[&'a str]) -> Vec<&'a str> {
    [&["cast", "check", "--json"], more].concat()
}

/// Returns the report of a command that has checked one host.
fn report(ended: &Ended) -> Value {
    let line = ended.stdout.lines().next();
    let line = line.unwrap_or_else(|| panic!("no report: {}", ended.stderr));
    serde_json::from_str(line).expect("JSON")
}

#[test]
fn an_end_that_answers_is_told_about_in_full() {
    let test_dir = TestDir::new();
    assert_eq!(test_dir.run(&["cast", "key", "key"]).code, Some(0));
    for key in [&[][..], &["--psk", "key"]] {
        let receiver = Listening::start(&test_dir, &recv(&[&["."], key].concat()));
        let arguments = [&check(&[&receiver.host, "--dscp", "46"]), key].concat();
        let checked = test_dir.run(&arguments);
        assert_eq!(checked.code, Some(0), "{}", checked.stderr);
        let found = report(&checked);
        assert_eq!(found["event"], "checked");
        assert_eq!(found["reach"]["state"], "answers");
        assert_eq!(found["has_key"], !key.is_empty());
        let path = &found["path"];
        assert_eq!(path["mtu"]["there"], 9_000, "of loopback: {found}");
        assert_eq!(path["mtu"]["back"], 9_000, "of loopback: {found}");
        for (mark, ecn) in path["marks"]
            .as_array()
            .expect("marks")
            .iter()
            .zip([0, 2, 3])
        {
            let byte = 46 << 2 | ecn;
            assert_eq!(
                (&mark["sent"], &mark["there"]),
                (&byte.into(), &byte.into())
            );
            assert_eq!(mark["back"], byte);
        }
        assert_eq!(path["burst"]["sent"], 200);
        let seen = path["seen_as"].as_str().expect("an address");
        assert!(seen.starts_with("127.0.0.1:"), "{seen}");
        assert_eq!(path["buffer_there"], found["buffer_here"]);
        let said = test_dir.run(&[&["cast", "check", &receiver.host], key].concat());
        for words in ["a `tailcut cast` answers", "survive both ways", "udp dport"] {
            assert!(said.stdout.contains(words), "{}", said.stdout);
        }
        receiver.signal(Signal::INT);
        assert_eq!(receiver.end().code, Some(130));
    }
}

#[test]
fn a_replica_answers_too() {
    let test_dir = TestDir::new();
    test_dir.file("file", "x");
    let replica = Listening::start(&test_dir, &["cast", "serve", "file"]);
    let checked = test_dir.run(&check(&[&replica.host]));
    assert_eq!(checked.code, Some(0), "{}", checked.stderr);
    replica.signal(Signal::INT);
    replica.end();
}

#[test]
fn why_nothing_comes_back_is_told() {
    let test_dir = TestDir::new();
    for key in ["key", "other"] {
        assert_eq!(test_dir.run(&["cast", "key", key]).code, Some(0));
    }
    // The port becomes free again when the socket is dropped, so no program listens on it.
    let nobody = std::net::UdpSocket::bind("127.0.0.1:0").expect("a port");
    let closed = nobody.local_addr().expect("an address").to_string();
    drop(nobody);
    let checked = test_dir.run(&check(&[&closed]));
    assert_eq!(checked.code, Some(2), "{}", checked.stdout);
    let found = report(&checked);
    assert_eq!(found["reach"]["state"], "refused", "{found}");
    assert_eq!(found["reach"]["by"], "127.0.0.1");

    let receiver = Listening::start(&test_dir, &recv(&[".", "--psk", "key"]));
    for key in [&[][..], &["--psk", "other"]] {
        let checked = test_dir.run(&[&check(&[&receiver.host]), key].concat());
        assert_eq!(checked.code, Some(2));
        let found = report(&checked);
        assert_eq!(found["reach"]["state"], "silent", "{found}");
        assert_eq!(found["reach"]["refuses_others"], true, "{found}");
    }
    let without = Listening::start(&test_dir, &recv(&["."]));
    let hosts = [&*receiver.host, &without.host, "--psk", "key"];
    let checked = test_dir.run(&check(&hosts));
    assert_eq!(checked.code, Some(1), "one of two: {}", checked.stderr);
    assert!(checked.stdout.contains("has_no_key"), "{}", checked.stdout);
    assert!(
        checked.complaint().contains(&without.host),
        "{}",
        checked.stderr
    );
    for receiver in [receiver, without] {
        receiver.signal(Signal::INT);
        receiver.end();
    }
}

#[test]
fn the_path_s_mtu_and_groups_are_found_in_a_network() {
    let test_dir = TestDir::new();
    let hosts = Hosts::new(2);
    hosts.set_mtu(2, 1_433);
    let group = "239.77.1.1";
    for (joins, hears) in [(&["--group", group][..], true), (&[], false)] {
        let listens = [".", "--insecure", "--listen", "0.0.0.0"];
        let arguments = recv(&[&listens, joins].concat());
        let receiver = Listening::run(&mut hosts.on(2, &test_dir.command(&arguments)));
        let address = format!("{}:{PORT}", hosts.address(2));
        let command = test_dir.command(&check(&[&address, "--group", group]));
        let checked: Ended = hosts.on(1, &command).output().expect("it runs").into();
        assert_eq!(checked.code, Some(0), "{}", checked.stderr);
        let found = report(&checked);
        // A veth pair also accepts packets that are four bytes too long, because it reserves space for a VLAN tag.
        let there = found["path"]["mtu"]["there"].as_u64();
        assert!(
            there.is_some_and(|there| (1_433..=1_437).contains(&there)),
            "{found}"
        );
        assert_eq!(found["path"]["mtu"]["back"], 1_433, "{found}");
        assert_eq!(found["group"]["hears"], hears, "{found}");
        receiver.signal(Signal::INT);
        receiver.end();
    }
    // No host has this address, and the sender's own kernel reports the failure.
    let command = test_dir.command(&check(&["10.77.0.9"]));
    let checked: Ended = hosts.on(1, &command).output().expect("it runs").into();
    assert_eq!(checked.code, Some(2));
    assert_eq!(
        report(&checked)["reach"]["state"],
        "unreachable",
        "{}",
        checked.stdout
    );
}

#[test]
fn what_cannot_be_checked_is_told_with_what_is_allowed() {
    let test_dir = TestDir::new();
    let wrong = [
        (&["127.0.0.1", "--group", "10.0.0.1"][..], "239.1.2.3"),
        (
            &["127.0.0.1:1", "127.0.0.1:2", "--group", "239.1.2.3"],
            "one port for all",
        ),
        (&["127.0.0.1", "--interface", "nosuch0"], "ip link"),
    ];
    for (more, words) in wrong {
        let ended = test_dir.run(&[&["cast", "check"], more].concat());
        assert_eq!(ended.code, Some(2), "{more:?}");
        assert!(ended.stderr.contains(words), "{}", ended.stderr);
    }
}

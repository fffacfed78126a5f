//! Tests with wrong arguments, and with hosts that send invalid packets.

use crate::harness::{Lab, SMALL, TAILCUT, own_name, text};
use std::process::Command;

/// Runs a command that must fail, and returns its error message.
fn refused(command: &mut Command) -> String {
    let output = command.output().expect("the program runs");
    assert_eq!(output.status.code(), Some(2), "{}", text(&output.stderr));
    let said = text(&output.stderr);
    assert_eq!(said.lines().count(), 1, "one sentence: {said}");
    said
}

fn up(arguments: &[&str]) -> String {
    let name = own_name();
    refused(
        Command::new(TAILCUT)
            .args(["lab", "up", "--name", &name])
            .args(arguments),
    )
}

#[test]
fn wrong_use_is_told_with_what_is_allowed() {
    let lab = Lab::up(SMALL);
    let cases: [(&str, &[&str], &str); 5] = [
        (
            "exec",
            &["h9", "--", "true"],
            "HOST: found h9; allowed: h0 to h3",
        ),
        (
            "link",
            &["leaf0-spine9", "down"],
            "found spine9; allowed: the name of a node",
        ),
        (
            "link",
            &["h0-h1", "down"],
            "there is no link between these nodes",
        ),
        ("link", &["leaf0", "down"], "allowed: two nodes, such as"),
        (
            "link",
            &["leaf0-spine0"],
            "allowed: up, down, --rate, --delay and --loss",
        ),
    ];
    for (command, arguments, expected) in cases {
        let said = refused(lab.command(command).args(arguments));
        assert!(said.contains(expected), "{command}: {said}");
    }
    let taken = refused(Command::new(TAILCUT).args(["lab", "up", "--name", &lab.name]));
    assert!(taken.contains("which is already running"), "{taken}");
    let gone = refused(Command::new(TAILCUT).args(["lab", "status", "--lab", "missing"]));
    assert!(gone.contains("--lab: found missing; running: "), "{gone}");
}

#[test]
fn what_a_lab_cannot_be_is_refused_before_anything_is_made() {
    for design in ["pfabric", "ndp", "ndp-plus", "repflow", "qos"] {
        let said = up(&["--design", design]);
        assert!(said.contains("allowed in the lab"), "{design}: {said}");
    }
    let said = up(&["--design", "nothing"]);
    assert!(said.contains("--design"), "{said}");
    let said = up(&["--topology", "single-switch:hosts=65535"]);
    assert!(said.contains("allowed in a lab: up to"), "{said}");
    let said = refused(Command::new(TAILCUT).args(["lab", "up", "--name", "a b"]));
    assert!(said.contains("letters, digits, - and _"), "{said}");
}

#[test]
fn a_host_that_sends_junk_harms_nobody_else() {
    let lab = Lab::up(SMALL);
    let junk = "import socket, os\ns = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)\n\
                s.bind(('eth0', 0))\n\
                me = bytes.fromhex('027463000001'); you = bytes.fromhex('027463000004')\n\
                other = bytes.fromhex('027463000002')\n\
                for i in range(500):\n  \
                s.send(you + me + b'\\x08\\x00' + os.urandom(i % 60 + 1))\n  \
                s.send(you + other + b'\\x08\\x00' + os.urandom(60))\n  \
                s.send(b'\\xff' * 6 + me + b'\\x08\\x06' + os.urandom(40))\n  \
                s.send(os.urandom(14) + os.urandom(i))\n";
    let sent = lab.exec("h0", &["python3", "-c", junk]);
    assert!(sent.status.success(), "{}", text(&sent.stderr));
    let pinged = lab.exec("h1", &["ping", "-c", "3", "-i", "0.2", "h3"]);
    assert!(pinged.status.success(), "{}", text(&pinged.stdout));
    let status = lab.status();
    let refused = &status["hosts"][0]["refused"];
    assert!(refused["spoofed"].as_u64() >= Some(500), "{refused}");
    assert!(refused["malformed"].as_u64() >= Some(100), "{refused}");
}

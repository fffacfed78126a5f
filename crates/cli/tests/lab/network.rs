//! Tests of the emulated network between the hosts.

use crate::harness::{Lab, SMALL, text, wait_until};
use tailcut_record::StoredStudy;

/// Server program on port 7000 that prints the number of bytes of each connection.
const SINK: &str = "import socket\ns = socket.create_server(('', 7000))\nprint('ready')\n\
                    while True:\n  c, _ = s.accept()\n  n = 0\n  while d := c.recv(65536): n += len(d)\n  \
                    print(n)";

/// Client program that sends 200,000 bytes to port 7000 of h0.
const SOURCE: &str = "import socket\nc = socket.create_connection(('h0', 7000))\n\
                      c.sendall(bytes(200000))";

#[test]
fn bytes_of_real_programs_go_over_the_switches_and_are_counted() {
    let lab = Lab::up(SMALL);
    let mut sink = lab.python("h0", SINK);
    let sent = lab.exec("h3", &["python3", "-c", SOURCE]);
    assert!(sent.status.success(), "{}", text(&sent.stderr));
    assert_eq!(sink.line(), "200000");
    let status = lab.status();
    let links = status["links"].as_array().expect("links");
    let link = |name: &str| {
        let found = links.iter().find(|link| link["link"] == name);
        found.unwrap_or_else(|| panic!("no {name}")).clone()
    };
    // The flow has at least 137 full segments and one shorter segment.
    assert!(link("h3>leaf[1]")["packets"].as_u64() >= Some(138));
    assert!(link("leaf[0]>h0")["bytes"].as_u64() >= Some(200_000));
    let spines =
        ["leaf[1]>spine[0]", "leaf[1]>spine[1]"].map(|name| link(name)["packets"].as_u64());
    let by_spines: u64 = spines.into_iter().flatten().sum();
    assert_eq!(Some(by_spines), link("h3>leaf[1]")["packets"].as_u64());
    let lateness = &status["lateness"];
    assert!(lateness["packets"].as_u64() >= Some(138) && lateness["p99_us"].is_f64());
}

#[test]
fn a_link_that_is_down_stops_what_crosses_it_until_it_is_up() {
    let topology = "leaf-spine:hosts=1,leaves=2,spines=1,rate=100Mbps";
    let lab = Lab::up(&["--topology", topology, "--design", "tcp"]);
    let ping = || lab.exec("h0", &["ping", "-c", "1", "-W", "2", "h1"]).status;
    assert!(ping().success());
    let change = |what: &[&str]| {
        let output = lab.command("link").args(what).output().expect("it runs");
        assert!(output.status.success(), "{}", text(&output.stderr));
        text(&output.stdout)
    };
    let said = change(&["leaf0-spine0", "down"]);
    assert_eq!(said.lines().count(), 2, "both directions: {said}");
    assert!(!ping().success());
    change(&["leaf[0]-spine[0]", "up"]);
    wait_until("the link is up again", || ping().success());
    let said = change(&["h1-leaf1", "--rate", "10Mbps", "--delay", "20ms"]);
    assert!(said.contains("h1>leaf[1] up 10 Mb/s 20 ms"), "{said}");
    let round_trip = lab.sh(
        "h0",
        "ping -c 1 h1 | sed -n 's/.*time=\\([0-9]*\\).*/\\1/p'",
    );
    let round_trip: u64 = round_trip.trim().parse().expect("milliseconds");
    assert!(round_trip >= 40, "20 ms in each direction: {round_trip}");
}

#[test]
fn a_link_loses_the_share_of_packets_that_it_is_told_to() {
    let lab = Lab::up(&["--topology", "single-switch:hosts=2,rate=100Mbps"]);
    let link = |what: &[&str]| {
        let link = lab.command("link").arg("h0-s0").args(what).output();
        link.expect("it runs")
    };
    let said = text(&link(&["--loss", "100%"]).stdout);
    assert!(said.contains("loses 100 %"), "{said}");
    let ping = |count: &str| lab.exec("h0", &["ping", "-c", count, "-i", "0.002", "-W", "1", "h1"]);
    assert!(!ping("3").status.success());
    assert_eq!(lab.sum("links", "lost"), 3);
    assert!(link(&["--loss", "0.25"]).status.success());
    ping("400");
    // Each loss is the loss of either a ping or its reply.
    let lost = lab.sum("links", "lost") - 3;
    assert!(
        (110..=240).contains(&lost),
        "{lost} of 400 pings and replies are lost"
    );
    assert!(link(&["--loss", "0"]).status.success());
    assert!(ping("20").status.success());
    assert_eq!(lab.sum("links", "lost"), lost + 3);
    let refused = text(&link(&["--loss", "101%"]).stderr);
    assert!(
        refused.contains("allowed: a number from 0 to 1, such as 0.5 or \"50%\""),
        "{refused}"
    );
}

#[test]
fn multicast_reaches_those_who_listen_and_nobody_else() {
    let lab = Lab::up(SMALL);
    let listen = "import socket, struct\ns = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)\n\
                  s.bind(('', 7001))\n\
                  g = socket.inet_aton('239.1.2.3') + socket.inet_aton('0.0.0.0')\n\
                  s.setsockopt(socket.IPPROTO_IP, socket.IP_ADD_MEMBERSHIP, g)\n\
                  print('ready')\nprint(s.recv(100).decode())";
    let mut listeners = ["h1", "h3"].map(|host| lab.python(host, listen));
    let before = lab.sum("hosts", "received");
    let send = "import socket\ns = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)\n\
                s.sendto(b'to all who listen', ('239.1.2.3', 7001))";
    assert!(lab.exec("h0", &["python3", "-c", send]).status.success());
    for listener in &mut listeners {
        assert_eq!(listener.line(), "to all who listen");
    }
    assert_eq!(lab.sum("hosts", "received") - before, 2);
}

#[test]
fn two_labs_run_side_by_side_and_a_command_says_which() {
    let (one, two) = (Lab::up(SMALL), Lab::up(SMALL));
    one.sh("h0", "echo one > /tmp/which");
    two.sh("h0", "echo two > /tmp/which");
    assert_eq!(one.sh("h0", "cat /tmp/which"), "one\n");
    assert_eq!(two.sh("h0", "cat /tmp/which"), "two\n");
}

#[test]
fn flows_of_programs_are_told_apart_and_make_a_report() {
    let lab = Lab::up(SMALL);
    let directory = tempfile::tempdir().expect("a directory");
    let out = directory.path().join("out");
    let flows = || {
        let mut command = lab.command("flows");
        command.arg("--out").arg(&out).arg("--json");
        command.output().expect("it runs")
    };
    let refused = text(&flows().stderr);
    assert!(
        refused.contains("has sent anything over TCP yet"),
        "{refused}"
    );
    // On each connection, the server reads a request of 5,000 bytes and responds with 70,000 bytes.
    let serve = "import socket\ns = socket.create_server(('', 7002))\nprint('ready')\n\
                 while True:\n  c = s.accept()[0]\n  n = 0\n  \
                 while n < 5000: n += len(c.recv(65536))\n  c.sendall(bytes(70000))\n  c.close()";
    let _server = lab.python("h3", serve);
    let ask = "import socket\nfor _ in range(2):\n  c = socket.create_connection(('h3', 7002))\n  \
               c.sendall(bytes(5000))\n  n = 0\n  \
               while True:\n    part = c.recv(65536)\n    n += len(part)\n    if not part: break\n  \
               c.close()\nprint(n)";
    assert_eq!(
        text(&lab.exec("h0", &["python3", "-c", ask]).stdout),
        "70000\n"
    );
    wait_until("the last acknowledgement has passed", || {
        let output = flows();
        assert!(output.status.success(), "{}", text(&output.stderr));
        let study = StoredStudy::open(&out).expect("a study");
        let mut run = study.runs().next().expect("a run").expect("tables");
        let rows = run.flows().expect("a table");
        let found: Vec<_> = rows
            .iter()
            .map(|row| (row.src.0, row.dst.0, row.bytes.0))
            .collect();
        assert_eq!(found, [(0, 3, 5_000), (3, 0, 70_000)].repeat(2));
        assert!(
            run.ports()
                .expect("a table")
                .iter()
                .any(|port| port.name == "h0>leaf[0]")
        );
        rows.iter().all(|row| row.fct.is_some())
    });
    assert!(out.join("report.html").exists());
}

/// Returns the number of packets that are purged when a receiver resets a connection with queued segments.
fn purged_by_a_reset(more: &[&str]) -> u64 {
    let topology = ["--topology", "single-switch:hosts=2,rate=100Mbps"];
    let lab = Lab::up(&[&topology[..], more].concat());
    let slow = lab
        .command("link")
        .args(["h1-s0", "--rate", "1Mbps"])
        .output();
    assert!(slow.expect("it runs").status.success());
    // The receiver resets the connection as soon as the file exists.
    let sink = "import os, socket, struct\ns = socket.create_server(('', 7000))\nprint('ready')\n\
                c = s.accept()[0]\nwhile not os.path.exists('/tmp/go'): pass\n\
                c.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack('ii', 1, 0))\nc.close()\n\
                print('reset')";
    let mut sink = lab.python("h1", sink);
    let source = "import socket\nc = socket.create_connection(('h1', 7000))\nprint('ready')\n\
                  try: c.sendall(bytes(1000000))\nexcept OSError: pass";
    let _source = lab.python("h0", source);
    wait_until("segments queue", || {
        let status = lab.status();
        let links = status["links"].as_array().expect("links").iter();
        links
            .filter_map(|link| link["queued_packets"].as_u64())
            .sum::<u64>()
            > 8
    });
    lab.sh("h1", "touch /tmp/go");
    assert_eq!(sink.line(), "reset");
    wait_until("the switch is empty", || {
        lab.status()["remaining"]["packets"] == 0
    });
    lab.status()["drops"]["purged"]["packets"]
        .as_u64()
        .unwrap_or(0)
}

#[test]
fn a_reset_purges_the_queued_segments_of_its_connection_where_that_is_asked_for() {
    assert_eq!(purged_by_a_reset(&[]), 0);
    assert!(purged_by_a_reset(&["--purge-by-reset"]) > 5);
}

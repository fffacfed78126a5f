//! Tests of switches that act as routers, from the view of the hosts.

use crate::harness::{Lab, SMALL, TAILCUT, text};
use std::process::Command;

/// Returns the part of `ping`'s output that names the responding router, for a ping with this TTL.
fn answered_by(lab: &Lab, ttl: &str) -> String {
    let output = lab.exec("h0", &["ping", "-n", "-c", "1", "-W", "5", "-t", ttl, "h3"]);
    let said = text(&output.stdout);
    let line = said.lines().nth(1).unwrap_or_default();
    let from = line.split_whitespace().find(|word| word.starts_with("10."));
    let from = from.unwrap_or_default();
    let what = if line.contains("Time to live exceeded") {
        "ended"
    } else {
        "arrived"
    };
    format!("{what} {}", from.trim_end_matches(':'))
}

fn router(lab: &Lab, name: &str) -> (String, u64, u64) {
    let status = lab.status();
    let routers = status["routers"].as_array().expect("routers");
    let found = routers.iter().find(|router| router["name"] == name);
    let found = found.unwrap_or_else(|| panic!("no {name}"));
    let count = |column: &str| found[column].as_u64().expect("a count");
    let address = found["address"].as_str().expect("an address").to_owned();
    (address, count("ended"), count("answered"))
}

#[test]
fn a_ping_with_a_short_ttl_is_answered_by_the_switch_where_it_ends() {
    for design in ["cubic", "cubic@conga", "cubic@expeditus"] {
        let topology = "leaf-spine:hosts=2,leaves=2,spines=2,rate=100Mbps";
        let lab = Lab::up(&["--routed", "--topology", topology, "--design", design]);
        let [near, far] = ["leaf[0]", "leaf[1]"].map(|name| router(&lab, name).0);
        let spines = ["spine[0]", "spine[1]"].map(|name| router(&lab, name).0);
        assert_eq!(answered_by(&lab, "1"), format!("ended {near}"), "{design}");
        let second = answered_by(&lab, "2");
        let is_spine = |spine: &String| second == format!("ended {spine}");
        assert!(spines.iter().any(is_spine), "{second}");
        assert_eq!(answered_by(&lab, "3"), format!("ended {far}"), "{design}");
        assert_eq!(answered_by(&lab, "4"), "arrived 10.0.0.4", "{design}");
        let (_, ended, answered) = router(&lab, "leaf[0]");
        assert_eq!((ended, answered), (1, 1));
        // A host can also resolve the name of a switch.
        assert_eq!(
            lab.sh("h1", "getent hosts leaf0 | cut -d' ' -f1").trim(),
            near
        );
    }
}

#[test]
fn each_router_takes_one_off_the_ttl_and_a_switch_that_is_none_takes_nothing() {
    // A path between racks has three switches, and a path within a rack has one. IP_RECVTTL is option 12.
    for (more, arrives) in [(&["--routed"][..], [63, 61]), (&[], [64, 64])] {
        let lab = Lab::up(&[more, SMALL].concat());
        let receive = "import socket\ns = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)\n\
                       s.setsockopt(socket.IPPROTO_IP, 12, 1)\n\
                       s.bind(('', 7000))\nprint('ready')\n\
                       while True:\n  d, a, f, p = s.recvmsg(100, 100)\n  \
                       print(int.from_bytes(a[0][2], 'little'))";
        let mut receiver = lab.python("h0", receive);
        for (from, ttl) in ["h1", "h3"].into_iter().zip(arrives) {
            let send = "import socket\ns = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)\n\
                        s.setsockopt(socket.IPPROTO_IP, socket.IP_TTL, 64)\n\
                        s.sendto(b'x', ('h0', 7000))";
            assert!(lab.exec(from, &["python3", "-c", send]).status.success());
            assert_eq!(receiver.line(), ttl.to_string(), "{more:?}, from {from}");
        }
    }
}

#[test]
fn a_router_answers_no_more_often_than_it_may_and_counts_what_it_leaves_out() {
    let lab = Lab::up(&[&["--routed", "--icmp-rate", "1"][..], SMALL].concat());
    let burst = "import socket\ns = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)\n\
                 s.setsockopt(socket.IPPROTO_IP, socket.IP_TTL, 1)\n\
                 for _ in range(500):\n  try: s.sendto(b'x', ('h3', 7000))\n  except OSError: pass";
    assert!(lab.exec("h0", &["python3", "-c", burst]).status.success());
    // The token bucket holds 50 tokens and gains one token per second.
    assert!(lab.exec("h0", &["ping", "-c", "1", "h3"]).status.success());
    let (_, ended, answered) = router(&lab, "leaf[0]");
    assert_eq!(ended, 500);
    assert!((50..500).contains(&answered), "{answered}");
    let mut refused = Command::new(TAILCUT);
    refused.args(["lab", "up", "--icmp-rate", "5"]);
    let refused = text(&refused.output().expect("it runs").stderr);
    assert!(refused.contains("--routed"), "{refused}");
}

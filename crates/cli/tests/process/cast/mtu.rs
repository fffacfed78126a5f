//! Tests that transfers use packets of the largest size that the path accepts.

use super::hosts::{Hosts, PORT};
use super::{Listening, bytes, recv};
use crate::test_dir::{Ended, TestDir};
use std::fs;

#[test]
fn packets_are_as_large_as_they_may_be_and_smaller_where_the_path_takes_less() {
    let test_dir = TestDir::new();
    let contents = bytes(10_000_000);
    fs::write(test_dir.path().join("file"), &contents).expect("a file");
    let hosts = Hosts::new(2);
    for host in [1, 2] {
        hosts.set_mtu(host, 9_000);
        hosts.set_port_mtu(host, 9_000);
    }
    let mut sent = 0;
    // Each symbol has a header of 32 bytes.
    // Packets of 1,500 bytes need six times as many headers as packets of 9,000 bytes.
    for (mtu, overhead) in [(9_000, 0.002..0.012), (1_500, 0.02..0.04)] {
        hosts.set_mtu(1, mtu);
        let into = format!("into-{mtu}");
        fs::create_dir(test_dir.path().join(&into)).expect("a directory");
        let listens = recv(&[&into, "--insecure", "--once", "--listen", "0.0.0.0"]);
        let receiver = Listening::run(&mut hosts.on(2, &test_dir.command(&listens)));
        let address = format!("{}:{PORT}", hosts.address(2));
        let send = [
            "cast",
            "send",
            "file",
            &address,
            "--insecure",
            "--mtu",
            "9000",
        ];
        let ended = hosts.on(1, &test_dir.command(&send)).output();
        let ended: Ended = ended.expect("it runs").into();
        assert_eq!(ended.code, Some(0), "{}", ended.stderr);
        assert_eq!(receiver.end().code, Some(0));
        let arrived = fs::read(test_dir.path().join(&into).join("file")).expect("a file");
        assert!(arrived == contents);
        let all = hosts.bytes_sent(1);
        let found = (all - sent) as f64 / contents.len() as f64 - 1.0;
        assert!(overhead.contains(&found), "{mtu}: {found}");
        sent = all;
    }
    let refused = test_dir.run(&["cast", "send", "file", "127.0.0.1", "--mtu", "9001"]);
    assert_eq!(refused.code, Some(2), "{}", refused.stderr);
    assert!(
        refused.stderr.contains("from 1280 to 9KB"),
        "{}",
        refused.stderr
    );
}

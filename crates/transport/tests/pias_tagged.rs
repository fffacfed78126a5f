//! PIAS' tags on what TCP sends, as stories.

mod pair;

use pair::{A, B, Pair, Sent, lose_once, plain_config};
use tailcut_transport::pias::Tagged;
use tailcut_transport::repnet::{self, RepNetConfig};
use tailcut_transport::tcp::{Congestion, Host, TcpConfig};
use tailcut_transport::{Demotion, TcpFlags, Transport};
use tailcut_units::HostId;

const THRESHOLDS: [u64; 3] = [3_000, 8_000, 20_000];

fn demotion() -> Demotion {
    Demotion::at(&THRESHOLDS).expect("ascending")
}

/// Segments of 1,000 B.
fn config() -> TcpConfig {
    TcpConfig {
        congestion: Congestion::DCTCP,
        ..plain_config()
    }
}

fn pias() -> Pair<Tagged<Host>> {
    let host = |id| {
        let host = Host::new(HostId(id), config()).expect("a valid configuration");
        Tagged::new(host, demotion())
    };
    Pair::new(host(0), host(1))
}

/// The class that the thresholds give the byte at `offset`, counted by hand.
fn class_of(offset: u64) -> u8 {
    THRESHOLDS.iter().filter(|t| offset >= **t).count() as u8
}

fn data<T: Transport>(pair: &Pair<T>) -> Vec<Sent> {
    let data = |sent: &&Sent| sent.from == A && sent.segment.payload > 0;
    pair.sent.iter().filter(data).copied().collect()
}

#[test]
fn a_flow_goes_down_exactly_where_it_has_sent_a_threshold() {
    let mut pair = pias();
    pair.submit(0, 30_000);
    pair.run();
    let classes: Vec<u8> = data(&pair).iter().map(|s| s.segment.priority).collect();
    let expected: Vec<u8> = [vec![0; 3], vec![1; 5], vec![2; 12], vec![3; 10]].concat();
    assert_eq!(classes, expected);
}

#[test]
fn what_is_sent_again_keeps_its_class_and_pushes_nothing_down() {
    let mut pair = pias().with_fault(lose_once(&[1, 6]));
    pair.submit(0, 30_000);
    pair.run();
    let data = data(&pair);
    assert!(data.len() > 30, "something was sent again");
    for sent in data {
        assert_eq!(sent.segment.priority, class_of(sent.header().offset));
    }
}

#[test]
fn handshakes_and_acks_are_in_the_highest_class() {
    let mut pair = pias();
    pair.submit(0, 30_000);
    pair.run();
    let syn = |sent: &&Sent| sent.header().flags.has(TcpFlags::SYN);
    let control: Vec<&Sent> = pair.sent.iter().filter(|s| s.from == B || syn(s)).collect();
    assert!(control.len() > 15);
    assert!(control.iter().all(|sent| sent.segment.priority == 0));
}

#[test]
fn both_copies_of_a_replicated_flow_are_tagged() {
    let host = |id| {
        let host = repnet::Host::new(HostId(id), config(), RepNetConfig::default());
        Tagged::new(host.expect("a valid configuration"), demotion())
    };
    let mut pair = Pair::new(host(0), host(1));
    pair.submit(0, 30_000);
    pair.run();
    let data = data(&pair);
    let mut ports: Vec<u16> = data
        .iter()
        .map(|sent| sent.segment.tuple.dst_port)
        .collect();
    ports.sort_unstable();
    ports.dedup();
    assert_eq!(ports.len(), 2, "two connections");
    for port in ports {
        let mut of_copy = data.iter().filter(|s| s.segment.tuple.dst_port == port);
        assert!(of_copy.any(|sent| sent.segment.priority == 3));
    }
    for sent in data {
        assert_eq!(sent.segment.priority, class_of(sent.header().offset));
    }
}

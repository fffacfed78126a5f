//! Tests of classes by flow size on TCP segments.

use crate::pair::{A, B, Pair, Sent, lose_once, plain_config};
use tailcut_transport::qos::Classified;
use tailcut_transport::tcp::{Host, TcpFlags};
use tailcut_units::HostId;

const SMALL_BELOW: u64 = 10_000;

fn qos() -> Pair<Classified<Host>> {
    let host = |id| {
        let host = Host::new(HostId(id), plain_config()).expect("a valid configuration");
        Classified::new(host, SMALL_BELOW)
    };
    Pair::new(host(0), host(1))
}

fn sent_by(pair: &Pair<Classified<Host>>, from: usize, flow: u32) -> Vec<&Sent> {
    let of_flow = |sent: &&Sent| sent.from == from && sent.segment.flow.0 == flow;
    pair.sent.iter().filter(of_flow).collect()
}

#[test]
fn a_large_flow_goes_low_from_its_syn_on_and_a_small_one_high() {
    let mut pair = qos().with_fault(lose_once(&[4, 9]));
    pair.submit(0, SMALL_BELOW);
    pair.submit(1, SMALL_BELOW - 1);
    pair.run();
    for (flow, class) in [(0, 1), (1, 0)] {
        let mut sent = sent_by(&pair, A, flow);
        // The ACK of the peer's FIN is excluded. At that time the flow has ended, and its class is removed.
        sent.retain(|s| s.segment.payload > 0 || s.header().flags.has(TcpFlags::SYN));
        assert!(sent.len() > 10, "{}", sent.len());
        for sent in sent {
            assert_eq!(sent.segment.priority, class, "{sent:?}");
        }
    }
}

#[test]
fn what_a_receiver_answers_goes_high_whatever_the_flow() {
    let mut pair = qos();
    pair.submit(0, 50_000);
    pair.run();
    let answers = sent_by(&pair, B, 0);
    assert!(answers.len() > 10);
    assert!(answers.iter().all(|sent| sent.segment.priority == 0));
}

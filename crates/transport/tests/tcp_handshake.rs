//! Opening a connection: what is sent when, and what happens when the first segments are lost.

mod pair;

use pair::{A, Fate, Pair};
use tailcut_transport::tcp::{Host, TcpConfig};
use tailcut_transport::{Event, TcpFlags};
use tailcut_units::{Duration, FlowId, HostId, Time};

fn pair(config: &TcpConfig) -> Pair<Host> {
    let host = |id| Host::new(HostId(id), config.clone()).expect("a valid configuration");
    Pair::new(host(0), host(1))
}

#[test]
fn a_one_segment_flow_takes_five_segments() {
    let mut pair = pair(&TcpConfig::default());
    pair.submit(7, 1_000);
    pair.run();
    assert_eq!(
        pair.trace(1_000),
        [
            "A SYN",
            "B SYN ack 0",
            "A FIN 0..1 ack 0",
            "B FIN ack 1+1",
            "A ack 0+1"
        ]
    );
}

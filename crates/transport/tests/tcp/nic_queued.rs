//! Tests of the FIFO queue of a host between transport and link.

use crate::pair::{A, Pair, tcp};
use core::num::NonZeroU32;
use tailcut_transport::nic::Queued;
use tailcut_transport::tcp::{Host, TcpConfig};
use tailcut_units::{Duration, HostId, Rate, Time};

const LINE: Rate = Rate::from_gbps(1);
/// Bytes of a full segment on the wire.
const FULL: u64 = 1_538;

fn behind(length: u32) -> Pair<Queued<Host>> {
    let host = |id| {
        let host = Host::new(HostId(id), TcpConfig::default()).expect("a valid configuration");
        Queued::new(host, NonZeroU32::new(length).expect("above 0"))
    };
    let mut pair = Pair::new(host(0), host(1));
    pair.rates = [LINE; 2];
    pair
}

/// Returns the time of a flow of 10 KB that starts after a large flow has used the link alone for 100 ms.
fn mouse_beside_an_elephant<T: tailcut_transport::Transport>(mut pair: Pair<T>) -> Duration {
    pair.submit(0, 1_000_000_000);
    pair.run_until(Time::ZERO + Duration::from_ms(100));
    let start = pair.now;
    pair.submit(1, 10_000);
    pair.run_until(start + Duration::from_ms(100));
    pair.completed(1).expect("complete").since(start)
}

#[test]
fn a_small_flow_waits_behind_what_a_large_one_of_its_host_has_queued() {
    let mut fair = tcp(&TcpConfig::default());
    fair.rates = [LINE; 2];
    let fair = mouse_beside_an_elephant(fair);
    let queued = mouse_beside_an_elephant(behind(100));
    // The SYN and the data each meet 100 full packets of the large flow in the queue.
    let queues = LINE.serialisation(2 * 100 * FULL);
    assert!(fair < Duration::from_ms(1), "{fair}");
    assert!(
        queued > queues && queued < queues + Duration::from_ms(1),
        "{queued}"
    );
}

#[test]
fn the_queue_is_never_longer_than_it_may_be_and_drops_nothing() {
    let mut pair = behind(7);
    for flow in 0..5 {
        pair.submit(flow, 300_000);
    }
    let mut longest = 0;
    while pair.step() {
        longest = longest.max(pair.hosts[A].backlog());
    }
    assert_eq!(longest, 7);
    for flow in 0..5 {
        assert!(pair.completed(flow).is_some());
        assert_eq!(pair.stats(flow).retransmissions, 0);
    }
}

#[test]
fn a_flow_alone_does_not_notice_its_queue() {
    let mut fair = tcp(&TcpConfig::default());
    fair.rates = [LINE; 2];
    let mut queued = behind(1_000);
    fair.submit(0, 3_000_000);
    queued.submit(0, 3_000_000);
    fair.run();
    queued.run();
    assert_eq!(fair.completed(0), queued.completed(0));
}

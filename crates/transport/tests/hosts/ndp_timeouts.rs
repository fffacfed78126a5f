//! Tests of the timeouts of NDP's sender.

use crate::ndp_parts::once;
use crate::pair::{A, Fate, Pair};
use tailcut_transport::ndp::{Host, NdpConfig};
use tailcut_units::{Duration, HostId, Time};

const MSS: u64 = 1_460;
const PACKETS: u64 = 100;

#[test]
fn acks_that_come_in_order_measure_the_round_trip_so_that_a_lost_packet_costs_the_least_timeout() {
    let config = NdpConfig {
        min_rto: Duration::from_ms(1),
        initial_rto: Duration::from_ms(50),
        ..NdpConfig::default()
    };
    let host = |id| Host::new(HostId(id), config).expect("a valid configuration");
    let pair = Pair::new(host(0), host(1)).with_one_way(Duration::from_us(5));
    let mut pair = pair.with_fault(once(&[PACKETS - 1], Fate::Drop));
    pair.submit(0, PACKETS * MSS);
    pair.run();
    let completed = pair.completed(0).expect("it is sent again");
    // A hundred packets take 0.13 ms.
    assert!(
        completed > Time::ZERO + Duration::from_ms(1),
        "{completed:?}"
    );
    assert!(
        completed < Time::ZERO + Duration::from_ms(2),
        "{completed:?}"
    );
    let data = pair
        .sent
        .iter()
        .filter(|sent| sent.from == A && sent.segment.payload > 0);
    assert_eq!(data.count() as u64, PACKETS + 1);
}

//! Tests of pFabric between two hosts.

use crate::pair::{A, B, Fate, Pair, Passage, Sent};
use proptest::prelude::*;
use tailcut_transport::pfabric::{Host, PFabricConfig, PFabricHeader, PFabricKind};
use tailcut_transport::{Event, Header, Segment, Transport};
use tailcut_units::{Duration, FiveTuple, FlowId, HostId, Protocol, Time};

const MSS: u64 = 1_460;

fn config() -> PFabricConfig {
    PFabricConfig::default()
}

fn host(id: u32, config: PFabricConfig) -> Host {
    Host::new(HostId(id), config).expect("a valid configuration")
}

/// Returns two pFabric hosts. The one-way delay is 5 us at 10 Gb/s.
/// With 1.23 us for a full packet, a round trip takes 11.3 us.
fn pfabric(config: PFabricConfig) -> Pair<Host> {
    Pair::new(host(0, config), host(1, config)).with_one_way(Duration::from_us(5))
}

fn header(segment: &Segment) -> PFabricHeader {
    let Header::PFabric(header) = segment.header else {
        panic!("not pFabric: {segment:?}")
    };
    header
}

/// Returns the packets of a kind that A sent.
fn sent(pair: &Pair<Host>, kind: PFabricKind) -> Vec<Sent> {
    let of_kind = |sent: &&Sent| sent.from == A && header(&sent.segment).kind == kind;
    pair.sent.iter().filter(of_kind).copied().collect()
}

fn indices(sent: &[Sent]) -> Vec<u64> {
    sent.iter()
        .map(|sent| header(&sent.segment).index)
        .collect()
}

/// Returns a fault that loses the first transmission of each of `packets`.
fn lose_once(packets: &[u64]) -> impl FnMut(&Passage) -> Fate + 'static {
    let mut left = packets.to_vec();
    move |passage| {
        let header = header(passage.segment);
        let at = left
            .iter()
            .position(|&packet| header.kind == PFabricKind::Data && header.index == packet);
        match at {
            Some(at) => {
                left.remove(at);
                Fate::Drop
            }
            None => Fate::Deliver,
        }
    }
}

#[test]
fn a_flow_pushes_its_first_window_at_line_rate_without_a_handshake() {
    let mut pair = pfabric(config());
    pair.submit(0, 100 * MSS);
    pair.run_until(Time::ZERO + Duration::from_us(11));
    // Twelve full packets take 14.8 us. The ninth starts at 9.8 us, and no ACK arrives before 11.3 us.
    let data = sent(&pair, PFabricKind::Data);
    assert_eq!(indices(&data), (0..9).collect::<Vec<_>>());
    pair.run();
    assert_eq!(pair.stats(0).retransmissions, 0);
    assert_eq!(pair.stats(0).payload_sent, 100 * MSS);
    // The flow uses the full rate from start to end. The flow takes the time of 100 packets of 1,538 B, and the delay.
    let ideal = Duration::from_ps(100 * 1_230_400) + Duration::from_us(5);
    assert_eq!(pair.completed(0), Some(Time::ZERO + ideal));
}

#[test]
fn the_rank_of_a_packet_is_what_of_its_flow_is_not_known_to_have_arrived() {
    let mut pair = pfabric(config());
    let bytes = 20 * MSS + 10;
    pair.submit(0, bytes);
    pair.run();
    let acks_before = |at: Time| {
        let arrival = |sent: &&Sent| sent.from == B && sent.at + Duration::from_ns(5_063) <= at;
        pair.sent.iter().filter(arrival).count() as u64
    };
    for sent in sent(&pair, PFabricKind::Data) {
        let expected = bytes - acks_before(sent.at) * MSS;
        assert_eq!(u64::from(sent.segment.rank), expected, "at {}", sent.at);
    }
    let answers = pair.sent.iter().filter(|sent| sent.from == B);
    assert!(answers.into_iter().all(|sent| sent.segment.rank == 0));
}

#[test]
fn duplicate_acks_mean_nothing_and_the_timeout_finds_the_hole() {
    let mut pair = pfabric(config()).with_fault(lose_once(&[3]));
    pair.submit(0, 40 * MSS);
    pair.run();
    let sendings: Vec<Time> = sent(&pair, PFabricKind::Data)
        .iter()
        .filter(|sent| header(&sent.segment).index == 3)
        .map(|sent| sent.at)
        .collect();
    assert_eq!(sendings.len(), 2);
    // The ACK of packet 2 restarted the timer, after three packets and a round trip.
    let restarted = Time::ZERO + Duration::from_ps(3 * 1_230_400) + Duration::from_ns(10_000);
    let waited = sendings[1].since(restarted);
    assert!(waited >= config().rto, "{waited}");
    assert!(waited < config().rto + Duration::from_us(1), "{waited}");
    assert_eq!(pair.stats(0).timeouts, 1);
    assert!(pair.completed(0).is_some());
}

#[test]
fn after_a_timeout_one_packet_goes_and_what_was_acknowledged_is_not_sent_again() {
    let mut pair = pfabric(config()).with_fault(lose_once(&[0, 5]));
    pair.submit(0, 12 * MSS);
    pair.run();
    let data = sent(&pair, PFabricKind::Data);
    let again: Vec<u64> = indices(&data)[12..].to_vec();
    assert_eq!(again, [0, 5]);
    assert!(
        data[13].at - data[12].at >= Duration::from_us(11),
        "slow start"
    );
    assert_eq!(pair.stats(0).retransmissions, 2);
}

#[test]
fn the_window_grows_to_its_bound_and_not_beyond() {
    let mut pair = pfabric(config()).with_one_way(Duration::from_us(18));
    pair.submit(0, 1_000 * MSS);
    pair.run();
    let round_trip = Duration::from_us(36);
    let data = sent(&pair, PFabricKind::Data);
    let bound = config().max_window as usize;
    let mut full = data.windows(bound);
    assert!(full.any(|window| window[bound - 1].at - window[0].at < round_trip));
    for window in data.windows(bound + 1) {
        assert!(window[bound].at - window[0].at > round_trip);
    }
}

#[test]
fn after_five_timeouts_the_sender_only_probes_until_something_arrives() {
    let silence = Time::ZERO + Duration::from_us(600);
    let mut pair = pfabric(config()).with_fault(move |passage| {
        if passage.from == A && passage.now < silence {
            Fate::Drop
        } else {
            Fate::Deliver
        }
    });
    pair.submit(0, 30 * MSS);
    pair.run();
    let probes = sent(&pair, PFabricKind::Probe);
    // The fifth timeout is at 225 us. Then a probe leaves every 45 us, until the first probe after 600 us is answered.
    let times: Vec<u64> = probes.iter().map(|sent| sent.at.as_ns() / 1_000).collect();
    assert_eq!(times, [225, 270, 315, 360, 405, 450, 495, 540, 585, 630]);
    assert!(probes.iter().all(|sent| sent.segment.payload == 0));
    let data = sent(&pair, PFabricKind::Data);
    let between = |sent: &&Sent| sent.at >= probes[0].at && sent.at <= probes[9].at;
    assert_eq!(data.iter().filter(between).count(), 0);
    let after: Vec<&Sent> = data.iter().filter(|sent| sent.at > probes[9].at).collect();
    assert_eq!(header(&after[0].segment).index, 0);
    assert!(
        after[1].at - after[0].at >= Duration::from_us(11),
        "slow start"
    );
    assert!(pair.completed(0).is_some());
}

#[test]
fn an_old_ack_ends_the_probing_as_well() {
    // Packet 0 arrives twice, and the second copy is late. All other packets from A are lost for 600 us.
    let silence = Time::ZERO + Duration::from_us(600);
    let mut first = true;
    let mut pair = pfabric(config()).with_fault(move |passage| {
        if passage.from == A && core::mem::take(&mut first) {
            return Fate::Duplicate(Duration::from_us(400));
        }
        if passage.from == A && passage.now < silence {
            return Fate::Drop;
        }
        Fate::Deliver
    });
    pair.submit(0, 30 * MSS);
    pair.run();
    assert!(pair.completed(0).is_some());
    let probes = sent(&pair, PFabricKind::Probe);
    let late = Time::ZERO + Duration::from_us(412);
    let data = sent(&pair, PFabricKind::Data);
    assert!(probes.iter().any(|sent| sent.at < late), "it probes");
    let again = data.iter().find(|sent| sent.at > probes[0].at);
    let again = again.expect("data goes on").at.since(late);
    assert!(
        again < Duration::from_us(1),
        "data continues at the ACK of the late copy"
    );
}

#[test]
fn of_several_flows_the_one_with_the_least_remaining_goes_first() {
    let mut pair = pfabric(config());
    pair.submit(0, 1_000 * MSS);
    pair.run_until(Time::ZERO + Duration::from_us(200));
    pair.submit(1, 5 * MSS);
    pair.run();
    let data = sent(&pair, PFabricKind::Data);
    let first = data.iter().position(|sent| sent.segment.flow == FlowId(1));
    let first = first.expect("flow 1 sends");
    let flows: Vec<u32> = data[first..first + 5]
        .iter()
        .map(|s| s.segment.flow.0)
        .collect();
    assert_eq!(flows, [1; 5]);
    // The short flow waits for at most one packet, which is already being sent.
    let waited = data[first].at.since(Time::ZERO + Duration::from_us(200));
    assert!(waited <= Duration::from_ps(1_230_400), "{waited}");
}

#[test]
fn a_receiver_answers_what_comes_again_after_the_end_and_completes_once() {
    let mut lost = 0;
    let mut pair = pfabric(config()).with_fault(move |passage| {
        if passage.from == B && lost < 3 {
            lost += 1;
            return Fate::Drop;
        }
        Fate::Deliver
    });
    pair.submit(0, 100);
    pair.run();
    let completed = |(_, host, event): &&(Time, usize, Event)| {
        *host == B && *event == Event::Completed(FlowId(0))
    };
    assert_eq!(pair.events.iter().filter(completed).count(), 1);
    assert_eq!(pair.stats(0).timeouts, 3);
    assert_eq!(pair.hosts[A].open_flows() + pair.hosts[B].open_flows(), 0);
}

#[test]
fn a_flow_is_open_at_each_end_from_its_first_packet_until_its_last_word() {
    let mut pair = pfabric(config());
    pair.submit(0, 50 * MSS);
    pair.submit(1, 50 * MSS);
    let mut open = |us| {
        pair.run_until(Time::ZERO + Duration::from_us(us));
        pair.hosts.each_ref().map(Host::open_flows)
    };
    assert_eq!(open(0), [2, 0]);
    // 50 packets take 61.5 us. The second flow starts after the first.
    assert_eq!(open(30), [2, 1]);
    // At 67 us the first flow has arrived. Its last ACK and the first packet of the second flow are in flight.
    assert_eq!(open(67), [2, 0]);
    assert_eq!(open(80), [1, 1]);
    assert_eq!(open(200), [0, 0]);
}

#[test]
fn a_flow_of_no_bytes_is_one_packet() {
    let mut pair = pfabric(config());
    pair.submit(0, 0);
    pair.run();
    assert_eq!(sent(&pair, PFabricKind::Data).len(), 1);
    assert!(pair.completed(0).is_some());
}

#[test]
fn parameters_out_of_range_are_named() {
    let wrong = [
        (PFabricConfig { mss: 0, ..config() }, "mss"),
        (
            PFabricConfig {
                initial_window: 0,
                ..config()
            },
            "initial_window",
        ),
        (
            PFabricConfig {
                max_window: 0,
                ..config()
            },
            "max_window",
        ),
        (
            PFabricConfig {
                rto: Duration::ZERO,
                ..config()
            },
            "rto",
        ),
        (
            PFabricConfig {
                probe_after: 0,
                ..config()
            },
            "probe_after",
        ),
    ];
    for (config, key) in wrong {
        let error = Host::new(HostId(0), config).expect_err(key);
        assert_eq!(error.key, key);
    }
}

fn garbage() -> impl Strategy<Value = Segment> {
    let kind = prop_oneof![
        Just(PFabricKind::Data),
        Just(PFabricKind::Ack),
        Just(PFabricKind::Probe),
        Just(PFabricKind::ProbeAck),
    ];
    let number = prop_oneof![0u64..40, any::<u64>()];
    let numbers = (number.clone(), number.clone(), number);
    (kind, numbers, 32_767u16..32_772, any::<bool>()).prop_map(
        |(kind, (index, packets, cumulative), port, as_answer)| {
            let there = FiveTuple {
                src: HostId(1),
                dst: HostId(0),
                src_port: if as_answer { 80 } else { port },
                dst_port: if as_answer { port } else { 80 },
                protocol: Protocol::Udp,
            };
            let mut pair = pfabric(config());
            pair.submit(0, 1);
            pair.step();
            Segment {
                tuple: there,
                header: Header::PFabric(PFabricHeader {
                    kind,
                    index,
                    packets,
                    cumulative,
                }),
                ..pair.sent[0].segment
            }
        },
    )
}

proptest! {
    #[test]
    fn arbitrary_segments_break_nothing(segments in proptest::collection::vec(garbage(), 1..60)) {
        let mut pair = pfabric(config());
        pair.submit(0, 30 * MSS);
        for segment in segments {
            pair.step();
            pair.hosts[A].on_segment(pair.now, segment);
        }
    }
}

//! Tests of receive interrupt coalescing, and of the bursts that it causes.

use crate::pair;

use pair::{A, B, Fate, Pair};
use tailcut_transport::nic::{Coalesced, Coalescing};
use tailcut_transport::tcp::{Congestion, Host, TcpConfig};
use tailcut_units::{Duration, HostId, Rate, Time};

fn coalesced(frames: u32, timeout: Duration, config: &TcpConfig) -> Pair<Coalesced<Host>> {
    coalescing(
        Coalescing {
            frames,
            timeout,
            merge: false,
        },
        config,
    )
}

fn coalescing(coalescing: Coalescing, config: &TcpConfig) -> Pair<Coalesced<Host>> {
    let host = |id| {
        let host = Host::new(HostId(id), config.clone()).expect("a valid configuration");
        Coalesced::new(host, coalescing)
    };
    Pair::new(host(0), host(1))
}

#[test]
fn frames_wait_for_others_until_there_are_enough_or_the_first_has_waited_long_enough() {
    let timeout = Duration::from_us(30);
    let mut pair = coalesced(4, timeout, &TcpConfig::default());
    pair.submit(0, 1_000);
    pair.run();
    // The SYN, the SYN-ACK, and the data with the FIN each arrive as a single frame that waits for others.
    // The one-way delay is slightly more than 100 us.
    let completed = pair.completed(0).expect("complete");
    let way = |payload: u64| {
        Duration::from_us(100) + Rate::from_gbps(10).serialisation(payload + 78) + timeout
    };
    assert_eq!(completed, Time::ZERO + way(0) + way(0) + way(1_000));
    assert_eq!(pair.hosts[B].interrupts(), 3, "SYN, data, last ACK");
}

#[test]
fn a_stream_is_handed_over_in_batches_of_so_many_frames() {
    let config = TcpConfig {
        delayed_ack: None,
        max_cwnd: 64 * 1_460,
        ..TcpConfig::default()
    };
    let mut pair = coalesced(8, Duration::from_us(50), &config);
    pair.submit(0, 10_000_000);
    pair.run();
    let frames = pair.sent.iter().filter(|sent| sent.from == A).count() as u64;
    let interrupts = pair.hosts[B].interrupts();
    assert!(interrupts >= frames.div_ceil(8));
    assert!(interrupts < frames / 6, "{interrupts} for {frames} frames");
}

#[test]
fn one_frame_an_interrupt_changes_nothing() {
    let config = TcpConfig::default();
    let mut plain = pair::tcp(&config);
    let mut pair = coalesced(1, Duration::from_us(50), &config);
    plain.submit(0, 300_000);
    pair.submit(0, 300_000);
    plain.run();
    pair.run();
    assert_eq!(plain.trace(1_460), pair.trace(1_460));
    assert_eq!(plain.events, pair.events);
}

/// Returns the mean burst, in bytes on the wire, of a flow that uses a third of a 10 Gb/s link.
fn mean_burst(frames: u32) -> f64 {
    let config = TcpConfig {
        max_cwnd: 64_000,
        lso_bytes: 65_536,
        ..TcpConfig::default()
    };
    let mut pair = coalesced(frames, Duration::from_us(125), &config);
    pair.one_way = Duration::from_us(50);
    pair.submit(0, 1_000_000_000);
    pair.run_until(Time::ZERO + Duration::from_ms(50));
    let (mut bytes, mut bursts, mut ends) = (0, 0u32, Time::ZERO);
    for sent in &pair.sent {
        if sent.from == A && sent.segment.payload > 0 {
            bursts += u32::from(sent.at != ends);
            let size = u64::from(sent.segment.payload) + 78;
            ends = sent.at + pair.rates[A].serialisation(size);
            bytes += size;
        }
    }
    bytes as f64 / f64::from(bursts)
}

#[test]
fn the_more_frames_an_interrupt_the_longer_the_bursts() {
    let table = [2, 8, 32, 128].map(mean_burst);
    assert!(table.is_sorted_by(|a, b| a < b), "{table:?}");
}

/// Sixteen frames per interrupt. The network stack merges these frames before TCP receives them.
const MERGING: Coalescing = Coalescing {
    frames: 16,
    timeout: Duration::from_us(50),
    merge: true,
};

/// Returns the number of ACKs that B sent while the flow was running.
fn acks(pair: &Pair<Coalesced<Host>>) -> usize {
    let pure = |sent: &&pair::Sent| sent.from == B && sent.header().offset == 0;
    pair.sent.iter().filter(pure).count()
}

#[test]
fn a_stack_that_merges_acknowledges_an_interrupt_at_once_where_another_does_every_second_frame() {
    let config = TcpConfig {
        max_cwnd: 128 * 1_460,
        ..TcpConfig::default()
    };
    let apart = Coalescing {
        merge: false,
        ..MERGING
    };
    let [apart, merged] = [apart, MERGING].map(|nic| {
        let mut pair = coalescing(nic, &config);
        pair.submit(0, 2_000_000);
        pair.run();
        assert!(pair.completed(0).is_some());
        assert_eq!(pair.stats(0).retransmissions, 0);
        acks(&pair)
    });
    let frames = 2_000_000 / 1_460;
    assert!(apart > frames / 2, "{apart}");
    assert!(merged < frames / 10, "{merged}");
}

#[test]
fn what_is_lost_or_marked_ends_a_merged_segment_and_nothing_is_hidden_from_tcp() {
    let config = TcpConfig {
        mss: 1_000,
        congestion: Congestion::DCTCP,
        delayed_ack: None,
        max_cwnd: 32_000,
        ..TcpConfig::default()
    };
    let mut once = true;
    let mut pair =
        coalescing(MERGING, &config).with_fault(move |passage| match passage.header.offset {
            20_000 if passage.is_data() && core::mem::take(&mut once) => Fate::Drop,
            100_000 => Fate::Mark,
            _ => Fate::Deliver,
        });
    pair.submit(0, 200_000);
    pair.run();
    let stats = pair.stats(0);
    assert!(pair.completed(0).is_some());
    assert_eq!((stats.retransmissions, stats.timeouts), (1, 0));
    let echoes = pair
        .trace(1_000)
        .iter()
        .filter(|line| line.starts_with("B ECE ack"))
        .count();
    assert_eq!(echoes, 1, "of one mark");
}

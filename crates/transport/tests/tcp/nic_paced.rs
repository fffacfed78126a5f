//! Tests of HULL's pacer between a DCTCP host and its link. Large flows leave in large-send bursts.

use crate::pair::{A, Fate, Pair, Passage, Sent};
use tailcut_transport::nic::{Paced, PacedConfig, PacerConfig};
use tailcut_transport::tcp::{Congestion, Host, TcpConfig};
use tailcut_units::{Duration, HostId, Rate, Time};

const LINE: Rate = Rate::from_gbps(1);
/// Bytes of a full segment on the wire.
const FULL: u64 = 1_538;

fn tcp(id: u32) -> Host {
    let config = TcpConfig {
        congestion: Congestion::DCTCP,
        lso_bytes: 65_536,
        delayed_ack: None,
        max_cwnd: 200_000,
        ..TcpConfig::default()
    };
    Host::new(HostId(id), config).expect("a valid configuration")
}

fn paced(id: u32, pacer: PacerConfig) -> Paced<Host> {
    let config = PacedConfig {
        pacer,
        line_rate: LINE,
        overhead: 78,
        seed: 5,
    };
    Paced::new(tcp(id), config).expect("a valid configuration")
}

/// Returns two hosts at 1 Gb/s with a one-way delay of 2 ms. A window of 200 KB then uses less than half of the link.
fn hull(pacer: PacerConfig) -> Pair<Paced<Host>> {
    let mut pair = Pair::new(paced(0, pacer), paced(1, pacer)).with_one_way(Duration::from_ms(2));
    pair.rates = [LINE; 2];
    pair
}

/// Returns a pacer that paces every flow after its first mark.
/// The gain of the pacer is smaller than the gain of the paper, in proportion to the longer round trip of 4 ms.
/// With the paper's gain, a burst of 64 KB would leave the pacer long before the next burst.
fn always() -> PacerConfig {
    PacerConfig {
        association_probability: 1.0,
        backlog_gain: Some(0.128),
        bucket_bytes: FULL as u32,
        ..PacerConfig::default()
    }
}

/// Returns a pacer whose associations last long.
/// A few marks keep a flow associated for a long time, and hardly reduce the flow's window.
fn lasting() -> PacerConfig {
    PacerConfig {
        association_expiry: Some(Duration::from_ms(10_000)),
        ..always()
    }
}

/// Returns a fault that marks one of `n` data segments.
fn mark_one_in(n: u32) -> impl FnMut(&Passage) -> Fate + 'static {
    let mut count = 0;
    move |passage| {
        count += u32::from(passage.is_data());
        if passage.is_data() && count.is_multiple_of(n) {
            Fate::Mark
        } else {
            Fate::Deliver
        }
    }
}

/// Returns the bytes of each burst of back-to-back payload segments since `from`.
fn bursts(sent: &[Sent], from: Time) -> Vec<u64> {
    let mut bursts = Vec::new();
    let mut ends = Time::ZERO;
    for sent in sent {
        if sent.from != A || sent.segment.payload == 0 || sent.at < from {
            continue;
        }
        let bytes = u64::from(sent.segment.payload) + 78;
        match bursts.last_mut() {
            Some(burst) if sent.at == ends => *burst += bytes,
            _ => bursts.push(bytes),
        }
        ends = sent.at + LINE.serialisation(bytes);
    }
    bursts
}

#[test]
fn a_paced_elephant_leaves_smooth_and_an_unpaced_one_in_bursts() {
    let from = Time::ZERO + Duration::from_ms(100);
    let end = Time::ZERO + Duration::from_ms(300);
    let mut pair = hull(lasting()).with_fault(mark_one_in(200));
    pair.submit(0, 1_000_000_000);
    pair.run_until(from);
    let before = pair.hosts[A].segments();
    pair.run_until(end);
    let after = pair.hosts[A].segments();
    assert!(after.0 > before.0 + 1_000 && after.1 == before.1);
    let longest = bursts(&pair.sent, from).into_iter().max();
    assert!(longest.expect("it sends") <= 2 * FULL, "{longest:?}");

    let never = PacerConfig {
        association_probability: 0.0,
        ..lasting()
    };
    let mut pair = hull(never).with_fault(mark_one_in(200));
    pair.submit(0, 1_000_000_000);
    pair.run_until(end);
    assert_eq!(pair.hosts[A].segments().0, 0);
    let longest = bursts(&pair.sent, from).into_iter().max();
    assert!(longest.expect("it sends") > 10 * FULL, "{longest:?}");
}

#[test]
fn the_pacer_finds_the_rate_of_its_flow() {
    // The network marks one segment. After that the window does not change.
    let mut marked = false;
    let mut pair = hull(lasting()).with_fault(move |passage| {
        if passage.is_data() && passage.now > Time::ZERO + Duration::from_ms(100) && !marked {
            marked = true;
            return Fate::Mark;
        }
        Fate::Deliver
    });
    pair.submit(0, 1_000_000_000);
    let from = Time::ZERO + Duration::from_ms(1_000);
    pair.run_until(from);
    let (mut rates, mut samples) = (0.0, 0);
    while pair.now < from + Duration::from_ms(1_000) {
        let next = pair.now + Duration::from_us(64);
        pair.run_until(next);
        rates += pair.hosts[A].rate_bps();
        samples += 1;
    }
    let carried: u64 = pair
        .sent
        .iter()
        .filter(|sent| sent.from == A && sent.at >= from)
        .map(|sent| u64::from(sent.segment.payload) + 78)
        .sum();
    let carried = carried as f64 * 8.0;
    let mean = rates / f64::from(samples);
    // The rate of the pacer is at least the rate of the traffic. The excess drains the backlog.
    assert!(mean >= carried * 0.99, "{mean} against {carried}");
    assert!(mean <= carried * 1.3, "{mean} against {carried}");
    assert!(pair.hosts[A].backlog_bytes() < 200_000);
}

#[test]
fn mice_pass_by_while_an_elephant_waits_in_the_pacer() {
    let slow = PacerConfig {
        max_rate: Some(Rate::from_mbps(50)),
        ..lasting()
    };
    let mut pair = hull(slow).with_fault(mark_one_in(200));
    pair.submit(0, 1_000_000_000);
    pair.run_until(Time::ZERO + Duration::from_ms(200));
    assert!(pair.hosts[A].backlog_bytes() > 10 * FULL);
    let start = pair.now;
    pair.submit(1, 1_000);
    pair.run_until(start + Duration::from_ms(50));
    let took = pair.completed(1).expect("complete").since(start);
    // The small flow (the mouse) needs a handshake and the transfer of its data: three one-way delays of 2 ms.
    // Before each of the mouse's two transmissions, at most one large send is entering the pacer.
    // The wait for a large send is shorter than half of the time that the pacer needs for its backlog.
    let alone = Duration::from_ms(6) + LINE.serialisation(78 + 78 + 1_078);
    let large_sends = LINE.serialisation(2 * 45 * FULL);
    assert!(
        took >= alone && took <= alone + large_sends,
        "{took}, alone {alone}"
    );
}

#[test]
fn a_flow_without_marks_is_never_paced() {
    let mut pair = hull(always());
    pair.submit(0, 3_000_000);
    pair.run();
    assert_eq!(pair.hosts[A].segments().0, 0);
    assert!(pair.completed(0).is_some());
}

#[test]
fn the_association_expires_when_marks_cease_and_nothing_is_reordered() {
    let cease = Time::ZERO + Duration::from_ms(200);
    let mut every = mark_one_in(20);
    let mut pair = hull(always()).with_fault(move |passage| {
        if passage.now < cease {
            every(passage)
        } else {
            Fate::Deliver
        }
    });
    pair.submit(0, 40_000_000);
    pair.run_until(cease);
    let tuple = pair
        .sent
        .iter()
        .find(|sent| sent.from == A)
        .map(|sent| sent.segment.tuple)
        .expect("it sends");
    assert!(pair.hosts[A].is_associated(pair.now, &tuple));
    // The receiver echoes the last marks within a round trip, the backlog leaves, and T_i passes.
    pair.run_until(cease + Duration::from_ms(60));
    assert!(!pair.hosts[A].is_associated(pair.now, &tuple));
    let before = pair.hosts[A].segments();
    pair.run();
    let after = pair.hosts[A].segments();
    assert_eq!(before.0, after.0, "nothing more is paced");
    assert!(after.1 > before.1);
    let offsets = pair.data_offsets(1);
    assert!(offsets.is_sorted(), "in order");
    assert!(pair.completed(0).is_some());
}

#[test]
fn parameters_out_of_range_are_named() {
    let usual = PacerConfig::default();
    let wrong = [
        (
            PacerConfig {
                interval: Some(Duration::ZERO),
                ..usual
            },
            "interval",
        ),
        (
            PacerConfig {
                measurement_gain: 1.5,
                ..usual
            },
            "measurement_gain",
        ),
        (
            PacerConfig {
                backlog_gain: Some(f64::NAN),
                ..usual
            },
            "backlog_gain",
        ),
        (
            PacerConfig {
                association_probability: -0.1,
                ..usual
            },
            "association_probability",
        ),
        (
            PacerConfig {
                min_rate: Some(Rate::from_gbps(2)),
                ..usual
            },
            "max_rate",
        ),
    ];
    for (pacer, key) in wrong {
        let config = PacedConfig {
            pacer,
            line_rate: LINE,
            overhead: 78,
            seed: 0,
        };
        let error = Paced::new(tcp(0), config).expect_err(key);
        assert_eq!(error.key, key);
    }
}

//! Tests of a change of the pull rate while pulls wait, for NDP and SCDP.

use crate::hub::{Hub, message};
use std::collections::BTreeMap;
use tailcut_transport::ndp::{self, NdpConfig, NdpKind};
use tailcut_transport::scdp::{self, DecodeSpeed, ModelCodec, ScdpConfig, ScdpKind};
use tailcut_transport::{Event, Header, Segment, Transport};
use tailcut_units::{Duration, FiveTuple, HostId, Rate, Time};

/// Payload bytes of a full packet or symbol.
const T: u64 = 1_460;
/// Bytes of a packet on the link in addition to its payload.
const OVERHEAD: u32 = 78;
/// Tolerance for a gap between pulls.
/// The tolerance is the time of a few answers that leave before a pull, on the fast link of the pulling host.
const JITTER: Duration = Duration::from_ps(20);
/// Number of full packets that each of two senders sends.
const PACKETS: u64 = 150;

/// Returns the session and the count of pulls in an answer.
fn pulls(segment: &Segment) -> Option<((FiveTuple, u32), u64)> {
    match segment.header {
        Header::Ndp(header) if header.kind != NdpKind::Data => {
            Some(((segment.tuple, 0), header.pull))
        }
        Header::Scdp(header) if header.kind == ScdpKind::Pull => {
            Some(((segment.tuple, header.block), u64::from(header.pull)))
        }
        _ => None,
    }
}

/// Two hosts send to the third, whose rate changes at `at`. No packet is lost.
fn run<T: Transport>(
    host: impl Fn(HostId) -> T,
    at: Time,
    set: impl FnOnce(&mut T, Time),
) -> Hub<T> {
    let mut hub = Hub::new([0, 1, 2].map(HostId).map(host).into());
    // The link is so fast that each pull leaves when its host passes it to the link.
    hub.rates[0] = Rate::from_gbps(1_000_000);
    for sender in [1, 2] {
        hub.submit(
            sender as usize,
            message(sender, HostId(0), PACKETS * self::T),
        );
    }
    hub.run_until(at);
    let now = hub.now;
    set(&mut hub.hosts[0], now);
    hub.run();
    hub
}

/// Returns the times at which host 0 sent pulls. A pull is recognised by its larger count.
fn pulled<T: Transport>(hub: &Hub<T>) -> Vec<Time> {
    let mut counts = BTreeMap::new();
    let mut times = Vec::new();
    for (at, from, segment) in &hub.sent {
        let Some((of, count)) = pulls(segment).filter(|_| *from == 0) else {
            continue;
        };
        let before = counts.insert(of, count).unwrap_or(0);
        assert!(
            count == before || count == before + 1,
            "{before} to {count}"
        );
        times.extend((count > before).then_some(*at));
    }
    times
}

/// Returns every gap between pulls after `at`, including the gap that contains `at`.
/// Gaps at the end of a flow are left out.
fn gaps(times: &[Time], at: Time) -> Vec<Duration> {
    let first = times.partition_point(|time| *time <= at);
    assert!(first > 0, "some pulls before the change");
    let since = &times[first - 1..];
    assert!(since.len() > 60, "a backlog: {}", since.len());
    since.windows(2).map(|pair| pair[1] - pair[0]).collect()
}

/// Returns the time of the last pull of host 0 until `at`.
fn last_pull_until<T: Transport>(hub: &Hub<T>, at: Time) -> Time {
    let times = pulled(hub);
    let before = times.into_iter().take_while(|time| *time <= at);
    before.last().expect("a pull before the change")
}

fn all_arrived_and_each_once<T: Transport>(hub: &Hub<T>) {
    for flow in [1, 2] {
        assert!(hub.completed(flow, 0).is_some());
    }
    let closed = hub.events.iter().filter_map(|(_, _, event)| match event {
        Event::Closed(_, stats) => Some(stats),
        _ => None,
    });
    let costs: Vec<_> = closed
        .map(|stats| (stats.payload_sent, stats.retransmissions, stats.timeouts))
        .collect();
    assert_eq!(costs, [(PACKETS * self::T, 0, 0); 2]);
}

/// Runs the test for a transport at 10 Gb/s whose rate becomes `gbps`.
fn from_10_gbps<T: Transport>(
    host: impl Fn(HostId) -> T,
    set: impl Fn(&mut T, Time, Rate),
    gbps: u64,
) {
    let rate = Rate::from_gbps(gbps);
    let at = Time::from_ns(60_000);
    let hub = run(host, at, |host, now| set(host, now, rate));
    all_arrived_and_each_once(&hub);
    let interval = rate.serialisation(self::T + u64::from(OVERHEAD));
    let gaps = gaps(&pulled(&hub), at);
    let fits = |gap: Duration, interval| gap + JITTER >= interval && gap <= interval + JITTER;
    // The interval counts from the last pull.
    // If more than the new interval has passed since the last pull, the next pull leaves immediately.
    let (first, rest) = gaps.split_first().expect("a gap");
    let now_at_least = at.since(last_pull_until(&hub, at));
    assert!(fits(*first, interval.max(now_at_least)), "{first}");
    assert!(rest.iter().all(|gap| *gap + JITTER >= interval), "{rest:?}");
    // Two flows keep the queue non-empty, so no gap is longer than the interval, except at the end.
    let busy = rest.iter().filter(|gap| fits(**gap, interval)).count();
    assert!(busy > 50, "{busy} of {}", rest.len());
}

fn ndp_host(id: HostId) -> ndp::Host {
    ndp::Host::new(id, NdpConfig::default()).expect("a valid configuration")
}

fn scdp_host(id: HostId) -> scdp::Host<ModelCodec> {
    let codec = ModelCodec::new([0.0; 3], DecodeSpeed::paper(), 1);
    scdp::Host::new(id, ScdpConfig::default(), codec).expect("a valid configuration")
}

#[test]
fn pulls_that_wait_go_on_at_a_lower_rate_and_none_is_lost_or_sent_twice() {
    from_10_gbps(
        ndp_host,
        |host, now, rate| host.set_pull_rate(now, rate, OVERHEAD),
        1,
    );
    from_10_gbps(
        scdp_host,
        |host, now, rate| host.set_pull_rate(now, rate, OVERHEAD),
        1,
    );
}

#[test]
fn pulls_that_wait_go_on_at_a_higher_rate_and_none_is_lost_or_sent_twice() {
    from_10_gbps(
        ndp_host,
        |host, now, rate| host.set_pull_rate(now, rate, OVERHEAD),
        12,
    );
    from_10_gbps(
        scdp_host,
        |host, now, rate| host.set_pull_rate(now, rate, OVERHEAD),
        12,
    );
}

#[test]
fn a_rate_that_changes_often_never_lets_pulls_leave_faster_than_the_fastest_of_them() {
    let mut hub = Hub::new([0, 1, 2].map(HostId).map(ndp_host).into());
    for sender in [1, 2] {
        hub.submit(sender as usize, message(sender, HostId(0), PACKETS * T));
    }
    let full = T + u64::from(OVERHEAD);
    for step in 1..=300 {
        hub.run_until(Time::from_ns(20_000 + 700 * step));
        let rate = Rate::from_gbps([10, 1, 4][step as usize % 3]);
        let now = hub.now;
        hub.hosts[0].set_pull_rate(now, rate, OVERHEAD);
    }
    hub.run();
    all_arrived_and_each_once(&hub);
    let times = pulled(&hub);
    let least = Rate::from_gbps(10).serialisation(full);
    assert!(times.windows(2).all(|pair| pair[1] - pair[0] >= least));
}

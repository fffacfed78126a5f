//! Tests of clients and servers of requests: their messages, the service, and purges.

use proptest::prelude::*;
use std::collections::BTreeMap;
use tailcut_requests::{
    BudgetConfig, ByteRange, CancelScope, Client, Completion, CopyId, Demand, Discipline, HIGH,
    LOW, Order, Percentile, Policy, Preemption, Purpose, RequestHeader, RequestId, Server,
    ServerConfig, Trigger,
};
use tailcut_units::{Duration, HostId, Rate, Time};

const OBJECT: u64 = 10_000;

fn at(ms: u64) -> Time {
    Time::ZERO + Duration::from_ms(ms)
}

const fn copy(request: u32, copy: u8) -> CopyId {
    CopyId {
        request: RequestId(request),
        copy,
    }
}

fn client(policy: Policy) -> Client {
    Client::new(policy).expect("a sound policy")
}

fn ask(client: &mut Client, now: Time, request: u32) {
    let servers: Vec<HostId> = (0..8).map(HostId).collect();
    client.submit(now, RequestId(request), OBJECT, &servers);
}

/// Returns the client's messages: server, copy, purpose, priority, order.
fn said(client: &mut Client) -> Vec<(u32, u8, Purpose, u8, Order)> {
    let mut all = Vec::new();
    while let Some((server, header)) = client.poll_transmit() {
        let RequestHeader {
            copy,
            purpose,
            priority,
            order,
            ..
        } = header;
        all.push((server.0, copy.copy, purpose, priority, order));
    }
    all
}

const CANCEL: Purpose = Purpose::Cancel(CancelScope::Running);

#[test]
fn rans_asks_two_servers_at_once_and_the_first_answer_purges_the_primary_too() {
    let mut client = client(Policy::DAS);
    ask(&mut client, at(0), 7);
    assert_eq!(
        said(&mut client),
        [
            (0, 0, Purpose::Ask, HIGH, Order::Forwards),
            (1, 1, Purpose::Ask, LOW, Order::Forwards)
        ]
    );
    assert_eq!(client.on_bytes(at(1), copy(7, 0), 4_000), 4_000);
    assert_eq!(client.poll_completion(), None);
    client.on_bytes(at(2), copy(7, 1), OBJECT);
    assert_eq!(
        client.poll_completion(),
        Some(Completion {
            request: RequestId(7),
            winner: 1,
            copies: 2
        })
    );
    assert_eq!(said(&mut client), [(0, 0, CANCEL, HIGH, Order::Forwards)]);
    assert_eq!(client.on_bytes(at(3), copy(7, 0), 6_000), 0, "too late");
}

#[test]
fn with_aggregation_the_second_copy_comes_from_the_tail_and_both_are_purged_where_they_meet() {
    let mut client = client(Policy::RANS);
    ask(&mut client, at(0), 0);
    assert_eq!(said(&mut client)[1].4, Order::Backwards);
    assert_eq!(client.on_bytes(at(1), copy(0, 0), 6_000), 6_000);
    assert_eq!(client.on_bytes(at(1), copy(0, 1), 3_000), 3_000);
    assert_eq!(
        client.on_bytes(at(2), copy(0, 1), 3_000),
        1_000,
        "the client already has the other bytes"
    );
    assert_eq!(client.poll_completion().map(|done| done.winner), Some(1));
    let purged: Vec<u8> = said(&mut client).iter().map(|said| said.1).collect();
    assert_eq!(purged, [0, 1]);
}

#[test]
fn a_server_that_is_asked_for_more_sends_it_behind_what_it_was_asked_for() {
    for disk in [None, Rate::from_bps(16_000_000)] {
        let mut server = server(ServerConfig { disk, ..PLAIN });
        let piece = |purpose, from: u64| RequestHeader {
            range: ByteRange {
                from,
                to: from + 2_000,
            },
            ..header(copy(0, 1), purpose, LOW)
        };
        let ask = |server: &mut Server, now, purpose, from| {
            server.on_message(now, HostId(99), piece(purpose, from), Demand::default());
        };
        ask(&mut server, at(0), Purpose::Ask, 8_000);
        ask(&mut server, at(1), Purpose::More, 6_000);
        ask(&mut server, at(20), Purpose::More, 4_000);
        while let Some(due) = server.next_timeout() {
            server.on_timeout(due);
        }
        let sent: Vec<(u64, bool)> = std::iter::from_fn(|| server.poll_transmit())
            .map(|part| (part.bytes, part.is_last))
            .collect();
        assert_eq!(sent, [(1_000, false); 6]);
        assert_eq!(server.len(), 1, "the client may request more");
        tell(&mut server, at(40), copy(0, 1), CANCEL, LOW, 0);
        assert_eq!(departures(&mut server)[&copy(0, 1)].1, 6_000);
    }
}

#[test]
fn a_quorum_of_two_in_three_has_two_high_copies_and_ends_with_the_second_answer() {
    let policy = Policy {
        copies: 3,
        quorum: 2,
        ..Policy::DAS
    };
    let mut client = client(policy);
    ask(&mut client, at(0), 0);
    let classes: Vec<u8> = said(&mut client).iter().map(|said| said.3).collect();
    assert_eq!(classes, [HIGH, HIGH, LOW]);
    client.on_bytes(at(1), copy(0, 2), OBJECT);
    client.on_bytes(at(1), copy(0, 2), OBJECT);
    assert_eq!(client.poll_completion(), None, "one answer counts once");
    client.on_bytes(at(2), copy(0, 0), OBJECT);
    assert_eq!(client.poll_completion().map(|done| done.copies), Some(3));
    assert_eq!(said(&mut client), [(1, 1, CANCEL, HIGH, Order::Forwards)]);
}

#[test]
fn a_low_copy_that_is_far_enough_ahead_changes_places_with_the_high_one() {
    let policy = Policy {
        swap_lead: Some(2_000),
        ..Policy::RANS
    };
    let mut client = client(policy);
    ask(&mut client, at(0), 0);
    said(&mut client);
    client.on_bytes(at(1), copy(0, 0), 500);
    client.on_bytes(at(1), copy(0, 1), 2_499);
    assert_eq!(said(&mut client), []);
    client.on_bytes(at(1), copy(0, 1), 1);
    let swap = Purpose::Reprioritise;
    assert_eq!(
        said(&mut client),
        [
            (0, 0, swap, LOW, Order::Forwards),
            (1, 1, swap, HIGH, Order::Backwards)
        ]
    );
    client.on_bytes(at(2), copy(0, 1), 1_000);
    assert_eq!(said(&mut client), [], "before the other copy leads");
}

#[test]
fn where_servers_tell_their_windows_the_copies_change_places_by_these() {
    let policy = Policy {
        swap_lead: Some(2_000),
        ..Policy::DAS
    };
    let mut client = client(policy);
    ask(&mut client, at(0), 0);
    said(&mut client);
    client.on_window(copy(0, 0), 5_000);
    client.on_bytes(at(1), copy(0, 0), 500);
    client.on_window(copy(0, 1), 6_999);
    client.on_bytes(at(1), copy(0, 1), 5_000);
    assert_eq!(said(&mut client), [], "received bytes do not count");
    client.on_window(copy(0, 1), 7_000);
    client.on_bytes(at(2), copy(0, 1), 500);
    let classes = |said: Vec<(u32, u8, Purpose, u8, Order)>| -> Vec<(Purpose, u8)> {
        said.iter().map(|said| (said.2, said.3)).collect()
    };
    let swap = Purpose::Reprioritise;
    assert_eq!(classes(said(&mut client)), [(swap, LOW), (swap, HIGH)]);
    client.on_window(copy(0, 0), 8_999);
    client.on_bytes(at(3), copy(0, 0), 500);
    assert_eq!(said(&mut client), []);
    client.on_window(copy(0, 0), 9_000);
    client.on_bytes(at(4), copy(0, 0), 500);
    assert_eq!(classes(said(&mut client)), [(swap, HIGH), (swap, LOW)]);
    // A server that has reported no window is behind a server that has reported a window.
    ask(&mut client, at(5), 1);
    said(&mut client);
    client.on_window(copy(1, 1), 2_000);
    client.on_bytes(at(6), copy(1, 1), 1);
    assert_eq!(classes(said(&mut client)), [(swap, LOW), (swap, HIGH)]);
    client.on_window(copy(7, 0), 1_000_000);
    assert_eq!(client.on_bytes(at(7), copy(7, 0), 1), 0, "never asked");
}

fn hedging(window: u32) -> Policy {
    Policy {
        trigger: Trigger::AfterPercentile(Percentile {
            window,
            first: Duration::from_ms(30),
            ..Percentile::default()
        }),
        ..Policy::DUPLICATE
    }
}

#[test]
fn a_hedge_waits_for_the_percentile_of_the_latest_answers() {
    let mut client = client(hedging(20));
    for request in 0..25 {
        ask(&mut client, at(0), request);
        client.on_bytes(at(u64::from(request) + 1), copy(request, 0), OBJECT);
    }
    said(&mut client);
    ask(&mut client, at(100), 25);
    // The latest twenty latencies are 6 to 25 ms. By nearest rank, their 95th percentile is the 19th: 24 ms.
    assert_eq!(client.next_timeout(), Some(at(124)));
    assert_eq!(said(&mut client).len(), 1);
    client.on_timeout(at(124));
    assert_eq!(
        said(&mut client),
        [(1, 1, Purpose::Ask, HIGH, Order::Forwards)]
    );
    ask(&mut client, at(200), 26);
    client.on_bytes(at(201), copy(26, 0), OBJECT);
    assert_eq!(
        client.next_timeout(),
        None,
        "an answer cancels the next copy"
    );
}

#[test]
fn the_first_request_is_hedged_and_what_little_is_known_then_counts() {
    let mut client = client(hedging(20));
    ask(&mut client, at(0), 0);
    said(&mut client);
    assert_eq!(client.next_timeout(), Some(at(30)), "no latency is known");
    client.on_timeout(at(30));
    assert_eq!(
        said(&mut client),
        [(1, 1, Purpose::Ask, HIGH, Order::Forwards)]
    );
    client.on_bytes(at(31), copy(0, 1), OBJECT);
    ask(&mut client, at(40), 1);
    assert_eq!(client.next_timeout(), Some(at(71)), "one latency is known");
    client.on_bytes(at(42), copy(1, 0), OBJECT);
    ask(&mut client, at(50), 2);
    assert_eq!(client.next_timeout(), Some(at(81)), "31 and 2 ms are known");
}

#[test]
fn a_budget_of_a_tenth_sends_a_tenth_of_the_hedges() {
    let policy = Policy {
        trigger: Trigger::After(Duration::from_ms(1)),
        budget: Some(BudgetConfig {
            thousandths: 100,
            burst: 5,
        }),
        ..Policy::DUPLICATE
    };
    let mut client = client(policy);
    for request in 0..1_000 {
        ask(&mut client, at(u64::from(request)), request);
        client.on_timeout(at(u64::from(request)));
    }
    let hedges = said(&mut client).iter().filter(|said| said.1 == 1).count();
    // The budget starts with five tokens.
    assert!((104..=105).contains(&hedges), "{hedges}");
}

#[test]
fn a_policy_that_makes_no_sense_is_refused() {
    for policy in [
        Policy {
            copies: 0,
            ..Policy::SINGLE
        },
        Policy {
            copies: 9,
            ..Policy::SINGLE
        },
        Policy {
            quorum: 3,
            ..Policy::DUPLICATE
        },
        Policy {
            copies: 1,
            ..Policy::RANS
        },
        Policy {
            copies: 3,
            quorum: 2,
            ..Policy::RANS
        },
        Policy {
            copies: 3,
            purge: None,
            ..Policy::RANS
        },
        Policy {
            swap_lead: Some(1),
            copies: 3,
            ..Policy::DAS
        },
        hedging(0),
    ] {
        assert!(Client::new(policy).is_err(), "{policy:?}");
    }
}

fn server(config: ServerConfig) -> Server {
    Server::new(config)
}

/// Server with only a link, on which 1,000 B take 1 ms.
const PLAIN: ServerConfig = ServerConfig {
    discipline: Discipline::Fifo,
    preemption: Preemption::Resume,
    disk: None,
    link: Rate::from_bps(8_000_000),
    chunk: 1_000,
};

fn header(copy: CopyId, purpose: Purpose, priority: u8) -> RequestHeader {
    RequestHeader {
        copy,
        purpose,
        priority,
        range: ByteRange {
            from: 0,
            to: OBJECT,
        },
        object: OBJECT,
        order: Order::Forwards,
        body: 0,
    }
}

fn tell(server: &mut Server, now: Time, id: CopyId, purpose: Purpose, priority: u8, cpu_ms: u64) {
    let demand = Demand {
        cpu: Duration::from_ms(cpu_ms),
        ..Demand::default()
    };
    server.on_message(now, HostId(99), header(id, purpose, priority), demand);
}

/// Serves until no copy is left. Returns each copy's departure: time, bytes sent, and whether it was purged.
fn departures(server: &mut Server) -> BTreeMap<CopyId, (Time, u64, bool)> {
    let mut all = BTreeMap::new();
    loop {
        while let Some(left) = server.poll_departure() {
            let before = all.insert(left.copy, (left.time, left.sent, left.is_purged));
            assert_eq!(before, None, "a copy leaves once");
        }
        let Some(due) = server.next_timeout() else {
            break;
        };
        server.on_timeout(due);
    }
    assert!(server.is_empty());
    all
}

#[test]
fn chunks_go_from_disk_to_link_while_the_disk_reads_on() {
    let mut server = server(ServerConfig {
        disk: Rate::from_bps(16_000_000),
        ..PLAIN
    });
    tell(&mut server, at(0), copy(0, 0), Purpose::Ask, HIGH, 3);
    // The processor takes 3 ms, the first chunk of the disk 0.5 ms, and the link 10 ms.
    let end = at(13) + Duration::from_us(500);
    assert_eq!(departures(&mut server)[&copy(0, 0)], (end, OBJECT, false));
}

#[test]
fn an_answer_goes_to_the_network_by_chunks_while_the_disk_reads_on() {
    let mut server = server(ServerConfig {
        disk: Rate::from_bps(8_000_000),
        link: None,
        chunk: 4_000,
        ..PLAIN
    });
    tell(&mut server, at(0), copy(0, 0), Purpose::Ask, HIGH, 0);
    let mut parts = Vec::new();
    while let Some(due) = server.next_timeout() {
        server.on_timeout(due);
        while let Some(response) = server.poll_transmit() {
            parts.push((due, response.bytes, response.is_last));
        }
    }
    let expected = [
        (at(4), 4_000, false),
        (at(8), 4_000, false),
        (at(10), 2_000, true),
    ];
    assert_eq!(parts, expected);
}

#[test]
fn a_purge_counts_what_had_been_sent_and_spares_what_runs_where_it_must() {
    for (scope, left) in [
        (CancelScope::Running, (at(4), 3_500, true)),
        (
            CancelScope::Queued,
            (at(10) + Duration::from_us(500), OBJECT, false),
        ),
    ] {
        let mut server = server(PLAIN);
        let start = Time::ZERO + Duration::from_us(500);
        tell(&mut server, start, copy(0, 0), Purpose::Ask, HIGH, 0);
        tell(&mut server, start, copy(1, 0), Purpose::Ask, HIGH, 0);
        tell(&mut server, start, copy(2, 0), Purpose::Ask, HIGH, 0);
        let cancel = Purpose::Cancel(scope);
        tell(&mut server, at(4), copy(0, 0), cancel, HIGH, 0);
        tell(&mut server, at(4), copy(1, 0), cancel, HIGH, 0);
        let departures = departures(&mut server);
        assert_eq!(departures[&copy(0, 0)], left);
        assert_eq!(departures[&copy(1, 0)], (at(4), 0, true));
        assert_eq!(departures[&copy(2, 0)].0, left.0 + Duration::from_ms(10));
    }
}

#[test]
fn a_purge_within_the_last_byte_of_a_chunk_counts_the_whole_chunk() {
    let mut server = server(PLAIN);
    tell(&mut server, at(0), copy(0, 0), Purpose::Ask, HIGH, 0);
    // On this link, a byte takes 1 µs.
    let almost = at(1) - Duration::from_ns(1);
    tell(&mut server, almost, copy(0, 0), CANCEL, HIGH, 0);
    assert_eq!(server.poll_transmit(), None);
    assert_eq!(departures(&mut server)[&copy(0, 0)], (almost, 1_000, true));
}

#[test]
fn a_copy_that_becomes_high_overtakes_at_every_station_and_its_answer_is_high() {
    let mut server = server(PLAIN);
    tell(&mut server, at(0), copy(0, 0), Purpose::Ask, LOW, 5);
    tell(&mut server, at(0), copy(1, 0), Purpose::Ask, LOW, 5);
    let raised = copy(1, 0);
    tell(&mut server, at(2), raised, Purpose::Reprioritise, HIGH, 0);
    let mut first = None;
    while let (None, Some(due)) = (first, server.next_timeout()) {
        server.on_timeout(due);
        first = server.poll_transmit();
    }
    let first = first.expect("an answer");
    assert_eq!((first.copy, first.priority), (raised, HIGH));
    // The raised copy has the processor from 2 ms to 7 ms, and then the link for 10 ms.
    // Meanwhile the other copy has the processor.
    let departures = departures(&mut server);
    assert_eq!(departures[&raised], (at(17), OBJECT, false));
    assert_eq!(departures[&copy(0, 0)], (at(27), OBJECT, false));
}

#[test]
fn messages_about_copies_that_are_not_there_change_nothing() {
    let mut server = server(PLAIN);
    tell(&mut server, at(0), copy(5, 1), CANCEL, LOW, 0);
    tell(
        &mut server,
        at(0),
        copy(5, 1),
        Purpose::Reprioritise,
        HIGH,
        0,
    );
    tell(&mut server, at(0), copy(0, 0), Purpose::Ask, HIGH, 0);
    tell(&mut server, at(1), copy(0, 0), Purpose::Ask, HIGH, 0);
    assert_eq!(departures(&mut server)[&copy(0, 0)].0, at(10));
}

/// Visit at a server: the gap before it in microseconds, a request, its class, and its processor time in microseconds.
/// The last value is the time after which the visit is cancelled, if any.
type Visit = (u64, u8, u64, Option<u64>);

fn visits(
    config: ServerConfig,
    visits: &[Visit],
    keep: impl Fn(usize, &Visit) -> bool,
    purge: bool,
) -> BTreeMap<CopyId, (Time, u64, bool)> {
    let mut events: Vec<(Time, u8, u32, u8, u64)> = Vec::new();
    let mut now = Time::ZERO;
    for (index, visit) in visits.iter().enumerate() {
        let &(gap, class, cpu, cancelled) = visit;
        now += Duration::from_us(gap);
        if keep(index, visit) {
            events.push((now, 0, index as u32, class, cpu));
            if let Some(after) = cancelled.filter(|_| purge) {
                let when = now + Duration::from_us(after);
                events.push((when, 1, index as u32, class, 0));
            }
        }
    }
    events.sort_unstable();
    let mut server = Server::new(config);
    let mut all = BTreeMap::new();
    let mut answered: BTreeMap<CopyId, u64> = BTreeMap::new();
    let mut collect = |server: &mut Server| {
        while let Some(response) = server.poll_transmit() {
            *answered.entry(response.copy).or_default() += response.bytes;
        }
        while let Some(left) = server.poll_departure() {
            let whole = answered.get(&left.copy).copied().unwrap_or(0);
            match left.is_purged {
                // If a purge interrupts the last byte of a chunk, the whole chunk counts as sent.
                true => assert!((whole..=whole + config.chunk).contains(&left.sent)),
                false => assert_eq!((whole, left.sent), (OBJECT, OBJECT)),
            }
            all.insert(left.copy, (left.time, left.sent, left.is_purged));
        }
    };
    for (when, kind, request, class, cpu) in events {
        while let Some(due) = server.next_timeout().filter(|due| *due <= when) {
            server.on_timeout(due);
            collect(&mut server);
        }
        let purpose = match kind {
            0 => Purpose::Ask,
            _ => CANCEL,
        };
        let demand = Demand {
            cpu: Duration::from_us(cpu),
            ..Demand::default()
        };
        let message = header(copy(request, class), purpose, class);
        server.on_message(when, HostId(99), message, demand);
        collect(&mut server);
    }
    while let Some(due) = server.next_timeout() {
        server.on_timeout(due);
        collect(&mut server);
    }
    all
}

fn any_visits() -> impl Strategy<Value = Vec<Visit>> {
    let cancelled = proptest::option::of(0..30_000u64);
    proptest::collection::vec((0..20_000u64, 0..2u8, 0..9_000u64, cancelled), 1..40)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 100, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn primaries_leave_a_server_when_they_would_without_duplicates(
        given in any_visits(),
        shared in any::<bool>(),
        disk in any::<bool>(),
    ) {
        let config = ServerConfig {
            discipline: match shared {
                true => Discipline::ProcessorSharing,
                false => Discipline::Fifo,
            },
            disk: Rate::from_bps(9_000_001).filter(|_| disk),
            ..PLAIN
        };
        let alone = visits(config, &given, |_, visit| visit.1 == HIGH, false);
        // Some duplicates are purged, but no primary is.
        let mut some_purged = given.clone();
        for visit in &mut some_purged {
            visit.3 = visit.3.filter(|_| visit.1 == LOW);
        }
        let beside = visits(config, &some_purged, |_, _| true, true);
        for (copy, left) in alone {
            prop_assert_eq!(Some(&left), beside.get(&copy), "{:?}", copy);
        }
    }

    #[test]
    fn a_purge_takes_no_byte_of_another_request_and_delays_none_where_all_are_in_one_queue(
        mut given in any_visits(),
        one_queue in any::<bool>(),
    ) {
        for visit in given.iter_mut().filter(|_| one_queue) {
            visit.2 = 0;
        }
        // Each copy that was not purged is checked for its bytes when it leaves.
        let without = visits(PLAIN, &given, |_, _| true, false);
        let with = visits(PLAIN, &given, |_, _| true, true);
        prop_assert_eq!(without.len(), with.len());
        for (copy, (time, sent, is_purged)) in with {
            prop_assert!(is_purged || sent == OBJECT);
            prop_assert!(!is_purged || given[copy.request.0 as usize].3.is_some());
            prop_assert!(!one_queue || time <= without[&copy].0);
        }
    }
}

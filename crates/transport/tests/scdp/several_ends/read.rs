//! Tests of an object that several hosts send to one host.

use super::*;

#[test]
fn a_read_from_three_senders_takes_disjoint_symbols_in_one_senders_time() {
    let mut hub = hub(4);
    read(&mut hub, OBJECT);
    hub.run();
    let mut all = BTreeSet::new();
    let mut sent = 0;
    for from in 1..4 {
        let of_sender = symbols(&hub, from);
        assert!(of_sender.len() > 200, "sender {from}: {}", of_sender.len());
        sent += of_sender.len();
        all.extend(of_sender);
    }
    assert_eq!(all.len(), sent, "two senders sent the same symbol");
    // Three windows exceed the receiver's need, and each block may need two more symbols.
    assert!((686..686 + 7 * 2 + 24).contains(&sent), "{sent}");
    let end = hub.completed(0, 0).expect("all of it");
    assert!(end < Time::from_ns(1_900_000), "{end:?}");
    all_released(&hub);
}

#[test]
fn a_sender_that_never_speaks_or_dies_midway_does_not_stall_a_read() {
    for dies_at in [0, 300_000] {
        let mut hub = hub(4).with_fault(host_3_silent(Time::from_ns(dies_at)..));
        read(&mut hub, OBJECT);
        hub.run_until(Time::from_ns(100_000_000));
        let end = hub.completed(0, 0).expect("the other hosts have all data");
        // The other senders replace the missing symbols of a failed sender.
        // No symbols are missing if a sender never sent.
        assert!(end < Time::from_ns(2_500_000), "dies at {dies_at}: {end:?}");
        assert!(
            receipt(&hub, 0).decoded > 0,
            "other symbols replace the lost symbols"
        );
    }
}

/// Time after which a silent peer counts as failed.
/// With the defaults, the timeout is 20 ms, doubles up to 1 s, and expires 16 times.
const PATIENCE: Time = Time::from_ns(11_260_000_000);

#[test]
fn a_read_that_no_sender_answers_fails_when_a_silent_peer_is_given_up() {
    let mut hub = hub(4).with_fault(|_, _, _| Fate::Drop);
    read(&mut hub, OBJECT);
    hub.run_until(PATIENCE - Duration::from_us(1));
    let at_client = |hub: &Hub<Host<ModelCodec>>| {
        let events = hub.events.iter();
        let of_client = events.filter(|(_, at, _)| *at == 0);
        of_client
            .map(|(at, _, event)| (*at, *event))
            .collect::<Vec<_>>()
    };
    assert_eq!(at_client(&hub), []);
    hub.run();
    let expected = [
        (PATIENCE, Event::Received(FlowId(0), Receipt::default())),
        (PATIENCE, Event::Failed(FlowId(0), FlowStats::default())),
    ];
    assert_eq!(at_client(&hub), expected);
    all_released(&hub);
    // The port may be used again.
    hub.fault = Box::new(|_, _, _| Fate::Deliver);
    read(&mut hub, OBJECT);
    hub.run();
    assert!(hub.completed(0, 0).is_some());
    all_released(&hub);
}

#[test]
fn a_read_whose_senders_all_die_fails_and_tells_how_much_came() {
    let dies_at = Time::from_ns(500_000);
    let mut hub = hub(4).with_fault(move |at, _, _| {
        if at > dies_at {
            Fate::Drop
        } else {
            Fate::Deliver
        }
    });
    read(&mut hub, OBJECT);
    hub.run();
    assert_eq!(hub.completed(0, 0), None);
    let failed = Event::Failed(FlowId(0), FlowStats::default());
    assert!(
        hub.events
            .iter()
            .any(|(_, at, event)| *at == 0 && *event == failed)
    );
    // In half a millisecond at 10 Gb/s, half of the object arrives, minus the data in flight, in whole blocks.
    let came = receipt(&hub, 0).bytes;
    assert!((2 * 98 * T..=4 * 98 * T).contains(&came), "{came}");
    assert_eq!(came % (98 * T), 0);
    all_released(&hub);
}

#[test]
fn a_read_that_was_answered_is_not_given_up_when_the_wait_for_answers_would_end() {
    let mut hub = hub(2);
    // Symbols of 1,538 B take 123 ms each.
    hub.rates[1] = Rate::from_bps(100_000).expect("a rate");
    read(&mut hub, 200 * T);
    hub.run();
    let end = hub.completed(0, 0).expect("all of it");
    assert!(end > PATIENCE, "{end:?}");
    assert!(
        !hub.events
            .iter()
            .any(|(_, _, event)| matches!(event, Event::Failed(..)))
    );
}

/// Creates four hosts with links of 1 Gb/s.
/// Decoding takes no time, so the duration of a read is the time for which the reader waits for symbols.
fn gigabit() -> Hub<Host<ModelCodec>> {
    let config = ScdpConfig {
        pull_interval: Duration::from_ns(12_304),
        ..ScdpConfig::default()
    };
    let host = |id| {
        let at_once = DecodeSpeed::new(vec![(1, Rate::from_gbps(100_000))]);
        let codec = ModelCodec::new([0.0; 3], at_once.expect("a rate"), u64::from(id));
        Host::new(HostId(id), config, codec).expect("a valid configuration")
    };
    let mut hub = Hub::new((0..4).map(host).collect());
    hub.rates = vec![Rate::from_gbps(1); 4];
    hub
}

/// Returns the number of symbols that arrived after the reader had the whole object.
fn late(hub: &Hub<Host<ModelCodec>>) -> usize {
    let late = |(_, at, event): &&(Time, usize, Event)| *at == 0 && matches!(event, Event::Late(_));
    hub.events.iter().filter(late).count()
}

/// Returns the duration of a read of 1 MB while all senders run at full speed.
fn usual_time() -> Duration {
    let mut hub = gigabit();
    read(&mut hub, OBJECT);
    hub.run();
    assert_eq!(late(&hub), 0, "at full speed");
    hub.completed(0, 0).expect("all of it").since(Time::ZERO)
}

/// Returns the percentage by which a read took longer than `usual`.
fn longer_by(hub: &Hub<Host<ModelCodec>>, usual: Duration) -> f64 {
    let took = hub.completed(0, 0).expect("all of it").since(Time::ZERO);
    100.0 * (took.as_secs_f64() / usual.as_secs_f64() - 1.0)
}

#[test]
fn a_slow_sender_does_not_hold_a_read_up() {
    let usual = usual_time();
    for mbps in [5, 10, 20, 50, 100, 200, 500] {
        let mut hub = gigabit();
        hub.rates[3] = Rate::from_mbps(mbps);
        read(&mut hub, OBJECT);
        hub.run();
        let longer = longer_by(&hub, usual);
        assert!(longer <= 5.0, "{mbps} Mb/s: {longer} % longer");
        let in_vain = receipt(&hub, 0).in_vain;
        assert!(in_vain <= 4, "{mbps} Mb/s: {in_vain} of 686 wasted");
        assert!(late(&hub) <= 8, "{mbps} Mb/s: {} late", late(&hub));
        all_released(&hub);
    }
}

#[test]
fn a_sender_that_stalls_at_any_time_of_a_read_does_not_hold_it_up() {
    let usual = usual_time();
    for stalls_at in (0..90).map(|tenth| tenth * 100_000) {
        let stalled = Time::from_ns(stalls_at)..Time::from_ns(stalls_at + 5_000_000);
        let mut hub = gigabit().with_fault(host_3_silent(stalled));
        read(&mut hub, OBJECT);
        hub.run();
        let longer = longer_by(&hub, usual);
        assert!(
            longer <= 6.0,
            "stall at {stalls_at} ns: the read takes {longer} % longer"
        );
    }
}

#[test]
fn single_symbols_and_pulls_that_are_lost_do_not_hold_a_read_up() {
    let usual = usual_time();
    let mut seen = 0;
    let mut hub = gigabit().with_fault(move |_, _, segment| {
        seen += 1;
        // The first segments from a sender and the last segments to it are excluded: only a timeout repairs their loss.
        let header = header(segment);
        if !header.syn && header.kind != ScdpKind::Done && seen % 97 == 0 {
            Fate::Drop
        } else {
            Fate::Deliver
        }
    });
    read(&mut hub, OBJECT);
    hub.run();
    let longer = longer_by(&hub, usual);
    // With a timeout the read would take 240 % longer.
    assert!(longer <= 30.0, "{longer} % longer");
}

#[test]
fn a_symbol_that_comes_twice_from_a_sender_counts_once() {
    let mut hub = hub(3).with_fault(|_, _, segment| {
        if is_symbol(segment) {
            Fate::Duplicate(Duration::from_us(2))
        } else {
            Fate::Deliver
        }
    });
    read(&mut hub, 90 * T);
    hub.run();
    assert!(hub.completed(0, 0).is_some());
    let different = symbols(&hub, 1).len() + symbols(&hub, 2).len();
    assert!(
        different >= 90,
        "{different} different symbols are too few for 90"
    );
    assert!(receipt(&hub, 0).in_vain >= 45, "{:?}", receipt(&hub, 0));
}

#[test]
fn an_object_with_fewer_symbols_than_senders_is_read_too() {
    let mut hub = hub(4);
    read(&mut hub, 100);
    hub.run();
    assert!(hub.completed(0, 0).is_some());
    all_released(&hub);
}

#[test]
fn symbols_for_a_port_that_nobody_collects_at_are_ignored() {
    let mut hub = hub(2);
    hub.take_part(
        1,
        Part::Share {
            message: message(1, HostId(0), 10 * T),
            port: 2_000,
            share: Share { index: 0, of: 2 },
        },
    );
    hub.run();
    assert_eq!(hub.completed(1, 0), None);
    assert!(hub.hosts[0].ignored() >= 8);
    assert!(matches!(
        hub.events.last(),
        Some((_, 1, Event::Failed(FlowId(1), _)))
    ));
}

#[test]
fn a_trimmed_first_symbol_opens_a_session_with_several_ends_too() {
    let mut hub = hub(4).with_fault(|_, _, segment| {
        if segment.condition == Condition::Whole && header(segment).syn {
            Fate::Trim
        } else {
            Fate::Deliver
        }
    });
    write(&mut hub, 50 * T, StragglerPolicy::Wait);
    hub.run();
    for to in 1..4 {
        assert!(hub.completed(0, to).is_some(), "host {to}");
    }
    all_released(&hub);
}

#[test]
fn a_sender_that_has_died_is_asked_for_no_more_while_others_answer() {
    let config = ScdpConfig {
        timeout: Duration::from_ms(2),
        ..ScdpConfig::default()
    };
    let host = |id| {
        let codec = ModelCodec::new([0.0; 3], DecodeSpeed::paper(), u64::from(id));
        Host::new(HostId(id), config, codec).expect("a valid configuration")
    };
    let mut hub = Hub::new((0..4).map(host).collect()).with_fault(host_3_silent(DEATH..));
    // The links of the other hosts are slower than the reader's link, so that the reader waits and its timers run.
    hub.rates[1..].fill(Rate::from_gbps(1));
    read(&mut hub, 4 * OBJECT);
    hub.run_until(Time::from_ns(40_000_000));
    let silent_from = DEATH + Duration::from_ms(3);
    let end = hub.completed(0, 0).expect("the others have all");
    assert!(end > silent_from + Duration::from_ms(3), "{end:?}");
    let pulls = hub.sent.iter().filter(|(at, from, segment)| {
        let to_host_3 = *from == 0 && segment.tuple.dst == HostId(3);
        to_host_3 && *at > silent_from && *at < end
    });
    assert_eq!(pulls.count(), 0);
}

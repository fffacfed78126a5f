//! SCDP from one host to many and from many to one, as stories.

mod hub;

use hub::{Fate, Hub, message};
use std::collections::BTreeSet;
use std::ops::RangeBounds;
use tailcut_transport::scdp::{DecodeSpeed, Host, ModelCodec, ScdpConfig, ScdpHeader, ScdpKind};
use tailcut_transport::{
    Condition, Event, FlowStats, Header, Part, Receipt, Segment, Share, Straggler, StragglerPolicy,
    Stragglers,
};
use tailcut_units::{Duration, FlowId, HostId, Rate, Time};

const T: u64 = 1_460;
/// 7 blocks of 98 symbols.
const OBJECT: u64 = 686 * T;

fn hub(count: u32) -> Hub<Host<ModelCodec>> {
    let host = |id| {
        let codec = ModelCodec::new([0.0; 3], DecodeSpeed::paper(), u64::from(id));
        Host::new(HostId(id), ScdpConfig::default(), codec).expect("a valid configuration")
    };
    Hub::new((0..count).map(host).collect())
}

const fn patient(policy: StragglerPolicy) -> Stragglers {
    Stragglers {
        after: Duration::from_ms(10),
        policy,
    }
}

/// Host 0 writes `bytes` to all others.
fn write(hub: &mut Hub<Host<ModelCodec>>, bytes: u64, policy: StragglerPolicy) -> HostId {
    let receivers: Vec<HostId> = (1..hub.hosts.len() as u32).map(HostId).collect();
    let group = hub.form_group(&receivers);
    hub.take_part(
        0,
        Part::Spread {
            message: message(0, group, bytes),
            receivers: &receivers,
            stragglers: patient(policy),
        },
    );
    group
}

/// Host 0 reads `bytes` from all others. Sender n's flow is n.
fn read(hub: &mut Hub<Host<ModelCodec>>, bytes: u64) {
    let port = 2_000;
    hub.take_part(
        0,
        Part::Collect {
            flow: FlowId(0),
            port,
        },
    );
    let of = hub.hosts.len() as u16 - 1;
    for index in 0..of {
        hub.take_part(
            usize::from(index) + 1,
            Part::Share {
                message: message(u32::from(index) + 1, HostId(0), bytes),
                port,
                share: Share { index, of },
            },
        );
    }
}

fn header(segment: &Segment) -> ScdpHeader {
    let Header::Scdp(header) = segment.header else {
        panic!("not SCDP: {segment:?}")
    };
    header
}

fn is_symbol(segment: &Segment) -> bool {
    header(segment).kind == ScdpKind::Symbol
}

/// Blocks and identifiers of the symbols that `host` sent.
fn symbols(hub: &Hub<Host<ModelCodec>>, host: usize) -> Vec<(u32, u32)> {
    let of_host = hub.sent.iter().filter(|(_, from, _)| *from == host);
    of_host
        .filter(|(_, _, segment)| is_symbol(segment))
        .map(|(_, _, segment)| (header(segment).block, header(segment).esi))
        .collect()
}

/// Symbols to one host are trimmed where their header is such.
fn trimmed_for(
    host: usize,
    is_such: impl Fn(ScdpHeader) -> bool,
) -> impl FnMut(Time, usize, &Segment) -> Fate {
    move |_, to, segment| {
        if to == host && is_symbol(segment) && is_such(header(segment)) {
            Fate::Trim
        } else {
            Fate::Deliver
        }
    }
}

fn receipt(hub: &Hub<Host<ModelCodec>>, host: usize) -> Receipt {
    let found = hub.events.iter().find_map(|(_, at, event)| match event {
        Event::Received(_, receipt) if *at == host => Some(*receipt),
        _ => None,
    });
    found.expect("a receipt")
}

fn stragglers(hub: &Hub<Host<ModelCodec>>) -> Vec<Straggler> {
    let found = hub.events.iter().filter_map(|(_, _, event)| match event {
        Event::Straggling(_, straggler) => Some(*straggler),
        _ => None,
    });
    found.collect()
}

fn all_released(hub: &Hub<Host<ModelCodec>>) {
    for (number, host) in hub.hosts.iter().enumerate() {
        assert_eq!(host.open_sessions(), 0, "at host {number}");
    }
}

#[test]
fn a_write_without_loss_sends_each_symbol_once_and_all_receivers_have_all() {
    let mut hub = hub(4);
    write(&mut hub, OBJECT, StragglerPolicy::Wait);
    hub.run();
    let sent = symbols(&hub, 0);
    assert_eq!(sent.len(), 686);
    assert_eq!(sent.iter().collect::<BTreeSet<_>>().len(), 686);
    let ends: Vec<Time> = (1..4)
        .map(|to| hub.completed(0, to).expect("all"))
        .collect();
    // 686 symbols of 1,538 B at 10 Gb/s take 844 us.
    assert!(
        ends.iter().all(|end| *end < Time::from_ns(900_000)),
        "{ends:?}"
    );
    for to in 1..4 {
        let expected = Receipt {
            symbols: 686,
            in_vain: 0,
            decoded: 0,
            bytes: OBJECT,
        };
        assert_eq!(receipt(&hub, to), expected);
    }
    assert_eq!(stragglers(&hub), []);
    all_released(&hub);
}

#[test]
fn receivers_that_lose_different_symbols_are_served_by_the_same_further_ones() {
    // Host n loses three symbols of block 0, no two hosts the same.
    let mut hub = hub(4).with_fault(|_, to, segment| {
        let header = header(segment);
        let of_block = is_symbol(segment) && header.block == 0;
        if of_block && (header.esi as usize) < 12 && header.esi as usize % 3 == to - 1 {
            Fate::Trim
        } else {
            Fate::Deliver
        }
    });
    write(&mut hub, OBJECT, StragglerPolicy::Wait);
    hub.run();
    let of_block_0 = symbols(&hub, 0)
        .iter()
        .filter(|(block, _)| *block == 0)
        .count();
    // K source symbols; four for the four lost and two for the code: enough for each of them.
    assert_eq!(of_block_0, 98 + 4 + 2);
    for to in 1..4 {
        assert!(hub.completed(0, to).is_some(), "host {to}");
        assert_eq!(receipt(&hub, to).decoded, 1);
        assert_eq!(receipt(&hub, to).in_vain, 0);
    }
    all_released(&hub);
}

#[test]
fn what_one_receiver_lost_is_in_vain_for_the_others_and_does_not_wait_for_them() {
    let mut hub = hub(4).with_fault(trimmed_for(3, |header| {
        header.block == 1 && header.esi < 10
    }));
    write(&mut hub, OBJECT, StragglerPolicy::Wait);
    hub.run();
    // Ten lost and two for the code.
    assert_eq!(symbols(&hub, 0).len(), 686 + 12);
    assert_eq!(receipt(&hub, 1).in_vain, 12);
    assert_eq!(receipt(&hub, 2).in_vain, 12);
    assert_eq!(receipt(&hub, 3).in_vain, 0);
    let last = (1..4).filter_map(|to| hub.completed(0, to)).max();
    // No timeout was needed: the sender knew who had block 1.
    assert!(last.expect("all") < Time::from_ns(2_000_000), "{last:?}");
    all_released(&hub);
}

#[test]
fn nobody_is_sent_more_symbols_than_it_has_pulled_whatever_the_others_lose() {
    let mut hub = hub(4).with_fault(trimmed_for(3, |header| header.block < 5 && header.esi < 20));
    write(&mut hub, OBJECT, StragglerPolicy::Wait);
    hub.run();
    let mut pulls = [0; 4];
    let mut sent = 0;
    for (at, from, segment) in &hub.sent {
        pulls[*from] += u32::from(header(segment).kind == ScdpKind::Pull);
        if is_symbol(segment) {
            sent += 1;
            let open = (1..4).filter(|&to| hub.completed(0, to).is_none_or(|end| end > *at));
            for to in open {
                assert!(sent <= 12 + pulls[to], "symbol {sent}, {pulls:?}");
            }
        }
    }
    // 20 lost and two for the code of each of five blocks.
    assert_eq!(sent, 686 + 5 * 22);
    all_released(&hub);
}

#[test]
fn what_one_receiver_asked_for_serves_another_that_needs_more_without_a_timeout() {
    // Host 3 hears of its losses late, when what host 1 asked for is there.
    let mut hub = hub(4).with_fault(|_, to, segment| {
        let header = header(segment);
        let of_block = is_symbol(segment) && header.block == 0;
        let lost = match to {
            1 => header.esi == 60,
            3 => (90..96).contains(&header.esi),
            _ => false,
        };
        if of_block && lost {
            Fate::Trim
        } else {
            Fate::Deliver
        }
    });
    hub.rates[3] = Rate::from_mbps(50);
    write(&mut hub, OBJECT, StragglerPolicy::Wait);
    hub.run();
    for to in 1..4 {
        let end = hub.completed(0, to).expect("all");
        assert!(end < Time::from_ns(15_000_000), "host {to}: {end:?}");
    }
    // Six lost and two for the code.
    assert_eq!(symbols(&hub, 0).len(), 686 + 8);
    all_released(&hub);
}

#[test]
fn the_slowest_receiver_throttles_the_rest_and_nobody_is_sent_more() {
    let mut hub = hub(3);
    // Host 2 asks at a tenth of the rate: its pulls take so long on its link.
    hub.rates[2] = Rate::from_mbps(50);
    write(&mut hub, OBJECT, StragglerPolicy::Wait);
    hub.run();
    let ends: Vec<Time> = (1..3)
        .map(|to| hub.completed(0, to).expect("all"))
        .collect();
    // 674 pulls of 78 B at 50 Mb/s take 8.4 ms.
    assert!(
        ends.iter().all(|end| *end > Time::from_ns(8_000_000)),
        "{ends:?}"
    );
    assert_eq!(symbols(&hub, 0).len(), 686);
    assert_eq!(receipt(&hub, 1).in_vain, 0);
}

#[test]
fn a_receiver_that_is_done_leaves_and_the_rest_goes_on() {
    let mut hub = hub(3).with_fault(trimmed_for(2, |header| {
        header.block == 6 && header.esi < 40
    }));
    let group = write(&mut hub, OBJECT, StragglerPolicy::Wait);
    hub.run_until(Time::from_ns(700_000));
    while hub.completed(0, 1).is_none() {
        let next = hub.now + Duration::from_us(1);
        hub.run_until(next);
    }
    hub.leave_group(group, HostId(1));
    hub.run();
    assert!(hub.completed(0, 2) > hub.completed(0, 1));
    assert_eq!(receipt(&hub, 1).in_vain, 0);
    all_released(&hub);
}

/// Nothing reaches host 3, nor comes from it, during a time.
fn host_3_silent(during: impl RangeBounds<Time>) -> impl FnMut(Time, usize, &Segment) -> Fate {
    move |at, to, segment| {
        let of_host_3 = to == 3 || segment.tuple.src == HostId(3);
        if of_host_3 && during.contains(&at) {
            Fate::Drop
        } else {
            Fate::Deliver
        }
    }
}

/// When host 3 dies in the stories of a dead receiver.
const DEATH: Time = Time::from_ns(200_000);

#[test]
fn a_dead_receiver_is_reported_once_and_dropped_if_so_wished() {
    let mut hub = hub(4).with_fault(host_3_silent(DEATH..));
    write(&mut hub, OBJECT, StragglerPolicy::Drop);
    hub.run();
    let dropped = Straggler {
        receiver: HostId(3),
        dropped: true,
    };
    assert_eq!(stragglers(&hub), [dropped]);
    for to in [1, 2] {
        let end = hub.completed(0, to).expect("the others have all");
        assert!(end < Time::from_ns(12_000_000), "{end:?}");
    }
    assert_eq!(hub.completed(0, 3), None);
    assert!(
        hub.events
            .iter()
            .any(|(_, at, event)| *at == 0 && matches!(event, Event::Closed(FlowId(0), _)))
    );
    all_released(&hub);
}

#[test]
fn under_the_policy_to_wait_a_dead_receiver_is_reported_and_the_others_wait() {
    let mut hub = hub(4).with_fault(host_3_silent(DEATH..));
    write(&mut hub, OBJECT, StragglerPolicy::Wait);
    hub.run_until(Time::from_ns(1_000_000_000));
    let waiting = Straggler {
        receiver: HostId(3),
        dropped: false,
    };
    assert_eq!(stragglers(&hub), [waiting]);
    assert_eq!(hub.completed(0, 1), None);
}

#[test]
fn a_quorum_ends_the_transfer_without_the_rest() {
    // Host 3 loses half of the last block again and again.
    let mut hub = hub(4).with_fault(trimmed_for(3, |header| header.block == 6));
    write(&mut hub, OBJECT, StragglerPolicy::Quorum(2));
    hub.run();
    let left_out = Straggler {
        receiver: HostId(3),
        dropped: true,
    };
    assert_eq!(stragglers(&hub), [left_out]);
    assert!(hub.completed(0, 1).is_some() && hub.completed(0, 2).is_some());
    assert_eq!(hub.completed(0, 3), None);
    all_released(&hub);
}

#[test]
fn a_quorum_does_without_a_dead_receiver_and_with_all_that_it_needs() {
    for (quorum, dropped) in [(2, true), (3, false)] {
        let mut hub = hub(4).with_fault(host_3_silent(DEATH..));
        write(&mut hub, OBJECT, StragglerPolicy::Quorum(quorum));
        hub.run_until(Time::from_ns(100_000_000));
        let straggler = Straggler {
            receiver: HostId(3),
            dropped,
        };
        assert_eq!(stragglers(&hub), [straggler]);
        for to in [1, 2] {
            let end = hub.completed(0, to);
            assert_eq!(end.is_some(), dropped, "quorum {quorum}, host {to}");
            assert!(
                end.is_none_or(|end| end < Time::from_ns(12_000_000)),
                "{end:?}"
            );
        }
    }
}

#[test]
fn a_quorum_does_without_one_receiver_but_not_without_a_second_that_it_needs() {
    // Host 3 dies, is left out after 10 ms, and then host 4 dies.
    let second_death = Time::from_ns(10_500_000);
    let mut hub = hub(5).with_fault(move |at, to, segment| {
        let of = |host: u32| to == host as usize || segment.tuple.src == HostId(host);
        if of(3) && at >= DEATH || of(4) && at >= second_death {
            Fate::Drop
        } else {
            Fate::Deliver
        }
    });
    write(&mut hub, OBJECT, StragglerPolicy::Quorum(3));
    hub.run_until(Time::from_ns(100_000_000));
    let straggler = |host, dropped| Straggler {
        receiver: HostId(host),
        dropped,
    };
    assert_eq!(stragglers(&hub), [straggler(3, true), straggler(4, false)]);
    assert_eq!(hub.completed(0, 1), None, "the others wait for host 4");
}

#[test]
fn lost_pulls_are_asked_again_and_everything_arrives() {
    let mut lost = 0;
    let mut hub = hub(4).with_fault(move |_, _, segment| {
        let pull = header(segment).kind == ScdpKind::Pull;
        lost += u32::from(pull);
        if pull && lost.is_multiple_of(40) {
            Fate::Drop
        } else {
            Fate::Deliver
        }
    });
    write(&mut hub, OBJECT, StragglerPolicy::Wait);
    hub.run();
    for to in 1..4 {
        assert!(hub.completed(0, to).is_some(), "host {to}");
    }
    all_released(&hub);
}

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
    assert_eq!(all.len(), sent, "the same symbol of two senders");
    // Windows of three are more than a receiver needs at once, and each block may need two more.
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
        let end = hub.completed(0, 0).expect("the others have it all");
        // What one owes that died is asked of the others; one that never spoke owes nothing.
        assert!(end < Time::from_ns(2_500_000), "dies at {dies_at}: {end:?}");
        assert!(
            receipt(&hub, 0).decoded > 0,
            "its symbols are replaced by others"
        );
    }
}

/// With the defaults: 20 ms doubled up to 1 s, of which there are 10.
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
    // The port is free again.
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
    // Half a millisecond at 10 Gb/s is half of the object, less what is in flight, in whole blocks.
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

/// Four hosts with links of 1 Gb/s, which decode in no time: a read takes as long as it waits for symbols.
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

/// Symbols that came to the reader when it had everything.
fn late(hub: &Hub<Host<ModelCodec>>) -> usize {
    let late = |(_, at, event): &&(Time, usize, Event)| *at == 0 && matches!(event, Event::Late(_));
    hub.events.iter().filter(late).count()
}

/// What a read of 1 MB takes while all senders are at full speed.
fn usual_time() -> Duration {
    let mut hub = gigabit();
    read(&mut hub, OBJECT);
    hub.run();
    assert_eq!(late(&hub), 0, "at full speed");
    hub.completed(0, 0).expect("all of it").since(Time::ZERO)
}

/// Percent of `usual` that a read took longer.
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
        assert!(in_vain <= 4, "{mbps} Mb/s: {in_vain} of 686 in vain");
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
        assert!(longer <= 6.0, "from {stalls_at} ns on: {longer} % longer");
    }
}

#[test]
fn single_symbols_and_pulls_that_are_lost_do_not_hold_a_read_up() {
    let usual = usual_time();
    let mut seen = 0;
    let mut hub = gigabit().with_fault(move |_, _, segment| {
        seen += 1;
        // Neither the first words of a sender nor the last ones to it: these take the simple timeout.
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
    // Not a timeout, which would be 240 %.
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
        "{different} different symbols cannot be 90"
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
    // The others are slower than the reader's link, so that it waits and its timers run.
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

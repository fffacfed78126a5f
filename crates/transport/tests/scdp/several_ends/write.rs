//! Tests of an object that one host sends to several hosts.

use super::*;

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
    // Host n loses three symbols of block 0. No two hosts lose the same symbol.
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
    // K source symbols, four more for the four lost symbols, and two more for the code are enough for each receiver.
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
    // The sender sends ten more symbols for the lost symbols, and two for the code.
    assert_eq!(symbols(&hub, 0).len(), 686 + 12);
    assert_eq!(receipt(&hub, 1).in_vain, 12);
    assert_eq!(receipt(&hub, 2).in_vain, 12);
    assert_eq!(receipt(&hub, 3).in_vain, 0);
    let last = (1..4).filter_map(|to| hub.completed(0, to)).max();
    // No timeout was necessary, because the sender knew the state of block 1 at every receiver.
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
    // In each of five blocks, the sender sends 20 more symbols for the lost symbols, and two for the code.
    assert_eq!(sent, 686 + 5 * 22);
    all_released(&hub);
}

#[test]
fn what_one_receiver_asked_for_serves_another_that_needs_more_without_a_timeout() {
    // Host 3 detects its losses late, when the symbols that host 1 requested have arrived.
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
    // The sender sends six more symbols for the lost symbols, and two for the code.
    assert_eq!(symbols(&hub, 0).len(), 686 + 8);
    all_released(&hub);
}

#[test]
fn the_slowest_receiver_throttles_the_rest_and_nobody_is_sent_more() {
    let mut hub = hub(3);
    // Host 2 pulls at a tenth of the rate, because its link is too slow for more pulls.
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
    // Host 3 loses half of the last block repeatedly.
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
    // Host 3 fails and is dropped after 10 ms. Then host 4 fails.
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
    assert_eq!(hub.completed(0, 1), None, "the other hosts wait for host 4");
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

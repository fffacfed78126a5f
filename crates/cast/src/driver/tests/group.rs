//! Tests with one sender and several receivers on a network that loses datagrams.
//! The sender sends separate datagrams to each receiver, or datagrams to a multicast group.

use super::{Memory, address, credits, keyed, news, object};
use crate::driver::engine::{Engine, News};
use crate::driver::outgoing::{Kind, Payload, Task};
use crate::driver::shared_progress::Stage;
use crate::seal::{Cipher, Key};
use crate::udp::{Ancillary, Incoming};
use std::collections::BTreeMap;
use std::net::SocketAddr;
use tailcut_transport::{Share, StragglerPolicy, Stragglers};
use tailcut_units::{Duration, Time, mix64};

const RECEIVERS: u32 = 3;

fn group() -> SocketAddr {
    SocketAddr::from(([239, 1, 2, 3], 7_000))
}

/// Lets engines exchange datagrams until no datagram is left.
/// `path` returns the delay of a datagram from one engine to another, or `None` if the datagram is lost.
/// Returns for each engine the objects that have arrived and the datagrams that it has sent.
fn exchange(
    mut engines: Vec<Engine>,
    tasks: Vec<(usize, Task)>,
    mut path: impl FnMut([usize; 2], Time, usize) -> Option<Duration>,
) -> (Vec<Vec<u8>>, Vec<usize>) {
    let mut now = Time::from_ns(1);
    for (at, task) in tasks {
        engines[at].send(now, task).expect("receivers");
    }
    let mut on_the_way: BTreeMap<(Time, usize), (usize, super::Datagram)> = BTreeMap::new();
    let (mut count, mut sent) = (0, vec![0; engines.len()]);
    let mut received = vec![Vec::new(); engines.len()];
    let all = engines.len() as u32;
    loop {
        for (at, engine) in engines.iter_mut().enumerate() {
            let mut net = Memory::new(address(at as u32));
            while engine.transmit(now, &mut net, 64) {}
            while let Some(job) = engine.poll_job() {
                engine.on_decoded(now, &job.run(&crate::codec::Codes::new(4)));
            }
            for one in news(engine) {
                if let News::Received { bytes, .. } = one {
                    assert!(received[at].is_empty(), "once");
                    received[at] = bytes;
                }
            }
            for datagram in net.sent {
                sent[at] += 1;
                let hosts = (0..all).filter(|host| match datagram.to == group() {
                    true => *host as usize != at,
                    false => address(*host) == datagram.to,
                });
                for host in hosts {
                    count += 1;
                    let host = host as usize;
                    if let Some(delay) = path([at, host], now, count) {
                        on_the_way.insert((now + delay, count), (host, datagram.clone()));
                    }
                }
            }
        }
        let arrival = on_the_way.keys().next().map(|(at, _)| *at);
        let due = engines.iter().filter_map(Engine::next_timeout).min();
        let Some(next) = arrival.into_iter().chain(due).min() else {
            break;
        };
        now = next.max(now + Duration::from_ps(1));
        for engine in &mut engines {
            while engine.next_timeout().is_some_and(|at| at <= now) {
                engine.on_timeout(now);
                // A new timer may be due at the current time. So the time advances by the smallest step.
                now += Duration::from_ps(1);
            }
        }
        while let Some(first) = on_the_way.first_entry()
            && first.key().0 <= now
        {
            let (host, datagram) = first.remove();
            let ancillary = Ancillary {
                class: datagram.class,
                to: Some(datagram.to.ip()),
                ..Ancillary::default()
            };
            let incoming = Incoming {
                from: datagram.from,
                ancillary,
                is_cut: false,
                bytes: &datagram.bytes,
            };
            engines[host].on_incoming(now, &incoming);
        }
    }
    (received, sent)
}

/// Lets engine 0 send an object to all other engines. The network loses one datagram in twenty.
/// Returns the objects of each engine, the final states of the receivers, and the number of datagrams of the sender.
fn run(engines: Vec<Engine>, kind: Kind, bytes: &[u8]) -> (Vec<Vec<u8>>, Vec<Stage>, usize) {
    let to: Vec<SocketAddr> = (1..=RECEIVERS).map(address).collect();
    let task = Task::new(to, kind, Payload::new(bytes.to_vec()));
    let progress = task.progress.clone();
    let is_lost = |count: usize| mix64(count as u64).is_multiple_of(20);
    let path = |_, _, count| (!is_lost(count)).then_some(Duration::from_us(50));
    let (received, sent) = exchange(engines, vec![(0, task)], path);
    let stages = progress.read().iter().map(|one| one.stage).collect();
    (received, stages, sent[0])
}

#[test]
fn every_receiver_gets_the_object_and_to_a_group_each_symbol_leaves_once() {
    let wait = Stragglers {
        after: Duration::from_ms(60_000),
        policy: StragglerPolicy::Wait,
    };
    let bytes = object(500_000, 1);
    let key = Key::new(Cipher::default(), [3; 32]);
    for key in [None, Some(key)] {
        let mut sent = Vec::new();
        for kind in [Kind::All(wait), Kind::Group(group(), wait)] {
            let engine = |me| keyed(me, credits(), key.clone());
            let engines = (0..=RECEIVERS).map(engine).collect();
            let (received, stages, count) = run(engines, kind, &bytes);
            assert!(received[1..].iter().all(|one| *one == bytes));
            assert_eq!(stages, [Stage::Done; RECEIVERS as usize]);
            sent.push(count);
        }
        assert!(2 * sent[1] < sent[0], "{sent:?}");
    }
}

#[test]
fn the_receiver_that_the_others_wait_for_is_known() {
    let wait = Stragglers {
        after: Duration::from_ms(60_000),
        policy: StragglerPolicy::Wait,
    };
    let bytes = object(3_000_000, 1);
    for slow in [10, 200] {
        // Rates in Mb/s of the links to the receivers, and the times at which the links are free.
        let (rates, mut free) = ([200, 200, slow], [Time::ZERO; 3]);
        let mut end = Time::ZERO;
        let path = |[_, to]: [usize; 2], now: Time, _: usize| {
            end = now;
            let link = to.checked_sub(1);
            let Some((free, rate)) = link.and_then(|at| Some((free.get_mut(at)?, rates.get(at)?)))
            else {
                return Some(Duration::from_us(50));
            };
            let begin = now.max(*free);
            // The queue has room for 20 ms.
            if begin.since(now) > Duration::from_ms(20) {
                return None;
            }
            *free = begin + Duration::from_us(8 * 1_040 / rate);
            Some(free.since(now) + Duration::from_us(50))
        };
        let to: Vec<SocketAddr> = (1..=RECEIVERS).map(address).collect();
        let task = Task::new(to, Kind::All(wait), Payload::new(bytes.clone()));
        let progress = task.progress.clone();
        let engines = (0..=RECEIVERS).map(|me| keyed(me, credits(), None));
        let (received, _) = exchange(engines.collect(), vec![(0, task)], path);
        assert!(received[1..].iter().all(|one| *one == bytes));
        let shares: Vec<f64> = progress
            .read()
            .iter()
            .map(|one| one.held.as_secs_f64() / end.as_secs_f64())
            .collect();
        if slow == 10 {
            assert!(shares[2] > 0.75, "{shares:?} {end:?}");
            assert!(shares[0].max(shares[1]) < 0.2, "{shares:?}");
        } else {
            assert!(shares.iter().all(|share| *share < 0.4), "{shares:?}");
        }
    }
}

#[test]
fn a_receiver_that_is_left_out_stops_no_other() {
    let wait = Stragglers {
        after: Duration::from_ms(60_000),
        policy: StragglerPolicy::Wait,
    };
    let bytes = object(500_000, 1);
    let mut engines: Vec<Engine> = (0..=RECEIVERS)
        .map(|me| keyed(me, credits(), None))
        .collect();
    let to: Vec<SocketAddr> = (1..=RECEIVERS).map(address).collect();
    let task = Task::new(to, Kind::All(wait), Payload::new(bytes.clone()));
    let progress = task.progress.clone();
    let now = Time::from_ns(1);
    let flow = engines[0].send(now, task).expect("receivers");
    // These packets are lost.
    while engines[0].transmit(now, &mut Memory::new(address(0)), 64) {}
    engines[0].leave_out(now, flow, 2);
    // This receiver is not there. Without the call, the others would wait for it.
    let path = |[_, to]: [usize; 2], _, _| (to != 3).then_some(Duration::from_us(50));
    let (received, _) = exchange(engines, Vec::new(), path);
    assert!(received[1..3].iter().all(|one| *one == bytes));
    let stages: Vec<Stage> = progress.read().iter().map(|one| one.stage).collect();
    assert_eq!(stages, [Stage::Done, Stage::Done, Stage::Dropped]);
}

#[test]
fn a_receiver_that_is_not_there_is_left_out() {
    let drop = Stragglers {
        after: Duration::from_ms(200),
        policy: StragglerPolicy::Drop,
    };
    let bytes = object(500_000, 1);
    for kind in [Kind::All(drop), Kind::Group(group(), drop)] {
        // The last receiver has a different key, so it cannot decrypt anything.
        let key = |me| Some(Key::new(Cipher::default(), [(me == RECEIVERS) as u8; 32]));
        let engines = (0..=RECEIVERS).map(|me| keyed(me, credits(), key(me)));
        let (received, stages, _) = run(engines.collect(), kind, &bytes);
        assert!(received[1..3].iter().all(|one| *one == bytes));
        assert!(received[3].is_empty());
        assert_eq!(stages, [Stage::Done, Stage::Done, Stage::Dropped]);
    }
}

#[test]
fn replicas_that_die_stall_or_trickle_do_not_keep_an_object_from_arriving() {
    const DELAY: Duration = Duration::from_us(50);
    let bytes = object(2_000_000, 1);
    let key = Key::new(Cipher::default(), [3; 32]);
    for key in [None, Some(key)] {
        for fault in ["dies", "stalls", "trickles"] {
            let engines = (0..4).map(|me| keyed(me, credits(), key.clone()));
            let mut tables = Vec::new();
            let tasks = [1u16, 2, 3].map(|replica| {
                let share = Share {
                    index: replica - 1,
                    of: 3,
                };
                let kind = Kind::Share(77, share);
                let task = Task::new(vec![address(0)], kind, Payload::new(bytes.clone()));
                tables.push(task.progress.clone());
                (usize::from(replica), task)
            });
            let (mut slow, begin) = (0, Time::from_ns(300_000));
            let path = |[from, _]: [usize; 2], now: Time, _| match fault {
                _ if from != 3 || now < begin => Some(DELAY),
                "dies" => None,
                "stalls" => (now > begin + Duration::from_ms(500)).then_some(DELAY),
                _ => {
                    slow += 1;
                    Some(Duration::from_ms(2 * slow.min(300)))
                }
            };
            let (received, _) = exchange(engines.collect(), tasks.to_vec(), path);
            assert!(received[0] == bytes, "one {fault}");
            for progress in &tables[..2] {
                assert_eq!(progress.read()[0].stage, Stage::Done, "one {fault}");
            }
        }
    }
}

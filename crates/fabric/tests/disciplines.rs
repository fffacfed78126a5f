//! Tests that compare each queue discipline with a model. The models are so simple that they are clearly correct.

mod common;

use common::packet;
use proptest::prelude::*;
use std::collections::VecDeque;
use tailcut_fabric::queue::{
    DropReason, Fate, Limit, PFabric, PFabricQueue, Priority, PriorityQueue, QueueDiscipline,
    Sharing, Trimming, TrimmingQueue, Verdict, Victim,
};
use tailcut_fabric::{Ecn, Packet, PacketId};
use tailcut_units::Time;

#[derive(Clone, Debug)]
enum Step {
    Arrive(Packet),
    Serve,
}

/// Generates steps of a test: packets of a few flows, with ranks and classes, arrive or are sent.
fn steps() -> impl Strategy<Value = Vec<Step>> {
    let arrival = (0u32..4, 65u32..1_539, 0u32..9, 0u8..4, any::<bool>()).prop_map(
        |(flow, size, rank, priority, control)| {
            Step::Arrive(Packet {
                rank,
                priority,
                trimmed_size: if control { 0 } else { 64 },
                ..packet(flow, 9, size, 1)
            })
        },
    );
    prop::collection::vec(prop_oneof![3 => arrival, 2 => Just(Step::Serve)], 1..300)
}

/// Runs a discipline and its model at the same time, and returns all packets.
/// `arrive` and `serve` execute one step of the model and compare the results.
fn beside<Q: QueueDiscipline>(
    steps: Vec<Step>,
    mut queue: Q,
    mut arrive: impl FnMut(PacketId, &[Packet], Verdict),
    mut serve: impl FnMut(Option<PacketId>, &[Packet]),
    held: impl Fn() -> usize,
) {
    fn check<Q: QueueDiscipline>(queue: &Q, held: usize) {
        assert_eq!(queue.backlog_packets() as usize, held);
        assert_eq!(queue.backlog_bytes() == 0, held == 0);
    }
    let mut packets = Vec::new();
    for step in steps {
        match step {
            Step::Arrive(packet) => {
                let id = PacketId(packets.len() as u32);
                packets.push(packet);
                let verdict = queue.enqueue(Time::ZERO, id, &mut packets);
                arrive(id, &packets, verdict);
            }
            Step::Serve => {
                let served = common::served(queue.dequeue(Time::ZERO, &mut packets));
                serve(served, &packets);
            }
        }
        check(&queue, held());
    }
}

proptest! {
    #[test]
    fn pfabric_holds_the_best_and_serves_the_earliest_of_the_best_flow(steps in steps()) {
        const MOST: usize = 8;
        // The model stores packets in order of arrival. It sorts them to find the worst packet.
        let model: std::cell::RefCell<Vec<PacketId>> = Default::default();
        let queue = PFabricQueue::new(PFabric { limit: Limit::Packets(MOST as u32) });
        beside(
            steps,
            queue,
            |id, packets, verdict| {
                let mut model = model.borrow_mut();
                model.push(id);
                if model.len() > MOST {
                    let mut sorted = model.clone();
                    sorted.sort_by_key(|id| (packets[id.0 as usize].rank, *id));
                    let worst = *sorted.last().expect("nine packets");
                    model.retain(|&id| id != worst);
                    let gone = Fate::Dropped(DropReason::QueueFull);
                    if worst == id {
                        assert_eq!(verdict, gone.into());
                    } else {
                        assert_eq!(verdict.displaced, Some((worst, gone)));
                    }
                } else {
                    assert_eq!(verdict, Fate::Queued.into());
                }
            },
            |served, packets| {
                let mut model = model.borrow_mut();
                let mut sorted = model.clone();
                sorted.sort_by_key(|id| (packets[id.0 as usize].rank, *id));
                let flow = sorted.first().map(|id| packets[id.0 as usize].src);
                let earliest = model.iter().find(|id| Some(packets[id.0 as usize].src) == flow);
                let earliest = earliest.copied();
                assert_eq!(served, earliest);
                model.retain(|&id| Some(id) != earliest);
            },
            || model.borrow().len(),
        );
    }

    #[test]
    fn pfabric_with_a_limit_in_bytes_drops_the_worst_packets_until_there_is_room(steps in steps()) {
        const MOST: u64 = 5_000;
        let mut queue = PFabricQueue::new(PFabric { limit: Limit::Bytes(MOST) });
        let mut packets: Vec<Packet> = Vec::new();
        let mut model: Vec<PacketId> = Vec::new();
        for step in steps {
            let Step::Arrive(packet) = step else {
                let served = common::served(queue.dequeue(Time::ZERO, &mut packets));
                model.retain(|&id| Some(id) != served);
                continue;
            };
            let id = PacketId(packets.len() as u32);
            packets.push(packet);
            let verdict = queue.enqueue(Time::ZERO, id, &mut packets);
            let gone = common::displaced(&mut queue, verdict);
            let of = |id: &PacketId| packets[id.0 as usize];
            // The model keeps the best packets that fit. If all worse packets are too small, it only drops the arrival.
            let bytes = |ids: &[PacketId]| ids.iter().map(|id| u64::from(of(id).size)).sum::<u64>();
            let mut kept = model.clone();
            kept.push(id);
            kept.sort_by_key(|id| (of(id).rank, *id));
            let mut expected = Vec::new();
            while bytes(&kept) > MOST && kept.last() != Some(&id) {
                expected.extend(kept.pop());
            }
            let full = Fate::Dropped(DropReason::QueueFull);
            if bytes(&kept) > MOST {
                prop_assert_eq!(verdict, full.into());
                continue;
            }
            prop_assert_eq!(verdict.arrival, Fate::Queued);
            prop_assert!(gone.iter().all(|(_, fate)| *fate == full));
            let mut given: Vec<PacketId> = gone.iter().map(|(id, _)| *id).collect();
            given.sort_unstable();
            expected.sort_unstable();
            prop_assert_eq!(given, expected);
            kept.sort_unstable();
            model = kept;
            prop_assert_eq!(queue.backlog_bytes(), bytes(&model));
            prop_assert_eq!(queue.backlog_packets() as usize, model.len());
        }
    }

    #[test]
    fn strict_priority_serves_the_highest_class_in_order(steps in steps(), per_class: bool) {
        let model: std::cell::RefCell<Vec<(u8, PacketId)>> = Default::default();
        let bytes = std::cell::Cell::new(0u64);
        let of_class = std::cell::RefCell::new([0u64; 4]);
        let queue = PriorityQueue::new(Priority {
            classes: 4,
            limit: Limit::Bytes(9_000),
            sharing: if per_class { Sharing::PerClass } else { Sharing::Shared },
            mark_above: Some(Limit::Bytes(4_000)),
        });
        let class = |packet: &Packet| usize::from(packet.priority).min(3);
        beside(
            steps,
            queue,
            |id, packets, verdict| {
                let packet = packets[id.0 as usize];
                let counted = if per_class { of_class.borrow()[class(&packet)] } else { bytes.get() };
                if counted + u64::from(packet.size) > 9_000 {
                    assert_eq!(verdict, Fate::Dropped(DropReason::QueueFull).into());
                    return;
                }
                of_class.borrow_mut()[class(&packet)] += u64::from(packet.size);
                let marked = bytes.get() > 4_000;
                assert_eq!(verdict, if marked { Fate::Marked } else { Fate::Queued }.into());
                assert_eq!(packet.ecn == Ecn::Marked, marked);
                bytes.set(bytes.get() + u64::from(packet.size));
                model.borrow_mut().push((packet.priority, id));
            },
            |served, packets| {
                let mut model = model.borrow_mut();
                let next = model.iter().copied().min();
                assert_eq!(served, next.map(|(_, id)| id));
                if let Some(next) = next {
                    let packet = &packets[next.1.0 as usize];
                    bytes.set(bytes.get() - u64::from(packet.size));
                    of_class.borrow_mut()[class(packet)] -= u64::from(packet.size);
                    model.retain(|&entry| entry != next);
                }
            },
            || model.borrow().len(),
        );
    }

    #[test]
    fn a_trimming_queue_serves_ten_headers_a_data_packet_and_loses_only_payload(
        steps in steps(),
        coin: bool,
        per_class: bool,
    ) {
        const DATA: usize = 4;
        #[derive(Default)]
        struct Model {
            headers: VecDeque<PacketId>,
            data: Vec<(u8, PacketId)>,
            in_a_row: u32,
        }
        // `counted` returns the number of data packets that are compared with the limit for a packet of this class.
        let counted = |model: &Model, class: u8| {
            let counts = |entry: &&(u8, PacketId)| !per_class || entry.0 == class;
            model.data.iter().filter(counts).count()
        };
        let model: std::cell::RefCell<Model> = Default::default();
        let config = Trimming {
            classes: 4,
            data_limit: Limit::Packets(DATA as u32),
            header_limit_bytes: u64::MAX,
            headers_per_data: 10,
            victim: if coin { Victim::Coin } else { Victim::Arrival },
            sharing: if per_class { Sharing::PerClass } else { Sharing::Shared },
            return_to_sender: true,
        };
        beside(
            steps,
            TrimmingQueue::new(config, 3),
            |id, packets, verdict| {
                let mut model = model.borrow_mut();
                let packet = &packets[id.0 as usize];
                let control = packet.trimmed_size == 0;
                let waiting = counted(&model, packet.priority);
                // A random draw decides which packet is trimmed. The model only checks that the decision is allowed.
                let trimmed = match (verdict.arrival, verdict.displaced) {
                    (Fate::Trimmed { cut }, None) => {
                        assert_eq!(packet.size, 64);
                        assert!(cut > 0);
                        Some(id)
                    }
                    (Fate::Queued, Some((tail, Fate::Trimmed { .. }))) => {
                        assert!(coin, "only the random draw keeps the arriving packet");
                        let lowest = model.data.iter().map(|entry| entry.0).max();
                        let lowest = lowest.expect("data waits");
                        let lowest = if per_class { packet.priority } else { lowest };
                        assert!(lowest >= packet.priority);
                        let last = model.data.iter().rev().find(|entry| entry.0 == lowest);
                        assert_eq!(last, Some(&(lowest, tail)), "the tail is trimmed");
                        model.data.retain(|entry| entry.1 != tail);
                        model.data.push((packet.priority, id));
                        Some(tail)
                    }
                    (Fate::Queued, None) if control => {
                        model.headers.push_back(id);
                        None
                    }
                    (Fate::Queued, None) => {
                        assert!(waiting < DATA);
                        model.data.push((packet.priority, id));
                        None
                    }
                    other => panic!("unexpected {other:?}"),
                };
                if let Some(trimmed) = trimmed {
                    assert!(!control && packets[trimmed.0 as usize].trimmed);
                    assert_eq!(waiting, DATA, "trimming needs a full data queue");
                    model.headers.push_back(trimmed);
                }
            },
            |served, _| {
                let mut model = model.borrow_mut();
                let data = model.data.iter().copied().min();
                let expected = match (model.headers.front().copied(), data) {
                    (Some(header), None) => {
                        model.in_a_row = 0;
                        Some(header)
                    }
                    (Some(header), Some(_)) if model.in_a_row < 10 => {
                        model.in_a_row += 1;
                        Some(header)
                    }
                    (_, data) => {
                        model.in_a_row = 0;
                        data.map(|entry| entry.1)
                    }
                };
                assert_eq!(served, expected);
                if let Some(served) = served {
                    model.headers.retain(|&id| id != served);
                    model.data.retain(|entry| entry.1 != served);
                }
            },
            || model.borrow().headers.len() + model.borrow().data.len(),
        );
    }
}

#[test]
fn a_header_without_room_goes_back_once_and_is_dropped_the_second_time() {
    let config = Trimming {
        classes: 1,
        data_limit: Limit::Packets(0),
        header_limit_bytes: 100,
        headers_per_data: 10,
        victim: Victim::Coin,
        sharing: Sharing::Shared,
        return_to_sender: true,
    };
    let mut queue = TrimmingQueue::new(config, 1);
    let data = Packet {
        trimmed_size: 64,
        ..packet(0, 1, 1_538, 1)
    };
    let returned = Packet {
        trimmed: true,
        returned: true,
        size: 64,
        ..data
    };
    let mut packets = [data, data, returned];
    let mut fate = |id| {
        queue
            .enqueue(Time::ZERO, PacketId(id), &mut packets)
            .arrival
    };
    assert_eq!(fate(0), Fate::Trimmed { cut: 1_474 });
    assert_eq!(fate(1), Fate::Returned { cut: 1_474 });
    assert_eq!(fate(2), Fate::Dropped(DropReason::HeaderQueueFull));
}

#[test]
fn the_coin_of_a_trimming_queue_is_fair() {
    let config = Trimming {
        classes: 1,
        data_limit: Limit::Packets(1),
        header_limit_bytes: u64::MAX,
        headers_per_data: 10,
        victim: Victim::Coin,
        sharing: Sharing::Shared,
        return_to_sender: false,
    };
    let mut queue = TrimmingQueue::new(config, 5);
    let data = Packet {
        trimmed_size: 64,
        ..packet(0, 1, 1_538, 1)
    };
    let mut packets = vec![data; 10_001];
    let spared = (0..10_001)
        .filter(|&id| {
            let verdict = queue.enqueue(Time::ZERO, PacketId(id), &mut packets);
            verdict.displaced.is_some()
        })
        .count();
    // The number has a binomial distribution with 10,000 trials and probability 1/2. Four standard deviations are 200.
    assert!((4_800..=5_200).contains(&spared), "{spared}");
}

#[test]
fn small_packets_of_large_flows_leave_room_for_a_small_flow_under_pfabric() {
    let mut queue = PFabricQueue::new(PFabric {
        limit: Limit::Bytes(36_000),
    });
    let mut packets = Vec::new();
    let mut arrive = |queue: &mut PFabricQueue, flow, size, rank| {
        let id = PacketId(packets.len() as u32);
        packets.push(Packet {
            rank,
            ..packet(flow, 9, size, 1)
        });
        let verdict = queue.enqueue(Time::ZERO, id, &mut packets);
        (verdict.arrival, common::displaced(queue, verdict).len())
    };
    // 461 probes of 78 B fit. 42 B of the buffer are left.
    for _ in 0..461 {
        assert_eq!(arrive(&mut queue, 1, 78, 20_000_000), (Fate::Queued, 0));
    }
    // One probe alone is too small to make space for a packet of the small flow.
    // The packet needs 20 probes (1,560 B) or 17 probes (1,326 B).
    assert_eq!(arrive(&mut queue, 2, 1_538, 10_000), (Fate::Queued, 20));
    assert_eq!(arrive(&mut queue, 2, 1_318, 10_000), (Fate::Queued, 17));
    assert_eq!(queue.backlog_packets(), 461 - 20 - 17 + 2);
    let refused = Fate::Dropped(DropReason::QueueFull);
    assert_eq!(arrive(&mut queue, 1, 1_538, 20_000_000), (refused, 0));
}

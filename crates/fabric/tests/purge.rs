//! Classes that push out those below, and packets that are taken out of queues because nobody waits for
//! them any more.

mod common;

use common::{leaf_spine, packet};
use proptest::prelude::*;
use tailcut_fabric::queue::{
    DropReason, DropTail, Fate, Limit, PushOut, PushOutQueue, QueueConfig, QueueDiscipline,
};
use tailcut_fabric::{DropCounts, Ecn, Fabric, FabricConfig, Packet, PacketId};
use tailcut_units::Time;

const LIMIT: u32 = 6;

fn push_out(limit: Limit) -> PushOut {
    PushOut {
        classes: 2,
        limit,
        mark_above: Some(Limit::Packets(3)),
    }
}

/// An arrival of a class, or a service.
#[derive(Clone, Copy, Debug)]
enum Step {
    Arrive(u8),
    Serve,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        3 => (0u8..2).prop_map(Step::Arrive),
        2 => Just(Step::Serve),
    ];
    prop::collection::vec(step, 1..300)
}

/// What becomes of each high packet on arrival, and which high packets are served in which order. Services
/// that find none are not told.
fn high_class(steps: &[Step], with_low: bool) -> (Vec<Fate>, Vec<u64>) {
    let mut queue = PushOutQueue::new(push_out(Limit::Packets(LIMIT)));
    let (mut packets, mut fates, mut served) = (Vec::new(), Vec::new(), Vec::new());
    let mut high = 0;
    for step in steps {
        match *step {
            Step::Arrive(class) => {
                high += u64::from(class == 0);
                if class == 1 && !with_low {
                    continue;
                }
                let id = PacketId(packets.len() as u32);
                packets.push(Packet {
                    priority: class,
                    ecn: Ecn::Capable,
                    rank: high as u32,
                    ..packet(0, 1, 1_500, 1)
                });
                let verdict = queue.enqueue(Time::ZERO, id, &mut packets);
                assert!(queue.backlog_packets() <= LIMIT);
                if class == 0 {
                    fates.push(verdict.arrival);
                }
                if let Some((displaced, fate)) = verdict.displaced {
                    assert_eq!(
                        packets[displaced.0 as usize].priority, 1,
                        "only low ones give way"
                    );
                    assert_eq!(fate, Fate::Dropped(DropReason::QueueFull));
                }
            }
            Step::Serve => {
                let id = queue.dequeue(Time::ZERO, &mut packets);
                let of_high = id.map(|id| packets[id.0 as usize]);
                served.extend(
                    of_high
                        .filter(|p| p.priority == 0)
                        .map(|p| u64::from(p.rank)),
                );
            }
        }
    }
    (fates, served)
}

proptest! {
    #[test]
    fn a_high_class_fares_in_a_queue_as_if_there_were_no_low_one(steps in steps()) {
        prop_assert_eq!(high_class(&steps, true), high_class(&steps, false));
    }

    #[test]
    fn a_purge_takes_what_waits_of_one_flow_and_leaves_all_others_their_order(
        sources in prop::collection::vec(1u32..4, 1..120),
        purge_at_ns in 0u64..60_000,
    ) {
        let topology = leaf_spine(QueueConfig::PushOut(push_out(Limit::Packets(1_000))));
        let mut fabric = Fabric::<u32>::new(&topology, FabricConfig::default());
        // All to one host, so that queues build.
        for (number, &source) in sources.iter().enumerate() {
            let sent = Packet { priority: (source % 2) as u8, ..packet(source, 0, 1_500, 7) };
            fabric.inject(Time::ZERO, sent.src, sent, number as u32);
        }
        let mut arrived = Vec::new();
        while let Some(delivery) = fabric.advance(Time::from_ns(purge_at_ns)) {
            arrived.push(delivery.body);
        }
        let of_victim = |number: u32| sources[number as usize] == 2;
        let before: u64 = arrived.iter().filter(|&&number| of_victim(number)).count() as u64;
        let purged = fabric.purge(|packet, &number| {
            assert_eq!(packet.src.0, sources[number as usize]);
            of_victim(number)
        });
        while let Some(delivery) = fabric.advance(Time::MAX) {
            arrived.push(delivery.body);
        }
        for source in [1, 2, 3] {
            let of_source = |number: &u32| sources[*number as usize] == source;
            let in_order: Vec<u32> = arrived.iter().copied().filter(of_source).collect();
            prop_assert!(in_order.is_sorted());
            let all = (0..sources.len() as u32).filter(of_source).count();
            match source {
                2 => prop_assert_eq!(in_order.len() as u64 + purged.packets, all as u64),
                _ => prop_assert_eq!(in_order.len(), all, "of host {}", source),
            }
        }
        prop_assert!(before + purged.packets <= sources.len() as u64);
        let drops = fabric.drops();
        prop_assert_eq!(drops, DropCounts { purged, ..DropCounts::default() });
        prop_assert_eq!(fabric.injected().bytes, fabric.delivered().bytes + purged.bytes);
        prop_assert_eq!(fabric.count_remaining().packets, 0);
    }
}

#[test]
fn a_one_event_port_keeps_what_it_has_settled() {
    let topology = leaf_spine(QueueConfig::DropTail(DropTail {
        limit: Limit::Packets(100),
        mark_above: None,
    }));
    let mut fabric = Fabric::<u32>::new(&topology, FabricConfig::default());
    for number in 0..20 {
        let sent = packet(1 + number % 2, 0, 1_500, 7);
        fabric.inject(Time::ZERO, sent.src, sent, number);
    }
    assert_eq!(fabric.purge(|_, _| true).packets, 0);
    let mut arrived = 0;
    while fabric.advance(Time::MAX).is_some() {
        arrived += 1;
    }
    assert_eq!(arrived, 20);
}

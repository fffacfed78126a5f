//! Tests of classes that push out lower classes, and of the purge of queued packets for which no receiver waits.

mod common;

use common::{Deliveries, leaf_spine, packet, wire};
use proptest::prelude::*;
use tailcut_fabric::queue::{
    DropReason, DropTail, Fate, Limit, Priority, PriorityQueue, PushOut, PushOutQueue, QueueConfig,
    QueueDiscipline, Sharing,
};
use tailcut_fabric::topology::{CustomLink, CustomTopology, Link, Node, NodeNames};
use tailcut_fabric::{DropCounts, Ecn, Fabric, FabricConfig, Hints, Packet, PacketId, PortId};
use tailcut_units::{HostId, Time};

const LIMIT: u32 = 6;

fn push_out(limit: Limit) -> PushOut {
    PushOut {
        classes: 2,
        group: 1,
        limit,
        mark_above: Some(Limit::Packets(3)),
    }
}

/// Step of a test: a packet of a class arrives, or the port sends a packet.
#[derive(Clone, Copy, Debug)]
enum Step {
    Arrive(u8),
    Serve,
}

fn steps(classes: u8) -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        3 => (0..classes).prop_map(Step::Arrive),
        2 => Just(Step::Serve),
    ];
    prop::collection::vec(step, 1..300)
}

/// Returns the results of all arrivals in the first `high` classes, and the order in which their packets are sent.
/// With `with_low`, packets of lower classes also arrive.
/// If the port sends no packet of the first classes in a step, the results do not include this step.
fn high_classes(
    steps: &[Step],
    high: u8,
    with_low: bool,
    queue: &mut dyn QueueDiscipline,
) -> (Vec<Fate>, Vec<u32>) {
    let (mut packets, mut fates, mut served) = (Vec::new(), Vec::new(), Vec::new());
    for step in steps {
        match *step {
            Step::Arrive(class) if class < high || with_low => {
                let id = PacketId(packets.len() as u32);
                packets.push(Packet {
                    priority: class,
                    ecn: Ecn::Capable,
                    rank: fates.len() as u32,
                    ..packet(0, 1, 1_500, 1)
                });
                let verdict = queue.enqueue(Time::ZERO, id, &mut packets);
                assert!(queue.backlog_packets() <= LIMIT);
                if class < high {
                    fates.push(verdict.arrival);
                }
                if let Some((displaced, fate)) = verdict.displaced {
                    let priority = packets[displaced.0 as usize].priority;
                    assert!(
                        priority >= high,
                        "only packets of lower classes are displaced"
                    );
                    assert_eq!(fate, Fate::Dropped(DropReason::QueueFull));
                }
            }
            Step::Arrive(_) => {}
            Step::Serve => {
                let id = common::served(queue.dequeue(Time::ZERO, &mut packets));
                let packet = id.map(|id| packets[id.0 as usize]);
                served.extend(packet.filter(|p| p.priority < high).map(|p| p.rank));
            }
        }
    }
    (fates, served)
}

proptest! {
    #[test]
    fn a_group_of_classes_does_as_it_would_in_a_queue_of_its_own(steps in steps(4)) {
        let limit = Limit::Packets(LIMIT);
        let mark_above = Some(Limit::Packets(3));
        let mut ours = PushOutQueue::new(PushOut { classes: 4, group: 3, limit, mark_above });
        let sharing = Sharing::Shared;
        let mut plain = PriorityQueue::new(Priority { classes: 3, limit, sharing, mark_above });
        let beside = high_classes(&steps, 3, true, &mut ours);
        prop_assert_eq!(beside, high_classes(&steps, 3, false, &mut plain));
    }

    #[test]
    fn a_high_class_fares_in_a_queue_as_if_there_were_no_low_one(steps in steps(2)) {
        let [beside, alone] = [true, false].map(|with_low| {
            let mut queue = PushOutQueue::new(push_out(Limit::Packets(LIMIT)));
            high_classes(&steps, 1, with_low, &mut queue)
        });
        prop_assert_eq!(beside, alone);
    }

    // Flow 3 uses the same hosts as flow 2, which is purged.
    #[test]
    fn a_purge_takes_what_waits_of_one_flow_and_leaves_all_others_their_order(
        flows in prop::collection::vec(1u32..5, 1..120),
        purge_at_ns in 0u64..60_000,
    ) {
        let host_of = |flow: u32| if flow == 3 { 2 } else { flow };
        let topology = leaf_spine(QueueConfig::PushOut(push_out(Limit::Packets(1_000))));
        let mut fabric = Fabric::<Sent>::new(&topology, &FabricConfig::default());
        // All packets go to the same host, so that queues form.
        for (number, &flow) in (0..).zip(&flows) {
            let priority = (flow % 2) as u8;
            let sent = Packet { priority, ..packet(host_of(flow), 0, 1_500, flow as u16) };
            fabric.inject_with(Time::ZERO, sent.src, sent, of_flow(flow), Sent { flow, number });
        }
        let mut arrived = Vec::new();
        while let Some(delivery) = fabric.delivery(Time::from_ns(purge_at_ns)) {
            arrived.push(delivery.body);
        }
        // All hosts are at the same switch.
        let purger = packet(0, 2, 84, 7);
        let of_purger = Sent { flow: 2, number: u32::MAX };
        fabric.inject_with(Time::from_ns(purge_at_ns), purger.src, purger, purges(2), of_purger);
        while let Some(delivery) = fabric.delivery(Time::MAX) {
            match delivery.body == of_purger {
                true => prop_assert_eq!(delivery.host, HostId(2)),
                false => arrived.push(delivery.body),
            }
        }
        let purged = fabric.drops().purged;
        for flow in 1..5 {
            let of_flow = arrived.iter().filter(|sent| sent.flow == flow);
            let in_order: Vec<u32> = of_flow.map(|sent| sent.number).collect();
            prop_assert!(in_order.is_sorted());
            let all = flows.iter().filter(|other| **other == flow).count() as u64;
            let lost = if flow == 2 { purged.packets } else { 0 };
            prop_assert_eq!(in_order.len() as u64 + lost, all, "of flow {}", flow);
        }
        prop_assert_eq!(fabric.drops(), DropCounts { purged, ..DropCounts::default() });
        prop_assert_eq!(fabric.injected().bytes, fabric.delivered().bytes + purged.bytes);
        prop_assert_eq!(fabric.count_remaining().packets, 0);
    }
}

/// Body of a packet: the number of its flow, and its own number.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Sent {
    flow: u32,
    number: u32,
}

/// Returns the hints of a packet that belongs to a flow.
fn of_flow(flow: u32) -> Hints {
    Hints {
        purge_key: u64::from(flow),
        ..Hints::NONE
    }
}

/// Returns the hints of a packet that purges the packets of a flow.
fn purges(flow: u32) -> Hints {
    Hints {
        purges: u64::from(flow),
        ..Hints::NONE
    }
}

#[test]
fn each_switch_is_purged_when_the_purge_passes_it() {
    // The nodes form a chain: h0 - s0 - s1 - h1. Queues form at s1 towards s0, and at s0 towards h0.
    let ends = [
        (Node::Host(HostId(0)), Node::Switch(0), wire(1, 10_000)),
        (Node::Switch(0), Node::Switch(1), wire(2, 10_000)),
        (Node::Switch(1), Node::Host(HostId(1)), wire(10, 10_000)),
    ];
    let topology = CustomTopology {
        hosts: 2,
        switches: 2,
        links: ends.map(|(a, b, wire)| CustomLink { a, b, wire }).to_vec(),
        queue: QueueConfig::PushOut(push_out(Limit::Packets(1_000))),
        shared_buffer: None,
        names: NodeNames::default(),
    }
    .build()
    .expect("a chain");
    let port = |from: Node, to: Node| {
        let goes = |link: &Link| (link.from, link.to) == (from, to);
        PortId(topology.links.iter().position(goes).expect("a link") as u32)
    };
    let at_s0 = port(Node::Switch(0), Node::Host(HostId(0)));
    let at_s1 = port(Node::Switch(1), Node::Switch(0));
    let mut fabric = Fabric::<Sent>::new(&topology, &FabricConfig::default());
    let mut number = 0;
    for flow in [1, 2].repeat(40) {
        let sent = packet(1, 0, 1_500, flow as u16);
        fabric.inject_with(
            Time::ZERO,
            sent.src,
            sent,
            of_flow(flow),
            Sent { flow, number },
        );
        number += 1;
    }
    // The last packet leaves h1 after 96 us. The purging packet leaves h0 at 100 us.
    // The 84 bytes of the purging packet need 0.672 us to s0, and 0.336 us more to s1. Each link has a delay of 10 us.
    let start = Time::from_ns(100_000);
    while fabric.delivery(start).is_some() {}
    let purger = packet(0, 1, 84, 1);
    let of_purger = Sent { flow: 1, number };
    fabric.inject_with(start, purger.src, purger, purges(1), of_purger);
    let mut waiting = |at_ns: u64| {
        while fabric.delivery(Time::from_ns(at_ns)).is_some() {}
        [at_s0, at_s1].map(|port| {
            let report = fabric.port_report(Time::from_ns(at_ns), port);
            (report.backlog_packets, report.dropped)
        })
    };
    let passes_s0 = 100_000 + 672 + 10_000;
    let passes_s1 = passes_s0 + 336 + 10_000;
    let dropped = |waiting: [(u32, u64); 2]| waiting.map(|(_, dropped)| dropped);
    let before = waiting(passes_s0 - 1);
    assert_eq!(dropped(before), [0, 0]);
    let between = waiting(passes_s0);
    assert!(between[0].1 > 0, "{between:?}");
    assert_eq!(between[0].0 + between[0].1 as u32, before[0].0);
    assert_eq!(dropped(waiting(passes_s1 - 1)), [between[0].1, 0]);
    let after = waiting(passes_s1);
    assert_eq!(after[0].1, between[0].1, "the purge has passed s0");
    assert!(after[1].1 > 0, "{after:?}");
}

#[test]
fn a_one_event_port_keeps_what_it_has_settled() {
    let topology = leaf_spine(QueueConfig::DropTail(DropTail {
        limit: Limit::Packets(100),
        mark_above: None,
    }));
    let mut fabric = Fabric::<u32>::new(&topology, &FabricConfig::default());
    for number in 0..20 {
        let sent = packet(1 + number % 2, 0, 1_500, 7);
        fabric.inject_with(Time::ZERO, sent.src, sent, of_flow(7), number);
    }
    let purger = packet(0, 1, 84, 7);
    fabric.inject_with(Time::from_ns(5_000), purger.src, purger, purges(7), 20);
    let mut arrived = 0;
    while fabric.delivery(Time::MAX).is_some() {
        arrived += 1;
    }
    assert_eq!((arrived, fabric.drops()), (21, DropCounts::default()));
}

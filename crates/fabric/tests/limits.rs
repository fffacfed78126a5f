//! Tests of the limits of queues. No discipline exceeds its limit. A discipline drops no packet while all packets fit.
//! A discipline drops a packet only if no waiting packet is worse by its rule.
//! RED is not among the cases, because it is a FIFO with other marks.

mod common;

use common::packet;
use proptest::prelude::*;
use std::collections::BTreeMap;
use tailcut_fabric::queue::{
    CoDel, CoDelQueue, Dequeued, DropTail, DropTailQueue, Fate, FqCoDel, FqCoDelQueue, Limit,
    PFabric, PFabricQueue, Priority, PriorityQueue, PushOut, PushOutQueue, QueueDiscipline,
    Sharing, Trimming, TrimmingQueue, Victim,
};
use tailcut_fabric::{Packet, PacketId};
use tailcut_units::{Duration, Time};

const CLASSES: u8 = 4;

#[derive(Clone, Debug)]
enum Step {
    Arrive(Packet),
    Serve,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let arrival =
        (0u32..6, 65u32..1_539, 0u32..9, 0..CLASSES).prop_map(|(flow, size, rank, priority)| {
            Step::Arrive(Packet {
                rank,
                priority,
                trimmed_size: 64,
                ..packet(flow, 9, size, 1)
            })
        });
    prop::collection::vec(prop_oneof![4 => arrival, 1 => Just(Step::Serve)], 1..300)
}

fn limits() -> impl Strategy<Value = Limit> {
    prop_oneof![
        (1u32..12).prop_map(Limit::Packets),
        (1_538u64..20_000).prop_map(Limit::Bytes),
    ]
}

/// Discipline under test, with the rule by which it chooses the packets to drop.
struct Case {
    name: &'static str,
    queue: Box<dyn QueueDiscipline>,
    /// Limit of the packets and bytes that wait with their payload.
    limit: Limit,
    /// Function that returns whether the second packet is worse than the first, so that it must be dropped earlier.
    is_worse: fn(&Packet, &Packet) -> bool,
}

fn cases(limit: Limit) -> Vec<Case> {
    let none: fn(&Packet, &Packet) -> bool = |_, _| false;
    let lower_class: fn(&Packet, &Packet) -> bool =
        |packet, other| other.priority > packet.priority;
    let limit_bytes = match limit {
        Limit::Packets(packets) => u64::from(packets) * 1_538,
        Limit::Bytes(bytes) => bytes,
    };
    let codel = CoDel {
        limit_bytes,
        ..CoDel::INTERNET
    };
    let case = |name, queue, limit, is_worse| Case {
        name,
        queue,
        limit,
        is_worse,
    };
    let drop_tail = DropTail {
        limit,
        mark_above: None,
    };
    let priority = Priority {
        classes: CLASSES,
        limit,
        sharing: Sharing::Shared,
        mark_above: None,
    };
    let push_out = PushOut {
        classes: CLASSES,
        group: 1,
        limit,
        mark_above: None,
    };
    let trimming = |victim| Trimming {
        classes: CLASSES,
        data_limit: limit,
        sharing: Sharing::Shared,
        header_limit_bytes: u64::MAX,
        headers_per_data: 10,
        victim,
        return_to_sender: false,
    };
    let fq_codel = FqCoDel {
        codel,
        ..FqCoDel::INTERNET
    };
    let bytes = Limit::Bytes(limit_bytes);
    vec![
        case("FIFO", Box::new(DropTailQueue::new(drop_tail)), limit, none),
        case("CoDel", Box::new(CoDelQueue::new(codel)), bytes, none),
        case(
            "FQ-CoDel",
            Box::new(FqCoDelQueue::new(fq_codel, 1)),
            bytes,
            none,
        ),
        case(
            "priority",
            Box::new(PriorityQueue::new(priority)),
            limit,
            none,
        ),
        case(
            "push-out",
            Box::new(PushOutQueue::new(push_out)),
            limit,
            lower_class,
        ),
        case(
            "pFabric",
            Box::new(PFabricQueue::new(PFabric { limit })),
            limit,
            |packet, other| other.rank > packet.rank,
        ),
        case(
            "trimming",
            Box::new(TrimmingQueue::new(trimming(Victim::Coin), 1)),
            limit,
            none,
        ),
        case(
            "trimming, no coin",
            Box::new(TrimmingQueue::new(trimming(Victim::Arrival), 1)),
            limit,
            none,
        ),
    ]
}

/// Returns the number of packets and the sum of their bytes.
fn total<'a>(packets: impl IntoIterator<Item = &'a Packet>) -> (u32, u64) {
    let add = |(count, bytes), packet: &Packet| (count + 1, bytes + u64::from(packet.size));
    packets.into_iter().fold((0, 0), add)
}

fn check(mut case: Case, steps: &[Step]) -> Result<(), TestCaseError> {
    let name = case.name;
    let mut packets: Vec<Packet> = Vec::new();
    // `waiting` contains the waiting packets as they arrived, or `None` for a packet that waits as a header.
    let mut waiting: BTreeMap<PacketId, Option<Packet>> = BTreeMap::new();
    let mut now = Time::ZERO;
    for step in steps {
        now = now.saturating_add(Duration::from_us(1));
        let Step::Arrive(arrival) = step else {
            match case.queue.dequeue(now, &mut packets) {
                Dequeued::Packet(id) | Dequeued::Drop(id, _) => {
                    prop_assert!(waiting.remove(&id).is_some(), "{}", name);
                }
                Dequeued::Empty => prop_assert!(waiting.is_empty(), "{}", name),
                Dequeued::WaitUntil(_) => {}
            }
            continue;
        };
        let id = PacketId(packets.len() as u32);
        packets.push(*arrival);
        let verdict = case.queue.enqueue(now, id, &mut packets);
        let (count, bytes) = total(waiting.values().flatten());
        let fits = !case
            .limit
            .is_exceeded(count + 1, bytes + u64::from(arrival.size));
        waiting.insert(id, Some(*arrival));
        let mut fates = common::displaced(&mut *case.queue, verdict);
        fates.push((id, verdict.arrival));
        let mut lost = Vec::new();
        for (id, fate) in fates {
            let was_whole = match fate {
                Fate::Queued | Fate::Marked => continue,
                Fate::Trimmed { .. } => waiting.insert(id, None).flatten(),
                Fate::Dropped(_) | Fate::Returned { .. } => waiting.remove(&id).flatten(),
            };
            prop_assert!(was_whole.is_some(), "{}: lost twice", name);
            prop_assert!(!fits, "{}: a loss although all packets fit", name);
            lost.extend(was_whole);
        }
        for packet in &lost {
            let worse = waiting.values().flatten();
            let worse = worse.filter(|other| (case.is_worse)(packet, other));
            // If all worse packets together are too small, a drop of these packets would be useless.
            let (worse, worse_bytes) = total(worse);
            let (count, bytes) = total(waiting.values().flatten());
            let rest = bytes - worse_bytes + u64::from(packet.size);
            prop_assert!(
                worse == 0 || case.limit.is_exceeded(count - worse + 1, rest),
                "{}: {} worse packets were not dropped",
                name,
                worse
            );
        }
        let (count, bytes) = total(waiting.values().flatten());
        prop_assert!(
            !case.limit.is_exceeded(count, bytes),
            "{}: {} packets with {} B exceed the limit",
            name,
            count,
            bytes
        );
        prop_assert_eq!(
            case.queue.backlog_packets() as usize,
            waiting.len(),
            "{}",
            name
        );
        let held = waiting
            .keys()
            .map(|id| u64::from(packets[id.0 as usize].size));
        prop_assert_eq!(case.queue.backlog_bytes(), held.sum::<u64>(), "{}", name);
    }
    Ok(())
}

proptest! {
    #[test]
    fn a_queue_holds_at_most_its_limit_and_drops_the_worst_packets(
        steps in steps(), limit in limits()
    ) {
        for case in cases(limit) {
            check(case, &steps)?;
        }
    }
}

//! Tests of CoDel and FQ-CoDel: under random traffic, they act like the pseudo-code of RFC 8289 and RFC 8290.
//! A port with CoDel or FQ-CoDel keeps its queue short.

mod common;

use common::{Deliveries, packet, wire};
use proptest::prelude::*;
use std::collections::VecDeque;
use tailcut_fabric::queue::{CoDel, CoDelQueue, Dequeued, FqCoDel, FqCoDelQueue, QueueDiscipline};
use tailcut_fabric::topology::SingleSwitch;
use tailcut_fabric::{Ecn, Fabric, FabricConfig, Packet, PacketId};
use tailcut_units::{Duration, HostId, Time};

const CONFIG: CoDel = CoDel {
    target: Duration::from_us(50),
    interval: Duration::from_us(1_000),
    mtu: 1_500,
    limit_bytes: u64::MAX,
    ecn: false,
};

/// Line-by-line translation of the pseudo-code of RFC 8289, section 5. Times are in picoseconds.
#[derive(Default)]
struct Rfc {
    queue: VecDeque<(PacketId, u64, u64)>,
    first_above_time: u64,
    drop_next: u64,
    count: u32,
    lastcount: u32,
    dropping: bool,
}

impl Rfc {
    fn bytes(&self) -> u64 {
        self.queue.iter().map(|it| it.2).sum()
    }

    fn dodequeue(&mut self, now: u64) -> (Option<PacketId>, bool) {
        let Some((id, since, _)) = self.queue.pop_front() else {
            self.first_above_time = 0;
            return (None, false);
        };
        let mut ok_to_drop = false;
        let sojourn = now - since;
        if sojourn < CONFIG.target.as_ps() || self.bytes() <= u64::from(CONFIG.mtu) {
            self.first_above_time = 0;
        } else if self.first_above_time == 0 {
            self.first_above_time = now + CONFIG.interval.as_ps();
        } else if now >= self.first_above_time {
            ok_to_drop = true;
        }
        (Some(id), ok_to_drop)
    }

    fn control_law(&self, t: u64, count: u32) -> u64 {
        t + (CONFIG.interval.as_ps() as f64 / f64::from(count).sqrt()) as u64
    }

    /// Returns the packet that is sent, and the packets that are dropped before it.
    fn dequeue(&mut self, now: u64) -> (Option<PacketId>, Vec<PacketId>) {
        let mut dropped = Vec::new();
        let (mut p, mut ok) = self.dodequeue(now);
        if self.dropping {
            if !ok {
                self.dropping = false;
            }
            while now >= self.drop_next && self.dropping {
                dropped.extend(p);
                self.count += 1;
                (p, ok) = self.dodequeue(now);
                if ok {
                    self.drop_next = self.control_law(self.drop_next, self.count);
                } else {
                    self.dropping = false;
                }
            }
        } else if ok {
            dropped.extend(p);
            (p, _) = self.dodequeue(now);
            self.dropping = true;
            let delta = self.count - self.lastcount;
            self.count = 1;
            let since = now as i64 - self.drop_next as i64;
            if delta > 1 && since < 16 * CONFIG.interval.as_ps() as i64 {
                self.count = delta;
            }
            self.drop_next = self.control_law(now, self.count);
            self.lastcount = self.count;
        }
        (p, dropped)
    }
}

/// The two lists of RFC 8290, with queues that follow the pseudo-code of RFC 8289.
struct FqRfc {
    flows: Vec<(Rfc, i64)>,
    new: VecDeque<usize>,
    old: VecDeque<usize>,
    quantum: i64,
}

impl FqRfc {
    fn enqueue(&mut self, now: u64, flow: usize, id: PacketId, size: u64) {
        self.flows[flow].0.queue.push_back((id, now, size));
        if !self.new.contains(&flow) && !self.old.contains(&flow) {
            self.flows[flow].1 = self.quantum;
            self.new.push_back(flow);
        }
    }

    fn dequeue(
        &mut self,
        now: u64,
        size: impl Fn(PacketId) -> i64,
    ) -> (Option<PacketId>, Vec<PacketId>) {
        let mut dropped = Vec::new();
        loop {
            let is_new = !self.new.is_empty();
            let list = if is_new { &mut self.new } else { &mut self.old };
            let Some(&flow) = list.front() else {
                return (None, dropped);
            };
            let (queue, credits) = &mut self.flows[flow];
            if *credits <= 0 {
                *credits += self.quantum;
                list.pop_front();
                self.old.push_back(flow);
                continue;
            }
            let (packet, of_flow) = queue.dequeue(now);
            dropped.extend(of_flow);
            let Some(packet) = packet else {
                list.pop_front();
                if is_new && !self.old.is_empty() {
                    self.old.push_back(flow);
                }
                continue;
            };
            *credits -= size(packet);
            return (Some(packet), dropped);
        }
    }
}

/// Step of a test: packets of a flow arrive after a pause, or the link sends a number of packets.
#[derive(Clone, Copy, Debug)]
enum Step {
    Arrive { flow: u16, size: u32 },
    Serve,
    Pause { ns: u64 },
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        6 => (0u16..6, 64u32..1_500).prop_map(|(flow, size)| Step::Arrive { flow, size }),
        5 => Just(Step::Serve),
        3 => (0u64..400_000).prop_map(|ns| Step::Pause { ns }),
    ];
    prop::collection::vec(step, 1..600)
}

/// Runs a queue.
/// For each time at which the link is free, returns the packet that is sent and the packets that are dropped before it.
fn serve(
    queue: &mut impl QueueDiscipline,
    now: Time,
    packets: &mut [Packet],
) -> (Option<PacketId>, Vec<PacketId>) {
    let mut dropped = Vec::new();
    loop {
        match queue.dequeue(now, packets) {
            Dequeued::Packet(id) => return (Some(id), dropped),
            Dequeued::Empty => return (None, dropped),
            Dequeued::Drop(id, _) => dropped.push(id),
            Dequeued::WaitUntil(at) => panic!("the queue sends nothing until {at:?}"),
        }
    }
}

proptest! {
    #[test]
    fn codel_drops_what_the_pseudo_code_drops(steps in steps()) {
        let mut queue = CoDelQueue::new(CONFIG);
        let mut model = Rfc::default();
        let mut packets = Vec::new();
        let mut now = Time::from_ns(1);
        for step in steps {
            match step {
                Step::Arrive { flow, size } => {
                    let id = PacketId(packets.len() as u32);
                    packets.push(packet(1, 0, size, flow));
                    queue.enqueue(now, id, &mut packets);
                    model.queue.push_back((id, now.as_ps(), u64::from(size)));
                }
                Step::Serve => {
                    let served = serve(&mut queue, now, &mut packets);
                    prop_assert_eq!(served, model.dequeue(now.as_ps()));
                }
                Step::Pause { ns } => now += Duration::from_ns(ns),
            }
            prop_assert_eq!(queue.backlog_bytes(), model.bytes());
            prop_assert_eq!(queue.backlog_packets() as usize, model.queue.len());
        }
    }

    #[test]
    fn fq_codel_serves_and_drops_as_the_pseudo_code(steps in steps()) {
        let config = FqCoDel { flows: 64, quantum: 1_500, codel: CONFIG };
        let mut queue = FqCoDelQueue::new(config, 7);
        let flow = || (Rfc::default(), 0);
        let mut model = FqRfc {
            flows: (0..64).map(|_| flow()).collect(),
            new: VecDeque::new(),
            old: VecDeque::new(),
            quantum: 1_500,
        };
        let mut packets: Vec<Packet> = Vec::new();
        let mut now = Time::from_ns(1);
        for step in steps {
            match step {
                Step::Arrive { flow, size } => {
                    let id = PacketId(packets.len() as u32);
                    packets.push(packet(1, 0, size, flow));
                    queue.enqueue(now, id, &mut packets);
                    let number = queue.flow_of(&packets[id.0 as usize]) as usize;
                    model.enqueue(now.as_ps(), number, id, u64::from(size));
                }
                Step::Serve => {
                    let served = serve(&mut queue, now, &mut packets);
                    let size = |id: PacketId| i64::from(packets[id.0 as usize].size);
                    prop_assert_eq!(served, model.dequeue(now.as_ps(), size));
                }
                Step::Pause { ns } => now += Duration::from_ns(ns),
            }
            let bytes: u64 = model.flows.iter().map(|flow| flow.0.bytes()).sum();
            prop_assert_eq!(queue.backlog_bytes(), bytes);
        }
    }
}

/// Runs a network for 20 ms, in which two hosts together send 1.2 times the capacity of a third host's link.
/// Returns the numbers of dropped and marked packets.
fn overload(codel: CoDel, ecn: Ecn) -> (u64, u64) {
    let topology = SingleSwitch {
        hosts: 3,
        host_wire: wire(1, 1_000),
        queue: codel.into(),
        shared_buffer: None,
    }
    .build()
    .expect("a switch");
    let mut fabric: Fabric<u32> = Fabric::new(&topology, &FabricConfig::default());
    let mut marked = 0;
    // Each of the two hosts sends 60 % of the capacity of the link to host 0.
    for step in 0..1_000u64 {
        let now = Time::from_ns(step * 20_000);
        while let Some(delivery) = fabric.delivery(now) {
            marked += u64::from(delivery.packet.ecn == Ecn::Marked);
        }
        for src in [1, 2] {
            let sent = Packet {
                ecn,
                ..packet(src, 0, 1_500, src as u16)
            };
            fabric.inject(now, HostId(src), sent, 0);
        }
    }
    while fabric.delivery(Time::MAX).is_some() {}
    let dropped = fabric.drops().active_queue.packets;
    assert_eq!(
        fabric.injected().packets,
        fabric.delivered().packets + dropped
    );
    (dropped, marked)
}

#[test]
fn a_port_with_codel_drops_at_its_head_or_marks_and_its_books_balance() {
    let (dropped, marked) = overload(CONFIG, Ecn::Capable);
    assert!(dropped > 20, "{dropped} dropped");
    assert_eq!(marked, 0);
    let marking = CoDel {
        ecn: true,
        ..CONFIG
    };
    let (dropped, marked) = overload(marking, Ecn::Capable);
    assert_eq!(dropped, 0);
    assert!(marked > 20, "{marked} marked");
    let (dropped, marked) = overload(marking, Ecn::NotCapable);
    assert!(dropped > 20 && marked == 0, "{dropped}, {marked}");
}

#[test]
fn a_new_flow_does_not_wait_behind_a_full_queue() {
    let config = FqCoDel {
        codel: CONFIG,
        ..FqCoDel::INTERNET
    };
    let mut queue = FqCoDelQueue::new(config, 7);
    let mut packets: Vec<Packet> = (0..200).map(|_| packet(1, 0, 1_500, 1)).collect();
    for number in 0..200 {
        queue.enqueue(Time::from_ns(1), PacketId(number), &mut packets);
    }
    // The long flow becomes an old flow after its first turn.
    for _ in 0..3 {
        serve(&mut queue, Time::from_ns(2), &mut packets);
    }
    packets.push(packet(2, 0, 100, 2));
    queue.enqueue(Time::from_ns(3), PacketId(200), &mut packets);
    let (next, _) = serve(&mut queue, Time::from_ns(4), &mut packets);
    assert_eq!(next, Some(PacketId(200)));
}

#[test]
fn a_full_queue_makes_the_longest_flow_drop() {
    let config = FqCoDel {
        codel: CoDel {
            limit_bytes: 15_000,
            ..CONFIG
        },
        ..FqCoDel::INTERNET
    };
    let mut queue = FqCoDelQueue::new(config, 7);
    let mut packets: Vec<Packet> = (0..10).map(|_| packet(1, 0, 1_500, 1)).collect();
    for number in 0..10 {
        queue.enqueue(Time::from_ns(1), PacketId(number), &mut packets);
    }
    packets.push(packet(2, 0, 1_500, 2));
    let verdict = queue.enqueue(Time::from_ns(2), PacketId(10), &mut packets);
    let (displaced, _) = verdict.displaced.expect("one packet is displaced");
    assert_eq!(displaced, PacketId(0), "the head of the long flow");
    assert_eq!(queue.backlog_bytes(), 15_000);
}

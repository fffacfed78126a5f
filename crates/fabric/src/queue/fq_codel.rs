//! FQ-CoDel: each flow has its own CoDel queue.
//! The queues send the same number of bytes in turn, and new flows send first (RFC 8290).
//!
//! Deviations: the packet's flow hash and a seed of the port identify a flow.
//! If the queue is full, the flow with the most bytes loses packets at its head until the remaining packets fit.
//! Linux drops up to 64 packets for one arrival.

use super::codel::{CoDel, CoDelQueue, ECN, INTERVAL, TARGET};
use super::discipline::{BuildDiscipline, Dequeued, DropReason, Fate, QueueDiscipline, Verdict};
use super::kind::QueueConfig;
use super::spec::NamedQueue;
use crate::packet::{Packet, PacketId};
use alloc::collections::VecDeque;
use alloc::vec::Vec;
use tailcut_units::parameter::Parameter;
use tailcut_units::{Time, mix64, reduce};

/// Parameters of FQ-CoDel (RFC 8290, section 5.2).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FqCoDel {
    /// Number of queues into which flows are hashed, 1 to 65,536. The RFC has 1,024.
    pub flows: u32,
    /// Number of bytes that a queue may send in its turn. The RFC has 1,514, a full packet.
    pub quantum: u32,
    /// CoDel parameters of each queue. The limit is for all queues together.
    pub codel: CoDel,
}

impl FqCoDel {
    /// Parameters of the RFC.
    pub const INTERNET: Self = Self {
        flows: 1_024,
        // Sizes here include check sequence, preamble and gap, so the RFC's 1,514 bytes are 1,538 bytes.
        quantum: 1_538,
        codel: CoDel::INTERNET,
    };
}

const PARAMETERS: &[Parameter] = &[
    TARGET,
    INTERVAL,
    ECN,
    Parameter::count(
        "flows",
        (1, 65_536),
        "1024",
        "Number of queues into which flows are hashed (RFC 8290, section 5.2.2).",
    ),
    Parameter::bytes(
        "quantum",
        "1538",
        "Bytes that a queue sends in its turn: a full packet on the wire (RFC 8290, section 5.2.4).",
    ),
];

/// Returns the discipline `fq-codel` of the key `queue.discipline`.
pub(super) fn discipline() -> NamedQueue {
    let summary = "one CoDel queue per flow, served in turn: FQ-CoDel";
    NamedQueue {
        source: "RFC 8290",
        parameters: PARAMETERS,
        ..NamedQueue::new("fq-codel", summary, |port, values| {
            let quantum = values.bytes("quantum").0;
            QueueConfig::from(FqCoDel {
                flows: values.count("flows") as u32,
                quantum: u32::try_from(quantum).unwrap_or(u32::MAX),
                codel: CoDel::of(port, values),
            })
        })
    }
}

/// Configuration of ports whose queue is an FQ-CoDel queue.
impl From<FqCoDel> for QueueConfig {
    fn from(config: FqCoDel) -> Self {
        Self::Custom(BuildDiscipline::new(move |seed| {
            FqCoDelQueue::new(config, seed)
        }))
    }
}

/// List that contains a flow: no list, the list of new flows, or the list of old flows.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum On {
    None,
    New,
    Old,
}

#[derive(Debug)]
struct Flow {
    queue: CoDelQueue,
    credit: i64,
    on: On,
}

/// Queue of a port with FQ-CoDel.
#[derive(Debug)]
pub struct FqCoDelQueue {
    config: FqCoDel,
    seed: u64,
    flows: Vec<Flow>,
    new: VecDeque<u32>,
    old: VecDeque<u32>,
    packets: u32,
    bytes: u64,
    /// Packets that the last arrival displaced. The port has not taken them yet.
    displaced: Vec<PacketId>,
}

impl FqCoDelQueue {
    /// Creates the empty queues of a port. `seed` decides which flows share a queue.
    pub fn new(config: FqCoDel, seed: u64) -> Self {
        let flow = || Flow {
            queue: CoDelQueue::new(config.codel),
            credit: 0,
            on: On::None,
        };
        Self {
            config,
            seed,
            // At least one queue is necessary. The upper bound limits the memory of each port.
            flows: (0..config.flows.clamp(1, 1 << 16))
                .map(|_| flow())
                .collect(),
            new: VecDeque::new(),
            old: VecDeque::new(),
            packets: 0,
            bytes: 0,
            displaced: Vec::new(),
        }
    }

    /// Returns the number of the queue that a packet joins.
    pub fn flow_of(&self, packet: &Packet) -> u32 {
        let mixed = mix64(u64::from(packet.flow_hash) ^ self.seed) >> 32;
        reduce(mixed as u32, self.flows.len() as u32)
    }

    fn left(&mut self, id: PacketId, packets: &[Packet]) {
        self.packets -= 1;
        self.bytes -= u64::from(packets[id.0 as usize].size);
    }

    /// Removes and returns the packet at the head of the flow with the most bytes.
    fn make_room(&mut self, packets: &[Packet]) -> Option<PacketId> {
        let flows = self.flows.iter().enumerate();
        let (fattest, _) = flows.max_by_key(|(number, flow)| {
            // If several flows have the most bytes, the flow with the lowest number loses a packet.
            (flow.queue.bytes, core::cmp::Reverse(*number))
        })?;
        let (id, _) = self.flows[fattest].queue.pop(packets)?;
        self.left(id, packets);
        Some(id)
    }
}

impl QueueDiscipline for FqCoDelQueue {
    fn enqueue(&mut self, now: Time, id: PacketId, packets: &mut [Packet]) -> Verdict {
        let packet = &packets[id.0 as usize];
        let number = self.flow_of(packet);
        let flow = &mut self.flows[number as usize];
        // The packet is added first, because its own flow may then have the most bytes.
        flow.queue.push(now, id, packet);
        self.packets += 1;
        self.bytes += u64::from(packet.size);
        if flow.on == On::None {
            flow.on = On::New;
            flow.credit = i64::from(self.config.quantum);
            self.new.push_back(number);
        }
        let mut arrival = Fate::Queued;
        while self.bytes > self.config.codel.limit_bytes {
            match self.make_room(packets) {
                Some(own) if own == id => arrival = Fate::Dropped(DropReason::QueueFull),
                Some(other) => self.displaced.push(other),
                None => break,
            }
        }
        Verdict {
            arrival,
            displaced: self.also_displaced(),
        }
    }

    fn also_displaced(&mut self) -> Option<(PacketId, Fate)> {
        let victim = self.displaced.pop()?;
        Some((victim, Fate::Dropped(DropReason::QueueFull)))
    }

    fn dequeue(&mut self, now: Time, packets: &mut [Packet]) -> Dequeued {
        loop {
            let (number, from) = match (self.new.front(), self.old.front()) {
                (Some(&number), _) => (number, On::New),
                (None, Some(&number)) => (number, On::Old),
                (None, None) => return Dequeued::Empty,
            };
            let list = match from {
                On::New => &mut self.new,
                _ => &mut self.old,
            };
            let flow = &mut self.flows[number as usize];
            // A flow without credit gets another quantum.
            // The flow becomes the last of the old flows (RFC 8290, section 4.2).
            if flow.credit <= 0 {
                flow.credit += i64::from(self.config.quantum);
                flow.on = On::Old;
                list.pop_front();
                self.old.push_back(number);
                continue;
            }
            match flow.queue.take(now, packets) {
                Dequeued::Packet(id) => {
                    flow.credit -= i64::from(packets[id.0 as usize].size);
                    self.left(id, packets);
                    return Dequeued::Packet(id);
                }
                Dequeued::Drop(id, reason) => {
                    self.left(id, packets);
                    return Dequeued::Drop(id, reason);
                }
                Dequeued::Empty | Dequeued::WaitUntil(_) => {
                    list.pop_front();
                    // An empty new flow becomes an old flow first (RFC 8290, section 4.2).
                    // If the flow could become new again immediately, the old flows would never send.
                    // Without old flows, the empty flow is removed from its list immediately. Linux does the same.
                    if from == On::New && !self.old.is_empty() {
                        flow.on = On::Old;
                        self.old.push_back(number);
                    } else {
                        flow.on = On::None;
                    }
                }
            }
        }
    }

    fn backlog_packets(&self) -> u32 {
        self.packets
    }

    fn backlog_bytes(&self) -> u64 {
        self.bytes
    }

    fn remove(
        &mut self,
        packets: &[Packet],
        matches: &mut dyn FnMut(PacketId) -> bool,
        removed: &mut Vec<PacketId>,
    ) {
        let before = removed.len();
        for flow in &mut self.flows {
            flow.queue.remove_all(packets, matches, removed);
        }
        for id in removed.iter().skip(before).copied() {
            self.left(id, packets);
        }
    }
}

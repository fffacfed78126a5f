//! CoDel: if packets wait too long, the packet at the head of the queue is dropped or marked.
//! Source: Nichols and Jacobson, "Controlling queue delay", CACM 2012; RFC 8289.
//!
//! Deviations: none in the control law. `libm` computes `1/sqrt(count)` in floating point, like the RFC's sample code.
//! Linux computes an approximation.

use super::discipline::{
    BuildDiscipline, Dequeued, DropReason, Fate, QueueDiscipline, Verdict, remove_from,
};
use super::kind::QueueConfig;
use super::spec::{NamedQueue, PortBuffer};
use crate::packet::{Ecn, Packet, PacketId};
use alloc::collections::VecDeque;
use alloc::vec::Vec;
use tailcut_units::parameter::{Parameter, Values};
use tailcut_units::{Duration, Time};

/// Parameters of CoDel (RFC 8289, section 4).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CoDel {
    /// Acceptable waiting time: 5 ms on the Internet, or some tens of microseconds in a data centre.
    pub target: Duration,
    /// Time for which the waiting time may exceed `target`. It should be about the longest round-trip time.
    pub interval: Duration,
    /// Largest packet in bytes on the wire. If the queue has at most this number of bytes, no packet is dropped.
    pub mtu: u32,
    /// Limit of the queue in bytes on the wire. A packet that would exceed the limit is dropped when it arrives.
    pub limit_bytes: u64,
    /// Whether ECN-capable packets are marked and not dropped.
    pub ecn: bool,
}

impl CoDel {
    /// Parameters of the RFC for the Internet, with a limit of 1,000 packets of 1,538 bytes.
    pub const INTERNET: Self = Self {
        target: Duration::from_ms(5),
        interval: Duration::from_ms(100),
        mtu: 1_538,
        limit_bytes: 1_538_000,
        ecn: false,
    };
}

pub(super) const TARGET: Parameter = Parameter::duration(
    "target",
    "50us",
    "Acceptable waiting time: 5 % of the interval (RFC 8289, section 4.3).",
);
pub(super) const INTERVAL: Parameter = Parameter::duration(
    "interval",
    "1ms",
    "Time for which the wait may exceed the target: the longest usual round trip. 1 ms suits a data centre; the \
     Internet has 100 ms (RFC 8289, section 4.2).",
);
pub(super) const ECN: Parameter = Parameter::flag(
    "ecn",
    "true",
    "Whether ECN-capable packets are marked instead of dropped.",
);

impl CoDel {
    /// Returns the configuration of a port's queue from the keys `target`, `interval` and `ecn`.
    pub(super) fn of(port: &PortBuffer, values: &Values) -> Self {
        Self {
            target: values.duration("target"),
            interval: values.duration("interval"),
            mtu: port.full_packet,
            limit_bytes: port.limit_bytes(),
            ecn: values.flag("ecn"),
        }
    }
}

/// Returns the discipline `codel` of the key `queue.discipline`.
pub(super) fn discipline() -> NamedQueue {
    let summary = "FIFO that drops or marks packets at its head after long waits: CoDel";
    NamedQueue {
        source: "RFC 8289",
        parameters: &[TARGET, INTERVAL, ECN],
        ..NamedQueue::new("codel", summary, |port, values| {
            CoDel::of(port, values).into()
        })
    }
}

/// Configuration of ports whose queue is a CoDel queue.
impl From<CoDel> for QueueConfig {
    fn from(config: CoDel) -> Self {
        Self::Custom(BuildDiscipline::new(move |_| CoDelQueue::new(config)))
    }
}

/// Last decision within one call of `dequeue`. After a drop, the same call decides about the next packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
enum Last {
    #[default]
    Forwarded,
    /// Drop of the first packet in a dropping state.
    FirstDrop,
    Drop,
}

/// State of the control law for one queue.
#[derive(Clone, Copy, Debug, Default)]
struct Control {
    /// Time by which the waiting time must fall below the target. `None` while the waiting time is below the target.
    first_above: Option<Time>,
    drop_next: Time,
    count: u32,
    last_count: u32,
    is_dropping: bool,
    last: Last,
}

/// Decision of the control law about the packet at the head of the queue.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Decision {
    Forward,
    Mark,
    Drop,
}

/// Packet at the head of a queue.
#[derive(Clone, Copy, Debug)]
struct Head {
    sojourn: Duration,
    /// Number of bytes queued behind this packet.
    left: u64,
    /// Whether the packet can be marked, so that it need not be dropped.
    is_markable: bool,
}

impl Control {
    /// Returns whether the packet at the head may be dropped (`dodequeue` of the RFC).
    fn may_drop(&mut self, now: Time, head: Head, config: &CoDel) -> bool {
        if head.sojourn < config.target || head.left <= u64::from(config.mtu) {
            self.first_above = None;
            return false;
        }
        match self.first_above {
            None => {
                self.first_above = Some(now.saturating_add(config.interval));
                false
            }
            Some(since) => now >= since,
        }
    }

    /// Returns the decision about the packet at the head (`dequeue` of the RFC).
    fn decide(&mut self, now: Time, head: Head, config: &CoDel) -> Decision {
        let may_drop = self.may_drop(now, head, config);
        let last = core::mem::take(&mut self.last);
        // In the RFC, the packet after the first drop is sent without another check.
        if last == Last::FirstDrop {
            return Decision::Forward;
        }
        if self.is_dropping {
            if !may_drop {
                self.is_dropping = false;
                return Decision::Forward;
            }
            // The time of the next drop is computed only here, as in the RFC.
            // After a drop, it is computed only if the next packet still waits too long.
            if last == Last::Drop {
                self.drop_next = control_law(self.drop_next, self.count, config.interval);
            }
            if now < self.drop_next {
                return Decision::Forward;
            }
            self.count += 1;
            if head.is_markable {
                self.drop_next = control_law(self.drop_next, self.count, config.interval);
                return Decision::Mark;
            }
            self.last = Last::Drop;
            return Decision::Drop;
        }
        if !may_drop {
            return Decision::Forward;
        }
        self.is_dropping = true;
        // If the queue left the dropping state a short time ago, the new state starts with the old drop rate.
        // In the RFC's sample code, a short time is 16 intervals.
        let delta = self.count - self.last_count;
        let recent = now
            < self
                .drop_next
                .saturating_add(config.interval.saturating_mul(16));
        self.count = match delta > 1 && recent {
            true => delta,
            false => 1,
        };
        self.drop_next = control_law(now, self.count, config.interval);
        self.last_count = self.count;
        if head.is_markable {
            return Decision::Mark;
        }
        self.last = Last::FirstDrop;
        Decision::Drop
    }

    /// Updates the state when the queue is empty.
    fn empties(&mut self) {
        self.first_above = None;
        // After a first drop, the RFC keeps the dropping state, even if the queue is then empty.
        if core::mem::take(&mut self.last) != Last::FirstDrop {
            self.is_dropping = false;
        }
    }
}

/// Returns the time of the next drop, if the previous drop was at `at`.
fn control_law(at: Time, count: u32, interval: Duration) -> Time {
    let ps = interval.as_ps() as f64 / libm::sqrt(f64::from(count));
    at.saturating_add(Duration::from_ps(ps as u64))
}

/// FIFO queue that CoDel controls.
#[derive(Debug)]
pub struct CoDelQueue {
    config: CoDel,
    pub(super) queued: VecDeque<(PacketId, Time)>,
    pub(super) bytes: u64,
    control: Control,
}

impl CoDelQueue {
    /// Creates an empty queue.
    pub fn new(config: CoDel) -> Self {
        Self {
            config,
            queued: VecDeque::new(),
            bytes: 0,
            control: Control::default(),
        }
    }

    /// Appends a packet to the queue.
    pub(super) fn push(&mut self, now: Time, id: PacketId, packet: &Packet) {
        self.queued.push_back((id, now));
        self.bytes += u64::from(packet.size);
    }

    /// Removes and returns the packet at the head.
    pub(super) fn pop(&mut self, packets: &[Packet]) -> Option<(PacketId, Time)> {
        let head = self.queued.pop_front()?;
        self.bytes -= u64::from(packets[head.0.0 as usize].size);
        Some(head)
    }

    /// Returns the next packet, with the decision to send it or to drop it.
    pub(super) fn take(&mut self, now: Time, packets: &mut [Packet]) -> Dequeued {
        let Some((id, since)) = self.pop(packets) else {
            self.control.empties();
            return Dequeued::Empty;
        };
        let packet = &mut packets[id.0 as usize];
        let head = Head {
            sojourn: now.since(since),
            left: self.bytes,
            // An earlier port may have marked the packet. It then already signals congestion, so it is not dropped.
            is_markable: self.config.ecn && packet.ecn != Ecn::NotCapable,
        };
        match self.control.decide(now, head, &self.config) {
            Decision::Forward => Dequeued::Packet(id),
            Decision::Mark => {
                packet.ecn = Ecn::Marked;
                Dequeued::Packet(id)
            }
            Decision::Drop => Dequeued::Drop(id, DropReason::ActiveQueue),
        }
    }

    /// Removes all packets for which `matches` returns `true`, and adds them to `removed`.
    pub(super) fn remove_all(
        &mut self,
        packets: &[Packet],
        matches: &mut dyn FnMut(PacketId) -> bool,
        removed: &mut Vec<PacketId>,
    ) {
        let queued = &mut self.queued;
        self.bytes -= remove_from(queued, |(id, _)| *id, packets, matches, removed);
    }
}

impl QueueDiscipline for CoDelQueue {
    fn enqueue(&mut self, now: Time, id: PacketId, packets: &mut [Packet]) -> Verdict {
        let packet = &packets[id.0 as usize];
        if self.bytes + u64::from(packet.size) > self.config.limit_bytes {
            return Fate::Dropped(DropReason::QueueFull).into();
        }
        self.push(now, id, packet);
        Fate::Queued.into()
    }

    fn dequeue(&mut self, now: Time, packets: &mut [Packet]) -> Dequeued {
        self.take(now, packets)
    }

    fn backlog_packets(&self) -> u32 {
        self.queued.len() as u32
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
        self.remove_all(packets, matches, removed);
    }
}

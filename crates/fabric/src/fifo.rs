//! The one-event port: a FIFO queue at a fixed rate knows a packet's departure when it arrives, so
//! the arrival at the next node is the only event. Proved equal to the general port by test.

use crate::packet::{Ecn, Packet};
use crate::port::{Backlog, Port};
use crate::queue::{DropReason, DropTail, Limit};
use alloc::boxed::Box;

/// The packets that wait at a one-event port, by size alone: within a busy period one follows the
/// other without a gap, so the times follow from the sizes. The packet in service is not among
/// them, as at the general port.
#[derive(Debug)]
pub(crate) struct Fifo {
    /// When the head of the ring begins its service; meaningless when the ring is empty.
    head_starts_ps: u64,
    backlog_bytes: u64,
    longest_backlog: u64,
    head: u32,
    waiting: u32,
    /// Ring of sizes; its length is a power of two.
    sizes: Box<[u32]>,
    config: DropTail,
}

/// What became of a packet at a one-event port.
pub(crate) enum Outcome {
    /// It arrives at the other end of the link then.
    Arrives(u64),
    Dropped(DropReason),
}

impl Fifo {
    pub fn new(config: DropTail) -> Self {
        Self {
            head_starts_ps: 0,
            backlog_bytes: 0,
            longest_backlog: 0,
            head: 0,
            waiting: 0,
            sizes: Box::new([0; 8]),
            config,
        }
    }

    /// Forgets the packets whose service has begun by `now`.
    #[inline]
    fn drain(&mut self, now_ps: u64, port: &Port) {
        if self.waiting == 0 {
            return;
        }
        if port.busy_until_ps <= now_ps {
            self.head = self.head.wrapping_add(self.waiting);
            self.waiting = 0;
            self.backlog_bytes = 0;
            return;
        }
        let mask = self.sizes.len() - 1;
        while self.waiting > 0 && self.head_starts_ps <= now_ps {
            let size = self.sizes[self.head as usize & mask];
            self.head = self.head.wrapping_add(1);
            self.waiting -= 1;
            self.backlog_bytes -= u64::from(size);
            self.head_starts_ps += port.serialisation_ps(size);
        }
    }

    /// A packet reaches the port.
    #[inline]
    pub fn arrive(&mut self, now_ps: u64, port: &mut Port, packet: &mut Packet) -> Outcome {
        self.drain(now_ps, port);
        let full = match self.config.limit {
            Limit::Packets(limit) => self.waiting >= limit,
            Limit::Bytes(limit) => self.backlog_bytes + u64::from(packet.size) > limit,
        };
        if full {
            return Outcome::Dropped(DropReason::QueueFull);
        }
        let mut start = now_ps;
        if port.busy_until_ps > now_ps {
            let over = match self.config.mark_above {
                None => false,
                Some(Limit::Packets(k)) => self.waiting > k,
                Some(Limit::Bytes(k)) => self.backlog_bytes > k,
            };
            if over && packet.ecn == Ecn::Capable {
                packet.ecn = Ecn::Marked;
                port.marked += 1;
            }
            start = port.busy_until_ps;
            self.push(start, packet.size);
        }
        port.busy_until_ps = start + port.serialisation_ps(packet.size);
        port.transmitted_packets += 1;
        port.transmitted_bytes += u64::from(packet.size);
        Outcome::Arrives(port.busy_until_ps + port.delay_ps)
    }

    #[inline]
    fn push(&mut self, starts_ps: u64, size: u32) {
        if self.waiting == 0 {
            self.head_starts_ps = starts_ps;
        }
        if self.waiting as usize == self.sizes.len() {
            self.grow();
        }
        let mask = self.sizes.len() - 1;
        self.sizes[self.head.wrapping_add(self.waiting) as usize & mask] = size;
        self.waiting += 1;
        self.backlog_bytes += u64::from(size);
        self.longest_backlog = self.longest_backlog.max(self.backlog_bytes);
    }

    #[cold]
    fn grow(&mut self) {
        let old = self.sizes.len();
        let mut larger = alloc::vec![0; old * 2].into_boxed_slice();
        for (i, slot) in larger.iter_mut().enumerate().take(old) {
            *slot = self.sizes[(self.head as usize + i) & (old - 1)];
        }
        self.sizes = larger;
        self.head = 0;
    }

    /// What waits at `now`.
    pub fn backlog(&mut self, now_ps: u64, port: &Port) -> Backlog {
        self.drain(now_ps, port);
        Backlog {
            packets: self.waiting,
            bytes: self.backlog_bytes,
            longest_bytes: self.longest_backlog,
            service_ends_ps: if self.waiting > 0 {
                self.head_starts_ps
            } else {
                port.busy_until_ps
            },
        }
    }
}

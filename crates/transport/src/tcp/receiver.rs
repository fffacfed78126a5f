//! The receiving half of a connection: reassembly, delayed ACKs (RFC 5681, 4.2), SACK blocks
//! (RFC 2018) and the echo of ECN marks (RFC 3168; RFC 8257, 3.2).

use super::config::TcpConfig;
use super::ranges::Ranges;
use crate::tcp::SackBlock;
use alloc::boxed::Box;
use tailcut_units::Time;

/// No FIN has been seen yet.
const NO_FIN: u64 = u64::MAX;

/// What a segment did to the stream.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Arrival {
    /// It continued the stream, and nothing waits above.
    InOrder,
    /// It continued the stream up to data that had arrived before, or part of the way.
    FilledHole,
    /// It lies above a hole.
    OutOfOrder,
    /// All of it had arrived before.
    Duplicate,
}

/// The state of the receiving half.
#[derive(Debug)]
pub(crate) struct Receiver {
    /// The next byte in order; one past the stream once the FIN is in.
    next: u64,
    /// The stream's length, once a FIN told it.
    fin: u64,
    /// When a held-back ACK must go; `Time::MAX` while none is held back.
    pub(crate) ack_deadline: Time,
    out_of_order: Option<Box<OutOfOrder>>,
    /// Segments since the last ACK.
    unacknowledged: u8,
    /// The ECN-Echo of the next ACK: the last mark seen (DCTCP.CE), or classic ECN's latch.
    pub(crate) echo: bool,
}

#[derive(Debug, Default)]
struct OutOfOrder {
    held: Ranges,
    /// A byte of each of the ranges that changed last, latest first; 0 where there is none.
    recent: [u64; 3],
}

impl OutOfOrder {
    /// The range around `offset` changed last.
    fn note_latest(&mut self, offset: u64) {
        let Some(latest) = self.held.containing(offset) else {
            return;
        };
        let mut recent = [offset, 0, 0];
        let others = self
            .recent
            .iter()
            .filter(|at| !(latest.start..latest.end).contains(at));
        for (place, other) in recent[1..].iter_mut().zip(others) {
            *place = *other;
        }
        self.recent = recent;
    }
}

impl Receiver {
    pub(crate) fn new() -> Self {
        Self {
            next: 0,
            fin: NO_FIN,
            ack_deadline: Time::MAX,
            out_of_order: None,
            unacknowledged: 0,
            echo: false,
        }
    }

    /// The acknowledgment number to send.
    #[inline]
    pub(crate) fn next(&self) -> u64 {
        self.next
    }

    /// Bytes delivered in order.
    pub(crate) fn delivered(&self) -> u64 {
        self.next.min(self.fin)
    }

    /// Whether the FIN and everything before it are in.
    #[inline]
    pub(crate) fn finished(&self) -> bool {
        self.next > self.fin
    }

    #[inline]
    pub(crate) fn on_data(&mut self, offset: u64, payload: u32, fin: bool) -> Arrival {
        let end = offset + u64::from(payload);
        if fin && self.fin == NO_FIN {
            self.fin = end;
        }
        if offset == self.next && self.out_of_order.is_none() {
            self.advance(end);
            return Arrival::InOrder;
        }
        self.on_disorder(offset, end, fin)
    }

    #[cold]
    fn on_disorder(&mut self, offset: u64, end: u64, fin: bool) -> Arrival {
        if end + u64::from(fin) <= self.next || end < self.next {
            return Arrival::Duplicate;
        }
        if offset > self.next {
            let waiting = self.out_of_order.get_or_insert_default();
            waiting.held.insert(offset, end + u64::from(fin));
            waiting.note_latest(offset);
            return Arrival::OutOfOrder;
        }
        let reached = match &mut self.out_of_order {
            Some(waiting) => {
                let reached = waiting.held.containing(end).map_or(end, |r| r.end);
                waiting.held.remove_below(reached);
                reached
            }
            None => end,
        };
        if self
            .out_of_order
            .as_ref()
            .is_some_and(|waiting| waiting.held.is_empty())
        {
            self.out_of_order = None;
        }
        self.advance(reached);
        Arrival::FilledHole
    }

    #[inline]
    fn advance(&mut self, end: u64) {
        self.next = end;
        if end == self.fin {
            self.next = end + 1;
        }
    }

    /// Counts `payload` bytes in order, as the full segments that they were before the stack merged them.
    /// Says whether an ACK is due now; if not, it is by `ack_deadline`.
    #[inline]
    pub(crate) fn delay_ack(&mut self, now: Time, payload: u32, config: &TcpConfig) -> bool {
        let Some(delayed) = config.delayed_ack else {
            return true;
        };
        let segments = if payload <= config.mss {
            1
        } else {
            u8::try_from(payload.div_ceil(config.mss)).unwrap_or(u8::MAX)
        };
        self.unacknowledged = self.unacknowledged.saturating_add(segments);
        if self.unacknowledged >= delayed.segments {
            return true;
        }
        if self.unacknowledged == segments {
            self.ack_deadline = now.saturating_add(delayed.timeout);
        }
        false
    }

    /// Whether an ACK is being held back.
    #[inline]
    pub(crate) fn holds_ack(&self) -> bool {
        self.unacknowledged > 0
    }

    /// An ACK left.
    #[inline]
    pub(crate) fn on_ack_sent(&mut self) {
        self.unacknowledged = 0;
        self.ack_deadline = Time::MAX;
    }

    /// Up to three blocks, the latest arrival's first.
    #[inline]
    pub(crate) fn sack_blocks(&self) -> [SackBlock; 3] {
        match &self.out_of_order {
            Some(waiting) => self.blocks_of(waiting),
            None => [SackBlock::default(); 3],
        }
    }

    #[cold]
    fn blocks_of(&self, waiting: &OutOfOrder) -> [SackBlock; 3] {
        let mut blocks = [SackBlock::default(); 3];
        let mut count = 0;
        for start in waiting.recent {
            let Some(range) = waiting.held.containing(start) else {
                continue;
            };
            let relative = |offset: u64| u32::try_from(offset - self.next);
            let (Ok(start), Ok(end)) = (relative(range.start), relative(range.end)) else {
                continue;
            };
            blocks[count] = SackBlock { start, end };
            count += 1;
        }
        blocks
    }
}

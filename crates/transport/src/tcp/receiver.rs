//! Receiving half of a connection: reassembly, delayed ACKs (RFC 5681, 4.2), and SACK blocks (RFC 2018).
//! The receiver also echoes ECN marks (RFC 3168; RFC 8257, 3.2).

use super::config::TcpConfig;
use super::ranges::{Range, Ranges};
use crate::tcp::{SackBlock, Stamp};
use alloc::boxed::Box;
use tailcut_units::{Duration, Time};

/// Value of `fin` before a FIN has arrived.
const NO_FIN: u64 = u64::MAX;

/// Position of an arriving segment in the stream.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Arrival {
    /// The segment continues the stream, and no later data is waiting.
    InOrder,
    /// The segment continues the stream, and later data is waiting. The segment closes the first hole or a part of it.
    FilledHole,
    /// The segment is above a hole.
    OutOfOrder,
    /// All bytes of the segment have arrived before.
    Duplicate,
}

/// State of the receiving half.
#[derive(Debug)]
pub(crate) struct Receiver {
    /// Offset of the next byte in order. A FIN that has arrived in order counts as one byte.
    next: u64,
    /// Length of the stream, from the FIN; `NO_FIN` before the FIN arrives.
    fin: u64,
    /// Time by which a delayed ACK must leave; `Time::MAX` while no ACK is delayed.
    pub(crate) ack_deadline: Time,
    out_of_order: Option<Box<OutOfOrder>>,
    /// Time at which the last data arrived in order; `Time::MAX` before the first data.
    last_data: Time,
    /// Number of segments since the last ACK.
    unacknowledged: u8,
    /// Number of further ACKs that leave without delay.
    quick: u8,
    /// Whether this end has answered data with data, so that its ACKs can wait for answers (`pingpong` of Linux).
    answers: bool,
    /// Time stamp that outgoing segments echo.
    /// The time stamp comes from the last segment that began at or before `acknowledged` (RFC 7323, 4.3).
    stamp: Stamp,
    /// Acknowledgment number of the last ACK that left.
    acknowledged: u64,
    /// Whether the next ACK has the flag ECN-Echo. DCTCP sets this flag from the last mark (DCTCP.CE).
    /// Classic ECN sets the flag until CWR arrives.
    pub(crate) echo: bool,
}

#[derive(Debug, Default)]
struct OutOfOrder {
    held: Ranges,
    /// One offset in each of the three ranges that changed last, the latest first. Unused entries are 0.
    recent: [u64; 3],
    /// Range that arrived twice and that no ACK has reported yet.
    twice: Option<Range>,
}

impl OutOfOrder {
    /// Records that the range around `offset` was the last to change.
    fn note_latest(&mut self, offset: u64) {
        let Some(latest) = self.held.containing(offset) else {
            return;
        };
        let mut recent = [offset, 0, 0];
        // Other recent offsets inside the same range are dropped, because one block reports the whole range.
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
            last_data: Time::MAX,
            unacknowledged: 0,
            quick: 0,
            answers: false,
            stamp: Stamp::NONE,
            acknowledged: 0,
            echo: false,
        }
    }

    /// Returns the acknowledgment number to send.
    #[inline]
    pub(crate) fn next(&self) -> u64 {
        self.next
    }

    /// Returns the number of bytes delivered in order.
    pub(crate) fn delivered(&self) -> u64 {
        self.next.min(self.fin)
    }

    /// Returns whether the FIN and everything before it have arrived.
    #[inline]
    pub(crate) fn finished(&self) -> bool {
        self.next > self.fin
    }

    /// Returns the time stamp that outgoing segments echo.
    #[inline]
    pub(crate) fn stamp(&self) -> Stamp {
        self.stamp
    }

    /// Stores the time stamp of a segment that begins at `offset`.
    #[inline]
    pub(crate) fn on_stamp(&mut self, offset: u64, stamp: Stamp) {
        if offset <= self.acknowledged {
            self.stamp = stamp;
        }
    }

    #[inline]
    pub(crate) fn on_data(&mut self, offset: u64, payload: u32, fin: bool) -> Arrival {
        let end = offset + u64::from(payload);
        // Only the first FIN sets the length of the stream.
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
        // A FIN has an offset, so a segment that contains no new data but a new FIN is not a duplicate.
        let after = end + u64::from(fin);
        if after <= self.next || end < self.next {
            self.out_of_order.get_or_insert_default().twice = Some(Range {
                start: offset,
                end: after,
            });
            return Arrival::Duplicate;
        }
        if offset > self.next {
            let waiting = self.out_of_order.get_or_insert_default();
            if waiting.held.insert(offset, after) == 0 {
                waiting.twice = Some(Range {
                    start: offset,
                    end: after,
                });
            }
            waiting.note_latest(offset);
            return Arrival::OutOfOrder;
        }
        if offset < self.next {
            // The segment repeats a part of the data that has arrived.
            // Without ranges above a hole, `on_twice_reported` frees the state again.
            self.out_of_order.get_or_insert_default().twice = Some(Range {
                start: offset,
                end: self.next,
            });
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
            .is_some_and(|waiting| waiting.held.is_empty() && waiting.twice.is_none())
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
            // The FIN has the offset after the last byte.
            self.next = end + 1;
        }
    }

    /// Counts `payload` bytes that arrived in order. A merged segment counts as the full segments in it.
    /// Returns whether an ACK is due now. Otherwise the ACK is due at `ack_deadline`.
    ///
    /// `rto` is the retransmission timeout of this end.
    #[inline]
    pub(crate) fn delay_ack(
        &mut self,
        now: Time,
        payload: u32,
        rto: Duration,
        config: &TcpConfig,
    ) -> bool {
        let Some(delayed) = config.delayed_ack else {
            return true;
        };
        if config.quick_acks > 0 {
            let gap = self.last_data == Time::MAX || now.since(self.last_data) > rto;
            self.last_data = now;
            if gap {
                self.quick = config.quick_acks;
            }
            if self.quick > 0 && !self.answers {
                self.quick -= 1;
                return true;
            }
        }
        let segments = if payload <= config.mss {
            1
        } else {
            u8::try_from(payload.div_ceil(config.mss)).unwrap_or(u8::MAX)
        };
        self.unacknowledged = self.unacknowledged.saturating_add(segments);
        if self.unacknowledged >= delayed.segments {
            return true;
        }
        // The first segment since the last ACK starts the timer. Later segments do not move the timer.
        if self.unacknowledged == segments {
            self.ack_deadline = now.saturating_add(delayed.timeout);
        }
        false
    }

    /// Records that data leaves.
    /// If data arrived shortly before, within the ACK delay, this end answers data with data.
    /// The ACKs of an end that answers data with data wait for the next answer.
    #[inline]
    pub(crate) fn on_data_sent(&mut self, now: Time, config: &TcpConfig) {
        if self.last_data != Time::MAX && !self.answers {
            let delay = config.delayed_ack.map_or(Duration::ZERO, |ack| ack.timeout);
            self.answers = now.since(self.last_data) < delay;
        }
    }

    /// Echoes a mark of classic ECN.
    /// The next two ACKs are not delayed, because they report the mark (Linux: `__tcp_ecn_check_ce`).
    pub(crate) fn on_classic_mark(&mut self, config: &TcpConfig) {
        if !self.echo && config.quick_acks > 0 {
            self.quick = self.quick.max(2);
            self.answers = false;
        }
        self.echo = true;
    }

    /// Handles the timer of a delayed ACK.
    /// The application has not answered in time, so later ACKs do not wait for answers.
    #[inline]
    pub(crate) fn on_ack_timer(&mut self) {
        self.answers = false;
    }

    /// Returns whether a range arrived twice and no ACK has reported it yet.
    pub(crate) fn reports_twice(&self) -> bool {
        self.out_of_order
            .as_ref()
            .is_some_and(|waiting| waiting.twice.is_some())
    }

    /// Starts quick ACKs again, because a segment arrived twice and the peer may wait for ACKs.
    pub(crate) fn on_duplicate(&mut self, config: &TcpConfig) {
        self.quick = config.quick_acks;
        self.answers = false;
    }

    /// Returns whether an ACK is being delayed.
    #[inline]
    pub(crate) fn holds_ack(&self) -> bool {
        self.unacknowledged > 0
    }

    /// Records that an ACK left.
    #[inline]
    pub(crate) fn on_ack_sent(&mut self) {
        self.unacknowledged = 0;
        self.acknowledged = self.next;
        self.ack_deadline = Time::MAX;
    }

    /// Clears the range that arrived twice, after an ACK has reported it.
    pub(crate) fn on_twice_reported(&mut self) {
        if let Some(waiting) = &mut self.out_of_order {
            waiting.twice = None;
            if waiting.held.is_empty() {
                self.out_of_order = None;
            }
        }
    }

    /// Returns up to three SACK blocks. The block of the latest arrival is first (RFC 2018, section 4).
    /// With `twice` a block for the range that arrived twice comes before it (RFC 2883).
    #[inline]
    pub(crate) fn sack_blocks(&self, twice: bool) -> [SackBlock; 3] {
        match &self.out_of_order {
            Some(waiting) => self.blocks_of(waiting, twice),
            None => [SackBlock::default(); 3],
        }
    }

    #[cold]
    fn blocks_of(&self, waiting: &OutOfOrder, twice: bool) -> [SackBlock; 3] {
        let mut blocks = [SackBlock::default(); 3];
        let mut count = 0;
        let again = waiting.twice.filter(|_| twice);
        if let Some(block) = again.and_then(|r| SackBlock::relative(r.start, r.end, self.next)) {
            blocks[0] = block;
            count = 1;
        }
        for start in waiting.recent {
            if count == blocks.len() {
                break;
            }
            // Ranges that were delivered in the meantime, and the 0 of an unused entry, are not in `held`.
            let Some(range) = waiting.held.containing(start) else {
                continue;
            };
            // A block that is too far from the ACK is left out.
            let Some(block) = SackBlock::relative(range.start, range.end, self.next) else {
                continue;
            };
            blocks[count] = block;
            count += 1;
        }
        blocks
    }
}

//! Segments that were sent and not acknowledged, with the time of the last transmission of each.
//! Linux calls this list the retransmission queue. RACK (RFC 8985) uses the times to decide which segments are lost.
//!
//! Deviation: a SACK block that covers only a part of a segment does not report the segment.
//! Receivers here report whole segments.

use super::episode::{Episode, Phase};
use crate::tcp::congestion::Window;
use alloc::boxed::Box;
use alloc::collections::VecDeque;
use tailcut_units::{Duration, Time};

/// Flag of a segment, in the bits of [`Sent::end_and_marks`] that offsets do not use.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Mark(u64);

impl Mark {
    /// A SACK block reports the segment.
    pub(super) const SACKED: Self = Self(1 << 60);
    /// The segment counts as lost.
    pub(super) const LOST: Self = Self(1 << 61);
    /// A retransmission of the segment is in the network.
    pub(super) const RESENT: Self = Self(1 << 62);
    /// The segment was sent more than once.
    pub(super) const EVER_RESENT: Self = Self(1 << 63);
}

/// Segment that was sent. It starts at the end of the segment before it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sent {
    /// One past the last offset (below 2^60), with the flags in the upper bits. A FIN uses one offset.
    /// The offset and the flags share one word, because large simulations have millions of segments in flight.
    /// A segment needs 16 bytes.
    end_and_marks: u64,
    /// Time at which the segment was sent last.
    pub(super) at: Time,
}

impl Sent {
    const OFFSET: u64 = (1 << 60) - 1;

    const fn new(end: u64, at: Time) -> Self {
        Self {
            end_and_marks: end & Self::OFFSET,
            at,
        }
    }
    /// Returns one past the last offset.
    #[inline]
    pub(super) const fn end(&self) -> u64 {
        self.end_and_marks & Self::OFFSET
    }
    #[inline]
    pub(super) const fn has(&self, mark: Mark) -> bool {
        self.end_and_marks & mark.0 != 0
    }
    pub(super) const fn set(&mut self, mark: Mark) {
        self.end_and_marks |= mark.0;
    }
    pub(super) const fn clear(&mut self, mark: Mark) {
        self.end_and_marks &= !mark.0;
    }
}

/// Timer of the sender. Only one timer runs at a time.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Timer {
    /// Retransmission timeout (RFC 6298).
    Retransmission,
    /// Probe timeout of TLP (RFC 8985, 7.2).
    Probe,
    /// Reordering timer of RACK (RFC 8985, 6.2, step 5).
    Reordering,
}

/// Use of the congestion window in one round trip (`tcp_cwnd_validate` of Linux).
#[derive(Clone, Copy, Default, Debug)]
pub(super) struct Usage {
    /// Offset whose ACK ends the round trip.
    end: u64,
    /// Largest number of bytes in flight in the round trip.
    most: u64,
    /// Whether the window limited the sender in the round trip.
    limited: bool,
}

impl Usage {
    /// Records that `out` bytes are in flight, and whether the window limits the sender.
    #[inline]
    pub(super) fn record(&mut self, una: u64, next: u64, out: u64, limited: bool) {
        if una >= self.end || limited || (!self.limited && out > self.most) {
            self.limited = limited;
            self.most = out;
            self.end = next;
        }
    }

    /// Returns whether the window may grow.
    #[inline]
    pub(super) fn lets_grow(&self, window: &Window) -> bool {
        self.limited || (window.in_slow_start() && window.cwnd < 2 * self.most)
    }
}

/// Segments in flight, in the order of their offsets.
#[derive(Debug)]
pub(super) struct Flight {
    pub(super) segments: VecDeque<Sent>,
    /// End of the last segment that was acknowledged as a whole, which is the start of the first segment in flight.
    pub(super) acknowledged: u64,
    /// Kind of the timer that expires at `rto_deadline` of the sender.
    pub(super) timer: Timer,
    /// Time from an ACK to the probe while more than one segment is in flight.
    /// The value is cached because almost every ACK needs it.
    pub(super) probe_timeout: Duration,
    /// Least round-trip time so far; `Duration::MAX` before the first sample.
    pub(super) least_rtt: Duration,
    /// Send time of the last segment before the connection became idle, with nothing in flight.
    pub(super) last_sent: Time,
    /// Use of the window in the current round trip.
    pub(super) usage: Usage,
    /// State of loss recovery. It exists from the first SACK block, mark, probe or timeout.
    pub(super) episode: Option<Box<Episode>>,
}

impl Flight {
    pub(super) fn new(probe_timeout: Duration) -> Self {
        Self {
            segments: VecDeque::new(),
            acknowledged: 0,
            timer: Timer::Retransmission,
            probe_timeout,
            least_rtt: Duration::MAX,
            last_sent: Time::ZERO,
            usage: Usage::default(),
            episode: None,
        }
    }

    /// Returns whether ACKs only let the window grow.
    #[inline]
    pub(super) fn is_calm(&self) -> bool {
        match &self.episode {
            None => true,
            Some(episode) => episode.is_calm(),
        }
    }

    /// Returns whether the next new segment sets the timer. A segment sets the timer if nothing is in flight.
    /// A segment also sets the timer if one segment is in flight and the probe timer runs.
    /// The probe timer includes the delay of an ACK, which is needed only for a single segment.
    /// With more segments in flight a transmission only moves the probe to a later time.
    /// `on_other_timer` computes the later time when the timer expires.
    #[inline]
    pub(super) fn sets_timer_next(&self) -> bool {
        match self.segments.len() {
            0 => true,
            1 => self.timer == Timer::Probe,
            _ => false,
        }
    }

    /// Removes the segments that `ack` acknowledges, if loss recovery has no state to update.
    /// Returns the end of the last acknowledged segment, before and after the call.
    #[inline]
    pub(super) fn acknowledge(&mut self, ack: u64) -> (u64, u64) {
        let before = self.acknowledged;
        while let Some(sent) = self.segments.front()
            && sent.end() <= ack
        {
            self.last_sent = sent.at;
            self.acknowledged = sent.end();
            self.segments.pop_front();
        }
        (before, self.acknowledged)
    }

    #[inline]
    pub(super) fn push(&mut self, end: u64, at: Time) {
        self.segments.push_back(Sent::new(end, at));
    }

    /// Returns the position of the first segment that ends above `offset`.
    pub(super) fn position_above(&self, offset: u64) -> usize {
        self.segments.partition_point(|sent| sent.end() <= offset)
    }

    /// Returns the offset at which the segment at `position` starts. `una` is the first unacknowledged offset.
    pub(super) fn start(&self, position: usize, una: u64) -> u64 {
        let before = position.checked_sub(1).and_then(|at| self.segments.get(at));
        before.map_or(una, |sent| sent.end().max(una))
    }

    /// Returns the start and end of the first lost segment that was not sent again since its loss.
    pub(super) fn next_lost(&self, una: u64) -> Option<(u64, u64)> {
        let episode = self.episode.as_ref()?;
        let from = self.position_above(episode.counts.resend_from);
        let waits = |sent: &Sent| sent.has(Mark::LOST) && !sent.has(Mark::RESENT);
        let at = from + self.segments.iter().skip(from).position(waits)?;
        Some((self.start(at, una), self.segments[at].end()))
    }

    /// Returns whether the first segment was sent more than once.
    pub(super) fn repeats_first(&self) -> bool {
        let first = self.segments.front();
        first.is_some_and(|sent| sent.has(Mark::EVER_RESENT))
    }

    pub(super) fn phase(&self) -> Phase {
        self.episode.as_ref().map_or(Phase::Open, |it| it.phase)
    }
}

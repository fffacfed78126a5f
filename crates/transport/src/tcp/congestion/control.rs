//! Input of a congestion controller, and the trait that it implements.

use core::fmt::Debug;
use tailcut_units::{Duration, Time};

/// Congestion window and slow-start threshold, in payload bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Window {
    /// Congestion window in payload bytes.
    pub cwnd: u64,
    /// Slow-start threshold in payload bytes: below it the window grows by slow start.
    /// `u64::MAX` before the first congestion.
    pub ssthresh: u64,
}

impl Window {
    /// Returns whether the window grows by slow start.
    pub const fn in_slow_start(&self) -> bool {
        self.cwnd < self.ssthresh
    }
}

/// ACK that acknowledges new data.
#[derive(Clone, Copy, Debug)]
pub struct Ack {
    /// Time at which the ACK arrived.
    pub now: Time,
    /// Payload bytes that the ACK acknowledges for the first time, at least 1.
    pub acked: u64,
    /// Whether the ACK has the flag ECN-Echo.
    pub marked: bool,
    /// Cumulative acknowledgment: every byte before this offset has arrived.
    pub una: u64,
    /// Offset of the next byte to send.
    pub nxt: u64,
    /// Payload bytes of a full segment.
    pub mss: u64,
    /// Whether the window may grow. The window may not grow during recovery or on a marked ACK (RFC 3168).
    /// The window, and not the application or the NIC, must limit the sender (RFC 9438, 5.8; RFC 7661).
    pub may_grow: bool,
    /// Largest number of bytes that one ACK adds in slow start (the limit L of RFC 3465).
    /// The limit is two segments, or one segment after a timeout.
    /// With `u64::MAX` all acknowledged bytes count, as in Linux.
    /// With `u64::MAX`, bytes above `ssthresh` count for congestion avoidance.
    pub slow_start_limit: u64,
    /// Smoothed round-trip time; zero before the first sample.
    pub srtt: Duration,
    /// Round-trip time that this ACK measured; `None` without a measurement.
    /// A sender times one segment at a time, and never a segment that it sent twice (Karn's algorithm).
    pub rtt: Option<Duration>,
}

impl Ack {
    /// Opens the window in slow start. Returns the acknowledged bytes that are left for congestion avoidance.
    #[inline]
    pub fn open(&self, window: &mut Window) -> u64 {
        if self.slow_start_limit < u64::MAX {
            window.cwnd += self.acked.min(self.slow_start_limit);
            return 0;
        }
        let grown = self.acked.min(window.ssthresh - window.cwnd);
        window.cwnd += grown;
        self.acked - grown
    }
}

/// Congestion event: a loss, a timeout or an ECN mark.
#[derive(Clone, Copy, Debug)]
pub struct Congested {
    /// Time at which the sender noticed the congestion.
    pub now: Time,
    /// Payload bytes sent and not acknowledged, without the bytes of limited transmit (RFC 5681, 3.2).
    /// The number never exceeds the window.
    pub in_flight: u64,
    /// Payload bytes of a full segment.
    pub mss: u64,
}

/// Use of ECN by a controller.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum EcnUse {
    /// ECN as in RFC 3168, if the configuration turns it on.
    Classic,
    /// ECN is always on. The receiver echoes every mark exactly (RFC 8257, 3.2).
    Accurate,
}

/// Congestion controller of one connection: it sets the congestion window.
///
/// After each call the sender clamps `cwnd` to the range from one MSS to the configured maximum.
/// A loss or a timeout must not raise the window, except to the minimum of two segments in RFC 5681.
pub trait CongestionControl: Debug + Send {
    /// Handles an ACK for new data. The sender also calls this during recovery.
    fn on_ack(&mut self, window: &mut Window, ack: &Ack);
    /// Handles a loss that duplicate ACKs or SACK blocks show. The sender calls this at most once per window.
    /// Sets both `ssthresh` and `cwnd`.
    fn on_loss(&mut self, window: &mut Window, congested: &Congested);
    /// Handles the first expiry of the retransmission timer since data was acknowledged.
    /// The sender does not call this during recovery, because `on_loss` has already handled that loss.
    /// The controller sets `ssthresh`. After this call, the sender sets `cwnd` to one segment.
    fn on_timeout(&mut self, window: &mut Window, congested: &Congested);
    /// Handles an ACK with ECN-Echo outside recovery. The sender calls this at most once per window, after `on_ack`.
    /// By default a mark counts as a loss (RFC 3168, 6.1.2).
    fn on_mark(&mut self, window: &mut Window, congested: &Congested) {
        self.on_loss(window, congested);
    }
    /// Records that data up to the offset `end` leaves. `again` is true if the segment repeats bytes.
    /// Only controllers that time every segment use this call.
    fn on_sent(&mut self, _now: Time, _end: u64, _again: bool) {}
    /// Returns the use of ECN.
    fn ecn_use(&self) -> EcnUse {
        EcnUse::Classic
    }
}

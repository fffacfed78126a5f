//! What a controller is told, and what it decides.

use core::fmt::Debug;
use tailcut_units::{Duration, Time};

/// The congestion window and the slow-start threshold, in payload bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Window {
    /// The congestion window.
    pub cwnd: u64,
    /// Below it the window grows by slow start. `u64::MAX` before the first congestion.
    pub ssthresh: u64,
}

impl Window {
    /// Whether the window grows by slow start.
    pub const fn in_slow_start(&self) -> bool {
        self.cwnd < self.ssthresh
    }
}

/// An ACK that acknowledges new data.
#[derive(Clone, Copy, Debug)]
pub struct Ack {
    /// When it arrived.
    pub now: Time,
    /// Payload bytes that it acknowledges for the first time, at least 1.
    pub acked: u64,
    /// Whether it carries ECN-Echo.
    pub marked: bool,
    /// The offset acknowledged now: every byte before it has arrived.
    pub una: u64,
    /// The offset of the next byte to send.
    pub nxt: u64,
    /// Payload bytes of a full segment.
    pub mss: u64,
    /// Whether the window may grow: not during recovery, not where the application or the NIC and
    /// not the window held the sender back (RFC 9438, 5.8; RFC 7661), not on a marked ACK (RFC
    /// 3168).
    pub may_grow: bool,
    /// Slow start counts at most so many bytes an ACK (RFC 3465, L): two segments, one after a
    /// timeout.
    pub slow_start_limit: u64,
    /// The smoothed round-trip time; zero before the first sample.
    pub srtt: Duration,
}

/// A sign of congestion.
#[derive(Clone, Copy, Debug)]
pub struct Congested {
    /// When it was noticed.
    pub now: Time,
    /// Payload bytes sent and not acknowledged, without those of limited transmit (RFC 5681, 3.2);
    /// never more than the window.
    pub in_flight: u64,
    /// Payload bytes of a full segment.
    pub mss: u64,
}

/// How a controller uses ECN.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum EcnUse {
    /// Only if the configuration says so, and then as RFC 3168.
    Classic,
    /// Always; the receiver echoes every mark exactly (RFC 8257, 3.2).
    Accurate,
}

/// Opens and closes a connection's congestion window.
///
/// The sender keeps `cwnd` between one MSS and the configured maximum after each call. A loss or a
/// timeout never raises the window, but to the two segments that RFC 5681 leaves at least.
pub trait CongestionControl: Debug + Send {
    /// New data was acknowledged, also during recovery.
    fn on_ack(&mut self, window: &mut Window, ack: &Ack);
    /// Duplicate ACKs or SACK blocks showed a loss; at most once a window. Sets both `ssthresh`
    /// and `cwnd`.
    fn on_loss(&mut self, window: &mut Window, congested: &Congested);
    /// The retransmission timer expired for the first time since data was acknowledged, and not in
    /// recovery, whose loss `on_loss` has answered. Sets `ssthresh`; the sender then sets `cwnd`
    /// to one segment.
    fn on_timeout(&mut self, window: &mut Window, congested: &Congested);
    /// An ACK carried ECN-Echo outside recovery; at most once a window, after `on_ack`.
    fn on_mark(&mut self, window: &mut Window, congested: &Congested) {
        self.on_loss(window, congested);
    }
    /// Data up to the offset `end` leaves, `again` where it repeats bytes. For controllers that
    /// time every segment.
    fn on_sent(&mut self, _now: Time, _end: u64, _again: bool) {}
    /// How ECN is used.
    fn ecn_use(&self) -> EcnUse {
        EcnUse::Classic
    }
}

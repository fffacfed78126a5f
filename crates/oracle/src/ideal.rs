//! Completion time of a flow that is alone in a store-and-forward network, exact to the picosecond.
//!
//! The packets of one flow pass a path in order.
//! Each hop sends a packet as soon as the whole packet has arrived and the previous packet has left.
//! The packet leaves one serialisation time later. This rule determines all times.
//! Sender and receiver follow RFC 5681: slow start without loss, with or without delayed ACKs.

use std::collections::VecDeque;
use tailcut_units::{Duration, Rate, Time};

/// Hop: a port that serialises whole packets, and the delay of its link.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Hop {
    /// Rate of the port.
    pub rate: Rate,
    /// Propagation delay of the link, including the processing time of the receiving node.
    pub delay: Duration,
}

/// Rule for delayed ACKs of a receiver (RFC 5681, section 4.2).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct DelayedAck {
    /// Largest number of segments that the receiver waits for before it sends an ACK.
    pub segments: u32,
    /// Longest time between the first unacknowledged segment and its ACK.
    pub timeout: Duration,
}

/// Transfer: a sender, a receiver, and the network between them without other traffic.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Transfer {
    /// Hops from the sender to the receiver, beginning with the sender's port.
    pub forward: Vec<Hop>,
    /// Hops from the receiver to the sender.
    pub backward: Vec<Hop>,
    /// Largest payload of a packet, in bytes.
    pub mss: u64,
    /// Bytes of line time of a packet in addition to its payload: headers, preamble, gap. SYN and ACK have no payload.
    pub overhead: u64,
    /// Whether a SYN and a SYN-ACK precede the data.
    pub handshake: bool,
    /// Whether the ACK that ends the handshake is a separate packet before the data.
    pub handshake_ack_apart: bool,
    /// Initial congestion window in payload bytes, at least one MSS.
    pub initial_window: u64,
    /// Largest growth of the window per ACK, in payload bytes: one MSS in RFC 5681, two in RFC 3465.
    pub growth_per_ack: u64,
    /// Delayed ACKs of the receiver. With `None`, every segment is acknowledged immediately.
    pub delayed_ack: Option<DelayedAck>,
}

/// Completion times of a transfer, measured from its start at the sender.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Completion {
    /// Time when the receiver has the last byte.
    pub delivered: Duration,
    /// Time when the sender has the ACK of the last byte.
    pub acknowledged: Duration,
}

/// State of a path. Packets pass the path in order.
struct PathState<'a> {
    hops: &'a [Hop],
    /// Time when each port is free again.
    free: Vec<Time>,
}

impl<'a> PathState<'a> {
    fn new(hops: &'a [Hop]) -> Self {
        Self {
            hops,
            free: vec![Time::ZERO; hops.len()],
        }
    }

    fn send(&mut self, at: Time, bytes: u64) -> Time {
        let hops = self.hops.iter().zip(&mut self.free);
        hops.fold(at, |arrived, (hop, free)| {
            *free = arrived.max(*free) + hop.rate.serialisation(bytes);
            *free + hop.delay
        })
    }
}

/// State of the receiver: received bytes, and segments that it has not acknowledged.
struct Receiver {
    policy: Option<DelayedAck>,
    received: u64,
    /// Number of segments that no ACK covers yet. `due` is the latest time for their ACK.
    waiting: u32,
    due: Time,
}

impl Receiver {
    /// Processes a segment that ends at byte `received` and arrives at `now`. Returns up to two ACKs.
    /// Each ACK has a sending time and the number of bytes that it acknowledges.
    /// The first ACK is from the timer, if the timer expired before `now`.
    /// The second ACK is the answer to this segment.
    fn segment(&mut self, now: Time, received: u64) -> [Option<(Time, u64)>; 2] {
        let by_timer = if self.due < now { self.flush() } else { None };
        self.received = received;
        let (segments, timeout) = self.policy.map_or((1, Duration::ZERO), |policy| {
            (policy.segments, policy.timeout)
        });
        if self.waiting == 0 {
            self.due = now.saturating_add(timeout);
        }
        self.waiting += 1;
        let own = (self.waiting >= segments).then(|| {
            self.waiting = 0;
            (now, received)
        });
        [by_timer, own]
    }

    /// Returns the ACK that the timer sends, or `None` if all segments are acknowledged.
    fn flush(&mut self) -> Option<(Time, u64)> {
        (std::mem::take(&mut self.waiting) > 0).then_some((self.due, self.received))
    }
}

impl Transfer {
    /// Returns the completion times of a flow of `bytes` bytes if the window never limits the sender.
    /// No transport with the same handshake and headers can be faster.
    pub fn unlimited(&self, bytes: u64) -> Completion {
        let widest = Self {
            initial_window: u64::MAX,
            ..self.clone()
        };
        widest.slow_start(bytes)
    }

    /// Returns the completion times of a flow of `bytes` bytes in slow start. The window starts at the initial window.
    /// No packet is lost, and nothing else limits the window.
    ///
    /// # Panics
    /// The MSS is zero, the window is smaller than one MSS, there are no bytes, or a path has no hops.
    pub fn slow_start(&self, bytes: u64) -> Completion {
        assert!(self.mss > 0 && bytes > 0 && self.initial_window >= self.mss);
        assert!(!self.forward.is_empty() && !self.backward.is_empty());
        let mut forward = PathState::new(&self.forward);
        let mut backward = PathState::new(&self.backward);
        let mut now = Time::ZERO;
        if self.handshake {
            let syn = forward.send(now, self.overhead);
            now = backward.send(syn, self.overhead);
            if self.handshake_ack_apart {
                forward.send(now, self.overhead);
            }
        }
        let mut receiver = Receiver {
            policy: self.delayed_ack,
            received: 0,
            waiting: 0,
            due: Time::ZERO,
        };
        let (mut sent, mut acknowledged, mut window) = (0, 0, self.initial_window);
        let mut delivered = now;
        let mut acks: VecDeque<(Time, u64)> = VecDeque::new();
        while acknowledged < bytes {
            let segment = self.mss.min(bytes - sent);
            if segment > 0 && sent - acknowledged + segment <= window {
                sent += segment;
                delivered = forward.send(now, segment + self.overhead);
                for (at, upto) in receiver.segment(delivered, sent).into_iter().flatten() {
                    acks.push_back((backward.send(at, self.overhead), upto));
                }
                continue;
            }
            if acks.is_empty() {
                let (at, upto) = receiver.flush().expect("data in flight to acknowledge");
                acks.push_back((backward.send(at, self.overhead), upto));
            }
            let (at, upto) = acks.pop_front().expect("an ACK on its way");
            let newly = upto - std::mem::replace(&mut acknowledged, upto);
            window = window.saturating_add(newly.min(self.growth_per_ack));
            now = at;
        }
        Completion {
            delivered: delivered - Time::ZERO,
            acknowledged: now - Time::ZERO,
        }
    }
}

/// Returns the time until the last of `packets` equal packets has passed a path, if the sender sends them without gaps.
/// Every hop stores and forwards the first packet. All later packets follow at the rate of the slowest port.
///
/// The time is the sum over hops of (s_h + d_h), plus (n - 1) max s_h.
/// s_h is the serialisation time of `bytes` at hop h, d_h the delay of its link, and n the number of packets.
///
/// # Panics
/// There are no packets or no hops.
pub fn equal_packets(hops: &[Hop], packets: u64, bytes: u64) -> Duration {
    let times = || hops.iter().map(|hop| hop.rate.serialisation(bytes));
    let delays: Duration = hops.iter().fold(Duration::ZERO, |sum, hop| sum + hop.delay);
    let first = times().fold(delays, |sum, time| sum + time);
    first + times().max().expect("a hop") * (packets - 1)
}

/// Returns the time until the last bit of an incast reaches the receiver.
/// The senders start at the same time and send `total_bytes` of line time through one port, `bottleneck`.
/// The port starts when the first packet (`first_bytes` of line time) has passed the hops `access`.
/// After the first packet, the port of the incast is never idle.
/// The time is exact under three conditions.
/// The senders together are faster than the port, no packet is lost, and no window limits a sender.
pub fn incast_drain(
    access: &[Hop],
    bottleneck: Hop,
    first_bytes: u64,
    total_bytes: u64,
) -> Duration {
    let reaches_port = equal_packets(access, 1, first_bytes);
    reaches_port + bottleneck.rate.serialisation(total_bytes) + bottleneck.delay
}

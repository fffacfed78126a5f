//! A flow alone in a store-and-forward network, exact to the picosecond.
//!
//! Packets of one flow pass a path in order, so every time follows from one recursion: a packet
//! leaves a hop one serialisation after it arrived there or after the packet before it left,
//! whichever is later. The sender and the receiver are RFC 5681's: slow start without loss, ACKs
//! delayed or not.

use std::collections::VecDeque;
use tailcut_units::{Duration, Rate, Time};

/// One hop: a port that serialises a packet whole, then the delay of its link.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Hop {
    /// The rate of the port.
    pub rate: Rate,
    /// The propagation delay of the link, with what the receiving node takes.
    pub delay: Duration,
}

/// When a receiver acknowledges less than every segment (RFC 5681, section 4.2).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct DelayedAck {
    /// An ACK at the latest for every so many segments.
    pub segments: u32,
    /// An ACK at the latest so long after the first segment that is not acknowledged.
    pub timeout: Duration,
}

/// A sender, a receiver and the network between them, with nobody else in it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Transfer {
    /// The hops from the sender to the receiver, the sender's own port first.
    pub forward: Vec<Hop>,
    /// The hops back.
    pub backward: Vec<Hop>,
    /// Most payload bytes a packet.
    pub mss: u64,
    /// Bytes of line time a packet beside its payload: headers, preamble, gap. SYN and ACK are
    /// packets without payload.
    pub overhead: u64,
    /// Whether a SYN and a SYN-ACK go before the data.
    pub handshake: bool,
    /// Whether the ACK that ends the handshake is a packet of its own, sent before the data.
    pub handshake_ack_apart: bool,
    /// The congestion window at the start, in payload bytes, at least one MSS.
    pub initial_window: u64,
    /// The most payload bytes by which one ACK grows the window: one MSS for RFC 5681, two for RFC
    /// 3465.
    pub growth_per_ack: u64,
    /// How the receiver delays ACKs; `None` acknowledges every segment at once.
    pub delayed_ack: Option<DelayedAck>,
}

/// When a transfer is over, counted from its start at the sender.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Completion {
    /// The last byte is at the receiver.
    pub delivered: Duration,
    /// The ACK of the last byte is at the sender.
    pub acknowledged: Duration,
}

/// Packets in order over a path: when each arrives at the end.
struct Line<'a> {
    hops: &'a [Hop],
    /// When each port is free again.
    free: Vec<Time>,
}

impl<'a> Line<'a> {
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

/// The receiver's side of acknowledging.
struct Receiver {
    policy: Option<DelayedAck>,
    received: u64,
    /// Segments that no ACK covers yet, and when their ACK is due at the latest.
    waiting: u32,
    due: Time,
}

impl Receiver {
    /// The ACKs, as (when sent, bytes covered), that a segment up to byte `received` brings when it
    /// arrives at `now`: that of the timer, if it ran out before, and its own.
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

    /// The ACK that the timer sends.
    fn flush(&mut self) -> Option<(Time, u64)> {
        (std::mem::take(&mut self.waiting) > 0).then_some((self.due, self.received))
    }
}

impl Transfer {
    /// The completion of `bytes` when the sender's window never holds it back: the shortest time
    /// that any transport with this handshake and this framing can take.
    pub fn unlimited(&self, bytes: u64) -> Completion {
        let widest = Self {
            initial_window: u64::MAX,
            ..self.clone()
        };
        widest.slow_start(bytes)
    }

    /// The completion of `bytes` under slow start from the initial window, without loss and without
    /// any other limit on the window.
    ///
    /// # Panics
    /// When the MSS is zero, the window holds less than one MSS, there are no bytes, or a
    /// path has no hops.
    pub fn slow_start(&self, bytes: u64) -> Completion {
        assert!(self.mss > 0 && bytes > 0 && self.initial_window >= self.mss);
        assert!(!self.forward.is_empty() && !self.backward.is_empty());
        let mut forward = Line::new(&self.forward);
        let mut backward = Line::new(&self.backward);
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

/// Equal packets back to back over a path, in closed form: the first packet stores and forwards
/// everywhere, the others follow at the pace of the slowest port.
/// sum over hops (s_h + d_h) + (n - 1) max s_h, with s_h the serialisation of `bytes` at hop h.
///
/// # Panics
/// When there are no packets or no hops.
pub fn equal_packets(hops: &[Hop], packets: u64, bytes: u64) -> Duration {
    let times = || hops.iter().map(|hop| hop.rate.serialisation(bytes));
    let delays: Duration = hops.iter().fold(Duration::ZERO, |sum, hop| sum + hop.delay);
    let first = times().fold(delays, |sum, time| sum + time);
    first + times().max().expect("a hop") * (packets - 1)
}

/// When an incast has drained: senders that start together send `total_bytes` of line time through
/// one port, which has the first packet (`first_bytes` of line time, over `access`) to serve when
/// it arrives and never idles from then on. Exact when the senders together outrun the port,
/// nothing is lost and no window holds a sender back.
pub fn incast_drain(
    access: &[Hop],
    bottleneck: Hop,
    first_bytes: u64,
    total_bytes: u64,
) -> Duration {
    let reaches_port = equal_packets(access, 1, first_bytes);
    reaches_port + bottleneck.rate.serialisation(total_bytes) + bottleneck.delay
}

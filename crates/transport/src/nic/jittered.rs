//! Random departures of a host.
//! In a real host, interrupts, memory and the scheduler delay each packet by a random time.
//! Without random delays, hosts with equal rates send with exact periods.
//! With exact periods, packets of two hosts can meet at a port in the same order for ever (phase effects).
//! Source: Floyd and Jacobson, "On Traffic Phase Effects in Packet-Switched Gateways", 1991.
//!
//! Each packet of a host is delayed by up to [`Departures::jitter`], uniformly distributed.
//! No packet leaves before an earlier packet of its host.
//! The next [`Departures::DEPTH`] packets have left the transport already, as in the ring of a NIC.
//! So a jitter of up to one packet time does not make a busy link idle.

use crate::{Event, FlowStats, Message, NotShared, Part, Segment, Transport};
use alloc::collections::VecDeque;
use alloc::vec::Vec;
use tailcut_units::{Duration, FlowId, Rate, Time, mix64};

/// Random departure times of the packets of one host.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Departures {
    jitter: Duration,
    seed: u64,
    draws: u64,
    last: Time,
}

impl Departures {
    /// Number of packets whose departure is chosen before the link is free: the next packet, and the packet after it.
    /// The random delay of the second packet passes while the link sends the first packet.
    pub const DEPTH: usize = 2;

    /// Creates the departures of a host.
    /// `jitter` is the longest delay of a packet, and `seed` is the seed of the host's random numbers.
    pub const fn new(jitter: Duration, seed: u64) -> Self {
        Self {
            jitter,
            seed,
            draws: 0,
            last: Time::ZERO,
        }
    }

    /// Returns the longest delay of a packet.
    pub const fn jitter(&self) -> Duration {
        self.jitter
    }

    /// Returns the departure time of the next packet, which is ready at `now`.
    pub fn next(&mut self, now: Time) -> Time {
        let draw = mix64(self.seed ^ mix64(self.draws));
        self.draws += 1;
        // The draw is mapped evenly to the range 0 to `jitter`.
        let values = u128::from(self.jitter.as_ps()) + 1;
        let delay = (u128::from(draw) * values) >> 64;
        let at = now.saturating_add(Duration::from_ps(delay as u64));
        // Packets of one host do not overtake each other.
        self.last = self.last.max(at);
        self.last
    }
}

/// Layer over the transport `T` that delays each packet by a random time.
#[derive(Debug)]
pub struct Jittered<T> {
    inner: T,
    departures: Departures,
    waiting: VecDeque<(Time, Segment)>,
    /// Departure of the first packet, if it is in the future. A packet that is due needs no wake-up.
    /// A due packet waits only for the link, and the driver polls when the link is free.
    wake: Option<Time>,
}

impl<T: Transport> Jittered<T> {
    /// Delays the packets of `inner`.
    pub fn new(inner: T, departures: Departures) -> Self {
        Self {
            inner,
            departures,
            waiting: VecDeque::new(),
            wake: None,
        }
    }

    /// Returns the transport whose packets are delayed.
    pub const fn inner(&self) -> &T {
        &self.inner
    }
    /// Returns the transport whose packets are delayed, for a driver that also calls methods of this transport.
    pub fn inner_mut(&mut self) -> &mut T {
        &mut self.inner
    }

    fn fill(&mut self, now: Time) {
        while self.waiting.len() < Departures::DEPTH {
            let Some(segment) = self.inner.poll_transmit(now) else {
                break;
            };
            let leaves_at = self.departures.next(now);
            self.waiting.push_back((leaves_at, segment));
        }
        let departure = self.waiting.front().map(|(at, _)| *at);
        self.wake = departure.filter(|at| *at > now);
    }
}

impl<T: Transport> Transport for Jittered<T> {
    fn submit(&mut self, now: Time, message: Message) {
        self.inner.submit(now, message);
        self.fill(now);
    }

    fn take_part(&mut self, now: Time, part: Part<'_>) -> Result<(), NotShared> {
        let taken = self.inner.take_part(now, part);
        self.fill(now);
        taken
    }

    fn cancel(&mut self, now: Time, flow: FlowId) -> Option<FlowStats> {
        self.inner.cancel(now, flow)
    }

    fn reprioritise(&mut self, now: Time, flow: FlowId, class: u8) {
        self.inner.reprioritise(now, flow, class);
    }

    fn set_line_rate(&mut self, now: Time, rate: Rate, overhead: u32) {
        self.inner.set_line_rate(now, rate, overhead);
        self.fill(now);
    }

    fn on_segment(&mut self, now: Time, segment: Segment) {
        self.inner.on_segment(now, segment);
        self.fill(now);
    }

    fn prefetch(&self, arriving: Option<&Segment>) {
        self.inner.prefetch(arriving);
    }

    fn on_timeout(&mut self, now: Time) {
        // If only a packet is due and no timer of the transport has expired, a call of the transport has no effect.
        self.inner.on_timeout(now);
        self.fill(now);
    }

    fn poll_transmit(&mut self, now: Time) -> Option<Segment> {
        // Calls of `poll_event` since the last input may have created segments.
        self.fill(now);
        if self.waiting.front().is_none_or(|(at, _)| *at > now) {
            return None;
        }
        let (_, segment) = self.waiting.pop_front()?;
        self.fill(now);
        Some(segment)
    }

    fn has_transmit(&self) -> bool {
        !self.waiting.is_empty() || self.inner.has_transmit()
    }

    fn poll_event(&mut self) -> Option<Event> {
        self.inner.poll_event()
    }

    fn next_timeout(&self) -> Option<Time> {
        Time::earlier(self.wake, self.inner.next_timeout())
    }

    fn unfinished(&self) -> Vec<(FlowId, FlowStats)> {
        self.inner.unfinished()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn departures_are_uniform_and_in_order() {
        let jitter = Duration::from_us(1);
        let mut departures = Departures::new(jitter, 7);
        let mut buckets = [0u32; 10];
        for packet in 0..10_000 {
            // Packets that are far apart do not wait for each other.
            let now = Time::from_ps(packet * 10_000_000);
            let delay = departures.next(now).since(now);
            assert!(delay <= jitter);
            buckets[(delay.as_ps() / 100_001) as usize] += 1;
        }
        // Binomial(10,000, 1/10): five standard deviations are 150.
        assert!(
            buckets.iter().all(|count| count.abs_diff(1_000) < 150),
            "{buckets:?}"
        );
        let mut last = Time::ZERO;
        for packet in 0..1_000 {
            let at = departures.next(Time::from_ps(200_000_000_000 + packet));
            assert!(at >= last);
            last = at;
        }
    }
}

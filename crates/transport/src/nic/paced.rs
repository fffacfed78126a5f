//! Pacer between a host's transport and its link.
//!
//! Deviations
//! - In the original hardware, the NIC feeds the pacer at the line rate. This layer does the same.
//!   The layer takes a segment from the transport only when the previous segment would have left the NIC.
//! - If a paced and an unpaced segment can both leave, the unpaced segment leaves first.
//!   The sources only state that unpaced segments bypass the pacer.
//! - A flow that is associated again stays associated for another expiry time (T_i).
//!   A flow also stays associated while its packets wait, so that no packet of the flow overtakes another.

use super::association::Associations;
use super::pacer::{Pacer, PacerConfig};
use crate::config::{ConfigError, check, positive, within};
use crate::tcp::TcpFlags;
use crate::{Event, FlowStats, Header, Message, NotShared, Part, Segment, Transport};
use alloc::vec::Vec;
use tailcut_units::{FiveTuple, FlowId, Rate, Time};

/// Parameters of a host with a pacer.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct PacedConfig {
    /// Parameters of the pacer.
    pub pacer: PacerConfig,
    /// Rate at which the NIC feeds the pacer: the rate of the link.
    pub line_rate: Rate,
    /// Bytes of a segment on the wire in addition to its payload.
    pub overhead: u32,
    /// Seed of the random draws that associate flows.
    pub seed: u64,
}

impl PacedConfig {
    /// Checks every parameter.
    ///
    /// # Errors
    /// A parameter is outside its range. The error contains the first such parameter.
    pub fn validate(&self) -> Result<(), ConfigError> {
        let pacer = &self.pacer;
        let pace = pacer.at(self.line_rate);
        positive("interval", pace.interval)?;
        let eta = pacer.measurement_gain;
        let holds = eta > 0.0 && eta <= 1.0;
        check("measurement_gain", eta, holds, "more than 0, at most 1")?;
        let beta = pacer.backlog_gain.unwrap_or_default();
        let holds = (0.0..=1e6).contains(&beta);
        check("backlog_gain", beta, holds, "0 to 1e6 Mb/s per KB")?;
        let chance = pacer.association_probability;
        within("association_probability", chance, 0.0..=1.0, "")?;
        let holds = pace.max_rate >= pace.min_rate;
        check("max_rate", pace.max_rate, holds, "at least min_rate")
    }
}

/// Transport `T` behind the pacer of HULL.
#[derive(Debug)]
pub struct Paced<T> {
    inner: T,
    config: PacedConfig,
    associations: Associations,
    pacer: Pacer,
    /// Time at which the NIC can feed the next segment.
    nic_free: Time,
    /// Time of the next wake-up, if there is no input before.
    wake: Option<Time>,
    paced: u64,
    bypassed: u64,
}

impl<T: Transport> Paced<T> {
    /// Places `inner` behind a pacer.
    ///
    /// # Errors
    /// A parameter is outside its range.
    pub fn new(inner: T, config: PacedConfig) -> Result<Self, ConfigError> {
        config.validate()?;
        let pacer = &config.pacer;
        Ok(Self {
            inner,
            associations: Associations::new(
                pacer.association_probability,
                pacer.at(config.line_rate).expiry,
                config.seed,
            ),
            pacer: Pacer::new(config.pacer, config.line_rate),
            config,
            nic_free: Time::ZERO,
            wake: None,
            paced: 0,
            bypassed: 0,
        })
    }

    /// Returns the transport behind the pacer.
    pub fn inner(&self) -> &T {
        &self.inner
    }
    /// Returns the transport behind the pacer, for a driver that also calls methods of this transport.
    pub fn inner_mut(&mut self) -> &mut T {
        &mut self.inner
    }
    /// Returns the rate of the pacer in bits per second, after the last segment or update.
    pub fn rate_bps(&self) -> f64 {
        self.pacer.rate_bps()
    }
    /// Returns the number of bytes (on the wire) that wait in the pacer.
    pub fn backlog_bytes(&self) -> u64 {
        self.pacer.backlog_bytes()
    }
    /// Returns two numbers: segments that passed through the pacer, and segments that bypassed it.
    pub fn segments(&self) -> (u64, u64) {
        (self.paced, self.bypassed)
    }
    /// Returns whether a flow is paced. `tuple` contains the addresses with which this host sends.
    pub fn is_associated(&self, now: Time, tuple: &FiveTuple) -> bool {
        self.associations.is_associated(now, tuple)
    }

    /// Returns the next segment from the NIC, unless it enters the pacer.
    fn feed(&mut self, now: Time) -> Option<Segment> {
        if self.nic_free > now {
            return None;
        }
        let segment = self.inner.poll_transmit(now)?;
        let bytes = segment.payload + self.config.overhead;
        let takes = self.config.line_rate.serialisation(u64::from(bytes));
        // A segment that enters the pacer also occupies the NIC, which feeds the pacer at most at the line rate.
        self.nic_free = now.saturating_add(takes);
        if self.associations.enters(now, &segment.tuple) {
            self.pacer.push(segment, bytes);
            self.paced += 1;
            return None;
        }
        self.bypassed += 1;
        Some(segment)
    }

    fn next(&mut self, now: Time) -> Option<Segment> {
        self.pacer.advance(now);
        // An unpaced segment leaves first (see the deviations).
        if let Some(bypassing) = self.feed(now) {
            return Some(bypassing);
        }
        let segment = self.pacer.pop()?;
        self.associations.left(&segment.tuple);
        Some(segment)
    }
}

impl<T: Transport> Transport for Paced<T> {
    fn submit(&mut self, now: Time, message: Message) {
        self.inner.submit(now, message);
    }

    fn take_part(&mut self, now: Time, part: Part<'_>) -> Result<(), NotShared> {
        self.inner.take_part(now, part)
    }

    fn cancel(&mut self, now: Time, flow: FlowId) -> Option<FlowStats> {
        self.inner.cancel(now, flow)
    }

    fn reprioritise(&mut self, now: Time, flow: FlowId, class: u8) {
        self.inner.reprioritise(now, flow, class);
    }

    fn on_segment(&mut self, now: Time, segment: Segment) {
        // In a SYN-ACK, ECE negotiates ECN and is not an echo (RFC 3168, 6.1.1).
        if let Header::Tcp(header) = &segment.header
            && header.flags.has(TcpFlags::ACK.with(TcpFlags::ECE))
            && !header.flags.has(TcpFlags::SYN)
        {
            self.associations.on_echo(now, &segment.tuple.reversed());
        }
        self.inner.on_segment(now, segment);
    }

    fn set_line_rate(&mut self, now: Time, rate: Rate, overhead: u32) {
        self.config.line_rate = rate;
        self.associations
            .set_expiry(self.config.pacer.at(rate).expiry);
        self.pacer.set_line_rate(now, rate);
        self.inner.set_line_rate(now, rate, overhead);
    }

    fn prefetch(&self, arriving: Option<&Segment>) {
        self.inner.prefetch(arriving);
    }

    fn on_timeout(&mut self, now: Time) {
        // Segments of the pacer that are due now leave with the next `poll_transmit`.
        self.wake = self.wake.filter(|at| *at > now);
        self.inner.on_timeout(now);
    }

    fn poll_transmit(&mut self, now: Time) -> Option<Segment> {
        let segment = self.next(now);
        let fed = (self.nic_free > now && self.inner.has_transmit()).then_some(self.nic_free);
        let wake = Time::earlier(fed, self.pacer.next_timeout());
        // A segment that could leave now waits only for the link. The driver polls again when the link is free.
        self.wake = wake.filter(|at| *at > now);
        segment
    }

    fn has_transmit(&self) -> bool {
        !self.pacer.is_empty() || self.inner.has_transmit()
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

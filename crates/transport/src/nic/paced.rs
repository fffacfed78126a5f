//! The pacer between a host's transport and its link.
//!
//! Deviations
//! - The hardware's NIC feeds the pacer at the line rate; so does this: a segment is taken from the
//!   transport when the one before it would have crossed the NIC.
//! - Where a paced and an unpaced segment could both leave, the unpaced one goes first (the sources say
//!   only that it bypasses).
//! - A flow that is associated again stays so for another T_i from then on; while packets of it wait it
//!   stays associated beyond its time, so that none overtakes another.

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
    /// The pacer's.
    pub pacer: PacerConfig,
    /// The rate at which the NIC feeds the pacer: the link's.
    pub line_rate: Rate,
    /// Bytes that a segment takes on the wire beside its payload.
    pub overhead: u32,
    /// Seed of the host's draws of association.
    pub seed: u64,
}

impl PacedConfig {
    /// Checks every parameter.
    ///
    /// # Errors
    /// The first one outside its range.
    pub fn validate(&self) -> Result<(), ConfigError> {
        let pacer = &self.pacer;
        positive("interval", pacer.interval)?;
        let eta = pacer.measurement_gain;
        let holds = eta > 0.0 && eta <= 1.0;
        check("measurement_gain", eta, holds, "more than 0, at most 1")?;
        let beta = pacer.backlog_gain;
        let holds = (0.0..=1e6).contains(&beta);
        check("backlog_gain", beta, holds, "0 to 1e6 Mb/s per KB")?;
        let chance = pacer.association_probability;
        within("association_probability", chance, 0.0..=1.0, "")?;
        let holds = pacer.max_rate >= pacer.min_rate;
        check("max_rate", pacer.max_rate, holds, "at least min_rate")
    }
}

/// `T` behind HULL's pacer.
#[derive(Debug)]
pub struct Paced<T> {
    inner: T,
    config: PacedConfig,
    associations: Associations,
    pacer: Pacer,
    /// When the NIC can feed the next segment.
    nic_free: Time,
    /// When to look again, if nothing else happens.
    wake: Option<Time>,
    paced: u64,
    bypassed: u64,
}

impl<T: Transport> Paced<T> {
    /// `inner` behind a pacer.
    ///
    /// # Errors
    /// A parameter outside its range.
    pub fn new(inner: T, config: PacedConfig) -> Result<Self, ConfigError> {
        config.validate()?;
        let pacer = &config.pacer;
        Ok(Self {
            inner,
            associations: Associations::new(
                pacer.association_probability,
                pacer.association_expiry,
                config.seed,
            ),
            pacer: Pacer::new(config.pacer),
            config,
            nic_free: Time::ZERO,
            wake: None,
            paced: 0,
            bypassed: 0,
        })
    }

    /// The transport behind the pacer.
    pub fn inner(&self) -> &T {
        &self.inner
    }
    /// The transport behind the pacer, for a driver that gives it more than segments.
    pub fn inner_mut(&mut self) -> &mut T {
        &mut self.inner
    }
    /// The pacer's rate in bits per second, as of the last segment or update.
    pub fn rate_bps(&self) -> f64 {
        self.pacer.rate_bps()
    }
    /// Bytes on the wire that wait in the pacer.
    pub fn backlog_bytes(&self) -> u64 {
        self.pacer.backlog_bytes()
    }
    /// Segments that went through the pacer, and around it.
    pub fn segments(&self) -> (u64, u64) {
        (self.paced, self.bypassed)
    }
    /// Whether a flow, named by the addresses with which this host sends, is paced.
    pub fn is_associated(&self, now: Time, tuple: &FiveTuple) -> bool {
        self.associations.is_associated(now, tuple)
    }

    /// The next segment from the NIC, unless it goes into the pacer.
    fn feed(&mut self, now: Time) -> Option<Segment> {
        if self.nic_free > now {
            return None;
        }
        let segment = self.inner.poll_transmit(now)?;
        let bytes = segment.payload + self.config.overhead;
        let takes = self.config.line_rate.serialisation(u64::from(bytes));
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
        if let Header::Tcp(header) = &segment.header
            && header.flags.has(TcpFlags::ACK.with(TcpFlags::ECE))
            && !header.flags.has(TcpFlags::SYN)
        {
            self.associations.on_echo(now, &segment.tuple.reversed());
        }
        self.inner.on_segment(now, segment);
    }

    fn on_timeout(&mut self, now: Time) {
        // What is due in the pacer leaves with the next `poll_transmit`.
        self.wake = self.wake.filter(|at| *at > now);
        self.inner.on_timeout(now);
    }

    fn poll_transmit(&mut self, now: Time) -> Option<Segment> {
        let segment = self.next(now);
        let fed = (self.nic_free > now && self.inner.has_transmit()).then_some(self.nic_free);
        let wake = Time::earlier(fed, self.pacer.next_timeout());
        // What could leave now waits for the link alone.
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

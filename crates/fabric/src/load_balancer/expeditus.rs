//! Expeditus in its final form (Wang, Xu, Niu, Han, Xiong, SoCC 2016 and ToN 2017).
//! Title: "Expeditus: Congestion-aware Load Balancing in Clos Data Center Networks".
//! Each switch estimates the loads of its uplinks in both directions.
//! A path is chosen during the handshake in two stages. The module [`super::two_stage`] makes the choice.
//!
//! Deviations:
//! - An estimator counts a packet when the packet is assigned to a port, before it is queued.
//!   The authors' simulation does the same.
//!   If a queue grows, the load is therefore above 1, and the highest level is reported.
//! - A packet of a handshake does not affect the choice that it causes.
//! - After a failure, some uplinks no longer lead to the destination.
//!   Unusable uplinks are marked in the vector of levels and never chosen.
//!   If a stored route uses an unusable uplink, ECMP chooses an uplink instead.
//! - The flow tables identify a flow by its two hosts and a hash of 32 bits.

use super::dre::{Dre, DreConfig, Gauge};
use super::wiring::Wiring;
use alloc::vec::Vec;
use core::ops::Range;
use tailcut_units::parameter::{Parameter, Values};
use tailcut_units::{Duration, Rate, Time};

/// Parameters of Expeditus, with default values from the authors' simulation.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct ExpeditusConfig {
    /// Parameters of the rate estimators: interval T 20 us, remaining share w 0.7 (time constant 66.7 us), 8 levels.
    pub dre: DreConfig,
    /// Idle time after which the stored route of a flow is removed: 100 ms.
    pub entry_timeout: Duration,
}

/// Parameter: the idle time after which the stored route of a flow is removed.
pub(super) const ENTRY_TIMEOUT: Parameter = Parameter::duration(
    "entry_timeout",
    "100ms",
    "Idle time after which the route of a flow is removed (authors' code).",
);

pub(super) const PARAMETERS: &[Parameter] = &[
    Parameter::duration(
        "dre_interval",
        "20us",
        "T: time between two reductions of the rate estimators' counters (authors' code).",
    ),
    Parameter::number(
        "dre_keep",
        0.999,
        "0.7",
        "w: share of a counter that remains after each reduction; the time constant is T / (1 - w), 66.7 us \
         (authors' code).",
    ),
    Parameter::count(
        "levels",
        (2, 254),
        "8",
        "L: levels of congestion (authors' code).",
    ),
    ENTRY_TIMEOUT,
];

impl From<&Values> for ExpeditusConfig {
    fn from(values: &Values) -> Self {
        Self {
            dre: DreConfig::from(values),
            entry_timeout: values.duration("entry_timeout"),
        }
    }
}

impl Default for ExpeditusConfig {
    fn default() -> Self {
        Self::from(&Values::of(PARAMETERS))
    }
}

/// Estimated loads of all uplinks in one direction: to the higher switches or from them.
#[derive(Debug)]
struct Direction {
    dre: Vec<Dre>,
    full: Vec<f64>,
}

impl Direction {
    fn level(&self, gauge: &Gauge, now: Time, uplink: u32) -> u8 {
        let uplink = uplink as usize;
        self.dre[uplink].level(gauge, now, self.full[uplink])
    }
}

/// Loads that switches measure at their uplinks, in both directions.
#[derive(Debug)]
pub(crate) struct Levels {
    gauge: Gauge,
    north: Direction,
    south: Direction,
}

impl Levels {
    pub fn new(config: DreConfig, wiring: &Wiring, rates: &[Rate]) -> Self {
        let gauge = Gauge::new(config);
        let mut north = Vec::with_capacity(wiring.uplink_count());
        let mut south = Vec::with_capacity(wiring.uplink_count());
        for uplink in 0..wiring.uplink_count() as u32 {
            let port = wiring.port(uplink);
            let up = rates[port as usize];
            // If a link has no opposite direction, this estimator is never used.
            let down = rates.get(wiring.back(port) as usize).copied().unwrap_or(up);
            north.push(gauge.full(up));
            south.push(gauge.full(down));
        }
        let direction = |full: Vec<f64>| Direction {
            dre: alloc::vec![Dre::default(); full.len()],
            full,
        };
        Self {
            gauge,
            north: direction(north),
            south: direction(south),
        }
    }

    pub fn went_up(&mut self, now: Time, uplink: u32, bytes: u32) {
        self.north.dre[uplink as usize].add(&self.gauge, now, bytes);
    }

    pub fn came_down(&mut self, now: Time, uplink: u32, bytes: u32) {
        self.south.dre[uplink as usize].add(&self.gauge, now, bytes);
    }

    pub fn northbound(&self, now: Time, uplink: u32) -> u8 {
        self.north.level(&self.gauge, now, uplink)
    }

    pub fn southbound(&self, now: Time, uplink: u32) -> u8 {
        self.south.level(&self.gauge, now, uplink)
    }

    pub fn northbound_rate(&mut self, uplink: u32, rate: Rate) {
        self.north.full[uplink as usize] = self.gauge.full(rate);
    }

    pub fn southbound_rate(&mut self, uplink: u32, rate: Rate) {
        self.south.full[uplink as usize] = self.gauge.full(rate);
    }

    /// Returns the number of estimators at a switch, given the range of the switch's uplinks.
    pub fn registers(&self, uplinks: Range<u32>) -> usize {
        let range = uplinks.start as usize..uplinks.end as usize;
        self.north.dre[range.clone()].len() + self.south.dre[range].len()
    }
}

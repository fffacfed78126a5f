//! Expeditus in its first form ("Load Balancing in Data Center Networks", Xu, slides, 2015).
//! The length of a queue is the measure of congestion.
//! A packet that comes down a link reports the length of the link's queue to the switch below.
//! The source sends a flow over the path that the flow's handshake has found (source routing).
//! The module [`super::two_stage`] makes the choice.
//!
//! Deviations:
//! - The slides do not define how the levels of two hops are combined and how many levels a queue has.
//!   The slides also do not define how long a received level is valid, and how many bytes a tunnel and a level add.
//!   The values that the slides do not define are parameters.
//! - The first switch of a host stores the flow table for the host, and tunnels begin at this switch.
//! - ACKs return through the chosen aggregation switch, and through a core that ECMP chooses.
//!   The slides define a path for only one direction.

use super::expeditus::ENTRY_TIMEOUT;
use super::wiring::Wiring;
use alloc::vec::Vec;
use core::ops::Range;
use tailcut_units::parameter::{Parameter, Values};
use tailcut_units::{Bytes, Duration, Time};

/// Rule that combines the levels of two hops into one.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub enum Combination {
    /// The higher of the two levels, as in the final form.
    #[default]
    Max,
    /// The sum of the two levels.
    Sum,
}

impl Combination {
    /// Returns the combined level of two hops.
    pub(crate) fn of(self, a: u8, b: u8) -> u16 {
        match self {
            Self::Max => u16::from(a.max(b)),
            Self::Sum => u16::from(a) + u16::from(b),
        }
    }
}

/// Parameters of Expeditus' first form. The slides give no values.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ExpeditusDeckConfig {
    /// Number of waiting bytes per level, at least one. There are 254 levels. The default is a full packet, 1,538 B.
    pub level_bytes: Bytes,
    /// Rule that combines the levels of two hops. The default is the higher level.
    pub combination: Combination,
    /// Age after which a received level is ignored (treated as zero): 1 ms.
    pub heard_timeout: Duration,
    /// Bytes that a tunnel adds to a packet of a source-routed flow on its way up: 20, the length of an IPv4 header.
    pub encapsulation: u16,
    /// Bytes that the level adds to every packet on its way down between switches: 1.
    pub southbound_bytes: u16,
    /// Idle time after which the stored route of a flow is removed: 100 ms, as in the final form.
    pub entry_timeout: Duration,
}

pub(super) const PARAMETERS: &[Parameter] = &[
    Parameter::bytes(
        "level_bytes",
        "1538",
        "Number of waiting bytes per level of congestion. There are 254 levels.",
    ),
    Parameter::word(
        "combination",
        &["max", "sum"],
        "max",
        "Combination of the levels of two hops: the higher level, or the sum.",
    ),
    Parameter::duration(
        "heard_timeout",
        "1ms",
        "Age after which a level from a higher switch counts as no congestion.",
    ),
    Parameter::count(
        "southbound_bytes",
        (0, 255),
        "1",
        "Bytes that the link's level adds to every packet on its way down from switch to switch.",
    ),
    Parameter::count(
        "encapsulation",
        (0, 1_000),
        "20",
        "Bytes that the tunnel adds to a packet on its way up (an IPv4 header).",
    ),
    ENTRY_TIMEOUT,
];

impl From<&Values> for ExpeditusDeckConfig {
    fn from(values: &Values) -> Self {
        Self {
            level_bytes: values.bytes("level_bytes"),
            combination: match values.word("combination") {
                "sum" => Combination::Sum,
                _ => Combination::Max,
            },
            heard_timeout: values.duration("heard_timeout"),
            encapsulation: values.count("encapsulation") as u16,
            southbound_bytes: values.count("southbound_bytes") as u16,
            entry_timeout: values.duration("entry_timeout"),
        }
    }
}

impl Default for ExpeditusDeckConfig {
    fn default() -> Self {
        Self::from(&Values::of(PARAMETERS))
    }
}

/// Level that the last packet from a higher switch reported for its link, and the arrival time of this packet.
#[derive(Clone, Copy, Default, Debug)]
struct Heard {
    level: u8,
    at_ps: u64,
}

/// Queue lengths that other switches have reported.
#[derive(Debug)]
pub(crate) struct Occupancies {
    config: ExpeditusDeckConfig,
    heard: Vec<Heard>,
}

impl Occupancies {
    pub fn new(config: ExpeditusDeckConfig, wiring: &Wiring) -> Self {
        Self {
            config,
            heard: alloc::vec![Heard::default(); wiring.uplink_count()],
        }
    }

    /// Returns the level of a queue's length. The largest `u8` is reserved for uplinks that cannot be used.
    pub fn level(&self, backlog_bytes: u64) -> u8 {
        let levels = backlog_bytes / self.config.level_bytes.0;
        levels.min(u64::from(u8::MAX) - 1) as u8
    }

    pub fn heard(&mut self, now: Time, uplink: u32, level: u8) {
        self.heard[uplink as usize] = Heard {
            level,
            at_ps: now.as_ps(),
        };
    }

    pub fn southbound(&self, now: Time, uplink: u32) -> u8 {
        let heard = &self.heard[uplink as usize];
        let old = now.as_ps().saturating_sub(heard.at_ps) > self.config.heard_timeout.as_ps();
        if old { 0 } else { heard.level }
    }

    pub const fn encapsulation(&self) -> u16 {
        self.config.encapsulation
    }

    pub const fn southbound_bytes(&self) -> u16 {
        self.config.southbound_bytes
    }

    /// Returns the number of levels that a switch stores, given the range of the switch's uplinks.
    /// The switch reads its own queues directly and does not store their levels.
    pub fn registers(&self, uplinks: Range<u32>) -> usize {
        self.heard[uplinks.start as usize..uplinks.end as usize].len()
    }
}

//! Expeditus as first presented ("Load Balancing in Data Center Networks", Xu, slides, 2015). The measure of
//! congestion is the length of queues. Packets that come down a link carry the length of its queue to
//! the switch below. The source routes a flow over the path that its handshake has found. The choice
//! itself is in [`super::two_stage`].
//!
//! Deviations:
//! - The slides do not define the combination of two hops, the number of levels of a queue, the lifetime of a
//!   received level, and the bytes of the tunnel and of a level. These are parameters.
//! - The switch of a host keeps the host's flow table, and tunnels begin at this switch.
//! - ACKs return through the chosen aggregation switch and a core that ECMP chooses: the slides define a path
//!   for one direction only.

use super::expeditus::ENTRY_TIMEOUT;
use super::wiring::Wiring;
use alloc::vec::Vec;
use core::ops::Range;
use tailcut_units::parameter::{Parameter, Values};
use tailcut_units::{Bytes, Duration, Time};

/// Combination of the levels of two hops.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub enum Combination {
    /// The higher level, as in the final form.
    #[default]
    Max,
    /// The sum of both levels.
    Sum,
}

impl Combination {
    /// Returns the combined level.
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
    /// Number of waiting bytes per level, at least one. There are 254 levels. 1,538 B: a full packet.
    pub level_bytes: Bytes,
    /// Combination of two hops: the higher level.
    pub combination: Combination,
    /// Age after which a received level counts as zero: 1 ms.
    pub heard_timeout: Duration,
    /// Bytes that a tunnel adds to a packet of a source-routed flow on its way up: 20, an IPv4 header.
    pub encapsulation: u16,
    /// Bytes of the level on every packet that comes down from switch to switch: 1, a level.
    pub southbound_bytes: u16,
    /// Idle time after which the route of a flow is removed: 100 ms, as in the final form.
    pub entry_timeout: Duration,
}

pub(super) const PARAMETERS: &[Parameter] = &[
    Parameter::bytes(
        "level_bytes",
        "1538",
        "Number of waiting bytes per level of congestion; there are 254 levels.",
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
        "Age after which a level received from above counts as no congestion.",
    ),
    Parameter::count(
        "southbound_bytes",
        (0, 255),
        "1",
        "Bytes of the link's level on every packet that comes down from switch to switch.",
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

/// Level of the link from above that a packet has brought, with the time of its arrival.
#[derive(Clone, Copy, Default, Debug)]
struct Heard {
    level: u8,
    at_ps: u64,
}

/// Queue lengths that switches have received.
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

    /// Returns the level of a queue. The largest `u8` is reserved for "unusable".
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

    /// Returns the number of levels that the switch of these uplinks stores. It reads its own queues
    /// directly.
    pub fn registers(&self, uplinks: Range<u32>) -> usize {
        self.heard[uplinks.start as usize..uplinks.end as usize].len()
    }
}

//! Expeditus as first shown ("Load Balancing in Data Center Networks", Xu, slides, 2015): congestion is
//! what waits in queues, a switch learns that of the links from above by what the packets that come
//! down say, and the source routes a flow over the path that its handshake has found. The choice itself
//! is in [`super::two_stage`].
//!
//! Deviations:
//! - The slides leave open how two hops are combined, in how many steps queues are told, how long a
//!   switch believes what it has heard and how many bytes the tunnel and what is told take: parameters.
//! - The host's flow table is kept by the host's switch, and tunnels begin there.
//! - ACKs go back through the aggregation switch that was chosen and a core by ECMP: the slides have
//!   a path for one direction.

use super::expeditus::ENTRY_TIMEOUT;
use super::wiring::Wiring;
use alloc::vec::Vec;
use core::ops::Range;
use tailcut_units::parameter::{Parameter, Values};
use tailcut_units::{Bytes, Duration, Time};

/// How the levels of two hops become one.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub enum Combination {
    /// The worse of both, as in the final form.
    #[default]
    Max,
    /// Both together.
    Sum,
}

impl Combination {
    /// The level of both.
    pub(crate) fn of(self, a: u8, b: u8) -> u16 {
        match self {
            Self::Max => u16::from(a.max(b)),
            Self::Sum => u16::from(a) + u16::from(b),
        }
    }
}

/// Parameters of Expeditus' first form. The slides give none.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ExpeditusDeckConfig {
    /// A level stands for so many bytes that wait; at least one byte. There are 254. 1,538 B: a full
    /// packet.
    pub level_bytes: Bytes,
    /// How two hops are combined: the worse counts.
    pub combination: Combination,
    /// A level that was heard longer ago than this counts as zero: 1 ms.
    pub heard_timeout: Duration,
    /// Bytes that a packet of a source-routed flow carries more, on its way up: 20, an IPv4 header.
    pub encapsulation: u16,
    /// Bytes that what is told takes on every packet that comes down from switch to switch: 1, a level.
    pub southbound_bytes: u16,
    /// Routes of flows that send nothing for longer than this are forgotten: 100 ms, as in the final
    /// form.
    pub entry_timeout: Duration,
}

pub(super) const PARAMETERS: &[Parameter] = &[
    Parameter::bytes(
        "level_bytes",
        "1538",
        "Bytes that wait for each level of congestion; there are 254.",
    ),
    Parameter::word(
        "combination",
        &["max", "sum"],
        "max",
        "What counts of two hops: the worse, or both together.",
    ),
    Parameter::duration(
        "heard_timeout",
        "1ms",
        "What a switch heard from above longer ago than this counts as no congestion.",
    ),
    Parameter::count(
        "southbound_bytes",
        (0, 255),
        "1",
        "Bytes that the level of the link takes on every packet that comes down from switch to switch.",
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

/// What was heard of the link from above, by uplink.
#[derive(Clone, Copy, Default, Debug)]
struct Heard {
    level: u8,
    at_ps: u64,
}

/// What switches know of queues.
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

    /// The level of a queue; the highest byte stands for no level.
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

    /// How many levels the owner of these uplinks remembers; its own queues it can look at.
    pub fn registers(&self, uplinks: Range<u32>) -> usize {
        self.heard[uplinks.start as usize..uplinks.end as usize].len()
    }
}

//! Links whose state has ever changed.
//!
//! A link that is down loses packets at its far end. The port before the link works as usual until routing is updated.
//! A link that is down leads to a special node instead of its real far end.
//! A link with random loss leads to another special node. Packets on other links need no additional check.
//!
//! If the rate changes while a packet is in service, the packet is sent at the old rate to its end.
//! If the delay becomes shorter, later packets still arrive after all earlier packets.

use crate::port::{Port, PortId};
use alloc::collections::BTreeMap;
use core::fmt;
use rand_core::{RngCore, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use tailcut_units::{Duration, Rate, reduce, stream_seed};

/// State of a link.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LinkState {
    /// Whether the link delivers packets.
    pub is_up: bool,
    /// Rate of the link.
    pub rate: Rate,
    /// Propagation delay of the link.
    pub delay: Duration,
    /// Share of packets that the link loses at random. Losses are independent.
    pub loss: LossRate,
}

/// Share of packets that a link loses at random, in billionths.
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct LossRate(u32);

impl LossRate {
    /// No loss.
    pub const NONE: Self = Self(0);

    const ALL: u32 = 1_000_000_000;

    /// Creates a loss rate from a share from 0 to 1, rounded to a billionth. Returns `None` for other numbers.
    pub fn from_share(share: f64) -> Option<Self> {
        let is_share = (0.0..=1.0).contains(&share);
        is_share.then(|| Self(libm::round(share * f64::from(Self::ALL)) as u32))
    }

    /// Creates a loss rate from a number of billionths. Returns `None` above 10^9.
    pub const fn from_billionths(billionths: u32) -> Option<Self> {
        match billionths {
            ..=Self::ALL => Some(Self(billionths)),
            _ => None,
        }
    }

    /// Returns the loss rate in billionths.
    pub const fn billionths(self) -> u32 {
        self.0
    }

    /// Returns the loss rate as a share from 0 to 1.
    pub fn share(self) -> f64 {
        f64::from(self.0) / f64::from(Self::ALL)
    }
}

impl fmt::Display for LossRate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} %", self.share() * 100.0)
    }
}

/// Link that loses packets at random, or has done so before.
#[derive(Clone, Debug)]
pub(crate) struct Lossy {
    /// Node at which packets arrive if they are not lost.
    pub far_end: u32,
    pub rate: LossRate,
    /// Number of packets lost so far.
    pub lost: u64,
    draws: Xoshiro256PlusPlus,
}

impl Lossy {
    /// Creates a lossy link that has not lost a packet yet.
    pub fn new(seed: u64, link: u32, far_end: u32, rate: LossRate) -> Self {
        let seed = stream_seed(seed, LOSSES, u64::from(link));
        Self {
            far_end,
            rate,
            lost: 0,
            draws: Xoshiro256PlusPlus::seed_from_u64(seed),
        }
    }

    /// Returns whether the next packet is lost. A loss is counted.
    pub fn loses(&mut self) -> bool {
        let is_lost = reduce(self.draws.next_u32(), LossRate::ALL) < self.rate.0;
        self.lost += u64::from(is_lost);
        is_lost
    }
}

/// Name of the random streams of lossy links, for [`stream_seed`].
const LOSSES: u64 = 0x6c6f_7373_6573;

/// Reason why a link cannot change.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum LinkError {
    /// The link does not exist.
    #[error("link {}: there is no such link", .0.0)]
    Unknown(PortId),
    /// The port before the link has one event per packet, so it computes departures when packets arrive.
    /// A link after a port with one event per packet can fail and be repaired, but its rate and delay are fixed.
    /// With [`PortEvents::Two`](crate::PortEvents::Two), a fabric has no ports with one event per packet.
    #[error(
        "link {}: its port computes departures on arrival, so its rate and delay are fixed; allowed \
         with two events for each packet (PortEvents::Two)", .0.0
    )]
    Settled(PortId),
}

/// State of links that have changed.
#[derive(Debug, Default)]
pub(crate) struct Links {
    /// Seed of the run. The random losses of links depend on it.
    pub seed: u64,
    /// Real far ends of the links that are down.
    pub far_ends: BTreeMap<u32, u32>,
    /// End in picoseconds and rate of each service during which the rate of its port changed, by port.
    begun: BTreeMap<u32, (u64, Rate)>,
    /// For a link whose delay has become shorter: the arrival of its last packet, in picoseconds.
    pub last_arrival_ps: BTreeMap<u32, u64>,
}

impl Links {
    /// Creates the state of a network in which no link has changed yet.
    pub fn new(seed: u64) -> Self {
        Self {
            seed,
            ..Self::default()
        }
    }

    /// Returns the rate at which a port sends the packet in service, if this rate differs from the port's rate.
    pub fn rate_in_service(&self, number: u32, port: &Port) -> Option<Rate> {
        let &(until_ps, rate) = self.begun.get(&number)?;
        (port.busy_until_ps == until_ps).then_some(rate)
    }

    /// Records that the rate of a port changes during a service.
    /// A second change during the same service does not replace the record: the whole packet is sent at the first rate.
    pub fn rate_changes(&mut self, number: u32, port: &Port, rate: Rate) {
        if self.rate_in_service(number, port).is_none() {
            self.begun.insert(number, (port.busy_until_ps, rate));
        }
    }

    /// Returns the arrival time of a packet on a link whose delay has become shorter.
    /// `at_ps` is the arrival time without earlier packets.
    /// The second result is whether all earlier packets arrive before `at_ps`.
    pub fn behind_others(&mut self, number: u32, at_ps: u64) -> (u64, bool) {
        match self.last_arrival_ps.get_mut(&number) {
            Some(last) if at_ps <= *last => {
                // Packets must arrive at different times to stay in order. One picosecond is the smallest difference.
                *last += 1;
                (*last, false)
            }
            _ => {
                self.last_arrival_ps.remove(&number);
                (at_ps, true)
            }
        }
    }
}

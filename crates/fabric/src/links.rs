//! Links that are, or have been, other than they were built.
//!
//! A link that is down delivers nothing: what would arrive at its far end is lost, so that the port
//! before it goes on as if nothing were, until routing has noticed. Neither costs a packet on other
//! links anything: the end of a link that is down is a node like any other, to which packets go. So
//! is the end of one that loses packets at random.
//!
//! What is being sent when a rate changes ends as it began. What is sent after a delay has become
//! shorter arrives behind what was sent before.

use crate::port::{Port, PortId};
use alloc::collections::BTreeMap;
use core::fmt;
use rand_core::{RngCore, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use tailcut_units::{Duration, Rate, reduce, stream_seed};

/// What a link does from now on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LinkState {
    /// Whether it delivers what is sent into it.
    pub is_up: bool,
    /// Its rate.
    pub rate: Rate,
    /// Its propagation delay.
    pub delay: Duration,
    /// The share of packets that it loses at random, each on its own.
    pub loss: LossRate,
}

/// The share of packets that a link loses, in billionths.
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct LossRate(u32);

impl LossRate {
    /// No packet is lost.
    pub const NONE: Self = Self(0);

    const ALL: u32 = 1_000_000_000;

    /// A share from 0 to 1, to the nearest billionth; `None` outside.
    pub fn from_share(share: f64) -> Option<Self> {
        let is_share = (0.0..=1.0).contains(&share);
        is_share.then(|| Self(libm::round(share * f64::from(Self::ALL)) as u32))
    }

    /// A number of billionths; `None` above 10^9.
    pub const fn from_billionths(billionths: u32) -> Option<Self> {
        match billionths {
            ..=Self::ALL => Some(Self(billionths)),
            _ => None,
        }
    }

    /// In billionths.
    pub const fn billionths(self) -> u32 {
        self.0
    }

    /// From 0 to 1.
    pub fn share(self) -> f64 {
        f64::from(self.0) / f64::from(Self::ALL)
    }
}

impl fmt::Display for LossRate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} %", self.share() * 100.0)
    }
}

/// A link that loses packets at random, or has done so.
#[derive(Clone, Debug)]
pub(crate) struct Lossy {
    /// Where the others arrive.
    pub far_end: u32,
    pub rate: LossRate,
    /// How many it has lost.
    pub lost: u64,
    draws: Xoshiro256PlusPlus,
}

impl Lossy {
    /// One that has lost nothing yet.
    pub fn new(seed: u64, link: u32, far_end: u32, rate: LossRate) -> Self {
        let seed = stream_seed(seed, LOSSES, u64::from(link));
        Self {
            far_end,
            rate,
            lost: 0,
            draws: Xoshiro256PlusPlus::seed_from_u64(seed),
        }
    }

    /// Whether the next packet is lost; it is counted then.
    pub fn loses(&mut self) -> bool {
        let is_lost = reduce(self.draws.next_u32(), LossRate::ALL) < self.rate.0;
        self.lost += u64::from(is_lost);
        is_lost
    }
}

/// The random streams of links that lose packets, for [`stream_seed`].
const LOSSES: u64 = 0x6c6f_7373_6573;

/// Why a link does not change.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum LinkError {
    /// There is no such link.
    #[error("link {}: there is no such link", .0.0)]
    Unknown(PortId),
    /// The port before it is one whose departures are settled on arrival: such a link may go down and come
    /// up, but has one rate and one delay. A fabric with [`PortEvents::Two`](crate::PortEvents::Two) has
    /// none of them.
    #[error(
        "link {}: its departures are settled on arrival, so its rate and delay stay; allowed \
         with two events for each packet (PortEvents::Two)", .0.0
    )]
    Settled(PortId),
}

/// What is remembered of links that have changed.
#[derive(Debug, Default)]
pub(crate) struct Links {
    /// Of the run: what links lose is drawn by it.
    pub seed: u64,
    /// Where links that are down lead while they are up.
    pub far_ends: BTreeMap<u32, u32>,
    /// What is being sent at a port since before its rate changed: until when, and how fast.
    begun: BTreeMap<u32, (u64, Rate)>,
    /// When the last packet on a link arrives whose delay has become shorter.
    pub last_arrival_ps: BTreeMap<u32, u64>,
}

impl Links {
    /// Nothing has changed yet.
    pub fn new(seed: u64) -> Self {
        Self {
            seed,
            ..Self::default()
        }
    }

    /// The rate at which a port sends what it is sending, where that is no more the port's.
    pub fn rate_in_service(&self, number: u32, port: &Port) -> Option<Rate> {
        let &(until_ps, rate) = self.begun.get(&number)?;
        (port.busy_until_ps == until_ps).then_some(rate)
    }

    /// A port's rate changes while it sends. Another change within one packet leaves what was noted first.
    pub fn rate_changes(&mut self, number: u32, port: &Port, rate: Rate) {
        if self.rate_in_service(number, port).is_none() {
            self.begun.insert(number, (port.busy_until_ps, rate));
        }
    }

    /// When a packet arrives that would at `at_ps`, behind others on a link whose delay has become shorter;
    /// and whether the link has caught up.
    pub fn behind_others(&mut self, number: u32, at_ps: u64) -> (u64, bool) {
        match self.last_arrival_ps.get_mut(&number) {
            Some(last) if at_ps <= *last => {
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

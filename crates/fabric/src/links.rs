//! Links that are, or have been, other than they were built.
//!
//! A link that is down delivers nothing: what would arrive at its far end is lost, so that the port
//! before it goes on as if nothing were, until routing has noticed. Neither costs a packet on other
//! links anything: the end of a link that is down is a node like any other, to which packets go.
//!
//! What is being sent when a rate changes ends as it began. What is sent after a delay has become
//! shorter arrives behind what was sent before.

use crate::port::{Port, PortId};
use alloc::collections::BTreeMap;
use core::fmt;
use tailcut_units::{Duration, Rate};

/// What a link does from now on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LinkState {
    /// Whether it delivers what is sent into it.
    pub is_up: bool,
    /// Its rate.
    pub rate: Rate,
    /// Its propagation delay.
    pub delay: Duration,
}

/// Why a link does not change.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LinkError {
    /// There is no such link.
    Unknown(PortId),
    /// The port before it is one whose departures are settled on arrival: such a link may go down and come
    /// up, but has one rate and one delay. A fabric with [`PortEvents::Two`](crate::PortEvents::Two) has
    /// none of them.
    Settled(PortId),
}

impl fmt::Display for LinkError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unknown(PortId(port)) => write!(f, "link {port}: there is no such link"),
            Self::Settled(PortId(port)) => write!(
                f,
                "link {port}: its departures are settled on arrival, so its rate and delay stay; allowed \
                 with two events for each packet (PortEvents::Two)"
            ),
        }
    }
}

impl core::error::Error for LinkError {}

/// What is remembered of links that have changed.
#[derive(Debug, Default)]
pub(crate) struct Links {
    /// Where links that are down lead while they are up.
    pub far_ends: BTreeMap<u32, u32>,
    /// What is being sent at a port since before its rate changed: until when, and how fast.
    begun: BTreeMap<u32, (u64, Rate)>,
    /// When the last packet on a link arrives whose delay has become shorter.
    pub last_arrival_ps: BTreeMap<u32, u64>,
}

impl Links {
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

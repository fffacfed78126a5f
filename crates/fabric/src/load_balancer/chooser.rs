//! Choice of paths with the state of several switches: the common part of all designs with a path chooser.
//! A chooser processes every packet when it arrives at a switch and when it leaves the switch.
//! Packets transport the data that switches exchange. ECMP decides only if the chooser does not.

use super::carried::Passage;
use super::config::{BalancerState, LoadBalancerConfig};
use super::conga::Conga;
use super::omniscient::Omniscient;
use super::two_stage::TwoStage;
use super::wiring::Wiring;
use crate::forwarding::Choices;
use crate::network::Network;
use crate::packet::{Packet, PacketId};
use crate::topology::Topology;
use alloc::vec::Vec;
use tailcut_units::{Rate, Time};

/// Load balancer that chooses paths across several switches, with its state.
#[derive(Debug)]
pub(crate) struct PathChooser {
    wiring: Wiring,
    scheme: Scheme,
}

#[derive(Debug)]
enum Scheme {
    Conga(Conga),
    TwoStage(TwoStage),
    Omniscient(Omniscient),
}

impl PathChooser {
    /// Creates the path chooser of a configuration, or returns `None` if the configuration has no path chooser.
    pub fn new(config: &LoadBalancerConfig, topology: &Topology, seed: u64) -> Option<Self> {
        let wiring = Wiring::of(topology);
        let rates: Vec<Rate> = topology.links.iter().map(|link| link.config.rate).collect();
        let scheme = match config {
            LoadBalancerConfig::Conga(config) => {
                Scheme::Conga(Conga::new(*config, &wiring, &rates, seed))
            }
            LoadBalancerConfig::Expeditus(config) => {
                Scheme::TwoStage(TwoStage::final_form(*config, &wiring, &rates, seed))
            }
            LoadBalancerConfig::ExpeditusDeck(config) => {
                Scheme::TwoStage(TwoStage::deck_form(*config, &wiring, seed))
            }
            LoadBalancerConfig::Omniscient(config) => {
                Scheme::Omniscient(Omniscient::new(*config, &wiring, &rates, seed))
            }
            LoadBalancerConfig::Ecmp
            | LoadBalancerConfig::Remainder
            | LoadBalancerConfig::Spray
            | LoadBalancerConfig::LetFlow(_)
            | LoadBalancerConfig::Custom(_) => return None,
        };
        Some(Self { wiring, scheme })
    }

    /// Resets the state of a packet that enters the network, because an earlier packet may have used its slot.
    /// `reverse_hash` is only for packets of a handshake. It is the hash of the five-tuple in the opposite direction.
    pub fn enters(&mut self, id: PacketId, reverse_hash: u32) {
        match &mut self.scheme {
            Scheme::Conga(conga) => conga.forget(id),
            Scheme::TwoStage(two_stage) => two_stage.enters(id, reverse_hash),
            Scheme::Omniscient(_) => {}
        }
    }

    /// Handles a packet that arrives over a link.
    pub fn arrives(&mut self, passage: &mut Passage<'_>, link: u32, network: &Network) {
        match &mut self.scheme {
            Scheme::Conga(conga) => conga.arrives(&self.wiring, passage, link),
            Scheme::TwoStage(two_stage) => {
                two_stage.arrives(&self.wiring, passage, link, network);
            }
            Scheme::Omniscient(_) => {}
        }
    }

    /// Returns the index of the port for a packet, or `None` if ECMP must choose.
    pub fn choose(
        &mut self,
        passage: &mut Passage<'_>,
        ports: &Choices<'_>,
        network: &Network,
    ) -> Option<u32> {
        match &mut self.scheme {
            Scheme::Conga(conga) => conga.choose(&self.wiring, passage, ports, network),
            Scheme::TwoStage(two_stage) => two_stage.choose(&self.wiring, passage, ports),
            Scheme::Omniscient(omniscient) => {
                omniscient.choose(&self.wiring, passage, ports, network)
            }
        }
    }

    /// Handles a packet that leaves through `port`. Ports are numbered over the whole network.
    pub fn leaves(&mut self, passage: &mut Passage<'_>, port: u32, network: &Network) {
        match &mut self.scheme {
            Scheme::Conga(conga) => conga.leaves(&self.wiring, passage, port),
            Scheme::TwoStage(two_stage) => two_stage.leaves(&self.wiring, passage, port, network),
            Scheme::Omniscient(omniscient) => omniscient.leaves(&self.wiring, passage, port),
        }
    }

    /// Removes the headers that switches have added to a packet, before the packet leaves or returns to its sender.
    pub fn strips(&mut self, id: PacketId, packet: &mut Packet) {
        match &mut self.scheme {
            Scheme::Conga(conga) => conga.forget(id),
            Scheme::TwoStage(two_stage) => two_stage.strips(id, packet),
            Scheme::Omniscient(_) => {}
        }
    }

    /// Returns the number of bytes that switches have added to packets which are now in the network.
    pub fn attached_bytes(&self) -> u64 {
        match &self.scheme {
            Scheme::TwoStage(two_stage) => two_stage.attached_bytes(),
            Scheme::Conga(_) | Scheme::Omniscient(_) => 0,
        }
    }

    /// Changes the rate of a link in the chooser's state.
    pub fn rate_changes(&mut self, port: u32, rate: Rate) {
        match &mut self.scheme {
            Scheme::Conga(conga) => conga.rate_changes(port, rate),
            Scheme::TwoStage(two_stage) => two_stage.rate_changes(&self.wiring, port, rate),
            Scheme::Omniscient(omniscient) => omniscient.rate_changes(port, rate),
        }
    }

    /// Returns the number of entries that a switch stores at `now`.
    pub fn state(&self, now: Time, switch: u32) -> BalancerState {
        match &self.scheme {
            Scheme::Conga(conga) => conga.state(&self.wiring, now, switch),
            Scheme::TwoStage(two_stage) => two_stage.state(&self.wiring, now, switch),
            Scheme::Omniscient(omniscient) => omniscient.state(now),
        }
    }

    /// Returns the congestion levels that a switch measures at one of its ports.
    /// The first level is for the sending direction of the link, and the second for the opposite direction.
    /// Returns `None` for a port that the switch does not measure.
    pub fn levels(&self, now: Time, port: u32, network: &Network) -> Option<(u8, u8)> {
        match &self.scheme {
            Scheme::TwoStage(two_stage) => two_stage.levels(&self.wiring, now, port, network),
            Scheme::Conga(_) | Scheme::Omniscient(_) => None,
        }
    }
}

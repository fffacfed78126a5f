//! Omniscient chooser: an upper bound for all designs that choose one path per flow.
//! When the first packet of a flow enters the network, the chooser compares the congestion of every path.
//! The flow stays on the least congested path. No real switch has this information.

use super::carried::Passage;
use super::config::{BalancerState, OmniscientConfig, Sight};
use super::dre::{Dre, DreConfig, Gauge};
use super::expeditus::ENTRY_TIMEOUT;
use super::flow_table::{FlowKey, FlowTable};
use super::wiring::Wiring;
use crate::forwarding::Choices;
use crate::network::Network;
use crate::network::{HOST, NOWHERE};
use crate::packet::Handshake;
use alloc::vec::Vec;
use rand_core::{RngCore, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use tailcut_units::parameter::{Parameter, Values};
use tailcut_units::{HostId, Rate, Time, reduce, stream_seed};

pub(super) const PARAMETERS: &[Parameter] = &[
    Parameter::word(
        "sight",
        &["load", "queue"],
        "load",
        "Measure of a link's congestion: its load by a rate estimator, without levels, or the transmission \
         time of the packets that wait before it.",
    ),
    Parameter::duration(
        "dre_interval",
        "20us",
        "T of the rate estimators, as in expeditus.",
    ),
    Parameter::number(
        "dre_keep",
        0.999,
        "0.7",
        "w of the rate estimators, as in expeditus.",
    ),
    ENTRY_TIMEOUT,
];

impl From<&Values> for OmniscientConfig {
    fn from(values: &Values) -> Self {
        Self {
            sight: match values.word("sight") {
                "queue" => Sight::Queue,
                _ => Sight::Load,
            },
            dre: DreConfig {
                interval: values.duration("dre_interval"),
                keep: values.number("dre_keep"),
                // The chooser compares loads directly and does not use levels.
                levels: u8::MAX,
            },
            entry_timeout: values.duration("entry_timeout"),
        }
    }
}

impl Default for OmniscientConfig {
    fn default() -> Self {
        Self::from(&Values::of(PARAMETERS))
    }
}

/// Largest number of switches on a path. ECMP chooses for longer paths.
// The longest path in a fat-tree of three tiers has five switches. A detour around a failure has a few more.
const MOST_HOPS: usize = 8;
/// Name of the random stream for ties, for [`stream_seed`].
const TIES: u64 = 0x006f_6d6e_6973;

/// Ports of a path in the order of the hops. Each port is numbered within its switch.
type Path = [u16; MOST_HOPS];

/// Chooser with access to the state of the whole network.
#[derive(Debug)]
pub(crate) struct Omniscient {
    sight: Sight,
    gauge: Gauge,
    /// Rate estimator of each port.
    dre: Vec<Dre>,
    /// Value of each port's estimator at full load.
    full: Vec<f64>,
    paths: FlowTable<Path>,
    draws: Xoshiro256PlusPlus,
}

/// State of the search through all paths to a host.
struct Search<'a> {
    now: Time,
    dst: HostId,
    network: &'a Network,
    path: Path,
    best: Path,
    least: f64,
    ties: u32,
}

impl Omniscient {
    pub fn new(config: OmniscientConfig, wiring: &Wiring, rates: &[Rate], seed: u64) -> Self {
        let gauge = Gauge::new(config.dre);
        Self {
            sight: config.sight,
            full: rates.iter().map(|&rate| gauge.full(rate)).collect(),
            gauge,
            dre: alloc::vec![Dre::default(); rates.len()],
            paths: FlowTable::new(config.entry_timeout.as_ps()),
            draws: Xoshiro256PlusPlus::seed_from_u64(stream_seed(
                seed,
                TIES,
                // The chooser has one random stream for the whole network.
                // No switch has the number of the chooser's random stream, so no switch draws from the same stream.
                wiring.switches() as u64,
            )),
        }
    }

    fn congestion(&self, now: Time, port: u32, network: &Network) -> f64 {
        match self.sight {
            Sight::Load => self.dre[port as usize].load(&self.gauge, now, self.full[port as usize]),
            Sight::Queue => {
                network.backlog_bytes(now, port) as f64 / network.rate(port).as_bps() as f64
            }
        }
    }

    pub fn choose(
        &mut self,
        wiring: &Wiring,
        passage: &Passage<'_>,
        ports: &Choices<'_>,
        network: &Network,
    ) -> Option<u32> {
        let (now, packet) = (passage.now, &passage.packet);
        let key = FlowKey::of(packet);
        let known = self.paths.get(now, key).copied();
        let path = match known {
            // A SYN begins a new flow. An old flow may have had the same addresses and ports.
            Some(path) if packet.handshake != Handshake::Open => path,
            _ if wiring.rack(packet.src) == passage.switch => {
                let path = self.least_congested(now, passage.switch, packet.dst, network);
                self.paths.insert(now, key, path);
                path
            }
            path => path?,
        };
        // The first hop was the link from the host to this switch, so it is not in the path.
        let hop = usize::from(packet.hops).checked_sub(1)?;
        let port = *path.get(hop)?;
        ports.position(u32::from(port))
    }

    fn least_congested(&mut self, now: Time, switch: u32, dst: HostId, network: &Network) -> Path {
        // Without a usable path, `none` is returned. Its entries match no port, so ECMP chooses a port.
        let none = [u16::MAX; MOST_HOPS];
        let mut search = Search {
            now,
            dst,
            network,
            path: none,
            best: none,
            least: f64::INFINITY,
            ties: 0,
        };
        self.walk(&mut search, switch, 0, 0.0);
        search.best
    }

    /// Searches every path that starts at a switch. `worst` is the congestion of the worst hop so far.
    fn walk(&mut self, search: &mut Search<'_>, switch: u32, hop: usize, worst: f64) {
        if hop == MOST_HOPS {
            return;
        }
        let network = search.network;
        for port in network.forwarding(switch).towards(search.dst).ports() {
            let link = network.first_port(switch) + port;
            search.path[hop] = port as u16;
            let far_end = network.far_end(link);
            if far_end == NOWHERE {
                // The chooser does not use links that are down.
                continue;
            }
            // If a host has one link, all paths to the host end with this link, so its congestion is ignored.
            if far_end & HOST != 0 {
                self.found(worst, search);
                continue;
            }
            let worst = worst.max(self.congestion(search.now, link, network));
            // A path that is already worse than the best path is abandoned.
            // A path that is equally good is continued, because the choice among equal paths is random.
            if worst <= search.least {
                self.walk(search, far_end, hop + 1, worst);
            }
        }
    }

    /// Compares a complete path with the best path so far. All equally good paths are chosen with the same probability.
    fn found(&mut self, worst: f64, search: &mut Search<'_>) {
        if worst < search.least {
            search.least = worst;
            search.ties = 0;
        }
        search.ties += 1;
        // Reservoir sampling: the n-th of several equal paths replaces the current choice with probability 1/n.
        if search.ties == 1 || reduce(self.draws.next_u32(), search.ties) == 0 {
            search.best = search.path;
        }
    }

    pub fn leaves(&mut self, wiring: &Wiring, passage: &Passage<'_>, port: u32) {
        if self.sight == Sight::Load && wiring.is_between_switches(port) {
            self.dre[port as usize].add(&self.gauge, passage.now, passage.packet.size);
        }
    }

    pub fn rate_changes(&mut self, port: u32, rate: Rate) {
        self.full[port as usize] = self.gauge.full(rate);
    }

    /// Returns the number of entries of the whole chooser. The entries do not belong to individual switches.
    pub fn state(&self, now: Time) -> BalancerState {
        BalancerState {
            congestion: self.dre.len(),
            flows: self.paths.live(now),
        }
    }
}

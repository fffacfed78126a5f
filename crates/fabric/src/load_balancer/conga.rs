//! CONGA (Alizadeh et al., "CONGA: Distributed Congestion-Aware Load Balancing for Datacenters", SIGCOMM 2014).
//! Leaves report to each other the congestion of the paths between them.
//! Each leaf sends each flowlet over the uplink with the least congested path.
//!
//! Every packet between leaves contains the number of its uplink (LBTag) and the worst congestion on its path (CE).
//! The destination leaf stores the congestion by source leaf and uplink.
//! The destination leaf reports the congestion to the source leaf on packets back to it (FB_LBTag, FB_Metric).
//! Each packet back to the source leaf reports the congestion of one uplink.
//!
//! Deviations:
//! - CONGA is designed for two tiers.
//!   On three tiers, the treatment of packets between pods is a parameter, [`BetweenPods`].
//! - Each flow has its own entry in the flowlet table. In the paper, the table has 64 K entries, which flows may share.
//! - The four fields add no bytes to a packet.
//!   In the paper, they are part of an overlay header that packets have anyway.
//! - A metric that is older than an age limit is treated as zero immediately.
//!   In the paper, the metric decays until the age limit.
//! - An estimator counts a packet when the packet is assigned to a port, even if the full queue then drops the packet.
//!   In the paper, the estimator counts packets that are sent.
//! - A flow whose flowlet has expired keeps its port if this port is one of several equally good ports.
//!   The reason is that the expired entry is still in the table.
//!   If a resize of the table has removed the entry, the flow gets a random one of the equally good ports.

use super::carried::{Carried, Passage};
use super::config::{BalancerState, BetweenPods, CongaConfig};
use super::dre::{Dre, DreConfig, Gauge};
use super::flow_table::{FlowKey, FlowTable};
use super::wiring::{NONE, Wiring};
use crate::forwarding::Choices;
use crate::network::Network;
use crate::packet::PacketId;
use alloc::vec::Vec;
use rand_core::{RngCore, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use tailcut_units::parameter::{Parameter, Values};
use tailcut_units::{Duration, Rate, Time, reduce, stream_seed};

pub(super) const PARAMETERS: &[Parameter] = &[
    Parameter::duration(
        "gap",
        "500us",
        "Idle time after which a flow begins a new flowlet (CONGA paper, T_fl).",
    ),
    Parameter::duration(
        "dre_interval",
        "20us",
        "T: time between two reductions of the rate estimators' counters. The paper has the time constant tau, \
         T / (1 - dre_keep), of 160 us.",
    ),
    Parameter::number(
        "dre_keep",
        0.999,
        "0.875",
        "1 - alpha: share of a counter that remains after each reduction. The paper gives tau instead.",
    ),
    Parameter::count(
        "levels",
        (2, 254),
        "8",
        "Levels of congestion, 2^Q (CONGA paper, Q = 3).",
    ),
    Parameter::duration(
        "metric_timeout",
        "10ms",
        "Age after which a metric counts as no congestion (CONGA paper, section 3.3).",
    ),
    Parameter::word(
        "between_pods",
        &["leaf", "leaf-and-core", "random"],
        "leaf",
        "Treatment of packets between pods on three tiers: leaves choose as within a pod and ECMP \
         chooses the core (CONGA paper, section 7); aggregation switches also send each flowlet over the \
         least loaded of their uplinks; or leaves send each flowlet over a random uplink (Expeditus authors' code).",
    ),
];

impl From<&Values> for CongaConfig {
    fn from(values: &Values) -> Self {
        Self {
            dre: DreConfig::from(values),
            gap: values.duration("gap"),
            metric_timeout: values.duration("metric_timeout"),
            between_pods: match values.word("between_pods") {
                "leaf-and-core" => BetweenPods::LeafAndCore,
                "random" => BetweenPods::Random,
                _ => BetweenPods::Leaf,
            },
        }
    }
}

impl Default for CongaConfig {
    fn default() -> Self {
        Self::from(&Values::of(PARAMETERS))
    }
}

/// Name of the random streams for ties, one stream per switch, for [`stream_seed`].
const TIES: u64 = 0x0063_6f6e_6761;

/// Fields of CONGA in a packet between leaves.
#[derive(Clone, Copy, Debug)]
struct Tag {
    /// Number of the leaf that sent the packet, or [`NO_LEAF`] for packets without congestion fields.
    leaf: u16,
    /// Number of the uplink through which the packet left its first leaf.
    lb_tag: u8,
    /// Worst congestion level on the packet's path.
    ce: u8,
    fb_lb_tag: u8,
    fb_metric: u8,
}

const NO_LEAF: u16 = u16::MAX;

impl Default for Tag {
    fn default() -> Self {
        Self {
            leaf: NO_LEAF,
            lb_tag: 0,
            ce: 0,
            fb_lb_tag: 0,
            fb_metric: 0,
        }
    }
}

/// Congestion level and its age.
#[derive(Clone, Copy, Default, Debug)]
struct Metric {
    level: u8,
    /// Whether the level has changed since the last report. Used only for metrics from another leaf.
    changed: bool,
    at_ps: u64,
}

/// Tables of a leaf.
#[derive(Debug)]
struct Leaf {
    /// Number of uplinks of a leaf. Each row of a table has this length.
    uplinks: usize,
    /// Congestion-To-Leaf table: one row per destination leaf, and one entry per uplink of this leaf.
    to: Vec<Metric>,
    /// Congestion-From-Leaf table: one row per source leaf, and one entry per uplink of the source leaf.
    from: Vec<Metric>,
    /// For each row of `from`, the entry at which the search for the next report starts.
    next: Vec<u8>,
}

/// State of the flows at a switch that chooses ports.
#[derive(Debug)]
struct Flowlets {
    /// Port of each flow's current flowlet.
    ports: FlowTable<u32>,
    draws: Xoshiro256PlusPlus,
}

/// Information that a switch uses to choose a port.
#[derive(Clone, Copy)]
enum Rule {
    /// Congestion of the switch's uplinks, and the reports about the paths to the leaf with this number.
    PathsTo(u16),
    /// Congestion of the switch's uplinks only.
    Own,
    Chance,
}

impl Leaf {
    /// Returns the uplink and the congestion level that the next packet reports to a leaf.
    /// The function prefers the next entry that has changed since its last report.
    /// If no entry has changed, it returns the next entry.
    fn feedback(&mut self, leaf: usize, now: Time, timeout: Duration) -> (u8, u8) {
        let row = &mut self.from[leaf * self.uplinks..(leaf + 1) * self.uplinks];
        let first = usize::from(self.next[leaf]);
        let mut round = (first..row.len()).chain(0..first);
        let told = round.find(|&i| row[i].changed).unwrap_or(first);
        row[told].changed = false;
        // The next search starts after this entry, so that all uplinks are reported in turn.
        self.next[leaf] = ((told + 1) % row.len()) as u8;
        (told as u8, row[told].at(now, timeout))
    }
}

impl Metric {
    /// Returns the congestion level, or 0 if the metric is too old.
    const fn at(&self, now: Time, timeout: Duration) -> u8 {
        if now.as_ps().saturating_sub(self.at_ps) > timeout.as_ps() {
            0
        } else {
            self.level
        }
    }
}

/// State of CONGA for all switches.
#[derive(Debug)]
pub(crate) struct Conga {
    config: CongaConfig,
    gauge: Gauge,
    /// Rate estimator of each port.
    dre: Vec<Dre>,
    /// Value of each port's estimator at full load.
    full: Vec<f64>,
    /// Number of each switch among the leaves, or [`NO_LEAF`] for a switch that is not a leaf.
    numbers: Vec<u16>,
    leaves: Vec<Leaf>,
    /// Flowlets of each switch.
    flowlets: Vec<Flowlets>,
    tags: Carried<Tag>,
}

impl Conga {
    pub fn new(config: CongaConfig, wiring: &Wiring, rates: &[Rate], seed: u64) -> Self {
        let gauge = Gauge::new(config.dre);
        let is_leaf = |switch: &u32| wiring.tier(*switch) == 0;
        let of_leaves: Vec<u32> = (0..wiring.switches() as u32).filter(is_leaf).collect();
        let most = of_leaves.iter().map(|&leaf| wiring.uplinks(leaf).len());
        // All rows have the same length, because the uplink number of any leaf must be a valid index.
        let uplinks = most.max().unwrap_or(0);
        let mut numbers = alloc::vec![NO_LEAF; wiring.switches()];
        for (number, &switch) in of_leaves.iter().enumerate() {
            numbers[switch as usize] = number as u16;
        }
        let entries = of_leaves.len() * uplinks;
        let leaf = |_: &u32| Leaf {
            uplinks,
            to: alloc::vec![Metric::default(); entries],
            from: alloc::vec![Metric::default(); entries],
            next: alloc::vec![0; of_leaves.len()],
        };
        let flowlets = |switch| Flowlets {
            ports: FlowTable::new(config.gap.as_ps()),
            draws: Xoshiro256PlusPlus::seed_from_u64(stream_seed(seed, TIES, switch)),
        };
        Self {
            config,
            full: rates.iter().map(|&rate| gauge.full(rate)).collect(),
            gauge,
            dre: alloc::vec![Dre::default(); rates.len()],
            leaves: of_leaves.iter().map(leaf).collect(),
            flowlets: (0..wiring.switches() as u64).map(flowlets).collect(),
            numbers,
            tags: Carried::new(),
        }
    }

    fn level(&self, now: Time, port: u32) -> u8 {
        self.dre[port as usize].level(&self.gauge, now, self.full[port as usize])
    }

    pub fn forget(&mut self, id: PacketId) {
        *self.tags.of(id) = Tag::default();
    }

    /// Stores the congestion fields of a packet at its destination leaf.
    pub fn arrives(&mut self, wiring: &Wiring, passage: &Passage<'_>, link: u32) {
        // Packets from hosts of this leaf have no congestion fields.
        // A packet to another leaf has congestion fields for that leaf.
        if wiring.back(link) == NONE || wiring.rack(passage.packet.dst) != passage.switch {
            return;
        }
        let tag = core::mem::take(self.tags.of(passage.id));
        if tag.leaf == NO_LEAF {
            return;
        }
        let own = self.numbers[passage.switch as usize];
        let leaf = &mut self.leaves[usize::from(own)];
        let row = usize::from(tag.leaf) * leaf.uplinks;
        let at_ps = passage.now.as_ps();
        let from = &mut leaf.from[row + usize::from(tag.lb_tag)];
        *from = Metric {
            // If an earlier change has not been reported yet, the entry remains marked as changed.
            changed: from.changed || from.level != tag.ce,
            level: tag.ce,
            at_ps,
        };
        leaf.to[row + usize::from(tag.fb_lb_tag)] = Metric {
            level: tag.fb_metric,
            changed: false,
            at_ps,
        };
    }

    pub fn choose(
        &mut self,
        wiring: &Wiring,
        passage: &Passage<'_>,
        ports: &Choices<'_>,
        network: &Network,
    ) -> Option<u32> {
        let (now, key) = (passage.now, FlowKey::of(passage.packet));
        let first_port = network.first_port(passage.switch);
        let rule = self.rule(wiring, passage, first_port + ports.port(0))?;
        let flowlets = &mut self.flowlets[passage.switch as usize];
        // After a link failure, the port may no longer lead to the destination. The flow then begins a new flowlet.
        if let Some(&mut port) = flowlets.ports.get(now, key)
            && let Some(index) = ports.position(port)
        {
            return Some(index);
        }
        // `last_known` returns the port of the previous flowlet even if its entry has expired.
        let cached = flowlets.ports.last_known(key);
        let mut best = u8::MAX;
        let mut ties: Vec<(u32, u32)> = Vec::new();
        for (index, port) in (0..).zip(ports.ports()) {
            let congestion = self.congestion(wiring, passage, first_port + port, rule);
            if congestion < best {
                best = congestion;
                ties.clear();
            }
            if congestion == best {
                ties.push((index, port));
            }
        }
        let flowlets = &mut self.flowlets[passage.switch as usize];
        // A flow keeps its port if no other port is better (CONGA paper, section 3.5).
        let stays = ties.iter().find(|(_, port)| cached == Some(*port));
        // With `Chance`, each flowlet gets a new random uplink, as in the code of Expeditus' authors.
        let stays = stays.filter(|_| !matches!(rule, Rule::Chance));
        let &(index, port) = stays.unwrap_or_else(|| {
            let draw = reduce(flowlets.draws.next_u32(), ties.len() as u32);
            &ties[draw as usize]
        });
        flowlets.ports.insert(now, key, port);
        Some(index)
    }

    /// Returns the rule by which a packet chooses. `port` is one of its possible ports. Returns `None` if ECMP chooses.
    fn rule(&self, wiring: &Wiring, passage: &Passage<'_>, port: u32) -> Option<Rule> {
        let (switch, dst) = (passage.switch, passage.packet.dst);
        // Only leaves receive reports. Any other switch can only compare its own uplinks.
        if wiring.rack(passage.packet.src) != switch {
            let upward = wiring.uplink(port) != NONE;
            let chooses = upward && self.config.between_pods == BetweenPods::LeafAndCore;
            return chooses.then_some(Rule::Own);
        }
        if self.learns(wiring, passage) {
            Some(Rule::PathsTo(self.numbers[wiring.rack(dst) as usize]))
        } else {
            Some(Rule::Chance)
        }
    }

    /// Returns whether the two leaves of a packet report the congestion of its path to each other.
    /// Called only at the first leaf.
    fn learns(&self, wiring: &Wiring, passage: &Passage<'_>) -> bool {
        self.config.between_pods != BetweenPods::Random
            || wiring.is_in_pod_of(passage.switch, passage.packet.dst)
    }

    /// Returns the congestion level of the paths through a port, according to a rule.
    fn congestion(&self, wiring: &Wiring, passage: &Passage<'_>, port: u32, rule: Rule) -> u8 {
        let (now, uplink) = (passage.now, wiring.uplink(port));
        match rule {
            // All ports are equal, so the random choice among ties decides.
            Rule::Chance => 0,
            Rule::PathsTo(there) if uplink != NONE => {
                let leaf = &self.leaves[usize::from(self.numbers[passage.switch as usize])];
                let own = (uplink - wiring.uplinks(passage.switch).start) as usize;
                let told = &leaf.to[usize::from(there) * leaf.uplinks + own];
                let told = told.at(now, self.config.metric_timeout);
                self.level(now, port).max(told)
            }
            Rule::PathsTo(_) | Rule::Own => self.level(now, port),
        }
    }

    pub fn leaves(&mut self, wiring: &Wiring, passage: &Passage<'_>, port: u32) {
        if !wiring.is_between_switches(port) {
            return;
        }
        let now = passage.now;
        // The level is read before this packet is added, so the packet does not report its own load.
        let level = self.level(now, port);
        let uplink = wiring.uplink(port);
        if uplink != NONE
            && wiring.rack(passage.packet.src) == passage.switch
            && self.learns(wiring, passage)
        {
            let own = self.numbers[passage.switch as usize];
            let there = self.numbers[wiring.rack(passage.packet.dst) as usize];
            let timeout = self.config.metric_timeout;
            let leaf = &mut self.leaves[usize::from(own)];
            let (fb_lb_tag, fb_metric) = leaf.feedback(usize::from(there), now, timeout);
            *self.tags.of(passage.id) = Tag {
                leaf: own,
                lb_tag: (uplink - wiring.uplinks(passage.switch).start) as u8,
                ce: 0,
                fb_lb_tag,
                fb_metric,
            };
        }
        let tag = self.tags.of(passage.id);
        tag.ce = tag.ce.max(level);
        self.dre[port as usize].add(&self.gauge, now, passage.packet.size);
    }

    pub fn rate_changes(&mut self, port: u32, rate: Rate) {
        self.full[port as usize] = self.gauge.full(rate);
    }

    pub fn state(&self, wiring: &Wiring, now: Time, switch: u32) -> BalancerState {
        let ports = wiring.ports_of(switch);
        let estimators = ports
            .filter(|&port| wiring.is_between_switches(port))
            .count();
        let leaf = self.leaves.get(usize::from(self.numbers[switch as usize]));
        BalancerState {
            congestion: estimators + leaf.map_or(0, |leaf| leaf.to.len() + leaf.from.len()),
            flows: self.flowlets[switch as usize].ports.live(now),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TIMEOUT: Duration = Duration::from_ms(10);

    fn leaf(uplinks: usize) -> Leaf {
        Leaf {
            uplinks,
            to: alloc::vec![Metric::default(); 2 * uplinks],
            from: alloc::vec![Metric::default(); 2 * uplinks],
            next: alloc::vec![0; 2],
        }
    }

    const fn us(us: u64) -> Time {
        Time::from_ns(1_000 * us)
    }

    #[test]
    fn feedback_goes_round_the_uplinks_of_each_leaf() {
        let mut leaf = leaf(4);
        let told = |leaf: &mut Leaf, of: usize| leaf.feedback(of, Time::ZERO, TIMEOUT).0;
        let of_first: Vec<u8> = (0..8).map(|_| told(&mut leaf, 1)).collect();
        assert_eq!(of_first, [0, 1, 2, 3, 0, 1, 2, 3]);
        assert_eq!(
            told(&mut leaf, 0),
            0,
            "the turn of uplinks is separate for each leaf"
        );
    }

    #[test]
    fn what_has_changed_since_it_was_told_goes_first_and_once() {
        let mut leaf = leaf(4);
        for changed in [3, 1] {
            leaf.from[4 + changed] = Metric {
                level: 5,
                changed: true,
                at_ps: 0,
            };
        }
        let told: Vec<(u8, u8)> = (0..6)
            .map(|_| leaf.feedback(1, Time::ZERO, TIMEOUT))
            .collect();
        assert_eq!(told, [(1, 5), (3, 5), (0, 0), (1, 5), (2, 0), (3, 5)]);
    }

    #[test]
    fn an_old_metric_counts_as_no_congestion() {
        let metric = Metric {
            level: 6,
            changed: false,
            at_ps: us(5).as_ps(),
        };
        let limit = us(5).saturating_add(TIMEOUT);
        assert_eq!(metric.at(limit, TIMEOUT), 6);
        assert_eq!(
            metric.at(limit.saturating_add(Duration::from_ns(1)), TIMEOUT),
            0
        );
    }
}

//! Walk over the paths to a target, hop by hop.
//! The walk finds the next hops of a node with flows that are known to reach the node.

use super::map::{Doubt, Hop, Map, Node};
use super::stopping::StoppingRule;
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::net::IpAddr;

/// Number of a flow (five-tuple). Flows differ in the source port.
pub type Flow = usize;

/// Packet to send.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Probe {
    /// Flow of the packet.
    pub flow: Flow,
    /// TTL, 1 or more.
    pub ttl: u8,
}

/// Answer to a probe.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Answer {
    /// A router answered from this address.
    Router(IpAddr),
    /// The target answered.
    Target,
    /// No answer, after all repetitions of the probe.
    Silent,
}

/// Limits of a walk.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Limits {
    /// Largest number of flows.
    pub flows: usize,
    /// Highest TTL.
    pub ttl: u8,
    /// Number of consecutive silent hops after which the walk ends.
    pub silent_hops: u8,
    /// Number of flows that are probed twice, at each hop with several nodes.
    pub repeated: usize,
}

impl Default for Limits {
    /// Returns limits of 4,096 flows, 30 hops, 3 silent hops, and 10 flows that are probed twice.
    fn default() -> Self {
        Self {
            flows: 4_096,
            ttl: 30,
            silent_hops: 3,
            repeated: 10,
        }
    }
}

/// Stage of a walk.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Stage {
    /// Find the next hops of the nodes at this TTL.
    Behind(u8),
    /// Probe some flows again, to find paths that change.
    Again,
    Over,
}

/// The search behind a node ends after more than this many unanswered flows, unless as many flows were answered.
const MOST_SILENT: u32 = 20;

/// Node and the state of the search for its next hops.
struct Known {
    node: Node,
    /// Number of flows that the stopping rule still requires. 0 if the search was given up.
    missing: u32,
    has_silent: bool,
}

/// Walk over the paths to one target.
///
/// Usage: send the probes of [`next_probe`](Self::next_probe), and pass each result to [`answer`](Self::answer).
/// Continue until [`is_over`](Self::is_over).
/// Several probes may be in flight, and answers may come in any order.
#[derive(Debug)]
pub struct Walk {
    rule: StoppingRule,
    limits: Limits,
    stage: Stage,
    /// Number of flows that are probed at every TTL. They have the lowest numbers.
    wanted: usize,
    /// Whether these flows were probed at every TTL. The stopping rule needs only some of them, which come first.
    has_asked_wanted: bool,
    /// Answers to the probes of each flow. Index 0 is TTL 1.
    ways: Vec<Vec<Option<Answer>>>,
    queue: VecDeque<Probe>,
    under_way: BTreeSet<Probe>,
    /// Probes that are sent a second time, with their first answers.
    repeated: BTreeMap<Probe, Answer>,
    /// Last TTL behind which next hops were searched.
    farthest: u8,
    /// Number of consecutive silent hops up to the current hop.
    silent_hops: u8,
    doubts: BTreeSet<Doubt>,
    probes: u64,
}

impl Walk {
    /// Creates a walk.
    /// The first `wanted` flows are probed at every TTL, even if the stopping rule does not need them.
    pub fn new(rule: StoppingRule, limits: Limits, wanted: usize) -> Self {
        let mut walk = Self {
            rule,
            limits,
            stage: Stage::Behind(0),
            wanted,
            has_asked_wanted: false,
            ways: vec![Vec::new(); wanted.min(limits.flows)],
            queue: VecDeque::new(),
            under_way: BTreeSet::new(),
            repeated: BTreeMap::new(),
            farthest: 0,
            silent_hops: 0,
            doubts: BTreeSet::new(),
            probes: 0,
        };
        walk.go_on();
        walk
    }

    /// Returns the next probe to send, or `None` if answers are needed first.
    pub fn next_probe(&mut self) -> Option<Probe> {
        let probe = self.queue.pop_front()?;
        self.under_way.insert(probe);
        self.probes += 1;
        Some(probe)
    }

    /// Records the answer to a probe. Probes that were not sent are ignored.
    pub fn answer(&mut self, probe: Probe, answer: Answer) {
        if !self.under_way.remove(&probe) {
            return;
        }
        if let Some(first) = self.repeated.remove(&probe) {
            let both_answered = first != Answer::Silent && answer != Answer::Silent;
            if both_answered && first != answer {
                self.doubts.insert(Doubt::PathsChange { ttl: probe.ttl });
            }
        } else {
            self.note(probe, answer);
        }
        if self.queue.is_empty() && self.under_way.is_empty() {
            self.go_on();
        }
    }

    /// Counts one more probe. The caller has sent this probe again.
    pub fn repeated(&mut self) {
        self.probes += 1;
    }

    /// Ends the walk early. The probes that are under way count as unanswered.
    pub fn stop(&mut self) {
        if self.is_over() {
            return;
        }
        self.doubts.insert(Doubt::TooSlow { ttl: self.ttl() });
        self.farthest = self.ttl();
        self.queue.clear();
        self.under_way.clear();
        self.stage = Stage::Over;
    }

    /// Returns the number of probes sent, including repetitions.
    pub fn sent(&self) -> u64 {
        self.probes
    }

    /// Returns whether the walk has ended.
    pub fn is_over(&self) -> bool {
        self.stage == Stage::Over
    }

    /// Returns the TTL behind which next hops are being searched.
    pub fn ttl(&self) -> u8 {
        match self.stage {
            Stage::Behind(ttl) => ttl,
            Stage::Again | Stage::Over => self.farthest,
        }
    }

    /// Returns the paths that were found so far.
    pub fn map(&self) -> Map {
        let hops: Vec<Hop> = (0..=self.ttl()).map(|ttl| self.hop(ttl)).collect();
        let mut doubts = self.doubts.clone();
        let arrives = |hop: &Hop| {
            hop.nodes
                .iter()
                .any(|node| node.next.contains(&Answer::Target))
        };
        // A search that ended early has not looked for the target.
        let ended_early = doubts
            .iter()
            .any(|doubt| matches!(doubt, Doubt::TooSlow { .. }));
        if !ended_early && !hops.iter().any(arrives) {
            doubts.insert(Doubt::TargetNotReached);
        }
        Map {
            paths: Map::count_paths(&hops),
            hops,
            doubts: doubts.into_iter().collect(),
            probes: self.probes,
            ways: self.ways.clone(),
        }
    }

    fn note(&mut self, probe: Probe, answer: Answer) {
        let Some(way) = self.ways.get_mut(probe.flow) else {
            return;
        };
        let place = usize::from(probe.ttl).saturating_sub(1);
        if way.len() <= place {
            way.resize(place + 1, None);
        }
        way[place] = Some(answer);
    }

    /// Returns the node that answered a flow at a TTL. At TTL 0, the node is the host itself: `Some(None)`.
    fn at(&self, flow: Flow, ttl: u8) -> Option<Option<Answer>> {
        match ttl.checked_sub(1) {
            None => Some(None),
            Some(place) => self.ways[flow].get(usize::from(place))?.map(Some),
        }
    }

    /// Returns the nodes at a TTL, each with the flows that are known to reach it.
    /// The target is not included, because it has no next hops.
    /// A silent router counts as a node only if no router answers at this TTL.
    /// If a router answers, the silent router may be one of the nodes that answered other probes.
    fn nodes(&self, ttl: u8) -> BTreeMap<Option<Answer>, Vec<Flow>> {
        let mut nodes: BTreeMap<Option<Answer>, Vec<Flow>> = BTreeMap::new();
        if ttl == 0 {
            nodes.insert(None, Vec::new());
        }
        for flow in 0..self.ways.len() {
            match self.at(flow, ttl) {
                None | Some(Some(Answer::Target)) => {}
                Some(node) => nodes.entry(node).or_default().push(flow),
            }
        }
        if nodes.len() > 1 {
            nodes.remove(&Some(Answer::Silent));
        }
        nodes
    }

    /// Returns a node with its known next hops, and the state of the search.
    fn known(&self, ttl: u8, at: Option<Answer>, flows: &[Flow]) -> Known {
        let behind = flows.iter().filter_map(|flow| self.at(*flow, ttl + 1));
        let behind: Vec<Answer> = behind.flatten().collect();
        let mut next: BTreeSet<Answer> = behind.iter().copied().collect();
        let silent = behind
            .iter()
            .filter(|answer| **answer == Answer::Silent)
            .count() as u32;
        let mut flows = behind.len() as u32;
        // A missing answer may come from one of the known next hops, so it does not count as another next hop.
        if next.len() > 1 && next.remove(&Answer::Silent) {
            flows -= silent;
        }
        let needed = self.rule.flows(next.len());
        let gives_up = silent > MOST_SILENT && silent > flows;
        Known {
            missing: match gives_up {
                true => 0,
                false => needed.saturating_sub(flows),
            },
            node: Node {
                at,
                is_complete: flows >= needed,
                next: next.into_iter().collect(),
                flows,
            },
            has_silent: silent > 0,
        }
    }

    fn hop(&self, ttl: u8) -> Hop {
        let nodes = self.nodes(ttl);
        let nodes = nodes
            .iter()
            .map(|(at, flows)| self.known(ttl, *at, flows).node);
        Hop {
            ttl,
            nodes: nodes.collect(),
        }
    }

    /// Continues after all answers have arrived: creates the missing probes, or moves to the next hop.
    fn go_on(&mut self) {
        while self.queue.is_empty() {
            match self.stage {
                Stage::Behind(ttl) => {
                    // New flows may have found a new node at an earlier hop, so all hops are checked again.
                    (0..=ttl).for_each(|ttl| self.ask_behind(ttl));
                    if self.queue.is_empty() {
                        self.leave(ttl);
                    }
                }
                Stage::Again => self.stage = Stage::Over,
                Stage::Over => return,
            }
        }
    }

    /// Creates the probes that the stopping rule requires behind each node.
    /// Prefers flows that are known to reach the node. If there are too few of them, probes new flows at this TTL.
    fn ask_behind(&mut self, ttl: u8) {
        let nodes = self.nodes(ttl);
        let queued: BTreeSet<Probe> = self.queue.iter().copied().collect();
        let mut missing = 0;
        for (at, flows) in &nodes {
            self.ask_before(ttl, flows);
            let mut more = self.known(ttl, *at, flows).missing;
            let is_unasked = |flow: &Flow| self.at(*flow, ttl + 1).is_none();
            let unasked: Vec<Flow> = flows.iter().copied().filter(is_unasked).collect();
            for flow in unasked {
                let probe = Probe { flow, ttl: ttl + 1 };
                if more > 0 {
                    more -= 1;
                    if !queued.contains(&probe) {
                        self.queue.push_back(probe);
                    }
                }
            }
            // A new flow reaches a random node.
            // To get one more flow through one node, about as many new flows are needed as there are nodes.
            missing = missing.max(more.saturating_mul(nodes.len() as u32));
        }
        // All flows pass the host itself (TTL 0), so new flows start at TTL 1.
        let start = ttl.max(1);
        let mut missing = missing as usize;
        // Flows that were not probed here yet come before new flows.
        for flow in 0..self.ways.len() {
            let probe = Probe { flow, ttl: start };
            let is_new = self.at(flow, start).is_none() && !queued.contains(&probe);
            if missing > 0 && is_new && !self.queue.contains(&probe) {
                missing -= 1;
                self.queue.push_back(probe);
            }
        }
        let room = self.limits.flows.saturating_sub(self.ways.len());
        for _ in 0..room.min(missing) {
            let flow = self.ways.len();
            self.ways.push(Vec::new());
            self.queue.push_back(Probe { flow, ttl: start });
        }
    }

    /// Creates the probes of the first flows at all TTLs where the stopping rule did not need them.
    fn ask_wanted(&mut self) {
        for flow in 0..self.wanted.min(self.ways.len()) {
            for ttl in 1..=self.farthest.saturating_add(1) {
                let is_beyond = self.at(flow, ttl - 1) == Some(Some(Answer::Target));
                if is_beyond {
                    break;
                }
                if self.at(flow, ttl).is_none() {
                    self.queue.push_back(Probe { flow, ttl });
                }
            }
        }
    }

    /// Creates a probe at the hop before a node, if none of the node's flows was probed there.
    /// The answer to the probe shows which previous hop leads to the node.
    fn ask_before(&mut self, ttl: u8, flows: &[Flow]) {
        let before = ttl.saturating_sub(1);
        let comes_from = |flow: &Flow| before == 0 || self.at(*flow, before).is_some();
        if let (false, Some(&flow)) = (flows.iter().any(comes_from), flows.first()) {
            self.queue.push_back(Probe { flow, ttl: before });
        }
    }

    /// Ends the search behind a TTL. Records doubts about the result, and sets the next stage.
    fn leave(&mut self, ttl: u8) {
        let nodes = self.nodes(ttl);
        let known = nodes.iter().map(|(at, flows)| self.known(ttl, *at, flows));
        let known: Vec<Known> = known.collect();
        let next = ttl + 1;
        let is_silent = !known.is_empty()
            && known
                .iter()
                .all(|known| known.node.next == [Answer::Silent]);
        if is_silent {
            self.doubts.insert(Doubt::SilentHop { ttl: next });
            self.silent_hops += 1;
        } else {
            self.silent_hops = 0;
            if known.iter().any(|known| known.has_silent) {
                self.doubts.insert(Doubt::SomeUnanswered { ttl: next });
            }
            if known.iter().any(|known| known.missing > 0) {
                self.doubts.insert(Doubt::TooManyFlows { ttl });
            }
        }
        let mut answers = known.iter().flat_map(|known| &known.node.next);
        let has_more = answers.any(|answer| *answer != Answer::Target);
        self.farthest = ttl;
        if has_more && next < self.limits.ttl && self.silent_hops < self.limits.silent_hops {
            self.stage = Stage::Behind(next);
            return;
        }
        // These flows may find further nodes, so the search continues after them.
        if !std::mem::replace(&mut self.has_asked_wanted, true) {
            self.ask_wanted();
        }
        if self.queue.is_empty() {
            self.stage = Stage::Again;
            self.ask_again();
        }
    }

    /// Sends probes of some flows a second time, at hops with several nodes.
    fn ask_again(&mut self) {
        for hop in 1..=self.farthest {
            let nodes = self.nodes(hop);
            if nodes.len() < 2 {
                continue;
            }
            let answered = (0..self.ways.len()).filter_map(|flow| {
                let first = self.at(flow, hop)??;
                (first != Answer::Silent).then_some((Probe { flow, ttl: hop }, first))
            });
            let again: Vec<(Probe, Answer)> = answered.take(self.limits.repeated).collect();
            self.queue.extend(again.iter().map(|(probe, _)| *probe));
            self.repeated.extend(again);
        }
    }
}

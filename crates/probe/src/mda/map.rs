//! What a walk has found.

use super::walk::Answer;
use serde::Serialize;
use std::collections::BTreeMap;

/// A node, and where packets go from it.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Node {
    /// Who answered; `None`: the host that probes.
    pub at: Option<Answer>,
    /// Its next hops, in order.
    pub next: Vec<Answer>,
    /// Flows that were followed through it.
    pub flows: u32,
    /// Whether the stopping rule was met.
    pub is_complete: bool,
}

/// All nodes that are as many links away.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Hop {
    /// The TTL that ends at these nodes; 0: the host that probes.
    pub ttl: u8,
    /// The nodes.
    pub nodes: Vec<Node>,
}

/// Why a count of paths is a lower bound, or no count.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize)]
#[serde(rename_all = "kebab-case", tag = "kind")]
pub enum Doubt {
    /// Nothing answers at this distance, however often it was asked.
    SilentHop {
        /// The TTL.
        ttl: u8,
    },
    /// Some probes were not answered at a distance where others were: the router limits its answers.
    SomeUnanswered {
        /// The TTL.
        ttl: u8,
    },
    /// It would have taken more flows than are allowed.
    TooManyFlows {
        /// The TTL of the node.
        ttl: u8,
    },
    /// A flow was answered by another router when it was asked again: packets of one connection take
    /// several paths, or routes have changed.
    PathsChange {
        /// The TTL.
        ttl: u8,
    },
    /// No flow came to the target.
    TargetNotReached,
}

impl std::fmt::Display for Doubt {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::SilentHop { ttl } => write!(f, "hop {ttl} does not answer"),
            Self::SomeUnanswered { ttl } => write!(
                f,
                "hop {ttl} left some probes unanswered, as routers do that limit their answers"
            ),
            Self::TooManyFlows { ttl } => {
                write!(
                    f,
                    "behind hop {ttl} it would take more ports than are allowed"
                )
            }
            Self::PathsChange { ttl } => write!(
                f,
                "at hop {ttl} one connection was answered by two routers: its packets take several paths, \
                 or routes have changed"
            ),
            Self::TargetNotReached => f.write_str("no probe came to the target"),
        }
    }
}

/// The paths to the target.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Map {
    /// The hops, the host itself first.
    pub hops: Vec<Hop>,
    /// How many paths there are.
    pub paths: u64,
    /// Why there may be more; empty where the count is held to be all, with the confidence of the rule.
    pub doubts: Vec<Doubt>,
    /// Probes that were asked for, repetitions included.
    pub probes: u64,
    /// What each flow's answers were, from the first hop on; `None` where it was not asked.
    #[serde(skip)]
    pub ways: Vec<Vec<Option<Answer>>>,
}

impl Map {
    /// Whether the count of paths is held to be complete.
    pub fn is_complete(&self) -> bool {
        self.doubts.is_empty()
    }

    /// The count in words: "4", or "at least 4".
    pub fn count(&self) -> String {
        match self.is_complete() {
            true => self.paths.to_string(),
            false => format!("at least {}", self.paths),
        }
    }

    /// How many paths lead from the first hop to the target, or as far as anything answers.
    pub(super) fn count_paths(hops: &[Hop]) -> u64 {
        let mut ways: BTreeMap<Option<Answer>, u64> = BTreeMap::from([(None, 1)]);
        let mut arrived = 0;
        for hop in hops {
            let mut next: BTreeMap<Option<Answer>, u64> = BTreeMap::new();
            for node in &hop.nodes {
                let here = ways.get(&node.at).copied().unwrap_or(0);
                for to in &node.next {
                    match to {
                        Answer::Target => arrived += here,
                        to => *next.entry(Some(*to)).or_default() += here,
                    }
                }
            }
            ways = next;
        }
        // Where nothing came to the target, what came farthest counts.
        let farthest: u64 = ways.values().sum();
        (arrived + farthest).max(1)
    }

    /// The routers of a flow in words, with `?` where one did not answer or was not asked.
    pub fn way(&self, flow: usize) -> Option<String> {
        let answers = self.ways.get(flow)?;
        let words = answers.iter().filter_map(|answer| match answer {
            Some(Answer::Target) => None,
            Some(Answer::Router(address)) => Some(address.to_string()),
            Some(Answer::Silent) | None => Some("?".to_owned()),
        });
        Some(words.collect::<Vec<String>>().join(" "))
    }
}

//! Result of a walk: the paths to the target.

use super::walk::Answer;
use serde::Serialize;
use std::collections::BTreeMap;

/// Node with its next hops.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Node {
    /// Address that answered. `None` for the host that sends the probes.
    pub at: Option<Answer>,
    /// Next hops, sorted.
    pub next: Vec<Answer>,
    /// Number of the node's flows that were also probed one hop farther.
    pub flows: u32,
    /// Whether as many flows were probed as the stopping rule requires.
    pub is_complete: bool,
}

/// All nodes at one distance.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Hop {
    /// TTL of packets that expire at the nodes of the hop. 0 for the host that sends the probes.
    pub ttl: u8,
    /// Nodes at this distance.
    pub nodes: Vec<Node>,
}

/// Reason why the number of paths is only a lower bound.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize)]
#[serde(rename_all = "kebab-case", tag = "kind")]
pub enum Doubt {
    /// No router answers at this distance, although each probe was repeated.
    SilentHop {
        /// TTL of the silent hop.
        ttl: u8,
    },
    /// At this distance, some probes were answered, and other probes were not.
    /// The router may limit its rate of answers.
    SomeUnanswered {
        /// TTL of the router.
        ttl: u8,
    },
    /// The stopping rule needs more flows than the limit allows.
    TooManyFlows {
        /// TTL of the node.
        ttl: u8,
    },
    /// Two probes of one flow were answered by different routers.
    /// Packets of one connection take several paths, or routes have changed.
    PathsChange {
        /// TTL of the routers.
        ttl: u8,
    },
    /// Routers limit their answers so much that the search ended early.
    TooSlow {
        /// TTL of the hop at which the search ended.
        ttl: u8,
    },
    /// No flow reached the target.
    TargetNotReached,
}

impl std::fmt::Display for Doubt {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::SilentHop { ttl } => write!(f, "hop {ttl} does not answer"),
            Self::SomeUnanswered { ttl } => write!(
                f,
                "hop {ttl} left some probes unanswered; some routers limit their answers"
            ),
            Self::TooManyFlows { ttl } => {
                write!(
                    f,
                    "behind hop {ttl}, the search needs more ports than allowed"
                )
            }
            Self::PathsChange { ttl } => write!(
                f,
                "at hop {ttl} one connection was answered by two routers: its packets take several paths, \
                 or routes have changed"
            ),
            Self::TooSlow { ttl } => write!(
                f,
                "the search for paths ended early, behind hop {ttl}: routers answer too seldom"
            ),
            Self::TargetNotReached => f.write_str("no probe reached the target"),
        }
    }
}

/// Paths to the target.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Map {
    /// Hops by distance. The first hop is the host that sends the probes.
    pub hops: Vec<Hop>,
    /// Number of paths that were found.
    pub paths: u64,
    /// Reasons why there may be more paths.
    /// Without a reason for more paths, `paths` is complete, with the confidence of the stopping rule.
    pub doubts: Vec<Doubt>,
    /// Number of probes sent, including repetitions.
    pub probes: u64,
    /// Answers to the probes of each flow, by hop. `None` if the flow was not probed at the hop.
    #[serde(skip)]
    pub ways: Vec<Vec<Option<Answer>>>,
}

impl Map {
    /// Returns whether the number of paths is complete.
    pub fn is_complete(&self) -> bool {
        self.doubts.is_empty()
    }

    /// Returns the number of paths as text: "4", or "at least 4".
    pub fn count(&self) -> String {
        match self.is_complete() {
            true => self.paths.to_string(),
            false => format!("at least {}", self.paths),
        }
    }

    /// Returns the number of paths from the first hop to the target.
    /// If no flow reached the target, returns the number of paths to the farthest nodes that answer.
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
        // No flow reached the target, so the paths to the farthest nodes are counted.
        let farthest: u64 = ways.values().sum();
        (arrived + farthest).max(1)
    }

    /// Returns the routers on a flow's path as text. `?` stands for a router that did not answer or was not probed.
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

//! Why a run leaves no record.

use std::fmt;
use tailcut_fabric::topology::TopologyError;
use tailcut_transport::ConfigError;

/// Why there is no record.
#[derive(Clone, PartialEq, Debug)]
pub enum RunError {
    /// The topology cannot be built.
    Topology(TopologyError),
    /// The workload cannot be drawn.
    Workload(tailcut_workload::Error),
    /// The transport's parameters are out of range.
    Transport(ConfigError),
    /// The requests cannot be run like this.
    Requests(&'static str),
    /// What stands around the network in the simulator's place cannot run it; in words.
    Elsewhere(String),
    /// [`RunControl::stop`](crate::RunControl::stop) said so.
    Stopped,
}

impl fmt::Display for RunError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Topology(error) => write!(f, "topology: {error}"),
            Self::Workload(error) => write!(f, "workload: {error}"),
            Self::Transport(error) => write!(f, "transport: {error}"),
            Self::Requests(fault) => write!(f, "requests: {fault}"),
            Self::Elsewhere(why) => f.write_str(why),
            Self::Stopped => f.write_str("stopped before it ended"),
        }
    }
}

impl std::error::Error for RunError {}

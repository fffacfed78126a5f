//! Errors of a run.

use std::fmt;
use tailcut_fabric::topology::TopologyError;
use tailcut_transport::ConfigError;

/// Reason why a run has no record.
#[derive(Clone, PartialEq, Debug)]
pub enum RunError {
    /// The topology cannot be built.
    Topology(TopologyError),
    /// The workload cannot be generated.
    Workload(tailcut_workload::Error),
    /// A parameter of the transport is out of range.
    Transport(ConfigError),
    /// The requests cannot be executed with this configuration.
    Requests(&'static str),
    /// Text of an error from another driver, such as the lab with real hosts.
    Elsewhere(String),
    /// [`RunControl::stop`](crate::RunControl::stop) stopped the run.
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

//! Error of topologies: a parameter has a value that is not allowed.

use alloc::string::String;
use core::fmt;

/// Error in a parameter of a topology.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TopologyError {
    /// Name of the parameter.
    pub parameter: &'static str,
    /// Value of the parameter, as text.
    pub found: String,
    /// Description of the allowed values. Empty if no value is allowed.
    pub allowed: String,
}

impl TopologyError {
    pub(super) fn new(
        parameter: &'static str,
        found: impl Into<String>,
        allowed: impl Into<String>,
    ) -> Self {
        Self {
            parameter,
            found: found.into(),
            allowed: allowed.into(),
        }
    }
}

impl fmt::Display for TopologyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: found {}", self.parameter, self.found)?;
        match self.allowed.is_empty() {
            true => Ok(()),
            false => write!(f, "; allowed: {}", self.allowed),
        }
    }
}

impl core::error::Error for TopologyError {}

//! Key of a run: the columns that distinguish its rows from the rows of other runs.

use crate::Parameter;
use serde::{Deserialize, Serialize};

/// Key of a run: all inputs that determine its result, except the version of the program.
#[derive(Clone, Default, PartialEq, Debug, Serialize, Deserialize)]
pub struct RunKey {
    /// Name of the design: `[replication+]transport[@routing]`, or a name that the study defines.
    pub design: String,
    /// Name of the topology.
    pub topology: String,
    /// Name of the workload.
    pub workload: String,
    /// Offered load as a share of the capacity, above 0 and at most 10.
    /// `None`: the workload has no configured load, such as a trace.
    pub load: Option<f64>,
    /// Seed of the run.
    pub seed: u64,
    /// Swept keys in the order of the study, with the values of this run.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub parameters: Vec<Parameter>,
}

impl RunKey {
    /// Returns a short description: `dctcp at load 0.5, queue.limit 50 packets, seed 1`.
    pub fn label(&self) -> String {
        let load = self
            .load
            .map_or_else(String::new, |load| format!(" at load {load}"));
        let parameters = self.parameters.iter();
        let parameters: String = parameters.map(|one| format!(", {one}")).collect();
        format!("{}{load}{parameters}, seed {}", self.design, self.seed)
    }
}

//! The name of a run, and the columns by which its rows differ from rows of other runs.

use crate::Parameter;
use serde::{Deserialize, Serialize};

/// What names a run: everything that decides its result besides the program's version.
#[derive(Clone, Default, PartialEq, Debug, Serialize, Deserialize)]
pub struct RunKey {
    /// The design's name: `[replication+]transport[@routing]`, or what its study calls it.
    pub design: String,
    /// The topology's name.
    pub topology: String,
    /// The workload's name.
    pub workload: String,
    /// The offered load, 0 to 1, or `None` where the workload has none (a trace).
    pub load: Option<f64>,
    /// The seed.
    pub seed: u64,
    /// What the study sweeps, in its order, with the run's values; empty where it sweeps nothing.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub parameters: Vec<Parameter>,
}

impl RunKey {
    /// The run in a few words: `dctcp at load 0.5, queue.limit 50 packets, seed 1`.
    pub fn label(&self) -> String {
        let load = self
            .load
            .map_or_else(String::new, |load| format!(" at load {load}"));
        let parameters = self.parameters.iter();
        let parameters: String = parameters.map(|one| format!(", {one}")).collect();
        format!("{}{load}{parameters}, seed {}", self.design, self.seed)
    }
}

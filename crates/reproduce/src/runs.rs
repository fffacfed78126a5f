//! List of the runs whose results are on a page.

use crate::part::Part;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use tailcut_scenario::Study;
use tailcut_scenario::record::{Fingerprint, RunSummary};

/// Runs whose results are on a page.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct Runs {
    /// Runs by the name of their reproduction.
    pub reproductions: BTreeMap<String, ReproductionRuns>,
}

/// Runs of one reproduction.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct ReproductionRuns {
    /// Form of the reproduction: `full` or `quick`.
    pub form: String,
    /// CPU time of all runs in seconds.
    pub cpu_seconds: f64,
    /// Studies of the reproduction in their order.
    pub parts: Vec<PartRuns>,
}

impl ReproductionRuns {
    /// Adds a study to the runs of the reproduction.
    pub fn add(&mut self, part: PartRuns) {
        self.cpu_seconds += part.cpu_seconds;
        self.parts.push(part);
    }
}

/// Runs of one study.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct PartRuns {
    /// Name of the part.
    pub part: String,
    /// Description of the scenario.
    pub scenario: String,
    /// Keys that differ from the scenario's file, with their values.
    pub changes: BTreeMap<String, String>,
    /// Seeds of the study.
    pub seeds: Vec<u64>,
    /// Number of runs of the study.
    pub runs: usize,
    /// XXH3-128 hash of the hashes of all runs, in the order of the study.
    pub hash: String,
    /// CPU time of the study's runs in seconds.
    pub cpu_seconds: f64,
}

impl PartRuns {
    /// Creates the entry of a part from its study and the finished runs.
    pub fn new(part: &Part, study: &Study, finished: &[&RunSummary], quick: bool) -> Self {
        let mut hash = Fingerprint::new();
        for run in finished {
            // Writing to a hash never fails, so the result is ignored.
            let _ = hash.write_str(&run.record_hash);
        }
        let seeds: BTreeSet<u64> = finished.iter().map(|run| run.key.seed).collect();
        Self {
            part: part.name.to_owned(),
            scenario: study.about.clone(),
            changes: part
                .keys(quick)
                .map(|(key, value)| ((*key).to_owned(), value.clone()))
                .collect(),
            seeds: seeds.into_iter().collect(),
            runs: finished.len(),
            hash: hash.digits(),
            cpu_seconds: finished.iter().filter_map(|run| run.cpu_seconds).sum(),
        }
    }
}

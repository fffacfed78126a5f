//! The list of the runs behind a page.

use crate::part::Part;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use tailcut_scenario::Study;
use tailcut_scenario::record::{Fingerprint, RunSummary};

/// The runs behind a page.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct Runs {
    /// By reproduction.
    pub reproductions: BTreeMap<String, RunsOf>,
}

/// The runs of one reproduction.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct RunsOf {
    /// `full` or `quick`.
    pub form: String,
    /// CPU time of all runs, in seconds.
    pub cpu_seconds: f64,
    /// Its studies, in their order.
    pub parts: Vec<RunsOfPart>,
}

impl RunsOf {
    /// Adds a study.
    pub fn add(&mut self, part: RunsOfPart) {
        self.cpu_seconds += part.cpu_seconds;
        self.parts.push(part);
    }
}

/// The runs of one study.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct RunsOfPart {
    /// Its name.
    pub part: String,
    /// What its scenario shows.
    pub scenario: String,
    /// Keys that differ from the scenario's file.
    pub changes: BTreeMap<String, String>,
    /// The seeds.
    pub seeds: Vec<u64>,
    /// How many runs there are.
    pub runs: usize,
    /// XXH3-128 of the runs' hashes, in the order of the study.
    pub hash: String,
    /// CPU time, in seconds.
    pub cpu_seconds: f64,
}

impl RunsOfPart {
    /// The runs of a part's study that have finished.
    pub fn new(part: &Part, study: &Study, finished: &[&RunSummary], quick: bool) -> Self {
        let mut hash = Fingerprint::new();
        for run in finished {
            // Writing into a hash cannot fail.
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

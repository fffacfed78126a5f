//! Figures that a study cannot have, known before it runs.

use crate::output::note;
use std::collections::BTreeSet;
use tailcut_report::SEEDS_FOR_QUANTILES;
use tailcut_scenario::Study;

/// Flows over all seeds that a p99 needs: ten beyond it.
const FLOWS_FOR_P99: u64 = 1_000;

/// Prints which figures the study will not have, and the flag that gives them.
pub fn note_before(study: &Study) {
    if let Some(words) = sentence(study) {
        note(&words);
    }
}

fn sentence(study: &Study) -> Option<String> {
    let seeds = study
        .runs
        .iter()
        .map(|run| run.seed)
        .collect::<BTreeSet<u64>>()
        .len();
    if seeds < SEEDS_FOR_QUANTILES {
        let count = match seeds {
            1 => "1 seed gives".to_owned(),
            _ => format!("{seeds} seeds give"),
        };
        return Some(format!(
            "{count} no p99, which needs {SEEDS_FOR_QUANTILES}: add --seeds {SEEDS_FOR_QUANTILES}. See \
             docs/caveats.md#too-few."
        ));
    }
    let flows = study.config["study"]["flows"].as_u64()?;
    let workloads = study.config["workload"].as_array()?;
    // A burst or a file has all of its flows, so that its percentiles are exact.
    let is_sample = workloads.iter().all(|part| part["kind"] == "open");
    (is_sample && flows * (seeds as u64) < FLOWS_FOR_P99).then(|| {
        let enough = FLOWS_FOR_P99.div_ceil(seeds as u64);
        format!(
            "{flows} flows and {seeds} seeds give no p99, which needs 1,000 flows in all: add --flows {enough}. See \
             docs/caveats.md#too-few."
        )
    })
}

//! Seeds that give the same run. If the runs of all seeds are equal, a figure has no interval.

use crate::caveat::Caveat;
use crate::format::count;
use crate::run::{are_same, different};
use crate::study::Study;

/// Returns whether all seeds of each design gave the same run in a setting.
pub(crate) fn nothing_varies(study: &Study, setting: usize) -> bool {
    let cells = study.cells();
    let cell = cells.get(setting);
    cell.is_some_and(|cell| cell.designs.iter().all(|(_, runs)| are_same(runs)))
}

/// Returns the sentence about seeds that gave the same run in a setting. Returns `None` if all runs are different.
pub(crate) fn sentence(study: &Study, setting: usize) -> Option<String> {
    let cells = study.cells();
    let designs = &cells.get(setting)?.designs;
    if nothing_varies(study, setting) {
        let seeds = designs.iter().map(|(_, runs)| runs.len()).max()?;
        return Some(format!(
            "Same runs: all {} seeds gave the same run, so there is no interval.{}",
            count(seeds as u64),
            Caveat::SameRuns.see()
        ));
    }
    let repeated = designs.iter().filter_map(|(design, runs)| {
        let different = different(runs);
        (different < runs.len()).then(|| {
            let plural = if different == 1 { "" } else { "s" };
            format!(
                "{} seeds, {} different run{plural} with {design}",
                count(runs.len() as u64),
                count(different as u64)
            )
        })
    });
    let repeated: Vec<String> = repeated.collect();
    (!repeated.is_empty()).then(|| {
        format!(
            "Same runs: some seeds gave the same run: {}. Each of them counts.{}",
            repeated.join("; "),
            Caveat::SameRuns.see()
        )
    })
}

//! Selection of the runs that are drawn over time.

use crate::run::Run;
use crate::study::Study;
use tailcut_units::Time;

/// Returns the first run of each design in `setting` whose links were sampled.
/// All returned runs have the same network as the first run.
/// A run whose network has the same name but other links is left out.
pub(super) fn sampled_runs(study: &Study, setting: usize) -> Vec<(&str, &Run)> {
    let cells = study.cells();
    let sampled = |run: &&&Run| !run.links.is_empty() && !run.topology.is_empty();
    let designs = cells[setting].designs.iter();
    let mut runs: Vec<(&str, &Run)> = designs
        .filter_map(|(design, runs)| Some((*design, *runs.iter().find(sampled)?)))
        .collect();
    if let Some(&(_, first)) = runs.first() {
        runs.retain(|(_, run)| run.topology == first.topology && run.failures == first.failures);
    }
    runs
}

/// Returns the end of drawings over time. At this time, every design has carried almost all bytes.
/// The end is at most twice the time of the fastest design.
/// Without a maximum of the drawn time, a design that waits for timeouts would compress the lines of other designs.
pub(super) fn end_of(runs: &[(&str, &Run)]) -> Option<Time> {
    let ends = || runs.iter().filter_map(|(_, run)| run.nearly_all_carried());
    let (first, last) = (ends().min()?, ends().max()?);
    Some(last.min(Time::from_ps(2 * first.as_ps())))
}

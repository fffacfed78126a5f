//! Rank plots of storage sessions: every session's goodput, sorted. A session is what its client waits for, in however
//! many flows a design carries it.

use crate::format::Quantity;
use crate::goodput::{line, range};
use crate::plot::{Axis, Mark, Plot, Scale, Series};
use crate::plots::Designs;
use crate::study::{Run, Study};
use tailcut_record::SessionOperation;

/// A line a design, of writes and of reads.
pub(crate) fn plots(study: &Study, setting: usize) -> Vec<Plot> {
    let cells = study.cells();
    let at = study.analysis().setting_name(setting);
    let designs = Designs(study.designs());
    let plot = |operation: SessionOperation| {
        let mut counts = Vec::new();
        let lines = cells[setting].designs.iter().map(|(design, runs)| {
            let goodputs = ranked(runs, operation);
            counts.push(goodputs.len());
            designs.series(design, Mark::Line, line(&goodputs))
        });
        let series: Vec<Series> = lines.filter(|line| !line.points.is_empty()).collect();
        let name = operation.name();
        Plot {
            id: format!("session-rank-{setting}-{name}"),
            title: format!("Goodput of {name} sessions, by rank, {at}"),
            caption: format!(
                "Each session's bytes over the time until its last receiver that was not left out had them, slowest \
                 first, over all seeds ({} sessions a design). A session that did not finish has none.",
                range(&counts)
            ),
            x: Axis::new(
                "rank, as a share of the sessions",
                Quantity::Share,
                Scale::Linear,
            ),
            y: Axis::new("goodput", Quantity::Rate, Scale::Linear),
            series,
            reference: None,
        }
    };
    let operations = [SessionOperation::Write, SessionOperation::Read];
    let mut plots: Vec<Plot> = operations.into_iter().map(plot).collect();
    plots.retain(Plot::has_points);
    plots
}

/// Each session's goodput in bits per second, ascending; zero for one that did not finish.
fn ranked(runs: &[&Run], operation: SessionOperation) -> Vec<f64> {
    let sessions = runs.iter().flat_map(|run| &run.sessions);
    let of_operation = sessions.filter(|session| session.operation == operation);
    let mut goodputs: Vec<f64> = of_operation
        .map(|session| session.goodput_bps.unwrap_or(0.0))
        .collect();
    goodputs.sort_unstable_by(f64::total_cmp);
    goodputs
}

//! Rank plots of goodput, as in papers on storage transports: the goodputs of all flows or sessions in ascending order.

use crate::curves::{Designs, Ranked};
use crate::format::Quantity;
use crate::group::Group;
use crate::plot::{Axis, Mark, Plot, Scale, Series};
use crate::run::Flow;
use crate::study::Study;

/// Returns plots with one line for each design. Requests and sessions, all flows, and elephants have one plot each.
/// If the workload has several parts, each part also has a plot.
pub(crate) fn plots(study: &Study, setting: usize) -> Vec<Plot> {
    let cells = study.cells();
    let analysis = study.analysis();
    let [mice, medium, _] = Group::main();
    // Writes and reads have separate plots, so all sessions together have no plot.
    let sessions = Group::sessions();
    let wanted = |group: &Group| !group.is_fine() && ![&mice, &medium, &sessions].contains(&group);
    let flows_of = |group: &Group| -> usize {
        let rows = analysis.rows(setting, group);
        rows.map(|row| row.flows).sum()
    };
    let all = flows_of(&Group::all());
    let mut groups: Vec<&Group> = Vec::new();
    let rows = analysis.rows.iter().filter(|row| row.setting == setting);
    for group in rows.map(|row| &row.group).filter(|group| wanted(group)) {
        // If one part contains all flows, the plot of this part would repeat the plot of all flows.
        let is_whole = *group != Group::all() && group.is_of_flows() && flows_of(group) == all;
        if !is_whole && !groups.contains(&group) {
            groups.push(group);
        }
    }
    let designs = Designs(study.designs());
    let plot = |(index, group): (usize, &&Group)| {
        let noun = group.noun();
        let mut counts = Vec::new();
        let lines = cells[setting].designs.iter().map(|(design, runs)| {
            let goodputs = Ranked::new(runs, group, goodput);
            counts.push(goodputs.len());
            Series {
                runs: goodputs.runs(study),
                ..designs.series(design, Mark::Line, goodputs.over_ranks())
            }
        });
        let series: Vec<Series> = lines.filter(|line| !line.points.is_empty()).collect();
        Plot {
            id: format!("goodput-rank-{setting}-{index}"),
            title: format!(
                "Goodput of {}, by rank, {}",
                group.name,
                analysis.setting_name(setting)
            ),
            caption: format!(
                "Bytes divided by {}, for each of the {noun} of all seeds ({} per design), slowest first. Unfinished \
                 {noun} have a goodput of zero.",
                group.time(),
                range(&counts)
            ),
            x: Axis::new(
                format!("rank, as a share of the {noun}"),
                Quantity::Share,
                Scale::Linear,
            ),
            y: Axis::new("goodput", Quantity::Rate, Scale::Linear),
            series,
            reference: None,
        }
    };
    let mut plots: Vec<Plot> = groups.iter().enumerate().map(plot).collect();
    plots.retain(Plot::has_points);
    plots
}

/// Returns the goodput of a flow in bits per second. It is zero for a flow that did not finish.
fn goodput(flow: &Flow) -> f64 {
    match flow.fct_us.is_finite() && flow.fct_us > 0.0 {
        true => flow.bytes as f64 * 8e6 / flow.fct_us,
        false => 0.0,
    }
}

/// Returns the smallest and the largest count as text, or a single number such as `2,000` if they are equal.
fn range(counts: &[usize]) -> String {
    let count = |n: usize| crate::format::count(n as u64);
    match (counts.iter().min(), counts.iter().max()) {
        (Some(low), Some(high)) if low < high => format!("{} to {}", count(*low), count(*high)),
        (Some(one), _) => count(*one),
        _ => count(0),
    }
}

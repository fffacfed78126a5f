//! Plots of the utilisation of links over time.

use super::sampled::{end_of, sampled_runs};
use crate::curves::Designs;
use crate::format::Quantity;
use crate::plot::{Axis, Mark, Plot, Point, Scale, Series};
use crate::run::Run;
use crate::study::Study;
use tailcut_record::TopologyLink;

/// Number of points of a line over time.
const BINS: usize = 100;

/// Returns plots of the mean link and of the busiest link over time, with one line for each design.
/// The list is empty if links were not sampled.
pub(crate) fn plots(study: &Study, setting: usize) -> Vec<Plot> {
    let runs = sampled_runs(study, setting);
    let Some((_, first)) = runs.first() else {
        return Vec::new();
    };
    let links = &first.topology;
    let analysis = study.analysis();
    let (suffix, at) = (analysis.suffix(setting), analysis.setting_name(setting));
    let designs = Designs(study.designs());
    let between = |link: &TopologyLink| link.from_tier > 0 && link.to_tier > 0;
    let has_between = links.iter().any(between);
    let counted = |link: &TopologyLink| between(link) || !has_between;
    let which = match has_between {
        true => "links between switches",
        false => "links",
    };
    let end_us = end_of(&runs).map_or(0.0, |end| end.as_ps() as f64 / 1e6);
    let of_all = |points: &dyn Fn(&[Vec<f64>]) -> Vec<f64>| -> Vec<Series> {
        let lines = runs.iter().map(|(design, run)| {
            let binned = binned(run, end_us, &counted);
            let width = end_us / binned.len().max(1) as f64;
            let values = points(&binned).into_iter().enumerate();
            let line = values.map(|(bin, y)| Point::new((bin as f64 + 0.5) * width, y));
            designs.series(design, Mark::Line, line.collect())
        });
        lines.collect()
    };
    let plot = |id: &str, title: String, caption: String, series| Plot {
        id: format!("{id}{suffix}"),
        title,
        caption,
        x: Axis::new("time since the start", Quantity::Time, Scale::Linear),
        y: Axis::new("share of the time busy", Quantity::Share, Scale::Linear),
        series,
        reference: None,
    };
    let count = links.iter().filter(|link| counted(link)).count();
    let shown = crate::format::count(count as u64);
    let mean = |shares: &Vec<f64>| shares.iter().sum::<f64>() / count.max(1) as f64;
    let busiest = |shares: &Vec<f64>| shares.iter().copied().fold(0.0, f64::max).min(1.0);
    vec![
        plot(
            "links-mean",
            format!("Utilisation of the {which} over time, {at}"),
            format!("The mean over {shown} {which}, first seed."),
            of_all(&|bins| bins.iter().map(mean).collect()),
        ),
        plot(
            "links-busiest",
            format!("The busiest of the {which} over time, {at}"),
            format!(
                "The busiest of {shown} {which} in each interval, first seed. A value far above the mean is a \
                 hotspot."
            ),
            of_all(&|bins| bins.iter().map(busiest).collect()),
        ),
    ]
}

/// Returns the share of each bin in which a link was busy, for each link that `counted` selects.
/// Links that carried nothing are left out.
fn binned(run: &Run, end_us: f64, counted: &dyn Fn(&TopologyLink) -> bool) -> Vec<Vec<f64>> {
    let every_us = run
        .summary
        .sampling
        .map_or(1.0, |s| s.every_ns as f64 / 1e3);
    // A bin contains a whole number of sample intervals, so no interval is split.
    // The last bin may contain fewer sample intervals.
    let intervals = (end_us / every_us).round().max(1.0);
    let together = (intervals / BINS as f64).ceil().max(1.0);
    let bins = (intervals / together).ceil() as usize;
    let length = |bin: usize| together.min(intervals - bin as f64 * together);
    let mut shares = vec![vec![0.0; run.topology.len()]; bins];
    for sample in &run.links {
        let Some(link) = run.topology.get(sample.link as usize) else {
            continue;
        };
        // A sample interval belongs to the bin in which it ends.
        let interval = ((sample.time.as_ps() as f64 / 1e6) / every_us - 0.5).max(0.0);
        let bin = (interval / together) as usize;
        if counted(link) && bin < bins {
            shares[bin][sample.link as usize] += sample.utilisation / length(bin);
        }
    }
    shares
}

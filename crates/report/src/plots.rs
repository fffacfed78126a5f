//! List of all plots of a study.

use crate::analysis::Row;
use crate::curves::{Designs, Ranked};
use crate::format::Quantity;
use crate::group::Group;
use crate::headline::headline_group;
use crate::network::{self, Network};
use crate::plot::{Axis, Mark, Picture, Plot, Point, Reference, Scale, Series, Size, Whisker};
use crate::sample::{Metric, Statistic};
use crate::scales::{FAR_APART, Figure, LOG_FROM, RATIO_LOG_FROM, capital, group_title, scale};
use crate::study::Study;
use crate::{goodput, over_axes, overhead, queue};

/// Returns every plot of the report, in its order. Plots without a point are left out.
pub fn plots(study: &Study) -> Vec<Plot> {
    let analysis = study.analysis();
    let mut plots = Vec::new();
    for headline in analysis.headlines() {
        plots.extend(by_design(study, headline));
        plots.extend(over_axes::plots(study, headline));
        for setting in analysis.with_distributions(headline) {
            plots.extend(distributions(study, setting));
        }
        plots.extend(by_size(study, headline));
        plots.extend(goodput::plots(study, headline));
        plots.extend(overhead::plots(study, headline));
        plots.extend(queue::plots(study, headline));
        plots.extend(network::plots(study, headline));
    }
    plots.retain(Plot::has_points);
    plots
}

/// Returns every plot and every drawing of the report as files, once for each size.
pub fn pictures(study: &Study, sizes: &[Size]) -> Vec<Picture> {
    let plots = plots(study);
    let headlines = study.analysis().headlines().into_iter();
    let networks: Vec<Network> = headlines
        .filter_map(|setting| Network::of(study, setting))
        .collect();
    let of_size = |&size: &Size| {
        let plots = plots.iter().map(move |plot| plot.picture(size));
        let networks = networks.iter();
        plots.chain(networks.flat_map(move |network| network.pictures(study, size)))
    };
    sizes.iter().flat_map(of_size).collect()
}

/// Returns the answer's figure with one row per design, and a figure of its ratio to the baseline.
pub(crate) fn by_design(study: &Study, setting: usize) -> Vec<Plot> {
    let analysis = study.analysis();
    let group = headline_group(analysis, setting);
    let designs = Designs(study.designs());
    let base = study.baseline().unwrap_or_default();
    let rows: Vec<&Row> = analysis.rows(setting, &group).collect();
    // The vertical axis goes up, so the names are in reverse order.
    let dots = |figure: &dyn Fn(&Row) -> Option<Figure>| -> (Vec<String>, Vec<Series>) {
        let known: Vec<(&str, Figure)> = rows
            .iter()
            .rev()
            .filter_map(|row| Some((row.design.as_str(), figure(row)?)))
            .filter(|(_, (value, _))| value.is_finite())
            .collect();
        let series = known
            .iter()
            .enumerate()
            .map(|(place, (design, (value, interval)))| {
                let point = Point {
                    x: *value,
                    y: place as f64,
                    whisker: interval.map(|(low, high)| Whisker::X(low, high)),
                    shows: None,
                    row: None,
                };
                designs.series(design, Mark::Dots, vec![point])
            });
        let names = known.iter().map(|(design, _)| (*design).to_owned());
        (names.collect(), series.collect())
    };
    let (names, series) = dots(&|row| {
        let estimate = row.estimate(Metric::Fct, Statistic::P99)?;
        Some((estimate.value, estimate.interval))
    });
    let (compared, ratios) = dots(&|row| {
        let ratio = row.ratio(Metric::Fct, Statistic::P99)?;
        Some((ratio.value, ratio.interval))
    });
    let whose = group_title(&group);
    let (at, suffix) = (analysis.setting_name(setting), analysis.suffix(setting));
    let absolute = Plot {
        id: format!("{}-p99-by-design{suffix}", group.short),
        title: format!("p99 of {whose}, {at}"),
        caption: "Whiskers are 95 % confidence intervals.".to_owned(),
        x: Axis::new(
            format!("p99 of the {}", group.time()),
            Quantity::Time,
            scale(&series, FAR_APART, |point| point.x),
        ),
        y: Axis::names("design", names),
        series,
        reference: None,
    };
    let relative = Plot {
        id: format!("{}-p99-vs-baseline{suffix}", group.short),
        title: format!("p99 of {whose} against {base}, {at}"),
        caption: format!(
            "Designs left of the dashed line are faster than {base}. If an interval crosses the line, \
                 the difference is not significant."
        ),
        x: Axis::new(
            format!("p99 divided by {base}'s"),
            Quantity::Number,
            scale(&ratios, RATIO_LOG_FROM, |point| point.x),
        ),
        y: Axis::names("design", compared),
        series: ratios,
        reference: Some(Reference::X(1.0)),
    };
    let mut plots = vec![absolute];
    plots.extend(Some(relative).filter(Plot::has_points));
    plots.retain(Plot::has_points);
    plots
}

/// Returns the distribution function of the completion time and the complementary function, for the answer's group.
pub(crate) fn distributions(study: &Study, setting: usize) -> Vec<Plot> {
    let analysis = study.analysis();
    let cells = study.cells();
    let group = headline_group(analysis, setting);
    let designs = Designs(study.designs());
    let ranked = cells[setting].designs.iter().map(|(design, runs)| {
        let times = Ranked::new(runs, &group, |flow| flow.fct_us);
        (*design, times)
    });
    let ranked: Vec<(&str, Ranked<'_>)> = ranked.collect();
    let of_all = |mark: Mark, points: &dyn Fn(&Ranked<'_>) -> Vec<Point>| -> Vec<Series> {
        let series = ranked.iter().map(|(design, times)| Series {
            runs: times.runs(study),
            ..designs.series(design, mark, points(times))
        });
        series.filter(|series| !series.points.is_empty()).collect()
    };
    let (whose, at) = (group_title(&group), analysis.setting_name(setting));
    let mut slowest = ranked.iter().filter_map(|(_, times)| times.largest());
    let unfinished = match slowest.any(|value| value.is_infinite()) {
        true => {
            " Unfinished ones count as slower than all others, so that a curve may stop before its end."
        }
        false => "",
    };
    let time = || Axis::new(group.time(), Quantity::Time, Scale::Log);
    let noun = group.noun();
    let mut plots = vec![
        Plot {
            id: format!("cdf-{}-{setting}", group.short),
            title: format!("CDF of {} of {whose}, {at}", group.time()),
            caption: format!("Cumulative distribution over all seeds.{unfinished}"),
            x: time(),
            y: Axis::new(
                format!("share of {noun} done"),
                Quantity::Share,
                Scale::Linear,
            ),
            series: of_all(Mark::Step, &|times| times.cdf()),
            reference: None,
        },
        Plot {
            id: format!("ccdf-{}-{setting}", group.short),
            title: format!("CCDF (tail) of {} of {whose}, {at}", group.time()),
            caption: format!(
                "Complementary distribution over all seeds, both axes logarithmic.{unfinished}"
            ),
            x: time(),
            y: Axis::new(
                format!("share of {noun} that take as long or longer"),
                Quantity::Share,
                Scale::Log,
            ),
            series: of_all(Mark::StepBefore, &|times| times.ccdf()),
            reference: None,
        },
    ];
    plots.retain(Plot::has_points);
    plots
}

/// Returns mean and 99th percentile of the slowdown by flow size, in the answer's setting.
pub(crate) fn by_size(study: &Study, setting: usize) -> Vec<Plot> {
    let analysis = study.analysis();
    let groups: Vec<Group> = Group::fine()
        .into_iter()
        .filter(|group| analysis.rows(setting, group).next().is_some())
        .collect();
    let designs = Designs(study.designs());
    let count = designs.0.len() as f64;
    let one = |statistic: Statistic| {
        let series = designs.0.iter().enumerate().map(|(rank, design)| {
            // The designs are side by side within three fifths of a group's width.
            let aside = 0.6 * ((rank as f64 + 0.5) / count - 0.5);
            let points = groups.iter().enumerate().filter_map(|(place, group)| {
                let row = analysis.row(setting, group, design)?;
                let estimate = row.estimate(Metric::Slowdown, statistic)?;
                let drawn = estimate.value.is_finite();
                drawn.then(|| Point {
                    x: place as f64 + aside,
                    y: estimate.value,
                    whisker: estimate.interval.map(|(low, high)| Whisker::Y(low, high)),
                    shows: None,
                    row: None,
                })
            });
            designs.series(design, Mark::Dots, points.collect())
        });
        let series: Vec<Series> = series.filter(|series| !series.points.is_empty()).collect();
        let name = statistic.name();
        Plot {
            id: format!("size-slowdown-{name}{}", analysis.suffix(setting)),
            title: format!(
                "{} slowdown by flow size, {}",
                capital(&name),
                analysis.setting_name(setting)
            ),
            caption:
                "Completion time divided by the completion time of the flow alone in the network. Whiskers are \
                      95 % confidence intervals. Groups with too few flows are left out."
                    .to_owned(),
            x: Axis::names(
                "flow size in bytes",
                groups.iter().map(|group| group.short.clone()).collect(),
            ),
            y: Axis::new(
                format!("{name} slowdown"),
                Quantity::Number,
                scale(&series, LOG_FROM, |point| point.y),
            ),
            series,
            reference: None,
        }
    };
    let mut plots = vec![one(Statistic::P99), one(Statistic::Mean)];
    plots.retain(Plot::has_points);
    plots
}

//! Heat maps over two axes: the tail of a design compared with the tail of the first design.
//! In a study with only one design, the maps show the tail of this design.

use crate::axes::Axis;
use crate::format::Quantity;
use crate::headline::{answer_statistic, headline_group};
use crate::load::is_overloaded;
use crate::plot::{CellValue, Mark, Plot, Point, Series};
use crate::sample::Metric;
use crate::scales::{capital, group_title};
use crate::study::Study;

/// Bounds between the levels of a map, as ratios. The middle level means almost no change.
const RATIOS: [f64; 6] = [0.4, 0.65, 0.9, 1.0 / 0.9, 1.0 / 0.65, 1.0 / 0.4];

/// Names of the levels. The first level is the fastest.
const RATIO_NAMES: [&str; 7] = [
    "−60 % and less",
    "−60 to −35 %",
    "−35 to −10 %",
    "−10 to +11 %",
    "+11 to +54 %",
    "+54 to +150 %",
    "+150 % and more",
];

/// Number of levels of a map without a baseline. The map uses the warm half of the colours.
const LEVELS: usize = 4;

/// Returns the maps over two axes. On all other axes, the settings have the value of the headline.
pub(crate) fn plots(study: &Study, headline: usize, x: &Axis, y: &Axis) -> Vec<Plot> {
    let designs = study.designs();
    let base = study.baseline().unwrap_or_default();
    let cells = cells(study, headline, x, y);
    let mut plots: Vec<Plot> = match designs.len() {
        0 => Vec::new(),
        1 => vec![absolute(study, headline, (x, y), base, &cells)],
        _ => {
            let others = designs.iter().enumerate().skip(1);
            let one = |(index, design): (usize, &&str)| {
                relative(study, headline, (x, y), (index, design), &cells)
            };
            others.map(one).collect()
        }
    };
    plots.retain(Plot::has_points);
    plots
}

/// Returns the settings of the map, each with its indices on the two axes.
fn cells(study: &Study, headline: usize, x: &Axis, y: &Axis) -> Vec<(usize, usize, usize)> {
    let analysis = study.analysis();
    let rows = analysis.along(headline, y);
    let of_row = rows.into_iter().flat_map(|(row, setting)| {
        let columns = analysis.along(setting, x).into_iter();
        columns.map(move |(column, setting)| (column, row, setting))
    });
    of_row.collect()
}

fn relative(
    study: &Study,
    headline: usize,
    (x, y): (&Axis, &Axis),
    (index, design): (usize, &str),
    cells: &[(usize, usize, usize)],
) -> Plot {
    let analysis = study.analysis();
    let group = headline_group(analysis, headline);
    let base = study.baseline().unwrap_or_default();
    let statistic = answer_statistic(study.analysis(), headline);
    let mut levels: [Vec<Point>; 7] = Default::default();
    for &(column, row, setting) in cells.iter().filter(|cell| !is_overloaded(study, cell.2)) {
        let of_design = analysis.row(setting, &group, design);
        let Some(ratio) = of_design.and_then(|row| row.ratio(Metric::Fct, statistic)) else {
            continue;
        };
        let level = RATIOS.partition_point(|bound| *bound <= ratio.value);
        levels[level].push(Point {
            shows: Some(CellValue {
                label: "divided by the first design's",
                quantity: Quantity::Number,
                value: ratio.value,
                interval: ratio.interval,
                is_doubtful: !ratio.is_significant(),
            }),
            ..Point::new(column as f64, row as f64)
        });
    }
    let named = levels.into_iter().zip(RATIO_NAMES).enumerate();
    let series = named.map(|(level, (points, name))| series(name.to_owned(), level, points));
    Plot {
        id: format!("map-{headline}-{index}"),
        title: format!(
            "{} of {}: {design} against {base}",
            capital(&statistic.name()),
            group_title(&group)
        ),
        caption: "A value in brackets is not a significant difference. In a cell without a figure the network is \
                  overloaded, or there are too few flows."
            .to_owned(),
        x: x.named(),
        y: y.named(),
        series: series.filter(|series| !series.points.is_empty()).collect(),
        reference: None,
    }
}

fn absolute(
    study: &Study,
    headline: usize,
    (x, y): (&Axis, &Axis),
    design: &str,
    cells: &[(usize, usize, usize)],
) -> Plot {
    let analysis = study.analysis();
    let group = headline_group(analysis, headline);
    let statistic = answer_statistic(study.analysis(), headline);
    let known = cells.iter().filter_map(|&(column, row, setting)| {
        let of_design = analysis.row(setting, &group, design)?;
        let figure = of_design.estimate(Metric::Fct, statistic)?;
        let shows = CellValue {
            label: "time",
            quantity: Quantity::Time,
            value: figure.value,
            interval: figure.interval,
            is_doubtful: false,
        };
        (figure.value.is_finite() && figure.value > 0.0).then(|| Point {
            shows: Some(shows),
            ..Point::new(column as f64, row as f64)
        })
    });
    let known: Vec<Point> = known.collect();
    let value = |point: &Point| point.shows.map_or(1.0, |shown| shown.value);
    let low = known.iter().map(value).fold(f64::INFINITY, f64::min);
    let high = known.iter().map(value).fold(0.0, f64::max);
    // The bounds of each level have the same ratio.
    let bound = |level: usize| low * (high / low).powf(level as f64 / LEVELS as f64);
    let of_level = (0..LEVELS).map(|level| {
        let is_here = |point: &&Point| {
            let at_most = level + 1 == LEVELS || value(point) < bound(level + 1);
            value(point) >= bound(level) && at_most
        };
        let name = format!("from {}", Quantity::Time.text(bound(level)));
        let points = known.iter().filter(is_here).copied().collect();
        series(name, RATIOS.len() + 1 - LEVELS + level, points)
    });
    Plot {
        id: format!("map-{headline}-0"),
        title: format!(
            "{} of {} with {design}",
            capital(&statistic.name()),
            group_title(&group)
        ),
        caption: "A cell without a figure has too few flows.".to_owned(),
        x: x.named(),
        y: y.named(),
        series: of_level
            .filter(|series| !series.points.is_empty())
            .collect(),
        reference: None,
    }
}

fn series(name: String, level: usize, points: Vec<Point>) -> Series {
    Series {
        name,
        colour: level,
        mark: Mark::Cells,
        points,
        runs: Vec::new(),
    }
}

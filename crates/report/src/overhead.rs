//! Overhead of designs: amplification and wasted bytes.

use crate::curves::{Designs, Ranked};
use crate::estimate::{SEEDS_FOR_T, t_interval};
use crate::format::Quantity;
use crate::format::list;
use crate::group::Group;
use crate::headline::headline_group;
use crate::plot::{Axis, Mark, Plot, Point, Reference, Scale, Series, Whisker};
use crate::run::{self, Cell, Flow, Run};
use crate::study::Study;

/// Mean of a figure over the runs, with its interval over the seeds.
type Figure = (f64, Option<(f64, f64)>);

/// Payload that a run has sent, with its useful and wasted parts.
#[derive(Clone, Copy)]
struct Payload {
    sent: u64,
    useful: u64,
    /// Bytes of payload that were not useful. Never negative, although one packet may be useful to several receivers.
    wasted: u64,
}

impl Payload {
    /// Returns the payload of a run. Each byte of a finished flow is useful once.
    /// In a run with requests, the bytes that clients used are useful.
    fn of(run: &Run) -> Self {
        if let Some(requests) = &run.summary.requests {
            return Self {
                sent: requests.sent_bytes,
                useful: requests.useful_bytes,
                wasted: requests.wasted_bytes,
            };
        }
        let finished = |flow: &&Flow| flow.fct_us.is_finite();
        let useful = run.flows.iter().filter(finished).map(|flow| flow.bytes);
        let wasted = run.flows.iter().map(|flow| match finished(&flow) {
            true => flow.wasted,
            false => flow.sent,
        });
        Self {
            sent: run.summary.payload_sent_bytes,
            useful: useful.sum(),
            wasted: wasted.sum(),
        }
    }

    fn amplification(self) -> f64 {
        self.sent as f64 / self.useful as f64
    }

    fn wasted(self) -> f64 {
        self.wasted as f64
    }
}

/// Returns plots of amplification and wasted bytes over the load.
/// In a study with only one load, each design is a row of the plot.
pub(crate) fn plots(study: &Study, headline: usize) -> Vec<Plot> {
    let analysis = study.analysis();
    let cells = study.cells();
    let axis = analysis.main_axis(headline);
    let cells: Vec<(f64, &Cell<'_>)> = match &axis {
        Some(axis) => {
            let along = analysis.along(headline, axis).into_iter();
            along
                .map(|(place, at)| (axis.at(place), &cells[at]))
                .collect()
        }
        None => vec![(0.0, &cells[headline])],
    };
    let at = match (&axis, analysis.has_several_places()) {
        (None, _) => format!(", {}", analysis.setting_name(headline)),
        (Some(axis), several) => {
            let here = &analysis.settings[headline];
            let over = match axis.is_load() {
                true => " over the load".to_owned(),
                false => format!(" over {}", axis.name()),
            };
            match several {
                true => format!("{over}, {}, {}", here.topology, here.workload),
                false => over,
            }
        }
    };
    let plot = |measure: &dyn Fn(Payload) -> f64| {
        let designs = Designs(study.designs());
        match axis.is_some() {
            true => lines(&designs, &cells, measure),
            false => dots(&designs, cells[0].1, measure),
        }
    };
    let over = axis
        .as_ref()
        .map_or_else(|| Axis::names("", Vec::new()), |axis| axis.plotted());
    let suffix = analysis.suffix(headline);
    let seeds =
        "Means over the seeds; whiskers are 95 % confidence intervals, with three seeds or more.";
    let make =
        |id: &str, title: &str, caption: String, axis: (&str, Quantity), drawn: Drawn, one| {
            let (names, series) = drawn;
            let value = Axis::new(axis.0, axis.1, Scale::Linear);
            let (x, y, reference) = match names {
                Some(names) => (value, Axis::names("design", names), Reference::X(1.0)),
                None => (over.clone(), value, Reference::Y(1.0)),
            };
            Plot {
                id: format!("{id}{suffix}"),
                title: format!("{title}{at}"),
                caption,
                x,
                y,
                series,
                reference: Some(reference).filter(|_| one),
            }
        };
    let mut plots = vec![
        make(
            "amplification",
            "Payload sent divided by useful bytes",
            format!(
                "All payload that hosts sent, including copies and retransmissions, divided by the bytes of the \
                 finished flows. It may be below one if a packet serves several receivers. With requests, answer \
                 bytes sent divided by the useful ones. {seeds}"
            ),
            ("amplification", Quantity::Number),
            plot(&Payload::amplification),
            true,
        ),
        make(
            "wasted-bytes",
            "Wasted payload",
            format!(
                "Payload per run that was sent beyond the bytes of the flows, and all payload of unfinished flows. \
                 With requests, answer bytes that were not useful. {seeds}"
            ),
            ("wasted bytes", Quantity::Bytes),
            plot(&Payload::wasted),
            false,
        ),
    ];
    plots.push(by_flow(study, headline));
    plots.retain(Plot::has_points);
    plots
}

/// Returns a plot of the wasted bytes of each flow, or of each request in a workload with requests.
fn by_flow(study: &Study, setting: usize) -> Plot {
    let (analysis, cells) = (study.analysis(), study.cells());
    let group = match headline_group(analysis, setting) == Group::requests() {
        true => Group::requests(),
        false => Group::all(),
    };
    let what = group.noun();
    let designs = Designs(study.designs());
    let mut spared = Vec::new();
    let lines = cells[setting].designs.iter().map(|(design, runs)| {
        let wasted = Ranked::new(runs, &group, |flow| flow.wasted as f64);
        if wasted.largest() == Some(0.0) {
            spared.push((*design).to_owned());
        }
        Series {
            runs: wasted.runs(study),
            ..designs.series(design, Mark::StepBefore, wasted.ccdf())
        }
    });
    let series: Vec<Series> = lines.filter(|line| !line.points.is_empty()).collect();
    let none = match spared.is_empty() {
        true => String::new(),
        false => format!(" No payload was wasted with {}.", list(&spared)),
    };
    Plot {
        id: format!("wasted-ccdf-{setting}"),
        title: format!(
            "CCDF of wasted payload of {what}, {}",
            analysis.setting_name(setting)
        ),
        caption: format!(
            "Complementary distribution over all seeds, both axes logarithmic. A curve begins at the share of \
             the {what} with any wasted payload.{none}"
        ),
        x: Axis::new("wasted payload", Quantity::Bytes, Scale::Log),
        y: Axis::new(
            format!("share of {what} with as much or more"),
            Quantity::Share,
            Scale::Log,
        ),
        series,
        reference: None,
    }
}

/// Names of the rows if the designs are the rows of a plot, and the series of the plot.
type Drawn = (Option<Vec<String>>, Vec<Series>);

/// Returns the mean of a measure over the runs. Returns `None` if a run has no useful bytes.
fn figure(runs: &[&Run], measure: &dyn Fn(Payload) -> f64) -> Option<Figure> {
    let payloads: Vec<Payload> = runs.iter().map(|run| Payload::of(run)).collect();
    if payloads
        .iter()
        .any(|payload| payload.useful == 0 || payload.sent == 0)
    {
        return None;
    }
    let figures: Vec<f64> = payloads.into_iter().map(measure).collect();
    let (mean, interval) = t_interval(&figures)?;
    Some((
        mean,
        interval.filter(|_| figures.len() >= SEEDS_FOR_T && !run::are_same(runs)),
    ))
}

fn lines(
    designs: &Designs<'_>,
    cells: &[(f64, &Cell<'_>)],
    measure: &dyn Fn(Payload) -> f64,
) -> Drawn {
    let line = |design: &&str| {
        let points = cells.iter().filter_map(|(x, cell)| {
            let (y, interval) = figure(cell.runs(design), measure)?;
            Some(Point {
                x: *x,
                y,
                whisker: interval.map(|(low, high)| Whisker::Y(low, high)),
                shows: None,
                row: None,
            })
        });
        designs.series(design, Mark::LineAndDots, points.collect())
    };
    let series = designs.0.iter().map(line);
    (
        None,
        series.filter(|line| !line.points.is_empty()).collect(),
    )
}

fn dots(designs: &Designs<'_>, cell: &Cell<'_>, measure: &dyn Fn(Payload) -> f64) -> Drawn {
    let figures = cell.designs.iter().rev();
    let known: Vec<(&str, Figure)> = figures
        .filter_map(|(design, runs)| Some((*design, figure(runs, measure)?)))
        .collect();
    let numbered = known.iter().enumerate();
    let series = numbered.map(|(place, (design, (x, interval)))| {
        let point = Point {
            x: *x,
            y: place as f64,
            whisker: interval.map(|(low, high)| Whisker::X(low, high)),
            shows: None,
            row: None,
        };
        designs.series(design, Mark::Dots, vec![point])
    });
    let names = known.iter().map(|(design, _)| (*design).to_owned());
    (Some(names.collect()), series.collect())
}

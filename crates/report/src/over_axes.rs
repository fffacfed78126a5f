//! Plots over the swept keys: lines over one axis, and a small plot of lines for each value of a second axis.

use crate::analysis::Row;
use crate::axes::Axis;
use crate::curves::Designs;
use crate::format::Quantity;
use crate::group::Group;
use crate::headline::{answer_statistic, headline_group};
use crate::heat_map;
use crate::plot::{self, Mark, Plot, Point, Reference, Series, Whisker};
use crate::sample::{Metric, Statistic};
use crate::scales::{Figure, LOG_FROM, RATIO_LOG_FROM, capital, group_title, scale};
use crate::study::Study;

/// Maximum number of small plots (small multiples) of one figure.
const MOST_MULTIPLES: usize = 9;

/// Returns the plots over each axis of the settings with the topology and workload of a headline.
pub(crate) fn plots(study: &Study, headline: usize) -> Vec<Plot> {
    let mut plots = lines(study, headline);
    plots.extend(multiples(study, headline));
    plots.extend(heat_maps(study, headline));
    plots
}

/// Returns line plots over each axis. On all other axes, the settings have the value of the headline.
/// The main axis has the most figures.
pub(crate) fn lines(study: &Study, headline: usize) -> Vec<Plot> {
    let analysis = study.analysis();
    let main = analysis.main_axis(headline).map(|axis| axis.name());
    let mut plots = Vec::new();
    for (index, axis) in analysis.axes(headline).iter().enumerate() {
        let over = AxisPlots::new(study, headline, axis, index);
        plots.extend(over.plots(main.as_deref() == Some(&*axis.name())));
    }
    plots.retain(Plot::has_points);
    plots
}

/// Returns plots of the answer's figure over the main axis: one small plot for each value of a second axis.
pub(crate) fn multiples(study: &Study, headline: usize) -> Vec<Plot> {
    let analysis = study.analysis();
    let Some((main, second)) = two_axes(study, headline) else {
        return Vec::new();
    };
    let group = headline_group(analysis, headline);
    let statistic = answer_statistic(study.analysis(), headline);
    let along = analysis.along(headline, &second);
    let every = along.len().div_ceil(MOST_MULTIPLES);
    let shown = along.into_iter().step_by(every);
    let mut plots: Vec<Plot> = shown
        .map(|(place, setting)| {
            let over = AxisPlots::new(study, setting, &main, place);
            Plot {
                id: format!("multiple-{headline}-{place}"),
                title: second.position_text(place),
                caption: String::new(),
                ..over.absolute(&group, statistic)
            }
        })
        .filter(Plot::has_points)
        .collect();
    let points = || {
        plots
            .iter()
            .flat_map(|plot| &plot.series)
            .flat_map(|s| &s.points)
    };
    let ends = points().flat_map(|point| match point.whisker {
        Some(Whisker::Y(low, high)) => [low, high],
        _ => [point.y; 2],
    });
    let reach = ends.fold((f64::INFINITY, 0.0f64), |(low, high), y| {
        // Zero has no position on a logarithmic axis, so values of zero do not extend the range.
        (if y > 0.0 { low.min(y) } else { low }, high.max(y))
    });
    let all: Vec<Series> = plots.iter().flat_map(|plot| plot.series.clone()).collect();
    let scale = scale(&all, LOG_FROM, |point| point.y);
    for plot in &mut plots {
        plot.y.reach = Some(reach);
        plot.y.scale = scale.clone();
    }
    match plots.len() {
        2.. => plots,
        _ => Vec::new(),
    }
}

/// Returns one heat map for each design, over the two axes with the most values.
pub(crate) fn heat_maps(study: &Study, headline: usize) -> Vec<Plot> {
    match two_axes(study, headline) {
        Some((main, second)) => heat_map::plots(study, headline, &main, &second),
        None => Vec::new(),
    }
}

/// Returns the main axis, and the axis with the most values among all further axes.
fn two_axes(study: &Study, headline: usize) -> Option<(Axis, Axis)> {
    let analysis = study.analysis();
    let axes = analysis.axes(headline);
    let main = analysis
        .main_axis(headline)
        .or_else(|| axes.first().cloned())?;
    let others = axes.into_iter().filter(|axis| axis.name() != main.name());
    let second = others.reduce(|best, next| match next.values.len() > best.values.len() {
        true => next,
        false => best,
    })?;
    Some((main, second))
}

/// Line plots over one axis, through one setting.
struct AxisPlots<'a> {
    study: &'a Study,
    axis: &'a Axis,
    /// Settings along the axis: the index of the value on the axis, and the index of the setting in the analysis.
    settings: Vec<(usize, usize)>,
    id: String,
    /// Values on all axes except the plotted axes, as text for titles.
    fixed_values: String,
    setting: usize,
}

impl<'a> AxisPlots<'a> {
    fn new(study: &'a Study, setting: usize, axis: &'a Axis, number: usize) -> Self {
        let analysis = study.analysis();
        let here = &analysis.settings[setting];
        let axes = analysis.axes(setting);
        let mut fixed_values = match analysis.has_several_places() {
            true => vec![here.topology.clone(), here.workload.clone()],
            false => Vec::new(),
        };
        let others = axes.iter().filter(|other| other.name() != axis.name());
        fixed_values
            .extend(others.filter_map(|other| Some(other.position_text(other.place(here)?))));
        let first = analysis.sweep(setting).first().copied().unwrap_or(setting);
        let id = match axis.is_load() {
            true => format!("load-{first}"),
            false => format!("over-{first}-{number}"),
        };
        Self {
            study,
            axis,
            settings: analysis.along(setting, axis),
            id,
            fixed_values: fixed_values.iter().map(|one| format!(", {one}")).collect(),
            setting,
        }
    }

    /// Returns plots of the answer's figure: its values, and its ratio to the baseline.
    /// For the main axis, also returns plots of further figures.
    fn plots(&self, is_main: bool) -> Vec<Plot> {
        let group = headline_group(self.study.analysis(), self.setting);
        let mut plots = Vec::new();
        if is_main {
            let mut wanted = vec![
                (Group::mice(), Statistic::P99),
                (Group::mice(), Statistic::Mean),
                (Group::mice(), Statistic::P999),
                (Group::elephants(), Statistic::Mean),
            ];
            if group != Group::mice() {
                wanted.extend([
                    (group.clone(), Statistic::P99),
                    (group.clone(), Statistic::Mean),
                ]);
            }
            let absolute = wanted.iter();
            plots.extend(absolute.map(|(group, statistic)| self.absolute(group, *statistic)));
        } else {
            plots.push(self.absolute(
                &group,
                answer_statistic(self.study.analysis(), self.setting),
            ));
        }
        plots.insert(1, self.relative(&group));
        plots
    }

    fn absolute(&self, group: &Group, statistic: Statistic) -> Plot {
        let series = self.series(group, &|row| {
            let estimate = row.estimate(Metric::Fct, statistic)?;
            Some((estimate.value, estimate.interval))
        });
        let (name, whose) = (statistic.name(), group_title(group));
        Plot {
            id: format!("{}-{}-{}", self.id, group.short, name.replace('.', "")),
            title: format!("{} of {whose} over {}", capital(&name), self.over()),
            caption: "Whiskers are 95 % confidence intervals.".to_owned(),
            x: self.axis.plotted(),
            y: plot::Axis::new(
                format!("{name} of the {}", group.time()),
                Quantity::Time,
                scale(&series, LOG_FROM, |point| point.y),
            ),
            series,
            reference: None,
        }
    }

    fn relative(&self, group: &Group) -> Plot {
        let statistic = answer_statistic(self.study.analysis(), self.setting);
        let name = statistic.name();
        let base = self.study.baseline().unwrap_or_default();
        let whose = group_title(group);
        let ratios = self.series(group, &|row| {
            let ratio = row.ratio(Metric::Fct, statistic)?;
            Some((ratio.value, ratio.interval))
        });
        Plot {
            id: format!("{}-{}-{name}-vs-baseline", self.id, group.short),
            title: format!(
                "{} of {whose} against {base} over {}",
                capital(&name),
                self.over()
            ),
            caption: format!(
                "Designs below the dashed line are faster than {base}. If an interval crosses the line, \
                 the difference is not significant."
            ),
            x: self.axis.plotted(),
            y: plot::Axis::new(
                format!("{name} divided by {base}'s"),
                Quantity::Number,
                scale(&ratios, RATIO_LOG_FROM, |point| point.y),
            ),
            series: ratios,
            reference: Some(Reference::Y(1.0)),
        }
    }

    /// Returns a text with the name of the axis and the values on all further axes.
    fn over(&self) -> String {
        let axis = match self.axis.is_load() {
            true => "the load".to_owned(),
            false => self.axis.name(),
        };
        format!("{axis}{}", self.fixed_values)
    }

    /// Returns one line for each design.
    /// If the values of the axis are names, the points of different designs are side by side.
    fn series(&self, group: &Group, figure: &dyn Fn(&Row) -> Option<Figure>) -> Vec<Series> {
        let analysis = self.study.analysis();
        let designs = Designs(self.study.designs());
        let count = designs.0.len() as f64;
        let line = |(rank, design): (usize, &&str)| {
            let (mark, aside) = match self.axis.is_numeric() {
                true => (Mark::LineAndDots, 0.0),
                false => (Mark::Dots, 0.6 * ((rank as f64 + 0.5) / count - 0.5)),
            };
            let points = self.settings.iter().filter_map(|&(place, setting)| {
                let row = analysis.row(setting, group, design)?;
                let (y, interval) = figure(row).filter(|(y, _)| y.is_finite() && *y > 0.0)?;
                Some(Point {
                    whisker: interval.map(|(low, high)| Whisker::Y(low, high)),
                    ..Point::new(self.axis.at(place) + aside, y)
                })
            });
            designs.series(design, mark, points.collect())
        };
        let series = designs.0.iter().enumerate().map(line);
        series.filter(|series| !series.points.is_empty()).collect()
    }
}

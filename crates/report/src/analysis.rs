//! All figures of a study, by setting, design and group of flows. The figures are computed once.

use crate::axes::middle;
use crate::estimate::{Estimate, Measured, Ratio, TooFew};
use crate::group::Group;
use crate::run::{self, Cell, Setting};
use crate::sample::{Metric, Sample, Statistic};
use crate::study::Study;

/// All figures of a study.
#[derive(Debug)]
pub(crate) struct Analysis {
    /// Settings, in the order of the study.
    pub settings: Vec<Setting>,
    /// For each combination of topology and workload, the index of the setting in the [`middle`] of its sweep.
    headlines: Vec<usize>,
    /// Rows in the order of settings, then of groups, then of the study's designs. Groups without flows have no row.
    pub rows: Vec<Row>,
}

/// Figures of one design for one group in one setting.
#[derive(Debug)]
pub(crate) struct Row {
    /// Index into [`Analysis::settings`].
    pub setting: usize,
    pub group: Group,
    pub design: String,
    /// Number of runs. Each run has its own seed.
    pub seeds: usize,
    /// Number of flows over all seeds, finished or not.
    pub flows: usize,
    /// Number of flows that did not finish.
    pub unfinished: usize,
    fct: Figures,
    slowdown: Figures,
}

/// Estimates and ratios of one metric. All arrays are in the order of [`Statistic::ALL`].
#[derive(Debug, Default)]
struct Figures {
    estimates: [Option<Result<Estimate, TooFew>>; 4],
    /// Ratios to the study's baseline.
    ratios: [Option<Ratio>; 4],
    /// Ratios to the figures of the design's transport without replication.
    /// `None` if this transport is not in the study, or if it is the study's baseline.
    own: [Option<Ratio>; 4],
}

impl Analysis {
    pub fn of(study: &Study) -> Self {
        let cells = study.cells();
        let baseline = study.baseline().unwrap_or_default();
        // Settings are independent, so each thread can compute some of the settings.
        let threads = std::thread::available_parallelism().map_or(1, |n| n.get());
        let chunk = cells.len().div_ceil(threads).max(1);
        let rows = std::thread::scope(|scope| {
            let workers: Vec<_> = cells
                .chunks(chunk)
                .enumerate()
                .map(|(part, cells)| {
                    scope.spawn(move || {
                        let numbered = cells.iter().enumerate();
                        numbered
                            .flat_map(|(i, cell)| cell_rows(part * chunk + i, cell, baseline))
                            .collect::<Vec<Row>>()
                    })
                })
                .collect();
            let results = workers.into_iter().map(|worker| worker.join());
            results.flat_map(|rows| rows.unwrap_or_default()).collect()
        });
        let settings: Vec<Setting> = cells.into_iter().map(|cell| cell.setting).collect();
        Self {
            headlines: headlines(&settings),
            settings,
            rows,
        }
    }

    /// Returns the row of a design for a group in a setting.
    pub fn row(&self, setting: usize, group: &Group, design: &str) -> Option<&Row> {
        self.rows
            .iter()
            .find(|row| row.setting == setting && row.group == *group && row.design == design)
    }

    /// Returns the rows of a group in a setting, in the order of the designs.
    pub fn rows<'a>(&'a self, setting: usize, group: &'a Group) -> impl Iterator<Item = &'a Row> {
        let rows = self.rows.iter();
        rows.filter(move |row| row.setting == setting && row.group == *group)
    }

    /// Returns the setting that the answer describes: the headline of the first combination of topology and workload.
    pub fn headline(&self) -> Option<usize> {
        self.headlines.first().copied()
    }

    /// Returns the headline of each combination of topology and workload.
    /// The report shows the figures of the headline settings.
    pub fn headlines(&self) -> Vec<usize> {
        self.headlines.clone()
    }

    /// Returns the settings that have the same topology and workload as `setting`, including `setting`.
    pub fn sweep(&self, setting: usize) -> Vec<usize> {
        let here = &self.settings[setting];
        (0..self.settings.len())
            .filter(|&index| self.settings[index].is_beside(here))
            .collect()
    }

    /// Returns the settings with the topology and workload of `headline` whose distributions are drawn.
    /// The result is all settings if there are few, otherwise only the headline.
    pub fn with_distributions(&self, headline: usize) -> Vec<usize> {
        let sweep = self.sweep(headline);
        let is_swept = !self.settings[headline].parameters.is_empty();
        match is_swept && sweep.len() > MOST_DISTRIBUTIONS {
            true => vec![headline],
            false => sweep,
        }
    }

    /// Returns whether the study has several topologies or workloads, so that the name of a setting must contain both.
    pub fn has_several_places(&self) -> bool {
        let first = self.settings.first();
        first.is_some_and(|first| self.settings.iter().any(|s| !s.is_beside(first)))
    }

    /// Returns the suffix that ids of plots and tables get for the topology and workload of a headline.
    /// The suffix is empty for the first headline.
    pub fn suffix(&self, headline: usize) -> String {
        match self.headline() == Some(headline) {
            true => String::new(),
            false => format!("-{headline}"),
        }
    }

    /// Returns the name of a setting.
    /// The name contains topology and workload only if the study has several topologies or workloads.
    pub fn setting_name(&self, setting: usize) -> String {
        self.settings[setting].describe(self.has_several_places())
    }
}

/// Maximum number of swept settings for which all distributions are drawn.
/// With more swept settings, only the distributions of the headline are drawn.
const MOST_DISTRIBUTIONS: usize = 6;

/// Returns, for each combination of topology and workload, the setting in the middle of the sweep.
fn headlines(settings: &[Setting]) -> Vec<usize> {
    let mut places: Vec<Vec<usize>> = Vec::new();
    for (index, setting) in settings.iter().enumerate() {
        let is_here = |place: &&mut Vec<usize>| settings[place[0]].is_beside(setting);
        match places.iter_mut().find(is_here) {
            Some(place) => place.push(index),
            None => places.push(vec![index]),
        }
    }
    let of_place = |place: &Vec<usize>| {
        let here: Vec<&Setting> = place.iter().map(|&index| &settings[index]).collect();
        Some(place[middle(&here)?])
    };
    places.iter().filter_map(of_place).collect()
}

impl Setting {
    /// Returns whether both settings have the same topology and workload.
    pub(crate) fn is_beside(&self, other: &Self) -> bool {
        self.topology == other.topology && self.workload == other.workload
    }
}

impl Row {
    /// Returns the figure. Returns `None` if there are too few flows or seeds for it.
    pub fn estimate(&self, metric: Metric, statistic: Statistic) -> Option<Estimate> {
        self.outcome(metric, statistic)?.ok()
    }

    /// Returns the figure, or the flows and seeds that it needs. Returns `None` if there are no flows.
    pub fn outcome(
        &self,
        metric: Metric,
        statistic: Statistic,
    ) -> Option<Result<Estimate, TooFew>> {
        *statistic.entry_in(&self.figures(metric).estimates)?
    }

    /// Returns the figure of this design divided by the figure of the baseline.
    pub fn ratio(&self, metric: Metric, statistic: Statistic) -> Option<Ratio> {
        *statistic.entry_in(&self.figures(metric).ratios)?
    }

    /// Returns the figure of this design divided by the figure of its transport without replication.
    pub fn over_own_transport(&self, metric: Metric, statistic: Statistic) -> Option<Ratio> {
        *statistic.entry_in(&self.figures(metric).own)?
    }

    fn figures(&self, metric: Metric) -> &Figures {
        match metric {
            Metric::Fct => &self.fct,
            Metric::Slowdown => &self.slowdown,
        }
    }
}

/// Returns the name of a design without its replication: `dctcp@spray` for `repflow+dctcp@spray`.
/// Returns `None` if the name has no replication.
pub(crate) fn own_transport(design: &str) -> Option<&str> {
    design.split_once('+').map(|(_, transport)| transport)
}

fn cell_rows(setting: usize, cell: &Cell<'_>, baseline: &str) -> Vec<Row> {
    let mut rows = Vec::new();
    for group in groups(cell) {
        let mut of_group = cell_group_rows(setting, cell, &group, baseline);
        if of_group.iter().any(|row| row.flows > 0) {
            rows.append(&mut of_group);
        }
    }
    rows
}

/// Returns the groups of a cell: requests and sessions, all flows, the main groups, and the finer groups.
/// If the workload has several parts, each part is also a group.
fn groups(cell: &Cell<'_>) -> Vec<Group> {
    let mut groups = Group::of_applications().to_vec();
    groups.push(Group::all());
    groups.extend(Group::main());
    groups.extend(Group::fine());
    let runs = cell.designs.iter().flat_map(|(_, runs)| runs);
    let classes = runs
        .map(|run| &run.classes)
        .max_by_key(|classes| classes.len());
    if let Some(classes) = classes.filter(|classes| classes.len() > 1) {
        let numbered = (0..=u8::MAX).zip(classes);
        groups.extend(numbered.map(|(index, name)| Group::class(index, name)));
    }
    groups
}

fn cell_group_rows(setting: usize, cell: &Cell<'_>, group: &Group, baseline: &str) -> Vec<Row> {
    let measure = |metric| -> Vec<Measured> {
        let designs = cell.designs.iter();
        designs
            .map(|(_, runs)| {
                let seeds = runs.iter().map(|run| run.summary.key.seed);
                Measured::new(Sample::of(runs, group, metric), seeds.collect())
                    .varying(!run::are_same(runs))
            })
            .collect()
    };
    let position = |name: &str| cell.designs.iter().position(|(design, _)| *design == name);
    let base = position(baseline);
    let figures = |measured: &[Measured], index: usize| {
        let (design, _) = cell.designs[index];
        let own = own_transport(design).and_then(position);
        let own = own.filter(|own| Some(*own) != base);
        Figures::of(measured, index, base.filter(|base| *base != index), own)
    };
    // Only one metric is measured at a time, because sorted samples take more memory than all other data of a report.
    let fct = measure(Metric::Fct);
    let numbered = cell.designs.iter().enumerate();
    let rows = numbered.map(|(index, (design, runs))| {
        let sample = fct[index].sample();
        Row {
            setting,
            group: group.clone(),
            design: (*design).to_owned(),
            seeds: runs.len(),
            flows: sample.len(),
            unfinished: sample.unfinished(),
            fct: figures(&fct, index),
            slowdown: Figures::default(),
        }
    });
    let mut rows: Vec<Row> = rows.collect();
    drop(fct);
    let slowdown = measure(Metric::Slowdown);
    for (index, row) in rows.iter_mut().enumerate() {
        row.slowdown = figures(&slowdown, index);
    }
    rows
}

impl Figures {
    fn of(measured: &[Measured], index: usize, base: Option<usize>, own: Option<usize>) -> Self {
        let over = |other: Option<usize>| {
            Statistic::ALL.map(|statistic| {
                other.and_then(|other| measured[index].ratio(&measured[other], statistic))
            })
        };
        Self {
            estimates: Statistic::ALL.map(|statistic| measured[index].estimate(statistic)),
            ratios: over(base),
            own: over(own),
        }
    }
}

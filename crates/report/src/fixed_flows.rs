//! Sentences for studies with a fixed set of flows (a burst or a trace).
//! The sentences describe the time for all flows, the slowest flow, and the meaning of intervals over the seeds.

use crate::caveat::Caveat;
use crate::estimate::{Ratio, t_interval};
use crate::format::list;
use crate::format::{Quantity, count, increase, reduction, signed_percent};
use crate::group::Group;
use crate::run::{self, Cell as StudyCell, Run};
use crate::same_runs::nothing_varies;
use crate::sample::{Metric, Sample, Statistic};
use crate::study::Study;
use crate::table::{Cell, Table};

/// Kind of a fixed set of flows.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Kind {
    /// One flow from each source, all at the same time.
    Burst,
    /// Flows of a trace file.
    Trace,
}

impl Kind {
    /// Returns the kind of a setting, or `None` if the setting also has other traffic.
    fn of(cell: &StudyCell<'_>) -> Option<Self> {
        let mut runs = cell.designs.iter().flat_map(|(_, runs)| runs);
        let offered = runs.next()?.summary.offered.as_ref()?;
        match &offered.exempt[..] {
            [kind] if kind == "burst" && offered.tiers.is_empty() => Some(Self::Burst),
            [kind] if kind == "trace" && offered.tiers.is_empty() => Some(Self::Trace),
            _ => None,
        }
    }

    const fn name(self) -> &'static str {
        match self {
            Self::Burst => "burst",
            Self::Trace => "trace",
        }
    }
}

/// Makespans of a design, one for each seed. A makespan is the time for all flows.
struct Makespans {
    design: String,
    seeds: Vec<u64>,
    /// Time from the first start to the last end, in microseconds.
    spans: Vec<f64>,
    /// Completion time of the slowest flow of all seeds, in microseconds.
    max: f64,
    /// Number of flows in the run of each seed.
    flows: usize,
    /// Whether the seeds gave different runs.
    varies: bool,
}

impl Makespans {
    /// Returns the makespans of a design. Returns `None` if a flow did not finish.
    fn of(design: &str, runs: &[&Run]) -> Option<Self> {
        let span = |run: &&Run| run.summary.makespan_ns.map(|ns| ns as f64 / 1e3);
        let spans: Vec<f64> = runs.iter().map(span).collect::<Option<_>>()?;
        let flows = runs.iter().flat_map(|run| &run.flows);
        Some(Self {
            design: design.to_owned(),
            seeds: runs.iter().map(|run| run.summary.key.seed).collect(),
            max: flows.map(|flow| flow.fct_us).fold(0.0, f64::max),
            flows: runs.first()?.flows.len(),
            spans,
            varies: !run::are_same(runs),
        })
    }

    /// Returns the mean makespan over the seeds, with Student's interval, as text.
    fn text(&self) -> String {
        match t_interval(&self.spans) {
            Some((mean, interval)) => {
                Quantity::Time.with_interval(mean, interval.filter(|_| self.varies))
            }
            None => "–".to_owned(),
        }
    }

    /// Returns the change against another design as text: `99 % less (95 % CI 98 to 99)`. The change is paired by seed.
    /// `mean` is the ratio of the flows' mean times.
    /// The text contains `mean` only if the mean changes in the opposite direction.
    fn against(&self, base: &Self, mean: Option<Ratio>) -> Option<String> {
        if self.seeds != base.seeds {
            return None;
        }
        let logs: Vec<f64> = self
            .spans
            .iter()
            .zip(&base.spans)
            .map(|(a, b)| (a / b).ln())
            .collect();
        let (log, interval) = t_interval(&logs)?;
        let interval = interval.filter(|_| self.varies || base.varies);
        let ratio = Ratio {
            value: log.exp(),
            interval: interval.map(|(low, high)| (low.exp(), high.exp())),
            seeds: self.seeds.len(),
            beyond_gap: None,
        };
        let mean = mean.filter(Ratio::is_significant);
        let change = |ratio: Ratio| match ratio.value < 1.0 {
            true => reduction(ratio).replacen(" %", " % less", 1),
            false => increase(ratio).replacen(" %", " % more", 1),
        };
        let of_mean = |ratio: Ratio| format!(", but the mean flow takes {}", change(ratio));
        Some(match ratio.interval {
            Some((low, high)) if low <= 1.0 && 1.0 <= high => {
                let [low, high] = [low, high].map(|end| signed_percent((end - 1.0) * 100.0));
                let mean = mean.map_or_else(String::new, of_mean);
                format!("no significant change (95 % CI {low} % to {high} %){mean}")
            }
            _ => {
                let opposite = mean.filter(|mean| (mean.value < 1.0) != (ratio.value < 1.0));
                let mean = opposite.map_or_else(String::new, of_mean);
                format!("{}{mean}", change(ratio))
            }
        })
    }
}

/// Returns the makespans of a setting with a fixed set of flows, in the order of its designs.
/// Returns `None` if a flow did not finish.
fn makespans(cell: &StudyCell<'_>) -> Option<(Kind, Vec<Makespans>)> {
    let kind = Kind::of(cell)?;
    let designs = cell.designs.iter();
    let all: Option<Vec<Makespans>> = designs
        .map(|(design, runs)| Makespans::of(design, runs))
        .collect();
    Some((kind, all?))
}

/// Returns whether the makespan comes first in an answer. The makespan of a burst always comes first.
/// The makespan of a trace comes first if too few flows are beyond a percentile.
pub(crate) fn comes_first(study: &Study, setting: usize, is_thin: bool) -> bool {
    let cells = study.cells();
    let found = cells.get(setting).and_then(makespans);
    found.is_some_and(|(kind, _)| kind == Kind::Burst || is_thin)
}

/// Returns the sentences about all flows together.
/// The list is empty if the flows are a sample, or if some did not finish.
pub(crate) fn sentences(study: &Study, setting: usize) -> Vec<String> {
    let cells = study.cells();
    let Some((kind, all)) = cells.get(setting).and_then(makespans) else {
        return Vec::new();
    };
    let base = all
        .iter()
        .position(|m| Some(m.design.as_str()) == study.baseline());
    let Some(base) = base.map(|index| &all[index]) else {
        return Vec::new();
    };
    let name = kind.name();
    let mut others: Vec<&Makespans> = all.iter().filter(|m| m.design != base.design).collect();
    let mean = |m: &Makespans| t_interval(&m.spans).map_or(f64::INFINITY, |(mean, _)| mean);
    others.sort_by(|a, b| mean(a).total_cmp(&mean(b)));
    let slowest = |m: &Makespans| Quantity::Time.text(m.max);
    let mean_change = |design: &str| {
        let row = study.analysis().row(setting, &Group::all(), design)?;
        row.ratio(Metric::Fct, Statistic::Mean)
    };
    let first = format!(
        "{} finishes all {} flows of the {name} in {}, the slowest in {}",
        base.design,
        count(base.flows as u64),
        base.text(),
        slowest(base)
    );
    let others: Vec<String> = others
        .into_iter()
        .map(|m| {
            let change = m
                .against(base, mean_change(&m.design))
                .map_or_else(String::new, |change| format!(", {change}"));
            format!(
                "{} in {}{change}, the slowest in {}",
                m.design,
                m.text(),
                slowest(m)
            )
        })
        .collect();
    vec![match others.is_empty() {
        true => format!("{first}."),
        false => format!("{first}; {}.", list(&others)),
    }]
}

/// Returns a sentence about the meaning of an interval over seeds if all seeds run the same flows of a trace.
/// Returns `None` without intervals.
pub(crate) fn same_flows_sentence(study: &Study, setting: usize) -> Option<String> {
    let cells = study.cells();
    let cell = cells.get(setting)?;
    let (_, runs) = cell.designs.first()?;
    let offered = runs.first()?.summary.offered.as_ref()?;
    let has_trace = offered.exempt.iter().any(|kind| kind == "trace");
    let has_intervals = runs.len() > 1 && !nothing_varies(study, setting);
    (has_trace && has_intervals).then(|| {
        format!(
            "One trace: all {} seeds run the same flows, so intervals cover the choice of paths and not other flows.{}",
            runs.len(),
            Caveat::OneTrace.see()
        )
    })
}

/// Returns the headline's table with one more column: the number of all flows, next to the number of mice.
/// For a fixed set of flows, the table also contains the slowest flow and the makespan.
pub(crate) fn completed(study: &Study, setting: usize, group: &Group, mut table: Table) -> Table {
    let cells = study.cells();
    let Some(cell) = cells.get(setting) else {
        return table;
    };
    if *group == Group::mice()
        && let Some(column) = table.columns.iter().position(|name| name == group.noun())
    {
        table.columns[column] = group.short.clone();
        let flows = |row: &[Cell]| {
            let runs = cell.runs(&row[0].text).iter();
            Cell::count(runs.map(|run| Group::all().members(run).len() as u64).sum())
        };
        insert(&mut table, column + 1, "all flows", flows);
    }
    if let Some((_, all)) = makespans(cell) {
        let of = |row: &[Cell]| all.iter().find(|m| m.design == row[0].text);
        let makespan = |row: &[Cell]| {
            let found = of(row);
            let mean = found
                .and_then(|m| t_interval(&m.spans))
                .map(|(mean, _)| mean);
            Cell::new(found.map_or_else(|| "–".to_owned(), Makespans::text), mean)
        };
        let max = |row: &[Cell]| {
            let max = of(row).map(|m| m.max);
            Cell::new(
                max.map_or_else(|| "–".to_owned(), |max| Quantity::Time.text(max)),
                max,
            )
        };
        insert(&mut table, 1, "makespan", makespan);
        insert(&mut table, 2, "slowest flow", max);
        // The set of flows is complete. This set is not a sample of a larger set.
        // A percentile therefore needs no minimum number of flows and no interval.
        for row in &mut table.rows {
            let runs = cell.runs(&row[0].text);
            for figure in row
                .iter_mut()
                .filter(|cell| cell.text.starts_with("too few"))
            {
                let sample = Sample::of(runs, group, Metric::Fct);
                if let Some(p99) = sample.quantile(0.99) {
                    *figure = Cell::new(Quantity::Time.text(p99), p99);
                }
            }
        }
    }
    table
}

/// Inserts a column at the index `place`. `cell` makes the column's cell from each row.
fn insert(table: &mut Table, place: usize, name: &str, cell: impl Fn(&[Cell]) -> Cell) {
    table.columns.insert(place, name.to_owned());
    for row in &mut table.rows {
        let made = cell(row);
        row.insert(place, made);
    }
}

//! Studies whose flows are all that there are, a burst or a trace: how long they take together, what the
//! slowest takes, and what intervals over their seeds cover.

use crate::estimate::t_interval;
use crate::format::list;
use crate::format::{Quantity, count, percent_digits};
use crate::group::Group;
use crate::run::{Cell as StudyCell, Run};
use crate::sample::{Metric, Sample};
use crate::study::Study;
use crate::table::{Cell, Table};

/// What a study's flows are.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Kind {
    /// One flow a source, at once.
    Burst,
    /// Those of a file.
    Trace,
}

impl Kind {
    /// Of a setting that has nothing else.
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

/// How long a design took for all flows, a figure a seed.
struct Makespans {
    design: String,
    seeds: Vec<u64>,
    /// Microseconds from the first start to the last end.
    spans: Vec<f64>,
    /// The slowest flow's completion time, in microseconds.
    max: f64,
    /// Flows a seed.
    flows: usize,
}

impl Makespans {
    /// `None` where something did not finish.
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
        })
    }

    /// The mean over the seeds with Student's interval.
    fn text(&self) -> String {
        match t_interval(&self.spans) {
            Some((mean, interval)) => Quantity::Time.with_interval(mean, interval),
            None => "–".to_owned(),
        }
    }

    /// The change against another design, paired by seed: `99 % less (95 % CI 98 to 99)`.
    fn against(&self, base: &Self) -> Option<String> {
        if self.seeds != base.seeds {
            return None;
        }
        let logs: Vec<f64> = self
            .spans
            .iter()
            .zip(&base.spans)
            .map(|(a, b)| (a / b).ln())
            .collect();
        let (mean, interval) = t_interval(&logs)?;
        let less = mean < 0.0;
        let percent = |log: f64| {
            let change = if less {
                1.0 - log.exp()
            } else {
                log.exp() - 1.0
            };
            percent_digits(change * 100.0)
        };
        let word = if less { "less" } else { "more" };
        Some(match interval {
            Some((low, high)) => {
                let (low, high) = if less { (high, low) } else { (low, high) };
                let ends = format!("{} to {}", percent(low), percent(high));
                format!("{} % {word} (95 % CI {ends})", percent(mean))
            }
            None => format!("{} % {word}", percent(mean)),
        })
    }
}

/// The makespans of a setting whose flows are all there are and have all finished, in the order of its
/// designs.
fn makespans(cell: &StudyCell<'_>) -> Option<(Kind, Vec<Makespans>)> {
    let kind = Kind::of(cell)?;
    let designs = cell.designs.iter();
    let all: Option<Vec<Makespans>> = designs
        .map(|(design, runs)| Makespans::of(design, runs))
        .collect();
    Some((kind, all?))
}

/// Whether the makespan comes first in an answer: of a burst, and where too few flows are beyond a
/// percentile.
pub(crate) fn comes_first(study: &Study, setting: usize, is_thin: bool) -> bool {
    let cells = study.cells();
    let found = cells.get(setting).and_then(makespans);
    found.is_some_and(|(kind, _)| kind == Kind::Burst || is_thin)
}

/// What there is to say of all flows together; nothing where they are a sample, or did not all finish.
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
                .against(base)
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

/// What an interval over seeds covers where all seeds run the same flows of a trace.
pub(crate) fn same_flows_sentence(study: &Study, setting: usize) -> Option<String> {
    let cells = study.cells();
    let cell = cells.get(setting)?;
    let (_, runs) = cell.designs.first()?;
    let offered = runs.first()?.summary.offered.as_ref()?;
    let has_trace = offered.exempt.iter().any(|kind| kind == "trace");
    (has_trace && runs.len() > 1).then(|| {
        format!(
            "All {} seeds run the same flows of the trace: intervals cover what the hashing of flows onto paths \
             and other draws of the network change, and not what other flows would.",
            runs.len()
        )
    })
}

/// The headline's table with the number of all flows beside that of mice, and of flows that are all there
/// are with the slowest and the makespan.
pub(crate) fn completed(study: &Study, setting: usize, group: &Group, mut table: Table) -> Table {
    let cells = study.cells();
    let Some(cell) = cells.get(setting) else {
        return table;
    };
    if *group == Group::mice()
        && let Some(column) = table.columns.iter().position(|name| name == group.things())
    {
        table.columns[column] = group.short.clone();
        let flows = |row: &[Cell]| {
            let runs = cell.runs(&row[0].text).iter();
            Cell::count(runs.map(|run| run.flows.len() as u64).sum())
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
        // A percentile of all that there is needs no more of it, and no interval.
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

/// Puts a column at `place`, made of each row.
fn insert(table: &mut Table, place: usize, name: &str, cell: impl Fn(&[Cell]) -> Cell) {
    table.columns.insert(place, name.to_owned());
    for row in &mut table.rows {
        let made = cell(row);
        row.insert(place, made);
    }
}

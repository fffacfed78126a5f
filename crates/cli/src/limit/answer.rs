//! Output of `--find-limit` as text and as JSON: the limits that were found.

use super::args::Limit;
use super::{Design, EvaluatedPoint, SearchRuns};
use crate::failure::Failure;
use crate::output::{note, print, print_json};
use serde::Serialize;
use tailcut_report::{Quantity, SearchNext, SearchOutcome, Side};
use tailcut_scenario::record::{ParameterUnit, ParameterValue};

/// Results of the search for all designs.
#[derive(Serialize)]
pub struct Answer {
    key: String,
    /// Unit of the key's values; `None` for values without a unit.
    unit: Option<ParameterUnit>,
    low: ParameterValue,
    high: ParameterValue,
    metric: String,
    limit_us: f64,
    most_seeds: u64,
    designs: Vec<DesignLimit>,
}

/// Limit that was found for one design.
#[derive(Serialize)]
struct DesignLimit {
    design: String,
    /// Population to which the metric applies, such as `mice`.
    of: &'static str,
    /// Result of the search: `passes`, `stays_below`, `stays_above` or `undecided`.
    outcome: &'static str,
    /// Whether the metric rises when the key rises; `None` if the metric does not pass the limit.
    rises: Option<bool>,
    /// Two values of the key between which the metric passes the limit.
    between: Option<[ParameterValue; 2]>,
    /// Number of runs that the search needed.
    runs: u64,
    points: Vec<Point>,
    #[serde(skip)]
    sentence: String,
}

/// Value of the key at which the metric was evaluated.
#[derive(Serialize)]
struct Point {
    value: ParameterValue,
    seeds: u64,
    /// Side of the limit on which the metric is: `below`, `above` or `open`.
    side: &'static str,
    estimate_us: Option<f64>,
    interval_us: Option<(f64, f64)>,
    /// Reason why the network is overloaded; `None` without overload.
    overload: Option<String>,
    /// Number of seeds that would be sufficient; `None` with enough seeds.
    seeds_that_would_do: Option<usize>,
}

impl Answer {
    /// Creates the answer of a finished search.
    pub fn new(limit: &Limit, designs: &[Design]) -> Result<Self, Failure> {
        let [low, high] = limit.key.ends();
        let low = limit.key.parameter(low)?;
        let designs = designs.iter().map(|design| DesignLimit::new(limit, design));
        Ok(Self {
            key: limit.key.name(),
            unit: low.unit,
            low: low.value,
            high: limit.key.parameter(high)?.value,
            metric: limit.statistic.name(),
            limit_us: limit.limit_us,
            most_seeds: limit.most_seeds,
            designs: designs.collect::<Result<_, Failure>>()?,
        })
    }

    /// Prints the answer and the directory of the runs.
    pub fn print(&self, json: bool, search_runs: &SearchRuns) -> Result<(), Failure> {
        let dir = search_runs.dir.display();
        note(&format!(
            "{} runs executed, {} reused, in {dir}; `tailcut report {dir}` writes their report",
            search_runs.run, search_runs.found
        ));
        if json {
            return print_json(self);
        }
        let lines: Vec<&str> = self
            .designs
            .iter()
            .map(|one| one.sentence.as_str())
            .collect();
        print(&lines.join("\n"))
    }
}

impl DesignLimit {
    fn new(limit: &Limit, design: &Design) -> Result<Self, Failure> {
        let outcome = match design.next(limit) {
            SearchNext::Done(outcome) => outcome,
            // A finished search always has an outcome, so this case never occurs.
            SearchNext::Probe(open) => {
                let [from, to] = limit.key.ends();
                SearchOutcome::Undecided { from, to, open }
            }
        };
        let value = |number: f64| Ok::<_, Failure>(limit.key.parameter(number)?.value);
        let (name, rises, between) = match outcome {
            SearchOutcome::Passes { from, to, rises } => ("passes", Some(rises), Some([from, to])),
            SearchOutcome::Below => ("stays_below", None, None),
            SearchOutcome::Above => ("stays_above", None, None),
            SearchOutcome::Undecided { from, to, .. } => ("undecided", None, Some([from, to])),
        };
        let of = design.points.first().map_or("flows", |one| one.judged.noun);
        let points = design.points.iter().map(|point| {
            let judged = &point.judged;
            Ok(Point {
                value: value(point.value)?,
                seeds: point.seeds,
                side: match judged.side {
                    Side::Below => "below",
                    Side::Above => "above",
                    Side::Open => "open",
                },
                estimate_us: judged
                    .estimate
                    .map(|one| one.value)
                    .filter(|us| us.is_finite()),
                interval_us: judged.estimate.and_then(|one| one.interval),
                overload: judged.overload.clone(),
                seeds_that_would_do: judged.too_few.map(|few| few.seeds_that_would_do),
            })
        });
        Ok(Self {
            design: design.name.clone(),
            of,
            outcome: name,
            rises,
            between: match between {
                Some([from, to]) => Some([value(from)?, value(to)?]),
                None => None,
            },
            runs: design.runs(),
            points: points.collect::<Result<_, Failure>>()?,
            sentence: sentence(limit, design, of, outcome)?,
        })
    }
}

/// Returns the outcome of a search as one line of text.
fn sentence(
    limit: &Limit,
    design: &Design,
    of: &str,
    outcome: SearchOutcome,
) -> Result<String, Failure> {
    let shown = |number: f64| Ok::<_, Failure>(limit.key.parameter(number)?.shown());
    let key = match limit.key.name().as_str() {
        "loads" => "load".to_owned(),
        name => name.to_owned(),
    };
    let time = Quantity::Time.tick(limit.limit_us);
    let [low, high] = limit.key.ends();
    let point_at = |point: f64| design.points.iter().find(|one| one.value == point);
    let why = |point: f64| -> Result<String, Failure> {
        match point_at(point).and_then(|one| one.judged.overload.as_ref()) {
            Some(overload) => Ok(format!("; at {}: {overload}", shown(point)?)),
            None => Ok(String::new()),
        }
    };
    let what = match outcome {
        SearchOutcome::Passes { from, to, rises } => {
            let (verb, over) = match rises {
                true => ("passes", to),
                false => ("falls below", from),
            };
            let between = format!("between {key} {} and {}", shown(from)?, shown(to)?);
            format!("{verb} {time} {between}{}", why(over)?)
        }
        SearchOutcome::Below => format!("stays below {time} up to {key} {}", shown(high)?),
        SearchOutcome::Above => {
            format!("stays above {time} from {key} {}{}", shown(low)?, why(low)?)
        }
        SearchOutcome::Undecided { from, to, open } => format!(
            "is undecided between {key} {} and {}{}",
            shown(from)?,
            shown(to)?,
            match point_at(open) {
                Some(point) => format!(": {}", explain_open(point, &shown(open)?, of)),
                None => String::new(),
            }
        ),
    };
    let (name, metric, runs) = (&design.name, limit.statistic.name(), design.runs());
    Ok(format!("{name}: {of} {metric} {what} ({runs} runs)"))
}

/// Returns a text that explains why a point is undecided.
fn explain_open(point: &EvaluatedPoint, value: &str, of: &str) -> String {
    let (seeds, judged) = (point.seeds, &point.judged);
    if let Some((low, high)) = judged.estimate.and_then(|one| one.interval) {
        let (low, high) = (Quantity::Time.text(low), Quantity::Time.text(high));
        return format!("with {seeds} seeds the interval at {value} is {low} to {high}");
    }
    match judged.too_few {
        Some(few) => format!(
            "{seeds} seeds have too few {of} at {value}; use --seeds {} or longer runs",
            few.seeds_that_would_do
        ),
        None => format!("{seeds} seeds have no {of} at {value}"),
    }
}

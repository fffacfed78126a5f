//! The limits that were found, as text and as data.

use super::asked::Limit;
use super::{Design, Kept, Looked};
use crate::failure::Failure;
use crate::output::{note, print, print_json};
use serde::Serialize;
use tailcut_report::{Quantity, SearchNext, SearchOutcome, Side};
use tailcut_scenario::record::{ParameterUnit, ParameterValue};

/// What was found, for every design.
#[derive(Serialize)]
pub struct Answer {
    key: String,
    /// The unit of the key's values, where they have one.
    unit: Option<ParameterUnit>,
    low: ParameterValue,
    high: ParameterValue,
    metric: String,
    limit_us: f64,
    most_seeds: u64,
    designs: Vec<OfDesign>,
}

/// The limit of one design.
#[derive(Serialize)]
struct OfDesign {
    design: String,
    /// What the figure is over, such as `mice`.
    of: &'static str,
    /// `passes`, `stays_below`, `stays_above` or `undecided`.
    outcome: &'static str,
    /// Whether the figure rises over the key, where it passes the limit.
    rises: Option<bool>,
    /// The values between which it passes.
    between: Option<[ParameterValue; 2]>,
    /// Runs that the search took.
    runs: u64,
    points: Vec<Point>,
    #[serde(skip)]
    told: String,
}

/// A value of the key that was looked at.
#[derive(Serialize)]
struct Point {
    value: ParameterValue,
    seeds: u64,
    /// `below`, `above` or `open`.
    side: &'static str,
    estimate_us: Option<f64>,
    interval_us: Option<(f64, f64)>,
    /// Why the network does not keep up.
    overload: Option<String>,
    /// Seeds that would do, where there are too few.
    seeds_that_would_do: Option<usize>,
}

impl Answer {
    /// Of a search that has ended.
    pub fn new(limit: &Limit, designs: &[Design]) -> Result<Self, Failure> {
        let [low, high] = limit.key.ends();
        let low = limit.key.parameter(low)?;
        let designs = designs.iter().map(|design| OfDesign::new(limit, design));
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

    /// Prints it, with where the runs are.
    pub fn print(&self, json: bool, kept: &Kept) -> Result<(), Failure> {
        let dir = kept.dir.display();
        note(&format!(
            "{} runs run, {} found; they are in {dir}; `tailcut report {dir}` draws them",
            kept.run, kept.found
        ));
        if json {
            return print_json(self);
        }
        let lines: Vec<&str> = self.designs.iter().map(|one| one.told.as_str()).collect();
        print(&lines.join("\n"))
    }
}

impl OfDesign {
    fn new(limit: &Limit, design: &Design) -> Result<Self, Failure> {
        let outcome = match design.next(limit) {
            SearchNext::Done(outcome) => outcome,
            // Not reached: a search ends with an outcome.
            SearchNext::Look(open) => {
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
        let of = design
            .looked
            .first()
            .map_or("flows", |one| one.judged.things);
        let points = design.looked.iter().map(|looked| {
            let judged = &looked.judged;
            Ok(Point {
                value: value(looked.value)?,
                seeds: looked.seeds,
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
            told: told(limit, design, of, outcome)?,
        })
    }
}

/// The outcome in a line.
fn told(
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
    let looked_at = |point: f64| design.looked.iter().find(|one| one.value == point);
    let why = |point: f64| -> Result<String, Failure> {
        match looked_at(point).and_then(|one| one.judged.overload.as_ref()) {
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
            format!("is above {time} from {key} {} on{}", shown(low)?, why(low)?)
        }
        SearchOutcome::Undecided { from, to, open } => format!(
            "is undecided between {key} {} and {}{}",
            shown(from)?,
            shown(to)?,
            match looked_at(open) {
                Some(looked) => format!(": {}", open_at(looked, &shown(open)?, of)),
                None => String::new(),
            }
        ),
    };
    let (name, metric, runs) = (&design.name, limit.statistic.name(), design.runs());
    Ok(format!("{name}: {of} {metric} {what} ({runs} runs)"))
}

/// Why nobody can tell at a point.
fn open_at(looked: &Looked, value: &str, of: &str) -> String {
    let (seeds, judged) = (looked.seeds, &looked.judged);
    if let Some((low, high)) = judged.estimate.and_then(|one| one.interval) {
        let (low, high) = (Quantity::Time.text(low), Quantity::Time.text(high));
        return format!("with {seeds} seeds the interval at {value} is {low} to {high}");
    }
    match judged.too_few {
        Some(few) => format!(
            "{seeds} seeds have too few {of} at {value}; --seeds {} or longer runs would do",
            few.seeds_that_would_do
        ),
        None => format!("{seeds} seeds have no {of} at {value}"),
    }
}

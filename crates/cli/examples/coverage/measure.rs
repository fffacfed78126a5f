//! Coverage of intervals: estimates from sets of seeds, compared with the values over all seeds.

use std::collections::BTreeMap;
use std::fmt::Write;
use tailcut_report::{Gap, Measured, Ratio, Sample, Statistic};

/// Compared designs. The distributions of TCP and RepFlow have a gap before the retransmission timeout of 10 ms.
/// The p99 of RepFlow lies on this gap. The p99 of DCTCP does not.
pub const DESIGNS: [&str; 3] = ["tcp", "dctcp", "repflow"];

/// Number of seeds of the nested sets: the first 3, 6 and 10 of 20, and all 20.
pub const SIZES: [usize; 4] = [3, 6, 10, 20];

/// Number of seeds of a complete set.
pub const SET: usize = 20;

/// Time in microseconds within the gap before the retransmission timeout.
const IN_THE_GAP: f64 = 5_000.0;

/// Completion times of the mice of one run, in microseconds. The time is infinite for unfinished mice.
pub type Mice = Vec<f64>;

/// Mice of one seed, for each design in the order of [`DESIGNS`].
pub type Seed = [Mice; 3];

/// Estimate of a metric with its interval, from one set of seeds.
#[derive(Clone, Copy)]
pub struct Found {
    value: f64,
    interval: Option<(f64, f64)>,
    /// Whether the report marks the interval because it spans a gap.
    marked: bool,
}

/// Estimates by the name of the metric; `None`: the report gives no estimate.
pub type Figures = BTreeMap<String, Option<Found>>;

/// True value of a metric, and whether the metric lies on a gap.
#[derive(Clone, Copy, Debug)]
pub struct Truth {
    /// Value that results from all seeds.
    pub value: f64,
    /// Whether the estimates of the sets lie on both sides of a gap.
    pub on_gap: bool,
}

/// Returns the estimates of all metrics from one set of seeds.
pub fn figures(seeds: &[Seed]) -> Figures {
    let measured = measured(seeds);
    let [base, others @ ..] = &measured;
    let mut figures = Figures::new();
    for statistic in STATISTICS {
        for (design, measured) in DESIGNS.iter().zip(&measured) {
            let estimate = measured.estimate(statistic).and_then(Result::ok);
            let found = estimate.map(|e| Found {
                value: e.value,
                interval: e.interval,
                marked: e.gap.is_some(),
            });
            figures.insert(format!("{design}, {}", statistic.name()), found);
        }
        for (design, measured) in DESIGNS[1..].iter().zip(others) {
            let ratio = measured.ratio(base, statistic);
            figures.insert(
                format!("{design} over tcp, {}", statistic.name()),
                ratio.map(of_ratio),
            );
            // The headline chooses the better of two designs, so its interval is corrected for two comparisons.
            let corrected = ratio.map(|ratio| ratio.corrected(others.len()));
            figures.insert(
                format!("{design} over tcp, {}{CORRECTED}", statistic.name()),
                corrected.map(of_ratio),
            );
        }
    }
    for (design, measured) in DESIGNS.iter().zip(&measured) {
        let share = measured.share_beyond(IN_THE_GAP);
        let found = Found {
            value: share.value,
            interval: share.interval,
            marked: false,
        };
        figures.insert(format!("{design}, share over 5 ms"), Some(found));
    }
    for (design, measured) in DESIGNS[1..].iter().zip(others) {
        let difference = measured.beyond_gap(base, IN_THE_GAP).difference;
        let found = Found {
            value: difference.value,
            interval: difference.interval,
            marked: false,
        };
        figures.insert(format!("{design} less tcp, share over 5 ms"), Some(found));
    }
    figures
}

fn of_ratio(ratio: Ratio) -> Found {
    Found {
        value: ratio.value,
        interval: ratio.interval,
        marked: ratio.beyond_gap.is_some(),
    }
}

const STATISTICS: [Statistic; 4] = [
    Statistic::Mean,
    Statistic::P50,
    Statistic::P99,
    Statistic::P999,
];

/// Suffix of the names of metrics whose intervals are corrected for two comparisons.
const CORRECTED: &str = ", of two";

fn measured(seeds: &[Seed]) -> [Measured; 3] {
    std::array::from_fn(|design| {
        let values = seeds.iter().map(|seed| seed[design].iter().copied());
        Measured::new(Sample::new(values), (0..seeds.len() as u64).collect())
    })
}

/// Returns the true values of all metrics: the values that result from all seeds.
/// A metric lies on a gap if the middle 99 % of the estimates in `of_sets` span the gap.
pub fn truths(seeds: &[Seed], of_sets: &[Figures]) -> BTreeMap<String, Truth> {
    let all = measured(seeds);
    let mut truths: BTreeMap<String, Truth> = BTreeMap::new();
    for (name, found) in figures(seeds) {
        let value = found.map_or(f64::NAN, |found| found.value);
        truths.insert(
            name,
            Truth {
                value,
                on_gap: false,
            },
        );
    }
    for statistic in STATISTICS {
        let on_gap = |design: usize| {
            let name = format!("{}, {}", DESIGNS[design], statistic.name());
            let middle = middle(&found_of(of_sets, &name), 0.99);
            let gap = middle.and_then(|middle| Gap::within(all[design].sample(), middle));
            gap.is_some() && statistic != Statistic::Mean
        };
        let on_gap: [bool; 3] = std::array::from_fn(on_gap);
        for (name, truth) in &mut truths {
            let its = name.split(", ").nth(1) == Some(&statistic.name());
            let of = |design: usize| name.starts_with(DESIGNS[design]) && on_gap[design];
            let over_tcp = name.contains("over tcp") && on_gap[0];
            truth.on_gap |= its && (over_tcp || (0..3).any(of));
        }
    }
    truths
}

/// Returns the estimates of one metric, from all sets that have an estimate.
fn found_of(of_sets: &[Figures], name: &str) -> Vec<Found> {
    let found = of_sets.iter().filter_map(|figures| *figures.get(name)?);
    found.collect()
}

/// Returns the ends of the range that contains the middle `share` of the estimates.
fn middle(found: &[Found], share: f64) -> Option<(f64, f64)> {
    let mut sorted: Vec<f64> = found.iter().map(|found| found.value).collect();
    sorted.sort_unstable_by(f64::total_cmp);
    let cut = (sorted.len() as f64 * (1.0 - share) / 2.0) as usize;
    Some((
        *sorted.get(cut)?,
        *sorted.get(sorted.len().checked_sub(1 + cut)?)?,
    ))
}

/// Result for one metric over sets of one size.
pub struct Cell {
    /// Name of the metric.
    pub figure: String,
    /// Number of seeds of each set.
    pub seeds: usize,
    /// Number of sets with an estimate.
    pub sets: usize,
    /// Number of sets whose interval contains the true value.
    pub held: usize,
    /// Number of sets whose interval the report marks because it spans a gap.
    pub marked: usize,
    /// Median width of the intervals divided by the width of the middle 95 % of the estimates.
    /// For a metric away from gaps, intervals that span a gap are left out.
    pub width: f64,
    /// Whether the metric lies on a gap.
    pub on_gap: bool,
}

/// Returns the results of all metrics for sets of `seeds` seeds.
pub fn cells(seeds: usize, of_sets: &[Figures], truths: &BTreeMap<String, Truth>) -> Vec<Cell> {
    let cell = |(name, truth): (&String, &Truth)| {
        let found = found_of(of_sets, name);
        let intervals: Vec<(f64, f64)> = found.iter().filter_map(|found| found.interval).collect();
        let marked = found.iter().filter(|found| found.marked).count();
        let compared = |found: &&Found| truth.on_gap || !found.marked;
        let compared: Vec<Found> = found.iter().filter(compared).copied().collect();
        let of_interval = |found: &Found| found.interval.map(|(low, high)| high - low);
        let mut widths: Vec<f64> = compared.iter().filter_map(of_interval).collect();
        widths.sort_unstable_by(f64::total_cmp);
        let (low, high) = middle(&compared, 0.95).unwrap_or((0.0, 0.0));
        let holds = |(low, high): &&(f64, f64)| (*low..=*high).contains(&truth.value);
        Cell {
            figure: name.clone(),
            seeds,
            sets: intervals.len(),
            held: intervals.iter().filter(holds).count(),
            marked,
            width: widths
                .get(widths.len() / 2)
                .map_or(f64::NAN, |median| median / (high - low)),
            on_gap: truth.on_gap,
        }
    };
    truths.iter().map(cell).collect()
}

impl Cell {
    /// Returns the share of intervals that contain the true value.
    pub fn coverage(&self) -> f64 {
        self.held as f64 / self.sets.max(1) as f64
    }

    /// Returns whether the result is within its bounds. The coverage must be at least 92 %.
    /// For a metric that does not lie on a gap, the coverage must also be at most 98 %.
    /// The width of the intervals must be at most 1.5 times the width of the middle 95 % of the estimates.
    /// The bounds are widened by the standard error of the measurement.
    /// With three seeds, and for intervals of two comparisons, only the lower bound applies.
    pub fn is_as_wanted(&self) -> bool {
        let only_floor = self.on_gap || self.seeds < 6 || self.figure.ends_with(CORRECTED);
        let error = (0.98 * 0.02 / self.sets.max(1) as f64).sqrt();
        let close = self.coverage() <= 0.98 + error && self.width <= 1.5;
        self.sets == 0 || (self.coverage() >= 0.92 && (only_floor || close))
    }
}

/// Returns the results as a Markdown table with a row for each metric. Metrics on a gap have a mark.
/// The third number in a cell is the share of sets whose interval spans a gap.
pub fn table(cells: &[Cell]) -> String {
    let mut text = String::from("| figure |");
    for size in SIZES {
        let _ = write!(text, " {size} seeds |");
    }
    text.push_str("\n|---|");
    text.push_str(&"---|".repeat(SIZES.len()));
    let mut rows: BTreeMap<&str, Vec<&Cell>> = BTreeMap::new();
    for cell in cells {
        rows.entry(&cell.figure).or_default().push(cell);
    }
    for (figure, cells) in rows {
        let _ = write!(text, "\n| {figure} |");
        for cell in cells {
            let mark = match (cell.is_as_wanted(), cell.on_gap) {
                (false, _) => " (!)",
                (true, true) => " ‡",
                (true, false) => "",
            };
            let _ = match cell.sets {
                0 => write!(text, " refused |"),
                _ => write!(
                    text,
                    " {:.1} %, {:.2}{mark}{} |",
                    100.0 * cell.coverage(),
                    cell.width,
                    match cell.marked {
                        0 => String::new(),
                        marked => format!(", {:.0} %", 100.0 * marked as f64 / cell.sets as f64),
                    }
                ),
            };
        }
    }
    text.push('\n');
    text
}

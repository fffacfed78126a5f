//! Side effects of a design: changes of figures or flows that the answer does not describe.
//! A side effect can be the price of a gain.

use crate::analysis::Row;
use crate::estimate::{Ratio, SEEDS_FOR_T, t_interval};
use crate::format::{count, increase, list, percent_digits, reduction};
use crate::group::Group;
use crate::headline::noun_of;
use crate::same_runs::nothing_varies;
use crate::sample::{Metric, Statistic};
use crate::study::Study;

/// Maximum number of changes that a sentence contains.
const MOST: usize = 3;

/// Side effects of a design: changes in addition to the change of the p99 in the answer.
/// The intervals of side effects are the same as in the tables.
pub(crate) struct SideEffects {
    /// Texts about figures that fall, such as "their mean by 12 % (95 % CI 8 to 15)".
    cuts: Vec<String>,
    /// Texts about figures that rise, in the same form.
    raises: Vec<String>,
    /// Text about flows that do not finish, such as "leaves 12 of 3,000 mice unfinished".
    /// `None` if the baseline has as many unfinished flows, or more.
    leaves: Option<String>,
    /// Text about a majority of flows that gets slower, such as "most mice (78 %) get slower".
    slower: Option<String>,
    /// Text about a majority of flows that gets faster.
    faster: Option<String>,
}

/// Change of one figure of a design.
struct Change {
    of: String,
    ratio: Ratio,
}

impl SideEffects {
    /// Returns the side effects of a design in comparison with the baseline. The p99 of `group` is not included.
    pub fn of(study: &Study, group: &Group, row: &Row, base: &Row) -> Self {
        let others = others(study, group, row);
        let changes = Changes {
            is_exact: nothing_varies(study, row.setting),
            comparisons: 2 + 2 * others.len(),
        };
        let own = [(Statistic::Mean, "mean"), (Statistic::P50, "p50")];
        let own = own.into_iter();
        let mut told: Vec<Change> = own
            .filter_map(|(statistic, name)| changes.of(row, statistic, format!("their {name}")))
            .collect();
        let first_other = told.len();
        told.extend(
            others
                .into_iter()
                .filter_map(|other| changes.of_other(other)),
        );
        let size = |change: &Change| change.ratio.value.ln().abs();
        told[first_other..].sort_by(|a, b| size(b).total_cmp(&size(a)));
        let (cuts, raises): (Vec<Change>, Vec<Change>) = told
            .into_iter()
            .partition(|change| change.ratio.value < 1.0);
        let noun = noun_of(group);
        let most = |share: Option<f64>, what: &str| {
            let percent = percent_digits(share? * 100.0);
            Some(format!("most {noun} ({percent} %) get {what}"))
        };
        let leaves = (row.unfinished > base.unfinished).then(|| {
            let (unfinished, flows) = (row.unfinished as u64, row.flows as u64);
            format!(
                "leaves {} of {} {noun} unfinished",
                count(unfinished),
                count(flows)
            )
        });
        Self {
            cuts: texts(&cuts, reduction),
            raises: texts(&raises, increase),
            leaves,
            slower: most(
                majority(study, group, row, base, |ours, theirs| ours > theirs),
                "slower",
            ),
            faster: most(
                majority(study, group, row, base, |ours, theirs| ours < theirs),
                "faster",
            ),
        }
    }

    /// Returns the price of a gain as text, such as `, but raises their mean by 41 %: most writes (78 %) get slower`.
    /// The text is empty if the gain has no price.
    pub fn against_a_gain(&self) -> String {
        let raises = verb("raises", &self.raises);
        contrast(raises.into_iter().chain(self.leaves.clone()), &self.slower)
    }

    /// Returns the advantages that accompany a loss as text, such as `, but cuts their mean by 12 %`.
    pub fn against_a_loss(&self) -> String {
        contrast(verb("cuts", &self.cuts), &self.faster)
    }

    /// Returns all side effects as text, for an answer whose figure does not change.
    /// An example is `; it cuts their mean by 12 %`.
    pub fn alone(&self) -> String {
        let verbs = [
            verb("cuts", &self.cuts),
            verb("raises", &self.raises),
            self.leaves.clone(),
        ];
        let verbs: Vec<String> = verbs.into_iter().flatten().collect();
        match verbs.is_empty() {
            true => String::new(),
            false => format!("; it {}", list(&verbs)),
        }
    }
}

fn verb(verb: &str, changes: &[String]) -> Option<String> {
    (!changes.is_empty()).then(|| format!("{verb} {}", list(changes)))
}

fn contrast(verbs: impl IntoIterator<Item = String>, majority: &Option<String>) -> String {
    let verbs: Vec<String> = verbs.into_iter().collect();
    match (verbs.is_empty(), majority) {
        (true, None) => String::new(),
        (true, Some(majority)) => format!(", but {majority}"),
        (false, None) => format!(", but {}", list(&verbs)),
        (false, Some(majority)) => format!(", but {}: {majority}", list(&verbs)),
    }
}

fn texts(changes: &[Change], by: fn(Ratio) -> String) -> Vec<String> {
    let shown = changes.iter().take(MOST);
    let mut texts: Vec<String> = shown
        .map(|change| format!("{} by {}", change.of, by(change.ratio)))
        .collect();
    match changes.len().saturating_sub(MOST) {
        0 => {}
        1 => texts.push("1 more figure".to_owned()),
        more => texts.push(format!("{more} more figures")),
    }
    texts
}

/// Selection of the changes that a sentence contains.
struct Changes {
    /// Whether figures are exact because all runs are equal.
    is_exact: bool,
    /// Number of figures of a design that are compared with the baseline.
    comparisons: usize,
}

impl Changes {
    /// Returns the change of a figure if its interval does not contain zero.
    /// By chance, one of twenty figures would seem to change.
    /// The interval of each change therefore holds for all figures of a design together.
    fn of(&self, row: &Row, statistic: Statistic, of: String) -> Option<Change> {
        let ratio = row.ratio(Metric::Fct, statistic)?;
        let is_change = match self.is_exact {
            true => (ratio.value - 1.0).abs() >= 0.001,
            false => ratio.corrected(self.comparisons).is_significant(),
        };
        is_change.then_some(Change { of, ratio })
    }

    /// Returns the change of one figure for a group other than the answer's group.
    fn of_other(&self, row: &Row) -> Option<Change> {
        // The headline's table contains the mean of elephants, so for groups of sizes the sentence prefers the mean.
        let statistics = match row.group.is_of_flows() && !row.group.is_class() {
            true => [(Statistic::Mean, "mean"), (Statistic::P99, "p99")],
            false => [(Statistic::P99, "p99"), (Statistic::Mean, "mean")],
        };
        let mut changes = statistics.into_iter().filter_map(|(statistic, name)| {
            self.of(
                row,
                statistic,
                format!("the {name} of {}", named(&row.group)),
            )
        });
        changes.next()
    }
}

/// Returns the rows of all further groups whose changes a sentence may contain.
fn others<'a>(study: &'a Study, group: &Group, row: &Row) -> Vec<&'a Row> {
    let rows = study.analysis().rows.iter();
    let of_design = rows.filter(|other| {
        (other.setting, &other.design) == (row.setting, &row.design) && other.group != *group
    });
    // Two groups with the same number of flows contain the same flows.
    // For example, elephants are all flows in a workload without smaller flows.
    let is_same =
        |other: &Row| group.is_of_flows() && other.group.is_of_flows() && other.flows == row.flows;
    of_design
        .filter(|other| is_told_with(&other.group, group) && !is_same(other))
        .collect()
}

/// Returns whether a sentence of the report about `group` may also list changes of the group `other`.
fn is_told_with(other: &Group, group: &Group) -> bool {
    let is_size = other.is_of_flows() && !other.is_class();
    match () {
        () if other.is_fine() || *other == Group::all() => false,
        // Most large flows belong to the sessions or queries that the answer already describes.
        () if is_size => group.is_of_flows() || *group == Group::requests(),
        () => true,
    }
}

/// Returns the name of a group for use within a sentence.
fn named(group: &Group) -> String {
    match (group.is_class(), group.short.as_str()) {
        (true, name) => format!("the class {name}"),
        (false, "medium") => "medium flows".to_owned(),
        (false, name) => name.to_owned(),
    }
}

/// Returns the share of members for which `is` returns true.
/// `is` compares the time of a member with the time of the same member in the baseline.
/// Returns `None` if the share is no significant majority over the seeds, or if the designs have different members.
fn majority(
    study: &Study,
    group: &Group,
    row: &Row,
    base: &Row,
    is: fn(f64, f64) -> bool,
) -> Option<f64> {
    let cells = study.cells();
    let cell = cells.get(row.setting)?;
    let mut shares = Vec::new();
    for run in cell.runs(&row.design) {
        let seed = run.summary.key.seed;
        let mut bases = cell.runs(&base.design).iter();
        let other = bases.find(|other| other.summary.key.seed == seed)?;
        let [ours, theirs] =
            [run, other].map(|run| group.members(run).iter().filter(|flow| group.has(flow)));
        let (mut of, mut members) = (0u32, 0u32);
        let (mut ours, mut theirs) = (ours, theirs);
        loop {
            match (ours.next(), theirs.next()) {
                (Some(a), Some(b)) if (a.start_us, a.bytes) == (b.start_us, b.bytes) => {
                    members += 1;
                    of += u32::from(is(a.fct_us, b.fct_us));
                }
                (None, None) => break,
                _ => return None,
            }
        }
        if members > 0 {
            shares.push(f64::from(of) / f64::from(members));
        }
    }
    let (mean, interval) = t_interval(&shares).filter(|_| shares.len() >= SEEDS_FOR_T)?;
    let (low, _) = interval?;
    (low > 0.5).then_some(mean)
}

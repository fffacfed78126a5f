//! Sentences that compare the designs of one setting with the baseline.

use crate::analysis::{Analysis, Row};
use crate::caveat::Caveat;
use crate::estimate::{Ratio, SEEDS_FOR_QUANTILES, TooFew};
use crate::format::{
    Quantity, beyond_gap, count, increase, list, percent_digits, reduction, signed_percent,
};
use crate::group::Group;
use crate::headline::noun_of;
use crate::run::Run;
use crate::same_runs;
use crate::sample::{Metric, Statistic};
use crate::side_effects::SideEffects;
use crate::study::Study;

/// Designs of one setting: the baseline and all designs that are compared with it.
pub(crate) struct DesignComparison<'a> {
    study: &'a Study,
    setting: usize,
    group: Group,
    /// Name of the figure that is compared, such as "the p99 of mice".
    what: String,
    /// Setting of the comparison as text, such as " at load 0.5".
    at: String,
    pub base: &'a Row,
    pub others: Vec<&'a Row>,
}

impl<'a> DesignComparison<'a> {
    /// Returns the comparison for a group. Returns `None` if the baseline has no figures for the group.
    pub fn of(study: &'a Study, setting: usize, group: &Group) -> Option<Self> {
        let analysis = study.analysis();
        let rows = analysis.rows.iter();
        let rows = rows.filter(|row| row.setting == setting && row.group == *group);
        let (base, others): (Vec<&Row>, Vec<&Row>) =
            rows.partition(|row| Some(row.design.as_str()) == study.baseline());
        Some(Self {
            study,
            setting,
            what: p99_name(group),
            at: at(analysis, setting),
            group: group.clone(),
            base: base.first()?,
            others,
        })
    }
}

impl DesignComparison<'_> {
    /// Returns the sentence for a study with a single design, which is not compared with another design.
    pub fn alone(&self) -> String {
        let base = self.base;
        let outcome = base.outcome(Metric::Fct, Statistic::P99);
        match outcome.and_then(Result::ok).filter(|e| e.value.is_finite()) {
            Some(estimate) => format!(
                "{}: {} is {}{} over {} flows; there is no other design to compare with.",
                base.design,
                self.what,
                Quantity::Time.with_interval(estimate.value, estimate.interval),
                self.at,
                count(base.flows as u64)
            ),
            None => format!(
                "{}: {} is unknown{}: {}",
                base.design,
                self.what,
                self.at,
                self.why_unknown()
            ),
        }
    }

    /// Returns the reason why a design, or the design with which it is compared, has no 99th percentile.
    fn why_unknown(&self) -> String {
        let rows = || std::iter::once(&self.base).chain(&self.others);
        let outcomes = rows().filter_map(|row| row.outcome(Metric::Fct, Statistic::P99));
        match outcomes.filter_map(Result::err).next() {
            Some(too_few) => format!("{}.{}", too_few_sentence(too_few), Caveat::TooFew.see()),
            None => "too few flows finished.".to_owned(),
        }
    }

    /// Returns the designs whose ratio to the baseline is known. The fastest design is first.
    fn known(&self) -> Vec<(&Row, Ratio)> {
        let rows = self.others.iter();
        let mut known: Vec<(&Row, Ratio)> = rows
            .filter_map(|row| Some((*row, row.ratio(Metric::Fct, Statistic::P99)?)))
            // The best design is chosen from all designs, so the interval must hold for all comparisons together.
            .map(|(row, ratio)| (row, ratio.corrected(self.others.len())))
            .collect();
        known.sort_by(|a, b| a.1.value.total_cmp(&b.1.value));
        known
    }

    /// Returns the fastest of the designs that are significantly better than the baseline.
    pub fn best(&self) -> Option<(&Row, Ratio)> {
        let mut known = self.known().into_iter();
        known.find(|(_, ratio)| ratio.is_significant() && ratio.value < 1.0)
    }

    /// Returns a sentence about the best design, or a sentence that no design is better than the baseline.
    /// Sentences about worse designs follow.
    pub fn compared(&self) -> Vec<String> {
        let known = self.known();
        let mut sentences = vec![match (self.best(), known.first()) {
            (Some((row, ratio)), _) => format!(
                "{} cuts {} by {}{}{}{}.",
                row.design,
                self.what,
                reduction(ratio),
                self.at,
                self.bytes(row),
                self.side_effects(row).against_a_gain()
            ),
            (None, None) => format!(
                "No result for {}{}: {}",
                self.what,
                self.at,
                self.why_unknown()
            ),
            (None, Some((row, ratio))) => self.none_better(row, *ratio),
        }];
        let without = self.others.iter().filter(|_| known.is_empty());
        sentences.extend(without.filter_map(|row| {
            let (design, noun) = (&row.design, noun_of(&self.group));
            let effects = self.side_effects(row).alone();
            (!effects.is_empty()).then(|| format!("{design} has no p99 of {noun}{effects}."))
        }));
        let base = &self.base.design;
        let named = self.best().or(known.first().copied());
        let named = named.map(|(row, _)| row.design.as_str());
        let significant = known.iter().filter(|(_, ratio)| ratio.is_significant());
        let (better, worse): (Vec<_>, Vec<_>) = significant
            .filter(|(row, _)| Some(row.design.as_str()) != named)
            .partition(|(_, ratio)| ratio.value < 1.0);
        let by = |(row, ratio): &&(&Row, Ratio)| {
            let effects = self.side_effects(row);
            match ratio.value < 1.0 {
                true => {
                    let price = effects.against_a_gain();
                    format!("{} by {}{price}", row.design, reduction(*ratio))
                }
                false => {
                    let gain = effects.against_a_loss();
                    format!("{} by {}{gain}", row.design, increase(*ratio))
                }
            }
        };
        let better: Vec<String> = better.iter().map(by).collect();
        let worse: Vec<String> = worse.iter().map(by).collect();
        if !better.is_empty() {
            sentences.push(format!("Also better than {base}: {}.", list(&better)));
        }
        if !worse.is_empty() {
            sentences.push(format!("Worse than {base}: {}.", list(&worse)));
        }
        let neutral = known
            .iter()
            .filter(|(row, ratio)| !ratio.is_significant() && Some(row.design.as_str()) != named);
        sentences.extend(neutral.filter_map(|(row, _)| {
            let effects = self.side_effects(row).alone();
            let design = &row.design;
            (!effects.is_empty())
                .then(|| format!("{design} does not change it significantly{effects}."))
        }));
        if self.others.len() > 1 && !known.is_empty() {
            let all = match self.others.len() {
                2 => "both".to_owned(),
                count => format!("all {count}"),
            };
            sentences.push(format!(
                "These intervals are corrected for {all} comparisons together."
            ));
        }
        sentences
    }

    /// Returns the sentence for the case that no design is significantly better.
    /// `row` is the row of the design that is nearest to a significant gain.
    fn none_better(&self, row: &Row, ratio: Ratio) -> String {
        let (what, base, at) = (&self.what, &self.base.design, &self.at);
        let (design, effects) = (&row.design, self.side_effects(row));
        if ratio.is_significant() {
            let (by, gain) = (increase(ratio), effects.against_a_loss());
            return match self.others.len() {
                1 => format!("{design} raises {what} by {by} against {base}{at}{gain}."),
                _ => format!(
                    "No design cuts {what} against {base}{at}: {design} raises it least, by {by}{gain}."
                ),
            };
        }
        let effects = effects.alone();
        // The figure of equal runs is exact, so significance has no meaning.
        if same_runs::nothing_varies(self.study, self.setting) {
            let change = signed_percent((ratio.value - 1.0) * 100.0);
            return format!("{design} changes {what} against {base}{at} by {change} %{effects}.");
        }
        let reason = match ratio.interval {
            Some((low, high)) => format!(
                "with {design}, the change is between {} % and {} % (95 % CI)",
                signed_percent((low - 1.0) * 100.0),
                signed_percent((high - 1.0) * 100.0)
            ),
            None => format!("{design} ran different seeds, so that there is no interval"),
        };
        format!("No design cuts {what} against {base}{at} significantly: {reason}{effects}.")
    }

    fn side_effects(&self, row: &Row) -> SideEffects {
        SideEffects::of(self.study, &self.group, row, self.base)
    }

    /// Returns the change of the bytes on the wire as text, such as `, for 1.3 % more bytes`.
    fn bytes(&self, row: &Row) -> String {
        let Some(change) = bytes_change(self.study, self.setting, &row.design, &self.base.design)
        else {
            return String::new();
        };
        let percent = percent_digits(change.abs() * 100.0);
        match change {
            _ if percent == "0.0" => ", for the same number of bytes".to_owned(),
            c if c > 0.0 => format!(", for {percent} % more bytes"),
            _ => format!(", for {percent} % fewer bytes"),
        }
    }

    /// Returns a sentence about the designs whose 99th percentile lies on a gap of the distribution.
    /// The sentence also gives figures that are stable in spite of the gap.
    pub fn on_gaps(&self) -> Option<String> {
        let rows = || std::iter::once(&self.base).chain(&self.others);
        let gaps = rows().filter_map(|row| {
            let gap = row.estimate(Metric::Fct, Statistic::P99)?.gap?;
            let time = |us| Quantity::Time.text(us);
            Some(format!(
                "{} ({} to {})",
                row.design,
                time(gap.from),
                time(gap.to)
            ))
        });
        let gaps: Vec<String> = gaps.collect();
        // The shares are grouped by threshold.
        // If the p99 of the first design lies on the gap, all designs have the same threshold.
        let mut thresholds: Vec<(f64, Vec<String>)> = Vec::new();
        for row in &self.others {
            let ratio = row.ratio(Metric::Fct, Statistic::P99);
            let Some(beyond) = ratio.and_then(|ratio| ratio.beyond_gap) else {
                continue;
            };
            let at = beyond.threshold;
            if thresholds.last().is_none_or(|(last, _)| *last != at) {
                let first = format!(
                    "{} % of {} take longer than {} with {}",
                    percent_digits(beyond.base.value * 100.0),
                    noun_of(&self.group),
                    Quantity::Time.tick(at),
                    self.base.design
                );
                thresholds.push((at, vec![first]));
            }
            if let Some((_, shares)) = thresholds.last_mut() {
                shares.push(beyond_gap(&beyond, &row.design));
            }
        }
        let shares: Vec<String> = thresholds.iter().map(|(_, s)| s.join(", ")).collect();
        let instead = match shares.is_empty() {
            true => String::new(),
            false => format!(" More stable: {}.", shares.join("; ")),
        };
        (!gaps.is_empty()).then(|| {
            format!(
                "Gap: with {}, the p99 lies where almost no flow ends, so that chance decides on it.{instead}{}",
                list(&gaps),
                Caveat::Gap.see()
            )
        })
    }

    /// Returns the effect of replication on designs whose transport without replication is not the baseline.
    pub fn over_own_transport(&self) -> Option<String> {
        let comparison: Vec<String> = self
            .others
            .iter()
            .filter_map(|row| {
                let ratio = row.over_own_transport(Metric::Fct, Statistic::P99)?;
                let ratio = ratio.corrected(self.others.len());
                let transport = crate::analysis::own_transport(&row.design)?;
                Some(match (ratio.is_significant(), ratio.value < 1.0) {
                    (true, true) => {
                        format!(
                            "{} cuts it by {} against {transport}",
                            row.design,
                            reduction(ratio)
                        )
                    }
                    (true, false) => {
                        format!(
                            "{} raises it by {} against {transport}",
                            row.design,
                            increase(ratio)
                        )
                    }
                    (false, _) => {
                        format!(
                            "{} does not change it significantly against {transport}",
                            row.design
                        )
                    }
                })
            })
            .collect();
        (!comparison.is_empty())
            .then(|| format!("Compared with their own transports: {}.", list(&comparison)))
    }
}

fn p99_name(group: &Group) -> String {
    match group.short.as_str() {
        "mice" => "the p99 of mice".to_owned(),
        _ if group.is_of_flows() => "the p99 of all flows".to_owned(),
        _ => format!("the p99 of {}", group.noun()),
    }
}

fn at(analysis: &Analysis, setting: usize) -> String {
    let here = &analysis.settings[setting];
    let load = here
        .load
        .map_or_else(String::new, |load| format!(" at load {load}"));
    let parameters = here.parameters.iter().map(ToString::to_string);
    let at = match (load.is_empty(), &parameters.collect::<Vec<_>>()[..]) {
        (_, []) => load,
        (true, parameters) => format!(" at {}", parameters.join(", ")),
        (false, parameters) => format!("{load}, {}", parameters.join(", ")),
    };
    match analysis.has_several_places() {
        true => format!("{at} on {} with {}", here.topology, here.workload),
        false => at,
    }
}

/// Returns a sentence with the number of seeds and flows that a percentile needs.
fn too_few_sentence(too_few: TooFew) -> String {
    let would_do = count(too_few.seeds_that_would_do as u64);
    let seeds = match too_few.seeds {
        1 => "1 seed was run".to_owned(),
        n => format!("{} seeds were run", count(n as u64)),
    };
    match too_few.seeds < SEEDS_FOR_QUANTILES {
        true if too_few.seeds_that_would_do == SEEDS_FOR_QUANTILES => {
            format!("{seeds}, and a percentile needs {SEEDS_FOR_QUANTILES}")
        }
        _ => format!(
            "{seeds}, with {} beyond the percentile; it needs {SEEDS_FOR_QUANTILES} seeds and ten \
             flows beyond it, and {would_do} seeds of this size are enough",
            flows(too_few.beyond)
        ),
    }
}

/// Returns a number of flows with its noun.
fn flows(n: usize) -> String {
    match n {
        1 => "1 flow".to_owned(),
        n => format!("{} flows", count(n as u64)),
    }
}

/// Returns the relative change of the bytes on the wire against the baseline, over the seeds that both designs ran.
/// If a run does not count bytes on the wire, or counts bytes of flows that only carry load, the payload is compared.
/// A design whose last flow takes longer has more flows that only carry load.
pub(crate) fn bytes_change(study: &Study, setting: usize, design: &str, base: &str) -> Option<f64> {
    let cells = study.cells();
    let cell = cells.get(setting)?;
    let (mut ours, mut theirs) = (0u64, 0u64);
    for run in cell.runs(design) {
        let seed = run.summary.key.seed;
        let same_seed = cell.runs(base).iter().find(|r| r.summary.key.seed == seed);
        if let Some(base_run) = same_seed {
            let is_on_wire =
                |run: &Run| run.summary.sent.bytes > 0 && run.summary.load_only.unwrap_or(0) == 0;
            let on_wire = is_on_wire(run) && is_on_wire(base_run);
            let bytes = |summary: &tailcut_record::RunSummary| match (on_wire, &summary.requests) {
                (true, _) => summary.sent.bytes,
                (false, Some(requests)) => requests.sent_bytes,
                (false, None) => summary.payload_sent_bytes,
            };
            ours += bytes(&run.summary);
            theirs += bytes(&base_run.summary);
        }
    }
    (ours > 0 && theirs > 0).then(|| ours as f64 / theirs as f64 - 1.0)
}

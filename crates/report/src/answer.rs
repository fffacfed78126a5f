//! Answer in one sentence, and the facts that qualify it.

use crate::analysis::{Analysis, Row};
use crate::axes::Axis;
use crate::estimate::{Ratio, SEEDS_FOR_QUANTILES, TooFew};
use crate::format::{Quantity, beyond_gap, count, list, percent_digits, signed_percent};
use crate::group::Group;
use crate::headline::{headline_group, noun_of};
use crate::sample::{Metric, Statistic};
use crate::study::Study;
use crate::timers;
use crate::{
    capacity, fixed_flows, ineffective_keys, lateness, load, measure, network, same_runs,
    sensitivity, sessions,
};

/// Number of flows from which a p99 has ten flows beyond it.
const FLOWS_FOR_P99: usize = 1_000;

/// Returns the answer: the design that reduces the 99th percentile of mice, by how much, and at which price; or that no
/// design does. In a study without mice, the answer is about all flows.
pub fn answer(study: &Study) -> String {
    sentences(study).join(" ")
}

/// Returns the answer for a terminal: the answer in the first line, and each fact that qualifies it in a further line.
pub fn text_answer(study: &Study) -> String {
    sentences(study).join("\n- ")
}

/// Returns the sentences of the answer. The first one is the answer itself.
pub(crate) fn sentences(study: &Study) -> Vec<String> {
    let analysis = study.analysis();
    let headlines = analysis.headlines();
    let Some((&first, others)) = headlines.split_first() else {
        return vec![match study.manifest().runs.len() {
            0 => "This study has no runs.".to_owned(),
            planned => format!("None of the {planned} planned runs has finished."),
        }];
    };
    let mut sentences = sentences_at(study, first);
    // Designs are compared only within one setting.
    let of_others = others.iter().filter_map(|&other| {
        let sentences = sentences_at(study, other);
        sentences.into_iter().next()
    });
    sentences.extend(of_others);
    sentences.extend(ineffective_keys::sentences(study));
    sentences.extend(sensitivity::sentence(study));
    sentences.extend(missing_sentence(study));
    sentences
}

/// Returns the sentences about the place with this headline.
pub(crate) fn sentences_at(study: &Study, setting: usize) -> Vec<String> {
    let analysis = study.analysis();
    let group = headline_group(analysis, setting);
    let rows: Vec<&Row> = analysis.rows(setting, &group).collect();
    let Some((base, others)) = split_baseline(&rows, study.baseline()) else {
        let none = || "The runs of the first design have no flows.".to_owned();
        return vec![measure::sentence(study, setting).unwrap_or_else(none)];
    };
    let comparison = DesignComparison {
        study,
        setting,
        what: p99_name(&group),
        noun: noun_of(&group),
        at: at(analysis, setting),
        base,
        others,
    };
    // Of few equal runs, the p99 is known exactly, but it is only the slowest flow.
    let is_thin = base.estimate(Metric::Fct, Statistic::P99).is_none()
        || same_runs::nothing_varies(study, setting) && base.flows < FLOWS_FOR_P99;
    let mut sentences = match load::overload(study, setting) {
        Some(overload) => vec![overload],
        None if fixed_flows::comes_first(study, setting, is_thin) => {
            fixed_flows::sentences(study, setting)
        }
        None if comparison.others.is_empty() => vec![comparison.alone()],
        None => {
            let mut sentences = comparison.compared();
            sentences.extend(comparison.over_own_transport());
            sentences.extend(comparison.on_gaps());
            if let Some((best, _)) = comparison.best() {
                sentences.extend(sweep_sentences(study, setting, &group, &best.design));
            }
            sentences.extend(of_kinds_of_sessions(study, setting));
            sentences.extend(fixed_flows::sentences(study, setting));
            sentences
        }
    };
    // Invalid runs come before the answer, because the answer depends on them.
    match lateness::sentence(study, setting) {
        Some(warning) if warning.starts_with("NOT") => sentences.insert(0, warning),
        sound => sentences.extend(sound),
    }
    sentences.extend(same_runs::sentence(study, setting));
    sentences.extend(measure::sentence(study, setting));
    sentences.extend(capacity::sentences(study, setting));
    sentences.extend(fixed_flows::same_flows_sentence(study, setting));
    sentences.extend(unfinished_sentence(&rows));
    sentences.extend(timers::sentences(study, setting, &group));
    sentences.extend(load::sentences(study, setting));
    sentences.extend(network::failure_sentence(study, setting));
    sentences
}

/// Returns the first sentence on each kind of sessions, if the answer is about all sessions.
fn of_kinds_of_sessions(study: &Study, setting: usize) -> Vec<String> {
    let analysis = study.analysis();
    let kinds = sessions::kinds(study, setting);
    let sentences = kinds.iter().filter_map(|group| {
        let rows: Vec<&Row> = analysis.rows(setting, group).collect();
        let (base, others) = split_baseline(&rows, study.baseline())?;
        let comparison = DesignComparison {
            study,
            setting,
            what: p99_name(group),
            noun: noun_of(group),
            at: at(analysis, setting),
            base,
            others,
        };
        comparison.compared().into_iter().next()
    });
    sentences.collect()
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

fn split_baseline<'a>(rows: &[&'a Row], name: Option<&str>) -> Option<(&'a Row, Vec<&'a Row>)> {
    let base = rows.iter().find(|row| Some(row.design.as_str()) == name)?;
    let others = rows.iter().filter(|row| row.design != base.design);
    Some((base, others.copied().collect()))
}

struct DesignComparison<'a> {
    study: &'a Study,
    setting: usize,
    what: String,
    /// Noun for the flows of the figures, such as "mice".
    noun: &'static str,
    at: String,
    base: &'a Row,
    others: Vec<&'a Row>,
}

impl DesignComparison<'_> {
    /// Returns the figure of a single design, which has no other design to be compared with.
    fn alone(&self) -> String {
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
                "{}: {} is unknown{}: {}.",
                base.design,
                self.what,
                self.at,
                self.why_unknown()
            ),
        }
    }

    /// Returns why a design, or the design that it is compared with, has no 99th percentile.
    fn why_unknown(&self) -> String {
        let rows = || std::iter::once(&self.base).chain(&self.others);
        let outcomes = rows().filter_map(|row| row.outcome(Metric::Fct, Statistic::P99));
        match outcomes.filter_map(Result::err).next() {
            Some(too_few) => too_few_sentence(too_few),
            None => "too few flows finished".to_owned(),
        }
    }

    /// Returns the designs whose ratio to the baseline is known, the fastest first.
    fn known(&self) -> Vec<(&Row, Ratio)> {
        let rows = self.others.iter();
        let mut known: Vec<(&Row, Ratio)> = rows
            .filter_map(|row| Some((*row, row.ratio(Metric::Fct, Statistic::P99)?)))
            // The best design is picked from all of them, so that its interval must hold for all comparisons together.
            .map(|(row, ratio)| (row, ratio.corrected(self.others.len())))
            .collect();
        known.sort_by(|a, b| a.1.value.total_cmp(&b.1.value));
        known
    }

    /// Returns the fastest of the designs that are significantly better than the baseline.
    fn best(&self) -> Option<(&Row, Ratio)> {
        let mut known = self.known().into_iter();
        known.find(|(_, ratio)| ratio.is_significant() && ratio.value < 1.0)
    }

    /// Returns the sentence on the best design, or that there is none, and then the designs that are worse.
    fn compared(&self) -> Vec<String> {
        let known = self.known();
        let mut sentences = vec![match (self.best(), known.first()) {
            (Some((row, ratio)), _) => format!(
                "{} cuts {} by {}{}{}.",
                row.design,
                self.what,
                reduction(ratio),
                self.at,
                self.price(row)
            ),
            (None, None) => format!(
                "No result for {}{}: {}.",
                self.what,
                self.at,
                self.why_unknown()
            ),
            (None, Some((row, ratio))) => self.none_better(row, *ratio),
        }];
        let base = &self.base.design;
        let best = self.best().map(|(row, _)| row.design.as_str());
        let significant = known.iter().filter(|(_, ratio)| ratio.is_significant());
        let (better, worse): (Vec<_>, Vec<_>) = significant
            .filter(|(row, _)| Some(row.design.as_str()) != best)
            .partition(|(_, ratio)| ratio.value < 1.0);
        let by = |(row, ratio): &&(&Row, Ratio)| match ratio.value < 1.0 {
            true => format!("{} by {}", row.design, reduction(*ratio)),
            false => format!("{} by {}", row.design, increase(*ratio)),
        };
        let better: Vec<String> = better.iter().map(by).collect();
        let worse: Vec<String> = worse.iter().map(by).collect();
        if !better.is_empty() {
            sentences.push(format!("Also better than {base}: {}.", list(&better)));
        }
        if !worse.is_empty() {
            sentences.push(format!("Worse than {base}: {}.", list(&worse)));
        }
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

    /// Returns the sentence for the case that no design is significantly better. `row` belongs to the design
    /// that is nearest to a significant gain.
    fn none_better(&self, row: &Row, ratio: Ratio) -> String {
        if ratio.is_significant() {
            return format!(
                "No design cuts {} against {}{}.",
                self.what, self.base.design, self.at
            );
        }
        let change = signed_percent((ratio.value - 1.0) * 100.0);
        let (what, base, at) = (&self.what, &self.base.design, &self.at);
        // The figure of equal runs is exact, so that there is no significance.
        if same_runs::nothing_varies(self.study, self.setting) {
            let design = &row.design;
            return format!("{design} changes {what} against {base}{at} by {change} %.");
        }
        let reason = match ratio.interval {
            Some((low, high)) => format!(
                "95 % CI {} to {}",
                signed_percent((low - 1.0) * 100.0),
                signed_percent((high - 1.0) * 100.0)
            ),
            None => "no interval: the designs ran different seeds".to_owned(),
        };
        format!(
            "No design cuts {what} against {base}{at} significantly: {} changes it by {change} % ({reason}).",
            row.design
        )
    }

    /// Returns the price in bytes, such as `, for 1.3 % more bytes`.
    fn price(&self, row: &Row) -> String {
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

    /// Returns the designs whose 99th percentile lies on a gap of the distribution, and the figures that are stable
    /// there.
    fn on_gaps(&self) -> Option<String> {
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
        // The shares are grouped by threshold. If the first design's p99 lies on the gap, all have the same threshold.
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
                    self.noun,
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
            false => format!(
                " The shares beyond the gap are more stable: {}.",
                shares.join("; ")
            ),
        };
        (!gaps.is_empty()).then(|| {
            format!(
                "With {}, the p99 lies on a gap of the distribution, where almost no flow ends. Chance decides on \
                 which side of the gap it falls.{instead}",
                list(&gaps)
            )
        })
    }

    /// Returns the effect of replication for designs whose own transport is not the baseline.
    fn over_own_transport(&self) -> Option<String> {
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

/// Returns the seeds and flows that a percentile needs.
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
            "{seeds}, with {} flows beyond the percentile; it needs {SEEDS_FOR_QUANTILES} seeds and ten \
             flows beyond it, and {would_do} seeds of this size are enough",
            count(too_few.beyond as u64)
        ),
    }
}

/// Returns a reduction, such as `41 % (95 % CI 35 to 46)`.
fn reduction(ratio: Ratio) -> String {
    percent_with_interval(
        1.0 - ratio.value,
        ratio.interval.map(|(low, high)| (1.0 - high, 1.0 - low)),
    )
}

fn increase(ratio: Ratio) -> String {
    percent_with_interval(
        ratio.value - 1.0,
        ratio.interval.map(|(low, high)| (low - 1.0, high - 1.0)),
    )
}

fn percent_with_interval(share: f64, interval: Option<(f64, f64)>) -> String {
    let percent = |share: f64| percent_digits(share * 100.0);
    match interval {
        Some((low, high)) => format!(
            "{} % (95 % CI {} to {})",
            percent(share),
            percent(low),
            percent(high)
        ),
        None => format!("{} %", percent(share)),
    }
}

/// Returns the relative change of the bytes on the wire against the baseline, over the seeds that both ran. Uses the
/// payload if a run does not count the bytes on the wire.
pub(crate) fn bytes_change(study: &Study, setting: usize, design: &str, base: &str) -> Option<f64> {
    let cells = study.cells();
    let cell = cells.get(setting)?;
    let (mut ours, mut theirs) = (0u64, 0u64);
    for run in cell.runs(design) {
        let seed = run.summary.key.seed;
        let same_seed = cell.runs(base).iter().find(|r| r.summary.key.seed == seed);
        if let Some(base_run) = same_seed {
            let on_wire = run.summary.sent.bytes > 0 && base_run.summary.sent.bytes > 0;
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

/// Returns the sentences on the best design over each axis of the place.
fn sweep_sentences(study: &Study, setting: usize, group: &Group, design: &str) -> Vec<String> {
    let axes = study.analysis().axes(setting);
    let sentences = axes.iter();
    sentences
        .filter_map(|axis| over_axis(study, setting, group, design, axis))
        .collect()
}

fn over_axis(
    study: &Study,
    setting: usize,
    group: &Group,
    design: &str,
    axis: &Axis,
) -> Option<String> {
    let analysis = study.analysis();
    let along = analysis.along(setting, axis).into_iter();
    // An overloaded setting has no gain.
    let sound = along.filter(|&(_, index)| !load::is_overloaded(study, index));
    let known: Vec<(&str, Option<Ratio>)> = sound
        .filter_map(|(place, index)| {
            let row = analysis.row(index, group, design)?;
            let ratio = row.ratio(Metric::Fct, Statistic::P99);
            Some((axis.values[place].text.as_str(), ratio))
        })
        .collect();
    if known.len() < 2 {
        return None;
    }
    let changes: Vec<f64> = known
        .iter()
        .filter_map(|(_, ratio)| Some((ratio.as_ref()?.value - 1.0) * 100.0))
        .collect();
    let low = changes.iter().copied().fold(f64::INFINITY, f64::min);
    let high = changes.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let doubtful: Vec<String> = known
        .iter()
        .filter(|(_, ratio)| ratio.is_none_or(|ratio| !ratio.is_significant()))
        .map(|(value, _)| (*value).to_owned())
        .collect();
    let of = |several: bool| match (axis.is_load(), several) {
        (true, true) => "loads ",
        (true, false) => "load ",
        (false, _) => "",
    };
    let doubt = match doubtful.len() {
        0 => String::new(),
        1 => format!(
            "; at {}{} the change is not significant",
            of(false),
            doubtful[0]
        ),
        _ => format!(
            "; at {}{} the change is not significant",
            of(true),
            list(&doubtful)
        ),
    };
    let (first, last) = (known.first()?.0, known.last()?.0);
    let (low, high) = (signed_percent(low), signed_percent(high));
    let change = match low == high {
        true => format!("{low} %"),
        false => format!("between {low} % and {high} %"),
    };
    let span = match axis.is_numeric() {
        true => format!("From {} {first} to {last}", axis.name()),
        false => format!("Over the {} values of {}", known.len(), axis.name()),
    };
    Some(format!("{span} {design} changes it by {change}{doubt}."))
}

fn unfinished_sentence(rows: &[&Row]) -> Option<String> {
    let left: Vec<String> = rows
        .iter()
        .filter(|row| row.unfinished > 0)
        .map(|row| {
            let (unfinished, flows) = (row.unfinished as u64, row.flows as u64);
            format!(
                "{} of {} with {}",
                count(unfinished),
                count(flows),
                row.design
            )
        })
        .collect();
    (!left.is_empty()).then(|| {
        format!(
            "Unfinished at the end of their run, and counted as the slowest: {}.",
            list(&left)
        )
    })
}

fn missing_sentence(study: &Study) -> Option<String> {
    let missing = study.missing_runs();
    let planned = study.manifest().runs.len();
    (missing > 0).then(|| {
        format!("{missing} of the {planned} planned runs did not finish and are left out.")
    })
}

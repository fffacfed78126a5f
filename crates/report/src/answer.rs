//! The answer in a sentence, and what has to be said beside it.

use crate::analysis::{Analysis, Row};
use crate::axes::Axis;
use crate::estimate::{Ratio, SEEDS_FOR_QUANTILES, TooFew};
use crate::format::{Quantity, beyond_gap, count, list, percent_digits, signed_percent};
use crate::group::Group;
use crate::headline::{headline_group, things_of};
use crate::sample::{Metric, Statistic};
use crate::study::Study;
use crate::timers;
use crate::{knee, load, network, population, punctuality, sensitivity, sessions, unmoved};

/// The answer: which design cuts the 99th percentile of mice, by how much, and at what price; or
/// that none does. Where a study has no mice, the same of all flows.
pub fn answer(study: &Study) -> String {
    sentences(study).join(" ")
}

/// The answer for a terminal: what it is in the first line, what has to be said beside it in a line
/// each.
pub fn text_answer(study: &Study) -> String {
    sentences(study).join("\n- ")
}

/// The answer, a sentence each; the first says it.
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
    // Each place is compared within itself.
    let of_others = others.iter().filter_map(|&other| {
        let sentences = sentences_at(study, other);
        sentences.into_iter().next()
    });
    sentences.extend(of_others);
    sentences.extend(unmoved::sentences(study));
    sentences.extend(sensitivity::sentence(study));
    sentences.extend(missing_sentence(study));
    sentences
}

/// What there is to say of the place with this headline.
pub(crate) fn sentences_at(study: &Study, setting: usize) -> Vec<String> {
    let analysis = study.analysis();
    let group = headline_group(analysis, setting);
    let rows: Vec<&Row> = analysis.rows(setting, &group).collect();
    let Some((base, others)) = split_baseline(&rows, study.baseline()) else {
        return vec!["No run of the first design has any flow.".to_owned()];
    };
    let claims = Claims {
        study,
        setting,
        what: tail_of(&group),
        things: things_of(&group),
        at: at(analysis, setting),
        base,
        others,
    };
    let is_thin = base.estimate(Metric::Fct, Statistic::P99).is_none();
    let mut sentences = match load::overload(study, setting) {
        Some(overload) => vec![overload],
        None if population::comes_first(study, setting, is_thin) => {
            population::sentences(study, setting)
        }
        None if claims.others.is_empty() => vec![claims.alone()],
        None => {
            let mut sentences = claims.compared();
            sentences.extend(claims.over_own_transport());
            sentences.extend(claims.on_gaps());
            if let Some((best, _)) = claims.best() {
                sentences.extend(sweep_sentences(study, setting, &group, &best.design));
            }
            sentences.extend(of_kinds_of_sessions(study, setting));
            sentences.extend(population::sentences(study, setting));
            sentences
        }
    };
    match punctuality::sentence(study, setting) {
        Some(warning) if warning.starts_with("NOT") => sentences.insert(0, warning),
        sound => sentences.extend(sound),
    }
    sentences.extend(knee::sentences(study, setting));
    sentences.extend(population::same_flows_sentence(study, setting));
    sentences.extend(unfinished_sentence(&rows));
    sentences.extend(timers::sentences(study, setting, &group));
    sentences.extend(load::sentences(study, setting));
    sentences.extend(network::trouble_sentence(study, setting));
    sentences
}

/// The first sentence on each kind of sessions, where the answer is about all of them.
fn of_kinds_of_sessions(study: &Study, setting: usize) -> Vec<String> {
    let analysis = study.analysis();
    let kinds = sessions::kinds(study, setting);
    let sentences = kinds.iter().filter_map(|group| {
        let rows: Vec<&Row> = analysis.rows(setting, group).collect();
        let (base, others) = split_baseline(&rows, study.baseline())?;
        let claims = Claims {
            study,
            setting,
            what: tail_of(group),
            things: things_of(group),
            at: at(analysis, setting),
            base,
            others,
        };
        claims.compared().into_iter().next()
    });
    sentences.collect()
}

fn tail_of(group: &Group) -> String {
    match group.short.as_str() {
        "mice" => "the p99 of mice".to_owned(),
        _ if group.is_of_flows() => "the p99 of all flows".to_owned(),
        _ => format!("the p99 of {}", group.things()),
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

struct Claims<'a> {
    study: &'a Study,
    setting: usize,
    what: String,
    /// What the figures are over: "mice".
    things: &'static str,
    at: String,
    base: &'a Row,
    others: Vec<&'a Row>,
}

impl Claims<'_> {
    /// One design has nothing to be compared with: its own figure.
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

    /// Why a design, or the one that it is compared with, has no 99th percentile.
    fn why_unknown(&self) -> String {
        let rows = || std::iter::once(&self.base).chain(&self.others);
        let outcomes = rows().filter_map(|row| row.outcome(Metric::Fct, Statistic::P99));
        match outcomes.filter_map(Result::err).next() {
            Some(too_few) => too_few_sentence(too_few),
            None => "too few flows finished".to_owned(),
        }
    }

    /// The designs whose ratio to the baseline is known, the fastest first.
    fn known(&self) -> Vec<(&Row, Ratio)> {
        let rows = self.others.iter();
        let mut known: Vec<(&Row, Ratio)> = rows
            .filter_map(|row| Some((*row, row.ratio(Metric::Fct, Statistic::P99)?)))
            // Whichever comes out best was picked from all of them.
            .map(|(row, ratio)| (row, ratio.corrected(self.others.len())))
            .collect();
        known.sort_by(|a, b| a.1.value.total_cmp(&b.1.value));
        known
    }

    /// The fastest of the designs that are better beyond doubt.
    fn best(&self) -> Option<(&Row, Ratio)> {
        let mut known = self.known().into_iter();
        known.find(|(_, ratio)| ratio.is_significant() && ratio.value < 1.0)
    }

    /// The best design, else that there is none; then those that are worse.
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
                "Nothing can be said about {}{}: {}.",
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
                "These intervals hold for {all} comparisons together."
            ));
        }
        sentences
    }

    /// What is said when no design is better beyond doubt; `row` comes nearest.
    fn none_better(&self, row: &Row, ratio: Ratio) -> String {
        if ratio.is_significant() {
            return format!(
                "No design cuts {} against {}{}.",
                self.what, self.base.design, self.at
            );
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
            "No design cuts {} against {}{} by more than chance explains: {} changes it by {} % ({reason}).",
            self.what,
            self.base.design,
            self.at,
            row.design,
            signed_percent((ratio.value - 1.0) * 100.0)
        )
    }

    /// `, for 1.3 % more bytes`.
    fn price(&self, row: &Row) -> String {
        let Some(change) = bytes_change(self.study, self.setting, &row.design, &self.base.design)
        else {
            return String::new();
        };
        let percent = percent_digits(change.abs() * 100.0);
        match change {
            _ if percent == "0.0" => ", for as many bytes".to_owned(),
            c if c > 0.0 => format!(", for {percent} % more bytes"),
            _ => format!(", for {percent} % fewer bytes"),
        }
    }

    /// Which 99th percentiles lie on a gap of the distribution, and what is stable there.
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
        // A sentence for each threshold: one where the first design's p99 lies on the gap.
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
                    self.things,
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
            false => format!(" More stable are the shares beyond: {}.", shares.join("; ")),
        };
        (!gaps.is_empty()).then(|| {
            format!(
                "The p99 lies on a gap of the distribution, where next to no flow ends, with {}: which side of it \
                 the figure is on is chance.{instead}",
                list(&gaps)
            )
        })
    }

    /// What replication adds to a transport that is not the baseline's.
    fn over_own_transport(&self) -> Option<String> {
        let claims: Vec<String> = self
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
        (!claims.is_empty()).then(|| format!("Each against its own transport: {}.", list(&claims)))
    }
}

/// What a percentile takes.
fn too_few_sentence(too_few: TooFew) -> String {
    let would_do = count(too_few.seeds_that_would_do as u64);
    let seeds = match too_few.seeds {
        1 => "1 seed was run".to_owned(),
        n => format!("{} seeds were run", count(n as u64)),
    };
    match too_few.seeds < SEEDS_FOR_QUANTILES {
        true if too_few.seeds_that_would_do == SEEDS_FOR_QUANTILES => {
            format!("{seeds}, and a percentile takes {SEEDS_FOR_QUANTILES}")
        }
        _ => format!(
            "{seeds}, with {} flows beyond the percentile; it takes {SEEDS_FOR_QUANTILES} seeds and ten \
             flows beyond it, and {would_do} seeds of this size would do",
            count(too_few.beyond as u64)
        ),
    }
}

/// `41 % (95 % CI 35 to 46)`.
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

/// Bytes on the wire over the baseline's, less one: over the seeds that both ran. Payload where a
/// run does not count the wire's.
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

/// How the best design fares over each axis of the place.
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
            "Not finished when their run ended, and counted as slower than every other flow: {}.",
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

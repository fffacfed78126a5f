//! Answer of a study: one sentence, and further sentences that qualify it.

use crate::analysis::Row;
use crate::axes::Axis;
use crate::caveat::Caveat;
use crate::design_comparison::DesignComparison;
use crate::estimate::Ratio;
use crate::format::{count, list, signed_percent};
use crate::group::Group;
use crate::headline::headline_group;
use crate::sample::{Metric, Statistic};
use crate::screen::Screen;
use crate::study::Study;
use crate::timers;
use crate::{
    capacity, fixed_flows, ineffective_keys, lateness, load, measure, network, same_runs,
    sensitivity, sessions,
};

/// Minimum number of flows for a p99. Of 1,000 flows, ten are beyond the p99.
const FLOWS_FOR_P99: usize = 1_000;

/// Returns the answer as one sentence.
/// The sentence names the design that reduces the 99th percentile of mice, the reduction, and its price.
/// If no design reduces this percentile, the sentence reports this.
/// In a study without mice, the answer describes all flows.
pub fn answer(study: &Study) -> String {
    sentences(study).join(" ")
}

/// Returns the answer for a terminal.
/// The first line is the answer, and each further line is a sentence that qualifies it.
pub fn text_answer(study: &Study) -> String {
    text_answer_on(study, Screen::default())
}

/// Returns the text of [`text_answer`] with line breaks for a screen.
pub fn text_answer_on(study: &Study, screen: Screen) -> String {
    let sentences = sentences(study).into_iter().enumerate();
    let lines = sentences.map(|(index, sentence)| match index {
        0 => screen.bold(&screen.wrap(&sentence, "")),
        _ => screen.wrap(&format!("- {sentence}"), "  "),
    });
    lines.collect::<Vec<String>>().join("\n")
}

/// Returns the sentences of the answer. The first sentence is the answer itself.
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

/// Returns the sentences for the topology and workload of this headline.
pub(crate) fn sentences_at(study: &Study, setting: usize) -> Vec<String> {
    let analysis = study.analysis();
    let group = headline_group(analysis, setting);
    let Some(comparison) = DesignComparison::of(study, setting, &group) else {
        let none = || "The runs of the first design have no flows.".to_owned();
        return vec![measure::sentence(study, setting).unwrap_or_else(none)];
    };
    let base = comparison.base;
    // If all runs are equal, the p99 is exact. With few flows, this p99 is only the time of the slowest flow.
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
    // A sentence about invalid runs comes before the answer, because the answer depends on the invalid runs.
    match lateness::sentence(study, setting) {
        Some(warning) if warning.starts_with("NOT") => sentences.insert(0, warning),
        sound => sentences.extend(sound),
    }
    sentences.extend(same_runs::sentence(study, setting));
    sentences.extend(measure::sentence(study, setting));
    sentences.extend(measure::load_only_sentence(study, setting));
    sentences.extend(capacity::sentences(study, setting));
    sentences.extend(fixed_flows::same_flows_sentence(study, setting));
    let rows: Vec<&Row> = analysis.rows(setting, &group).collect();
    sentences.extend(unfinished_sentence(&rows));
    sentences.extend(timers::sentences(study, setting, &group));
    sentences.extend(load::sentences(study, setting));
    sentences.extend(network::failure_sentence(study, setting));
    sentences
}

/// If the answer describes all sessions, returns the first sentence about each kind of sessions.
fn of_kinds_of_sessions(study: &Study, setting: usize) -> Vec<String> {
    let kinds = sessions::kinds(study, setting);
    let sentences = kinds.iter().filter_map(|group| {
        let comparison = DesignComparison::of(study, setting, group)?;
        comparison.compared().into_iter().next()
    });
    sentences.collect()
}

/// Returns the sentences about the best design over each axis of the swept settings.
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
    // No gain is shown for an overloaded setting.
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
            "Unfinished, and counted as the slowest: {}.{}",
            list(&left),
            Caveat::Unfinished.see()
        )
    })
}

fn missing_sentence(study: &Study) -> Option<String> {
    let missing = study.missing_runs();
    let planned = study.manifest().runs.len();
    (missing > 0).then(|| {
        let see = Caveat::MissingRuns.see();
        format!("Missing runs: {missing} of the {planned} planned runs did not finish.{see}")
    })
}

//! Flow sizes and traces. Both can be in files.

use super::topology::Network;
use crate::error::{Location, Outcome, ScenarioError};
use crate::scenario::{Scenario, Table, text_of};
use std::path::Path;
use std::sync::Arc;
use tailcut_sim::workload::{CoflowTrace, Error, Limits, SizeDistribution, TextError, Trace};
use tailcut_units::{Bytes, Time};

pub fn sizes(scenario: &Scenario, table: &Table) -> Outcome<(String, Arc<SizeDistribution>)> {
    let name = table
        .text("sizes")
        .unwrap_or_else(|| "websearch".to_owned());
    let Some(file) = name.strip_prefix("table:") else {
        if table.given("table_unit").is_some() {
            return Err(table.error("table_unit", name, "only with sizes = \"table:FILE\""));
        }
        let sizes = SizeDistribution::named(&name).map_err(|error| sizes_error(table, &error))?;
        return Ok((name, Arc::new(sizes)));
    };
    let (shown, bytes) = scenario.read_file(file, "sizes", table.place_of("sizes"))?;
    let text = text_of(&shown, bytes, "text in UTF-8")?;
    let unit = table.get::<Option<Bytes>>("table_unit").map(|unit| unit.0);
    let sizes = SizeDistribution::from_table(&text, unit).map_err(|error| match error {
        Error::Text(error) => text_error(&shown, &error),
        other => table.error("sizes", other.to_string(), ""),
    })?;
    Ok((format!("table:{}", stem(file)), Arc::new(sizes)))
}

fn sizes_error(table: &Table, error: &Error) -> Box<ScenarioError> {
    match error {
        Error::UnknownSizes { found, alike } => {
            let names = tailcut_sim::workload::sizes::NAMES
                .iter()
                .map(|named| named.name);
            let names: Vec<&str> = names
                .chain(["fixed:BYTES", "uniform:MIN:MAX", "table:FILE"])
                .collect();
            let meant = alike.first().map(|&name| name.to_owned());
            table
                .error("sizes", found.clone(), names.join(", "))
                .meaning(meant)
        }
        Error::SizesParameter { found, allowed } => table.error("sizes", found.clone(), *allowed),
        other => table.error("sizes", other.to_string(), ""),
    }
}

pub fn trace(
    scenario: &Scenario,
    table: &Table,
    network: &Network,
) -> Outcome<(String, Arc<Trace>)> {
    let Some(file) = table.text("file") else {
        return Err(table.error("file", "nothing", "the path of a CSV of flows"));
    };
    let limits = Limits {
        hosts: network.built.hosts(),
        paths: u16::try_from(network.built.paths).unwrap_or(u16::MAX),
    };
    let read_whole = || {
        let (shown, bytes) = scenario.read_file(&file, "file", table.place_of("file"))?;
        let trace = Trace::parse(&bytes, limits).map_err(|error| text_error(&shown, &error))?;
        shortened_trace(scenario, trace)
    };
    let top = scenario.table("");
    let span = top.given("duration").map(|entry| &entry.value);
    let is_flag = matches!(table.place_of("file"), Location::Flag(_));
    let (hosts, paths, flows) = (limits.hosts, limits.paths, top.get::<Option<u64>>("flows"));
    let key = format!("{file:?} {is_flag} {hosts} {paths} {span:?} {flows:?}");
    let trace = scenario.traces.get_or_read(key, read_whole)?;
    Ok((format!("trace:{}", stem(&file)), trace))
}

/// Returns the coflows that a file contains, and their name.
pub fn coflows(
    scenario: &Scenario,
    table: &Table,
    network: &Network,
) -> Outcome<(String, Arc<CoflowTrace>)> {
    let Some(file) = table.text("file") else {
        return Err(table.error("file", "nothing", "the path of a file of coflows"));
    };
    let (shown, bytes) = scenario.read_file(&file, "file", table.place_of("file"))?;
    let text = text_of(&shown, bytes, "text in UTF-8")?;
    let trace = CoflowTrace::parse(&text, network.built.hosts(), table.get("size_factor"))
        .map_err(|error| text_error(&shown, &error))?;
    let top = scenario.table("");
    let (until, most) = cut_of(scenario);
    let all = trace.len();
    let trace = trace.until(until, most);
    if trace.is_empty() {
        let found = format!("a duration in which none of the file's {all} coflows arrives");
        return Err(top.error("duration", found, "a longer duration"));
    }
    Ok((format!("coflows:{}", stem(&file)), Arc::new(trace)))
}

/// Returns the limits that the study sets for a trace: the end of the arrivals, and the largest number of flows.
fn cut_of(scenario: &Scenario) -> (Time, usize) {
    let top = scenario.table("");
    let duration = top.given("duration").map(|_| top.get("duration"));
    let until = duration.map_or(Time::MAX, |duration| Time::ZERO + duration);
    let at_most = top.get::<u64>("flows");
    (until, usize::try_from(at_most).unwrap_or(usize::MAX))
}

/// Shortens a trace to the duration and the number of flows of the study.
/// A limit that the study does not set has no effect.
fn shortened_trace(scenario: &Scenario, trace: Trace) -> Outcome<Trace> {
    let top = scenario.table("");
    let all = trace.flows().len();
    let (until, most) = cut_of(scenario);
    let shortened = trace.until(until, most);
    if shortened.flows().is_empty() {
        let found = format!("a duration in which none of the trace's {all} flows starts");
        return Err(top.error("duration", found, "a longer duration"));
    }
    Ok(shortened)
}

fn text_error(file: &str, error: &TextError) -> Box<ScenarioError> {
    let key = match error.column.is_empty() {
        true => String::new(),
        false => format!("column {}", error.column),
    };
    let place = Location::line(file, error.line);
    ScenarioError::new(&place, key, error.found.clone(), error.allowed.clone())
}

fn stem(file: &str) -> String {
    let stem = Path::new(file).file_stem();
    stem.map_or_else(
        || file.to_owned(),
        |stem| stem.to_string_lossy().into_owned(),
    )
}

//! A scenario as one text, with whatever was set in it, and the files that it names.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use tailcut_scenario::schema::{Key, SECTIONS};
use tailcut_scenario::sim::RunConfig;
use tailcut_scenario::units::{Duration, Rate};
use tailcut_scenario::{Entry, Outcome, Place, Raw, Scenario, ScenarioError, Study, Table, Value};

/// The name that errors give the text.
const FILE: &str = "resolved";

/// The text of a scenario, which anybody can run who has its [`files`].
///
/// # Errors
/// What is wrong with the scenario.
pub fn resolved(scenario: &Scenario) -> Outcome<String> {
    let study = Study::of(scenario)?;
    let is_swept = |run: &RunConfig| !run.parameters.is_empty() || run.called.is_some();
    if study.runs.iter().any(is_swept) {
        let found = "a sweep, or a design with settings of its own";
        let allowed = "a scenario of one value a key, as a text";
        return Err(ScenarioError::new(&scenario.start, "", found, allowed));
    }
    let mut lines = lines(scenario, &study);
    // What a scenario only starts from may have no reader; in a text of its own that is refused.
    loop {
        let text = joined(&lines);
        let read = Scenario::parse(FILE, &scenario.directory, &text)?;
        let refused = match Study::of(&with_files(read, files(scenario)?)) {
            Ok(_) => return Ok(text),
            Err(refused) => refused,
        };
        match refused.place {
            Place::Line { line, .. } if lines.get(line - 1).is_some_and(|line| line.is_start) => {
                lines.remove(line - 1);
            }
            _ => return Err(refused),
        }
    }
}

fn joined(lines: &[Line]) -> String {
    let text: Vec<&str> = lines.iter().map(|line| line.text.as_str()).collect();
    text.join("\n") + "\n"
}

/// The scenario with files that it brings along.
fn with_files(scenario: Scenario, files: BTreeMap<String, Arc<[u8]>>) -> Scenario {
    files.into_iter().fold(scenario, |scenario, (path, bytes)| {
        scenario.with_file(path, bytes)
    })
}

/// The files that a scenario names, by the paths under which it does.
///
/// # Errors
/// One that cannot be read.
pub fn files(scenario: &Scenario) -> Outcome<BTreeMap<String, Arc<[u8]>>> {
    let mut files = BTreeMap::new();
    for table in scenario.tables("workload") {
        for (key, entry) in table.entries() {
            let (Value::Text(text), "file" | "sizes") = (&entry.value, key) else {
                continue;
            };
            let path = match key {
                "file" => text,
                _ => match text.strip_prefix("table:") {
                    Some(path) => path,
                    None => continue,
                },
            };
            let bytes = match scenario.file(path) {
                Some(bytes) => Arc::clone(bytes),
                None => read(scenario, table, key, path)?.into(),
            };
            files.insert(path.to_owned(), bytes);
        }
    }
    Ok(files)
}

fn read(scenario: &Scenario, table: &Table, key: &str, path: &str) -> Outcome<Vec<u8>> {
    let place = match table.place_of(key) {
        Place::Flag(_) => Path::new(path).to_owned(),
        Place::Line { .. } | Place::Value => scenario.directory.join(path),
    };
    std::fs::read(&place).map_err(|error| {
        let found = format!("'{}', which cannot be read ({error})", place.display());
        table.error(key, found, "a file that can be read")
    })
}

struct Line {
    text: String,
    /// Whether it is only what a user starts from.
    is_start: bool,
}

/// One line a key, its tables in order.
fn lines(scenario: &Scenario, study: &Study) -> Vec<Line> {
    let said = |text: String| Line {
        text,
        is_start: false,
    };
    let mut lines = vec![said(format!("name = {}", quoted(&study.name)))];
    // A network's name follows from where it was written, so it is said.
    let is_named = scenario.table("topology").given("name").is_some();
    let network = study.runs.first().map(|run| run.key().topology);
    let mut network = network.filter(|_| !is_named);
    for section in SECTIONS {
        let is_network = section.name == "topology";
        let empty = scenario.table("topology");
        let mut tables = scenario.tables(section.name);
        if is_network && tables.is_empty() {
            tables.push(&empty);
        }
        for table in tables {
            if !section.name.is_empty() {
                lines.push(said(section.header()));
            }
            if let Some(name) = network.take_if(|_| is_network) {
                lines.push(Line {
                    text: format!("name = {}", quoted(&name)),
                    is_start: true,
                });
            }
            for (name, entry) in table.entries() {
                // The study's name stands above.
                if section.name.is_empty() && name == "name" {
                    continue;
                }
                let key = section.key(name).expect("a key of the schema");
                lines.push(Line {
                    text: format!("{name} = {}", literal(key, entry)),
                    is_start: entry.is_start,
                });
            }
        }
    }
    lines
}

/// The value as TOML: the first way to write it that reads as the same.
fn literal(key: &Key, entry: &Entry) -> String {
    let forms = forms(&entry.value);
    let reads_so = |raw: &&Raw| key.read(raw).as_ref() == Some(&entry.value);
    forms.iter().find(reads_so).map_or_else(
        || unreachable!("{} = {:?} has no text", key.name, entry.value),
        toml,
    )
}

fn forms(value: &Value) -> Vec<Raw> {
    let text = |text: String| Raw::Text(text);
    let list = |items: Vec<Raw>| vec![Raw::Array(items)];
    match value {
        Value::Word(word) => vec![text((*word).to_owned())],
        Value::Text(said) => vec![text(said.clone())],
        Value::Flag(flag) => vec![Raw::Flag(*flag)],
        Value::Count(count) => vec![
            Raw::Number(count.to_string()),
            text(format!("{count} packets")),
            text(format!("{count} segments")),
        ],
        Value::Number(number) => vec![Raw::Number(format!("{number:?}"))],
        Value::Duration(span) => vec![text(span_in_units(*span))],
        Value::Rate(rate) => vec![text(format!("{}bps", rate.as_bps()))],
        Value::Bytes(bytes) => vec![text(format!("{}B", bytes.0))],
        Value::Rates(points) => {
            let point = |(size, rate): &(u32, Rate)| text(format!("{size}:{}bps", rate.as_bps()));
            let one = points
                .first()
                .map(|(_, rate)| text(format!("{}bps", rate.as_bps())));
            let mut forms = list(points.iter().map(point).collect());
            forms.extend(one);
            forms
        }
        Value::Texts(texts) => list(texts.iter().map(|said| text(said.clone())).collect()),
        Value::Sizes(sizes) => list(
            sizes
                .iter()
                .map(|size| text(format!("{}B", size.0)))
                .collect(),
        ),
        Value::Numbers(numbers) => {
            let number = |number: &f64| Raw::Number(format!("{number:?}"));
            list(numbers.iter().map(number).collect())
        }
        Value::Pairs(pairs) => {
            let number = |host: u32| Raw::Number(host.to_string());
            let pair = |&(from, to): &(u32, u32)| Raw::Array(vec![number(from), number(to)]);
            list(pairs.iter().map(pair).collect())
        }
    }
}

/// A span in the largest unit that leaves it whole.
fn span_in_units(span: Duration) -> String {
    const UNITS: [(u64, &str); 4] = [
        (1_000_000_000_000, "s"),
        (1_000_000_000, "ms"),
        (1_000_000, "us"),
        (1_000, "ns"),
    ];
    let ps = span.as_ps();
    let whole = UNITS.iter().find(|(unit, _)| ps.is_multiple_of(*unit));
    whole.map_or_else(
        || format!("{ps}ps"),
        |(unit, name)| format!("{}{name}", ps / unit),
    )
}

fn toml(raw: &Raw) -> String {
    match raw {
        Raw::Text(text) | Raw::Argument(text) => quoted(text),
        Raw::Number(number) => number.clone(),
        Raw::Flag(flag) => flag.to_string(),
        Raw::Array(items) => {
            let items: Vec<String> = items.iter().map(toml).collect();
            format!("[{}]", items.join(", "))
        }
        Raw::Other(name) => unreachable!("no value is {name}"),
    }
}

/// A TOML string on one line.
fn quoted(text: &str) -> String {
    // JSON's escapes are TOML's, but for one letter that JSON leaves as it is.
    serde_json::Value::from(text)
        .to_string()
        .replace('\u{7f}', "\\u007f")
}

//! A scenario as one text, with whatever was set in it.

use std::collections::BTreeMap;
use std::sync::Arc;
use tailcut_scenario::schema::{Section, TOP, sections};
use tailcut_scenario::sim::RunConfig;
use tailcut_scenario::{Outcome, Place, Scenario, ScenarioError, Study, Value};

/// The name that errors give the text.
const FILE: &str = "resolved";

/// The text of a scenario, which anybody can run who has its [files](Scenario::files).
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
        let refused = match Study::of(&with_files(read, scenario.files()?)) {
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
    let name_of = |section: &Section, name: String| {
        let key = section.key("name").expect("a key of the schema");
        format!("name = {}", key.literal(&Value::Text(name)))
    };
    let mut lines = vec![said(name_of(TOP, study.name.clone()))];
    // A network's name follows from where it was written, so it is said.
    let is_named = scenario.table("topology").given("name").is_some();
    let network = study.runs.first().map(|run| run.key().topology);
    let mut network = network.filter(|_| !is_named);
    for section in sections() {
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
                    text: name_of(section, name),
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
                    text: format!("{name} = {}", key.literal(&entry.value)),
                    is_start: entry.is_start,
                });
            }
        }
    }
    lines
}

//! Text of a scenario, with all values that were set.

use std::collections::BTreeMap;
use std::sync::Arc;
use tailcut_scenario::schema::{Section, TOP, sections};
use tailcut_scenario::sim::RunConfig;
use tailcut_scenario::{Location, Outcome, Scenario, ScenarioError, Study, Value};

/// Name of the text that errors use.
const FILE: &str = "resolved";

/// Returns a scenario as one text. With this text and the [files](Scenario::files), any user can run the scenario.
///
/// # Errors
/// The scenario has an error, or it sweeps keys.
pub fn resolved(scenario: &Scenario) -> Outcome<String> {
    let study = Study::of(scenario)?;
    let is_swept = |run: &RunConfig| !run.parameters.is_empty() || run.called.is_some();
    if study.runs.iter().any(is_swept) {
        let found = "a sweep, or a design with its own settings";
        let allowed = "a scenario of one value a key, as a text";
        return Err(ScenarioError::new(&scenario.start, "", found, allowed));
    }
    let mut lines = lines(scenario, &study);
    // A starting scenario may contain keys that no design reads.
    // In the resolved text a key that no design reads is an error, so its line is removed.
    loop {
        let text = joined(&lines);
        let read = Scenario::parse(FILE, &scenario.directory, &text)?;
        let refused = match Study::of(&with_files(read, scenario.files()?)) {
            Ok(_) => return Ok(text),
            Err(refused) => refused,
        };
        match refused.place {
            Location::Line { line, .. }
                if lines
                    .get(line - 1)
                    .is_some_and(|line| line.is_starting_value) =>
            {
                lines.remove(line - 1);
            }
            _ => return Err(refused),
        }
    }
}

fn joined(lines: &[KeyLine]) -> String {
    let text: Vec<&str> = lines.iter().map(|line| line.text.as_str()).collect();
    text.join("\n") + "\n"
}

/// Returns the scenario with the contents of the given files.
fn with_files(scenario: Scenario, files: BTreeMap<String, Arc<[u8]>>) -> Scenario {
    files.into_iter().fold(scenario, |scenario, (path, bytes)| {
        scenario.with_file(path, bytes)
    })
}

struct KeyLine {
    text: String,
    /// Whether the value comes from the starting scenario, and not from the user.
    is_starting_value: bool,
}

/// Returns one line for each key. Tables keep their order.
fn lines(scenario: &Scenario, study: &Study) -> Vec<KeyLine> {
    let said = |text: String| KeyLine {
        text,
        is_starting_value: false,
    };
    let name_of = |section: &Section, name: String| {
        let key = section.key("name").expect("a key of the schema");
        format!("name = {}", key.literal(&Value::Text(name)))
    };
    let mut lines = vec![said(name_of(TOP, study.name.clone()))];
    // The default name of a network may depend on its position in the file, so the text contains the name.
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
                lines.push(KeyLine {
                    text: name_of(section, name),
                    is_starting_value: true,
                });
            }
            for (name, entry) in table.entries() {
                // The text already contains the study's name.
                if section.name.is_empty() && name == "name" {
                    continue;
                }
                let key = section.key(name).expect("a key of the schema");
                lines.push(KeyLine {
                    text: format!("{name} = {}", key.literal(&entry.value)),
                    is_starting_value: entry.is_starting_value,
                });
            }
        }
    }
    lines
}

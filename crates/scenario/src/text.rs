//! Scenario as one text with its files. The text includes values that flags or programs set.
//! From the text and the files, any process can make the same runs.

use crate::error::{Location, Outcome, ScenarioError};
use crate::scenario::{Entry, Scenario};
use crate::schema::{Key, Section, sections};
use crate::sweep::{Axis, OwnDesign};
use crate::value::{Raw, Value, shortened};
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use tailcut_units::{Bytes, Rate};

/// Scenario as a text in TOML, and the data that the text cannot express.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ScenarioText {
    /// Text in TOML. The files that the text names are separate: [`Scenario::files`].
    pub text: String,
    /// Default name of the scenario, if the text contains none.
    pub name: String,
    /// Paths of keys that are only starting values. It is not an error if no component reads a starting value.
    pub start: Vec<String>,
}

impl ScenarioText {
    /// Parses the text. The scenario gives the same study as the original scenario.
    ///
    /// # Errors
    /// The text is not a scenario (the error names `file` and the line), or a path is not a key.
    pub fn read(&self, file: &str) -> Outcome<Scenario> {
        let mut scenario = Scenario::parse(file, "", &self.text)?;
        scenario.name.clone_from(&self.name);
        for path in &self.start {
            scenario.mark_as_starting_value(path)?;
        }
        Ok(scenario)
    }
}

impl Scenario {
    /// Returns the scenario as a text, including values that flags or programs set.
    pub fn to_text(&self) -> ScenarioText {
        let mut text = String::new();
        let mut start = Vec::new();
        for section in sections() {
            for (index, table) in self.tables(section.name).into_iter().enumerate() {
                if !section.name.is_empty() {
                    text.push_str(&format!("\n{}\n", section.header()));
                }
                for (name, entry) in table.entries() {
                    let path = path_of(section, index, name);
                    // A sweep replaces the value of its key.
                    if self.sweep.axes.iter().any(|a| a.path.to_string() == path) {
                        continue;
                    }
                    text.push_str(&format!("{name} = {}\n", self.entry(section, name, entry)));
                    if entry.is_starting_value {
                        start.push(path);
                    }
                }
            }
            if section.name.is_empty() {
                text.push_str(&self.sweep_text());
            }
        }
        ScenarioText {
            text,
            name: self.name.clone(),
            start,
        }
    }

    fn entry(&self, section: &Section, name: &str, entry: &Entry) -> String {
        let Some(key) = section.key(name) else {
            return toml(&Raw::Text(String::new()));
        };
        match &entry.value {
            Value::Texts(names) if name == "designs" && !self.own_designs.is_empty() => {
                let one = |name: &String| {
                    let own = self.own_designs.iter().find(|own| own.name == *name);
                    own.map_or_else(|| quoted(name), own_design)
                };
                format!("[{}]", names.iter().map(one).collect::<Vec<_>>().join(", "))
            }
            value => key.literal(value),
        }
    }

    fn sweep_text(&self) -> String {
        if self.sweep.is_empty() {
            return String::new();
        }
        let mut text = "\n[sweep]\n".to_owned();
        for Axis { path, values, .. } in &self.sweep.axes {
            let values: Vec<String> = values.iter().map(|one| path.key.literal(one)).collect();
            let path = quoted(&path.to_string());
            text.push_str(&format!("{path} = [{}]\n", values.join(", ")));
        }
        let zips = self.sweep.zips().map(|keys| {
            let keys: Vec<String> = keys.iter().map(|key| quoted(&key.to_string())).collect();
            format!("[{}]", keys.join(", "))
        });
        let zips: Vec<String> = zips.collect();
        if !zips.is_empty() {
            text.push_str(&format!("zip = [{}]\n", zips.join(", ")));
        }
        text
    }

    /// Returns the content of all files that the scenario names, by path.
    ///
    /// # Errors
    /// A file cannot be read.
    pub fn files(&self) -> Outcome<BTreeMap<String, Arc<[u8]>>> {
        let mut files = BTreeMap::new();
        let mut read = |key: &str, value: &Value, place: &Location| -> Outcome<()> {
            if let Some(file) = file_of(key, value) {
                let bytes = match self.file(file) {
                    Some(bytes) => Arc::clone(bytes),
                    None => self.read_file(file, key, place)?.1.into(),
                };
                files.insert(file.to_owned(), bytes);
            }
            Ok(())
        };
        for table in self.tables(WORKLOAD) {
            for (key, entry) in table.entries() {
                read(key, &entry.value, &entry.place)?;
            }
        }
        let axes = self.sweep.axes.iter();
        for axis in axes.filter(|axis| axis.path.section.name == WORKLOAD) {
            for value in &axis.values {
                read(axis.path.key.name, value, &axis.place)?;
            }
        }
        Ok(files)
    }

    /// Reads a file that a key of a workload names. `place` is the place where the key was written.
    /// Also returns the name of the file for errors.
    pub(crate) fn read_file(
        &self,
        file: &str,
        key: &str,
        place: &Location,
    ) -> Outcome<(String, Vec<u8>)> {
        if let Some(bytes) = self.file(file) {
            return Ok((file.to_owned(), bytes.to_vec()));
        }
        // The path in a flag starts at the working directory of the command, not at the directory of the scenario.
        let path = match place {
            Location::Line { .. } | Location::Value => self.directory.join(file),
            Location::Flag(_) => Path::new(file).to_owned(),
        };
        let shown = path.display().to_string();
        match std::fs::read(&path) {
            Ok(bytes) => Ok((shown, bytes)),
            Err(error) => {
                let found = format!("'{}', which cannot be read ({error})", shortened(&shown));
                let key = format!("{WORKLOAD}.{key}");
                let allowed = "a file that can be read";
                Err(ScenarioError::new(place, key, found, allowed))
            }
        }
    }
}

/// Section whose keys can name files.
const WORKLOAD: &str = "workload";

/// Returns the file that a key of a workload names, if any.
fn file_of<'v>(key: &str, value: &'v Value) -> Option<&'v str> {
    match (key, value) {
        ("file", Value::Text(file)) => Some(file),
        ("sizes", Value::Text(text)) => text.strip_prefix("table:"),
        _ => None,
    }
}

fn path_of(section: &Section, index: usize, key: &str) -> String {
    match index {
        0 => section.path(key),
        _ => format!("{}[{index}].{key}", section.name),
    }
}

fn own_design(own: &OwnDesign) -> String {
    let mut parts = vec![
        format!("name = {}", quoted(&own.name)),
        format!("design = {}", quoted(&own.design)),
    ];
    for (path, value) in &own.settings {
        let path_text = quoted(&path.to_string());
        parts.push(format!("{path_text} = {}", path.key.literal(value)));
    }
    format!("{{ {} }}", parts.join(", "))
}

impl Key {
    /// Formats a value of the key as TOML on one line. The first form that parses to the same value is used.
    pub fn literal(&self, value: &Value) -> String {
        let forms = self.forms(value);
        let reads_so = |raw: &&Raw| self.read(raw).as_ref() == Some(value);
        let form = forms.iter().find(reads_so).or(forms.first());
        form.map(toml).unwrap_or_default()
    }

    /// Returns the possible ways to write a value. The key accepts at least one of them.
    fn forms(&self, value: &Value) -> Vec<Raw> {
        let list = |items: Vec<Raw>| vec![Raw::Array(items)];
        let written = || Raw::Text(value.written(self.kind));
        let bytes = |bytes: &Bytes| Raw::Text(format!("{}B", bytes.0));
        let number = |number: &f64| Raw::Number(format!("{number:?}"));
        match value {
            Value::Word(_) | Value::Text(_) | Value::Duration(_) | Value::Rate(_) => {
                vec![written()]
            }
            Value::Flag(flag) => vec![Raw::Flag(*flag)],
            Value::Count(count) => vec![Raw::Number(count.to_string()), written()],
            Value::Number(one) => vec![number(one)],
            Value::Bytes(one) => vec![bytes(one)],
            Value::Rates(points) => {
                let point =
                    |(size, rate): &(u32, Rate)| Raw::Text(format!("{size}:{}bps", rate.as_bps()));
                vec![Raw::Array(points.iter().map(point).collect()), written()]
            }
            Value::Texts(texts) => list(texts.iter().cloned().map(Raw::Text).collect()),
            Value::Sizes(sizes) => list(sizes.iter().map(bytes).collect()),
            Value::Numbers(numbers) => list(numbers.iter().map(number).collect()),
            Value::Pairs(pairs) => {
                let number = |host: u32| Raw::Number(host.to_string());
                let pair = |&(from, to): &(u32, u32)| Raw::Array(vec![number(from), number(to)]);
                list(pairs.iter().map(pair).collect())
            }
        }
    }
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
        // The value of a key never has this form.
        Raw::Other(name) => quoted(name),
    }
}

/// Formats a TOML string on one line.
fn quoted(text: &str) -> String {
    // TOML uses the escapes of JSON, except for DEL (U+007F), which JSON does not escape.
    serde_json::Value::from(text)
        .to_string()
        .replace('\u{7f}', "\\u007f")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::builtin::SCENARIOS;
    use crate::study::Study;

    /// Returns the configurations of a scenario's runs.
    fn runs(scenario: &Scenario) -> Vec<String> {
        let study = Study::of(scenario).expect("a study");
        let origins = study.origins("").into_iter();
        origins.map(|origin| origin.config).collect()
    }

    /// Returns the scenario as another process receives it: only the text and the files are copied.
    fn elsewhere(scenario: &Scenario) -> Scenario {
        let read = scenario.to_text().read("plan").expect("a scenario");
        let files = scenario.files().expect("files").into_iter();
        files.fold(read, |read, (path, bytes)| read.with_file(path, bytes))
    }

    #[test]
    fn the_text_of_every_built_in_scenario_makes_its_runs() {
        for built_in in &SCENARIOS {
            let scenario = built_in.parse().expect(built_in.name);
            let again = elsewhere(&scenario);
            assert_eq!(runs(&again), runs(&scenario), "{}", built_in.name);
            assert_eq!(again.to_text(), scenario.to_text(), "{}", built_in.name);
            assert_eq!(again.to_json(), scenario.to_json(), "{}", built_in.name);
        }
    }

    #[test]
    fn every_default_is_read_as_it_is_written() {
        for section in sections() {
            let keys = section.keys.iter();
            for (key, value) in keys.filter_map(|key| Some((key, key.default_value()?))) {
                let header = match section.name {
                    "" => String::new(),
                    _ => section.header(),
                };
                let text = format!("{header}\n{} = {}\n", key.name, key.literal(&value));
                let read = Scenario::from_text(&text).expect(&text);
                assert_eq!(
                    read.table(section.name).value(key.name),
                    Some(value),
                    "{text}"
                );
            }
        }
    }

    #[test]
    fn what_flags_have_set_is_in_the_text() {
        let mut scenario = SCENARIOS[0].parse().expect("compare");
        scenario.mark_as_starting_values();
        let flag = Location::flag("--set");
        crate::replace_topology(&mut scenario, "fat-tree:k=4,rate=2.5Gbps", &flag).expect("-t");
        let sizes = [
            "tcp",
            "dctcp:tcp.dctcp_gain=0.01,queue.mark_above=30KB",
            "pias",
        ];
        scenario
            .put("designs", &sizes.into(), &flag)
            .expect("designs");
        for (key, values) in [
            ("queue.limit", "50,100,200KB"),
            ("tcp.min_rto", "1ms..9ms:4ms"),
            ("tcp.initial_rto", "3,15,30ms"),
            ("pias.thresholds", "10KB,1MB;100KB,10MB"),
            ("topology.core_rate", "2.5Gbps,5Gbps"),
        ] {
            scenario.sweep(key, values, &flag).expect(key);
        }
        let zipped = ["tcp.min_rto", "tcp.initial_rto"];
        scenario.zip(&zipped, &flag).expect("a zip");
        // A key that is only a starting value may have no reader.
        let text = scenario.to_text();
        assert!(text.start.contains(&"sample_every".to_owned()), "{text:?}");
        assert_eq!(runs(&elsewhere(&scenario)), runs(&scenario));
    }

    #[test]
    fn a_design_with_a_name_of_its_own_and_a_swept_trace_come_along() {
        let dir = tempfile::tempdir().expect("a directory");
        for (name, bytes) in [("a.csv", 2920), ("b.csv", 1460)] {
            let rows = format!("start_ns,src,dst,bytes\n0,0,1,{bytes}\n");
            std::fs::write(dir.path().join(name), rows).expect("a file");
        }
        let text = "designs = [\"tcp\", { name = \"small\", design = \"dctcp\", \
                    \"tcp.dctcp_gain\" = 0.01 }]\n[[workload]]\nkind = \"trace\"\nfile = \"a.csv\"\n";
        let mut scenario = Scenario::parse("s.toml", dir.path(), text).expect("a scenario");
        assert_eq!(runs(&elsewhere(&scenario)), runs(&scenario));
        // The path in a flag starts at the working directory.
        let swept = [dir.path().join("a.csv"), dir.path().join("b.csv")];
        let swept = swept.map(|path| path.display().to_string()).join(",");
        let flag = Location::flag("--sweep");
        scenario
            .sweep("workload.file", &swept, &flag)
            .expect("a sweep");
        let (before, away) = (runs(&scenario), elsewhere(&scenario));
        drop(dir);
        assert_eq!(runs(&away), before);
    }
}

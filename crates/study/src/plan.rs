//! Plan of a study: its scenario, and the cases that follow from it.

use crate::error::Error;
use crate::holder::now;
use crate::layout::{FILES, PLAN};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fs;
use std::io::Write;
use std::path::Path;
use tailcut_record::{self as record, Fingerprint, Origin, RunKey, SCHEMA_VERSION, TableFormat};
use tailcut_scenario::{Scenario, ScenarioText, Study};

/// Version of the plan's format. A reader refuses any other version.
pub const PLAN_FORMAT: u32 = 1;

/// Contents of `plan.json`.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Plan {
    /// Format version of the program that wrote the plan: [`PLAN_FORMAT`].
    pub format: u32,
    /// Version of the records of runs: [`SCHEMA_VERSION`] of the program that wrote the plan.
    pub record_format: u32,
    /// Program that planned the study.
    #[serde(flatten)]
    pub by: Program,
    /// Time when the plan was made: RFC 3339, UTC.
    pub planned_at: String,
    /// Name of the study.
    pub name: String,
    /// Description of the study. May be empty.
    pub about: String,
    /// First seed of the study.
    pub seed: u64,
    /// Format of the tables: `parquet` or `csv`.
    pub tables: String,
    /// Scenario of the study. Every process that runs cases derives the same runs from this scenario.
    pub scenario: PlannedScenario,
    /// All keys of the scenario with their values, as in manifests.
    pub config: serde_json::Value,
    /// Cases, by index.
    pub cases: Vec<PlannedCase>,
}

/// Identity of a program.
#[derive(Clone, PartialEq, Eq, Default, Debug, Serialize, Deserialize)]
pub struct Program {
    /// Version of the program.
    pub version: String,
    /// Identity of the executable file (see [`identity`](crate::identity)).
    pub build: String,
    /// Command line, one argument per element.
    pub command_line: Vec<String>,
}

/// Scenario with all files that it reads.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct PlannedScenario {
    /// Name of the scenario, if its text does not contain one.
    pub name: String,
    /// Text in TOML, with the values that flags have set.
    pub text: String,
    /// Keys whose values come from a template. It is not an error if no component reads a key of the template.
    pub start: Vec<String>,
    /// Files that the scenario reads, by the paths in its text.
    /// The value is the hash of the file's bytes, which is also the name of the copy in `files/`.
    pub files: BTreeMap<String, String>,
}

/// Planned run.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct PlannedCase {
    /// Hash of the case's content: 32 hexadecimal digits.
    pub hash: String,
    /// Key of the run.
    #[serde(flatten)]
    pub key: RunKey,
    /// Expected CPU time in seconds. `None` if it was not estimated.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpu_seconds: Option<f64>,
}

/// Plan that has not been written yet.
#[derive(Debug)]
pub struct Draft {
    /// Plan of the study.
    pub plan: Plan,
    /// Runs of the plan, in the order of the cases.
    pub study: Study,
    /// Bytes of the scenario's files, by their hashes.
    pub(crate) files: BTreeMap<String, Vec<u8>>,
}

impl Draft {
    /// Plans a scenario. `by` is the program that plans.
    ///
    /// # Errors
    /// An error in the scenario; one of its files cannot be read.
    /// [`Error::Changed`] if the plan's text of the scenario results in other runs than the scenario itself.
    pub fn of(scenario: &Scenario, by: Program) -> Result<Self, Error> {
        let ScenarioText { text, name, start } = scenario.to_text();
        let mut files = BTreeMap::new();
        let mut named = BTreeMap::new();
        for (path, bytes) in scenario.files()? {
            let hash = hash_of(&bytes);
            files.insert(hash.clone(), bytes.to_vec());
            named.insert(path, hash);
        }
        let study = Study::of(scenario)?;
        let plan = Plan {
            format: PLAN_FORMAT,
            record_format: SCHEMA_VERSION,
            by,
            planned_at: now(),
            name: study.name.clone(),
            about: study.about.clone(),
            seed: study.seed,
            tables: study.format.extension().to_owned(),
            scenario: PlannedScenario {
                name,
                text,
                start,
                files: named,
            },
            config: study.config.clone(),
            cases: (0..study.runs.len())
                .filter_map(|run| case_of(&study, run))
                .collect(),
        };
        let draft = Self { plan, study, files };
        draft.check()?;
        Ok(draft)
    }

    /// Checks that another process will derive the same runs from the plan.
    /// Only runs with the first seed are compared, because all seeds have the same configuration.
    fn check(&self) -> Result<(), Error> {
        let bytes = |hash: &String| Ok(self.files.get(hash).cloned().unwrap_or_default());
        let again = self.plan.scenario.study("plan", bytes)?;
        let first = self
            .plan
            .cases
            .iter()
            .take_while(|case| case.key.seed == self.plan.seed);
        for (place, case) in first.enumerate() {
            if case_of(&again, place).is_none_or(|made| made.hash != case.hash) {
                return Err(Error::Changed {
                    path: self.plan.name.clone().into(),
                    case: place,
                });
            }
        }
        Ok(())
    }
}

impl PlannedScenario {
    /// Returns the study of the scenario. `place` names the scenario in errors.
    /// `bytes` returns the bytes of a file by its hash.
    fn study(
        &self,
        place: &str,
        bytes: impl Fn(&String) -> Result<Vec<u8>, Error>,
    ) -> Result<Study, Error> {
        let text = ScenarioText {
            text: self.text.clone(),
            name: self.name.clone(),
            start: self.start.clone(),
        };
        let mut scenario = text.read(place)?;
        for (named, hash) in &self.files {
            scenario = scenario.with_file(named, bytes(hash)?);
        }
        Ok(Study::of(&scenario)?)
    }
}

impl Plan {
    /// Reads the plan of the study in `dir`.
    pub(crate) fn read(dir: &Path) -> Result<Self, Error> {
        let path = dir.join(PLAN);
        if !path.exists() {
            let found = match dir.exists() {
                true => "no plan.json",
                false => "no such directory",
            };
            return Err(Error::NoStudy {
                path: dir.to_owned(),
                found,
            });
        }
        let value: serde_json::Value = record::read_json(&path)?;
        let damaged = |reason: String| {
            Error::Record(record::Error::Damaged {
                path: path.clone(),
                reason,
            })
        };
        // Another version may have other fields, so the version numbers are checked before the fields are read.
        for (name, ours) in [("format", PLAN_FORMAT), ("record_format", SCHEMA_VERSION)] {
            let found = value.get(name).and_then(serde_json::Value::as_u64);
            if found != Some(u64::from(ours)) {
                let found = found.map_or_else(|| "none".to_owned(), |found| found.to_string());
                return Err(damaged(format!(
                    "found {name} {found}; allowed: {ours} for this version, or `tailcut study plan` again"
                )));
            }
        }
        let plan: Self =
            serde_json::from_value(value).map_err(|error| damaged(error.to_string()))?;
        let is_hash = |text: &str| text.len() == 32 && text.chars().all(|c| c.is_ascii_hexdigit());
        let hashes = plan.cases.iter().map(|case| &case.hash);
        // The hashes become file names. Any other text is refused, because it could be a path to another folder.
        match hashes
            .chain(plan.scenario.files.values())
            .find(|hash| !is_hash(hash))
        {
            Some(hash) => {
                let found = tailcut_scenario::shortened(hash);
                Err(damaged(format!(
                    "found '{found}' as a hash; allowed: 32 hexadecimal digits"
                )))
            }
            None => Ok(plan),
        }
    }

    /// Makes the study again from the plan's scenario. `dir` is the directory of the plan.
    pub(crate) fn study(&self, dir: &Path) -> Result<Study, Error> {
        let place = dir.join(PLAN).display().to_string();
        self.scenario.study(&place, |hash| {
            let path = dir.join(FILES).join(hash);
            let bytes = fs::read(&path).map_err(Error::io("read", &path))?;
            if hash_of(&bytes) != *hash {
                let reason = "damaged: it differs from the planned file".to_owned();
                return Err(record::Error::Damaged { path, reason }.into());
            }
            Ok(bytes)
        })
    }

    /// Returns the format of the tables.
    pub(crate) fn table_format(&self) -> TableFormat {
        let is_it = |format: &TableFormat| format.extension() == self.tables;
        TableFormat::ALL.into_iter().find(is_it).unwrap_or_default()
    }
}

/// Returns a run of a study as a case.
pub(crate) fn case_of(study: &Study, run: usize) -> Option<PlannedCase> {
    Some(PlannedCase {
        hash: hash_of_case(&study.origin(run, "")?),
        key: study.runs[run].key(),
        cpu_seconds: None,
    })
}

/// Returns the hash of a case's content.
/// The content is the configuration of the run, and the version of the record's format. The program is not part of it.
pub(crate) fn hash_of_case(origin: &Origin) -> String {
    let content = format!("records {SCHEMA_VERSION}, run {}", origin.config);
    hash_of(content.as_bytes())
}

fn hash_of(bytes: &[u8]) -> String {
    let mut hash = Fingerprint::new();
    // Writing to a fingerprint cannot fail.
    let _ = hash.write_all(bytes);
    hash.digits()
}

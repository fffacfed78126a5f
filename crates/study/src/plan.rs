//! The plan of a study: its scenario, and the cases that follow from it.

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

/// The version of a plan's format. A reader refuses any other.
pub const PLAN_FORMAT: u32 = 1;

/// What `plan.json` holds.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Plan {
    /// [`PLAN_FORMAT`] of the writer.
    pub format: u32,
    /// The version of what runs write: [`SCHEMA_VERSION`] of the writer.
    pub record_format: u32,
    /// Who planned it.
    #[serde(flatten)]
    pub by: Program,
    /// When: RFC 3339, UTC.
    pub planned_at: String,
    /// The study's name.
    pub name: String,
    /// What it shows; may be empty.
    pub about: String,
    /// The first seed.
    pub seed: u64,
    /// The format of its tables: `parquet` or `csv`.
    pub tables: String,
    /// The scenario, from which every process makes the same runs.
    pub scenario: PlannedScenario,
    /// Every key with its value, as manifests keep it.
    pub config: serde_json::Value,
    /// The cases, by their places.
    pub cases: Vec<PlannedCase>,
}

/// A program, as it tells who it is.
#[derive(Clone, PartialEq, Eq, Default, Debug, Serialize, Deserialize)]
pub struct Program {
    /// Its version.
    pub version: String,
    /// The hash of its executable.
    pub build: String,
    /// Its command line, one argument an element.
    pub command_line: Vec<String>,
}

/// A scenario with all that it reads.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct PlannedScenario {
    /// What it is called unless it names itself.
    pub name: String,
    /// Its text in TOML, with whatever flags have set.
    pub text: String,
    /// Keys that it only starts from: nothing need read them.
    pub start: Vec<String>,
    /// Files that it names, by the paths under which it does: the hash of the bytes, which is the name
    /// of the copy in `files/`.
    pub files: BTreeMap<String, String>,
}

/// A run that is planned.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct PlannedCase {
    /// The hash of its content: 32 hexadecimal digits.
    pub hash: String,
    /// What names the run.
    #[serde(flatten)]
    pub key: RunKey,
    /// The CPU time that it is expected to take, in seconds; `None` where nobody has asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpu_seconds: Option<f64>,
}

/// A plan that has not been written yet.
#[derive(Debug)]
pub struct Draft {
    /// The plan.
    pub plan: Plan,
    /// Its runs, in the order of the cases.
    pub study: Study,
    /// The bytes of its files by their hashes.
    pub(crate) files: BTreeMap<String, Vec<u8>>,
}

impl Draft {
    /// The plan of a scenario, planned by `by`.
    ///
    /// # Errors
    /// What is wrong with the scenario, or a file of it that cannot be read; [`Error::Changed`] for one whose
    /// text makes other runs.
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

    /// That another process makes the same runs of the plan; seeds are all alike.
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
    /// The runs that follow from it; `bytes` gives those of a file by their hash.
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
        // The numbers first: what another version wrote may have another shape.
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
        // They are names of files.
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

    /// The runs of the plan in `dir`, made again from its scenario.
    pub(crate) fn study(&self, dir: &Path) -> Result<Study, Error> {
        let place = dir.join(PLAN).display().to_string();
        self.scenario.study(&place, |hash| {
            let path = dir.join(FILES).join(hash);
            let bytes = fs::read(&path).map_err(Error::io("read", &path))?;
            if hash_of(&bytes) != *hash {
                let reason = "damaged: it is not what was planned".to_owned();
                return Err(record::Error::Damaged { path, reason }.into());
            }
            Ok(bytes)
        })
    }

    /// The format of its tables.
    pub(crate) fn table_format(&self) -> TableFormat {
        let is_it = |format: &TableFormat| format.extension() == self.tables;
        TableFormat::ALL.into_iter().find(is_it).unwrap_or_default()
    }
}

/// A run of a study as a case.
pub(crate) fn case_of(study: &Study, run: usize) -> Option<PlannedCase> {
    Some(PlannedCase {
        hash: hash_of_case(&study.origin(run, "")?),
        key: study.runs[run].key(),
        cpu_seconds: None,
    })
}

/// The hash of a case's content: whatever decides its run but for the program, and the format of the record.
pub(crate) fn hash_of_case(origin: &Origin) -> String {
    let content = format!("records {SCHEMA_VERSION}, run {}", origin.config);
    hash_of(content.as_bytes())
}

fn hash_of(bytes: &[u8]) -> String {
    let mut hash = Fingerprint::new();
    // A fingerprint takes everything.
    let _ = hash.write_all(bytes);
    hash.digits()
}

//! Studies: finished runs with their tables, answer and report, and the files that the command also writes.

use crate::columns::Kind;
use crate::record::Finished;
use crate::swept::Swept;
use crate::table::Table;
use crate::{codec, custom, error};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};
use tailcut_scenario::record::{
    Earlier, Error, Manifest, Origin, OutputDir, RunKey, RunState, StoredStudy, TableFormat,
};
use tailcut_scenario::sim::RunConfig;

/// Plan of a study: its runs without their results.
pub struct Plan {
    name: String,
    about: String,
    seed: u64,
    format: TableFormat,
    config: serde_json::Value,
    keys: Vec<RunKey>,
    /// Hash of the configuration of each run.
    origins: Vec<String>,
    /// Whether each run has a part in Python.
    in_python: Vec<bool>,
}

impl Plan {
    pub fn of(study: &tailcut_scenario::Study) -> Self {
        let origins = study.origins("").into_iter();
        let runs = study.runs.iter();
        Self {
            name: study.name.clone(),
            about: study.about.clone(),
            seed: study.seed,
            format: study.format,
            config: study.config.clone(),
            keys: runs.clone().map(RunConfig::key).collect(),
            origins: origins.map(|origin| origin.config).collect(),
            in_python: runs.map(|run| custom::is_in_python(&run.stack)).collect(),
        }
    }

    fn manifest(&self, command_line: Vec<String>) -> Manifest {
        let (version, config) = (env!("CARGO_PKG_VERSION"), self.config.clone());
        Manifest::new(
            version,
            command_line,
            self.seed,
            config,
            self.keys.iter().cloned(),
        )
    }
}

/// Data of a study: the plan, the finished runs, and the values that are computed from the runs.
pub struct Data {
    plan: Plan,
    /// Keys that the study sweeps.
    pub swept: Vec<Swept>,
    /// Results of the planned runs. `None`: the run has not finished.
    pub runs: Vec<Option<Finished>>,
    report: OnceLock<tailcut_report::Study>,
}

impl Data {
    /// Returns the study in the form that reports need.
    pub fn report(&self) -> &tailcut_report::Study {
        self.report.get_or_init(|| {
            let mut manifest = self.plan.manifest(Vec::new());
            for (planned, run) in manifest.runs.iter_mut().zip(&self.runs) {
                if run.is_some() {
                    planned.state = RunState::Finished;
                }
            }
            let runs = self.runs.iter().flatten().map(Finished::for_report);
            tailcut_report::Study::new(manifest, runs.collect())
        })
    }
}

/// Study for Python.
#[pyclass(frozen, module = "tailcut._native")]
pub struct Study {
    data: Arc<Data>,
    /// Directory that the study was read from.
    directory: Option<PathBuf>,
}

impl Study {
    /// Creates a study from records, in the order of the plan.
    pub fn new(plan: Plan, records: Vec<Option<tailcut_scenario::record::RunRecord>>) -> Self {
        let runs = records.into_iter().map(|record| record.map(Finished::from));
        Self {
            data: Arc::new(Data {
                swept: Swept::of(&plan.keys),
                plan,
                runs: runs.collect(),
                report: OnceLock::new(),
            }),
            directory: None,
        }
    }

    /// Creates a study from records that workers have sent as bytes.
    ///
    /// # Errors
    /// The bytes are not a record, or the record belongs to another run.
    pub fn of_bytes(py: Python<'_>, plan: Plan, given: &[Option<Vec<u8>>]) -> PyResult<Self> {
        if given.len() != plan.keys.len() {
            let words = format!("found {} records for {} runs", given.len(), plan.keys.len());
            return Err(PyValueError::new_err(words));
        }
        let mut records = Vec::new();
        for (bytes, key) in given.iter().zip(&plan.keys) {
            let record = bytes.as_deref().map(codec::decode).transpose();
            let record =
                record.map_err(|why| error::failed(py, format!("a worker's answer: {why}")))?;
            if record.as_ref().is_some_and(|record| record.key != *key) {
                let words = format!("a worker returned another run than {key:?}");
                return Err(error::failed(py, words));
            }
            records.push(record);
        }
        Ok(Self::new(plan, records))
    }
}

#[pymethods]
impl Study {
    /// Reads a study from a directory that the command or `save` has written.
    #[staticmethod]
    pub fn open(py: Python<'_>, directory: PathBuf) -> PyResult<Self> {
        let (plan, runs, report) = py
            .detach(|| read(&directory))
            .map_err(|wrong| error::stored(py, &wrong))?;
        Ok(Self {
            data: Arc::new(Data {
                swept: Swept::of(&plan.keys),
                plan,
                runs,
                report: OnceLock::from(report),
            }),
            directory: Some(directory),
        })
    }

    /// Writes the study into a directory, as the command does. Runs that exist there are kept.
    /// `build` is the path of this module's file. `fresh` is a text that no other study has.
    fn save(
        &self,
        py: Python<'_>,
        directory: PathBuf,
        command_line: Vec<String>,
        build: PathBuf,
        fresh: &str,
    ) -> PyResult<()> {
        let build = tailcut_study::identity(&build)?;
        let plan = &self.data.plan;
        let origin = |(config, in_python): (&String, &bool)| Origin {
            config: config.clone(),
            // The configuration does not contain the Python code of a part.
            // Equal configurations with different code can therefore have different results.
            // With the fresh text, a run with Python parts never counts as equal to another run.
            build: if *in_python {
                format!("{build} {fresh}")
            } else {
                build.clone()
            },
        };
        let origins = plan.origins.iter().zip(&plan.in_python).map(origin);
        let manifest = plan
            .manifest(command_line)
            .with_origins(origins.collect::<Vec<_>>());
        let written = py.detach(|| {
            let output = OutputDir::open(directory, manifest, plan.format, Earlier::SameBuild)?;
            for (index, run) in self.data.runs.iter().enumerate() {
                if let (Some(run), None) = (run, &output.found().taken[index]) {
                    output.write_run(index, &run.record)?;
                }
            }
            output.conclude()
        });
        written.map(drop).map_err(|wrong| error::stored(py, &wrong))
    }

    /// Returns the table with this name.
    fn table(&self, name: &str) -> PyResult<Table> {
        let kind =
            Kind::named(name).ok_or_else(|| PyValueError::new_err(format!("no table {name}")))?;
        Ok(Table {
            data: Arc::clone(&self.data),
            kind,
        })
    }

    /// Returns the answer as text.
    fn answer(&self, py: Python<'_>) -> String {
        py.detach(|| tailcut_report::text_answer(self.data.report()))
    }

    /// Returns the table that the command prints below the answer.
    fn summary(&self, py: Python<'_>) -> String {
        py.detach(|| tailcut_report::text_table(self.data.report()))
    }

    /// Returns all tables of the report as JSON.
    fn json(&self, py: Python<'_>) -> String {
        py.detach(|| tailcut_report::json(self.data.report()).to_string())
    }

    /// Returns the name and the SVG of each plot and drawing.
    fn pictures(&self, py: Python<'_>) -> Vec<(String, String)> {
        let pictures = py.detach(|| {
            tailcut_report::pictures(self.data.report(), &[tailcut_report::Size::Screen])
        });
        pictures
            .into_iter()
            .map(|picture| (picture.id, picture.svg))
            .collect()
    }

    /// Writes the report as one HTML file.
    fn report(&self, py: Python<'_>, path: PathBuf) -> PyResult<()> {
        let written = py.detach(|| tailcut_report::write_html(self.data.report(), &path));
        written.map_err(|wrong| error::stored(py, &wrong))
    }

    /// Returns the number of planned runs and of finished runs.
    fn counts(&self) -> (usize, usize) {
        (
            self.data.runs.len(),
            self.data.runs.iter().flatten().count(),
        )
    }

    #[getter]
    fn name(&self) -> &str {
        &self.data.plan.name
    }

    #[getter]
    fn about(&self) -> &str {
        &self.data.plan.about
    }

    #[getter]
    fn directory(&self) -> Option<&PathBuf> {
        self.directory.as_ref()
    }
}

type Stored = (Plan, Vec<Option<Finished>>, tailcut_report::Study);

/// Reads a study from its directory.
fn read(directory: &PathBuf) -> Result<Stored, Error> {
    let stored = StoredStudy::open(directory)?;
    let mut finished = stored.runs();
    let mut runs = Vec::new();
    for planned in &stored.manifest.runs {
        let run = match planned.state {
            RunState::Finished => finished.next().transpose()?,
            _ => None,
        };
        let run = run.map(|run| {
            let summary = run.summary.clone();
            let record = run.record()?;
            Ok(Finished { record, summary })
        });
        runs.push(run.transpose()?);
    }
    drop(finished);
    let report = tailcut_report::load(directory)?;
    let manifest = stored.manifest;
    let text = |key: &str| {
        let said = manifest.config["study"][key].as_str();
        said.unwrap_or_default().to_owned()
    };
    let plan = Plan {
        name: text("name"),
        about: text("about"),
        seed: manifest.seed,
        format: TableFormat::default(),
        keys: manifest.runs.iter().map(|run| run.key.clone()).collect(),
        origins: Vec::new(),
        in_python: Vec::new(),
        config: manifest.config,
    };
    Ok((plan, runs, report))
}

//! Scenarios.

use crate::error;
use crate::study::{Plan, Study};
use crate::{codec, drive, text};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyBytes, PyDict, PyFloat, PyInt, PyList, PyString, PyTuple};
use std::collections::BTreeMap;
use std::num::NonZeroUsize;
use std::path::PathBuf;
use tailcut_scenario::{BuiltIn, Outcome, Place, Raw, replace_topology, replace_workload};

/// Design, topology, workload, load, seed, and the values of swept keys.
type Case = (
    String,
    String,
    String,
    Option<f64>,
    u64,
    BTreeMap<String, String>,
);

/// A scenario, each value checked against its key.
#[pyclass(frozen, module = "tailcut._native")]
pub struct Scenario {
    pub inner: tailcut_scenario::Scenario,
}

/// What Python raises for a scenario's error.
pub fn told<T>(py: Python<'_>, outcome: Outcome<T>) -> PyResult<T> {
    outcome.map_err(|wrong| error::scenario(py, &wrong))
}

#[pymethods]
impl Scenario {
    /// Reads what a file holds. `file` is its name in errors, relative paths start in `directory`.
    #[staticmethod]
    fn parse(py: Python<'_>, bytes: Vec<u8>, file: &str, directory: PathBuf) -> PyResult<Self> {
        let inner = tailcut_scenario::Scenario::parse_bytes(file, directory, bytes);
        Ok(Self {
            inner: told(py, inner)?,
        })
    }

    /// The scenario that is built in under this name, if there is one.
    #[staticmethod]
    fn built_in(py: Python<'_>, name: &str) -> PyResult<Option<Self>> {
        let built_in = BuiltIn::named(name).map(BuiltIn::parse).transpose();
        Ok(told(py, built_in)?.map(|inner| Self { inner }))
    }

    /// The same as a start: keys of it that nothing reads are no error.
    fn as_start(&self) -> Self {
        let mut inner = self.inner.clone();
        inner.start_from_here();
        Self { inner }
    }

    /// With values in place of others, by the paths of their keys. `topology` and `workload` stand
    /// for the whole sections, in the short form of the command line, and have to come first.
    fn with_values(&self, py: Python<'_>, values: &Bound<'_, PyDict>) -> PyResult<Self> {
        let mut inner = self.inner.clone();
        for (path, value) in values {
            let path: String = path.extract()?;
            let place = Place::flag(&path);
            match path.as_str() {
                "topology" | "workload" => {
                    let short: String = value.extract()?;
                    inner.unset("", "about");
                    let replace = match path.as_str() {
                        "topology" => replace_topology,
                        _ => replace_workload,
                    };
                    told(py, replace(&mut inner, &short, &place))?;
                }
                _ => inner = told(py, inner.with(&path, raw(&path, &value)?))?,
            }
        }
        Ok(Self { inner })
    }

    /// With the bytes of a file that it names.
    fn with_file(&self, path: &str, bytes: Vec<u8>) -> Self {
        Self {
            inner: self.inner.clone().with_file(path, bytes),
        }
    }

    /// The scenario as one text in TOML.
    fn resolved(&self, py: Python<'_>) -> PyResult<String> {
        told(py, text::resolved(&self.inner))
    }

    /// The files that it names, by their paths.
    fn files<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let files = PyDict::new(py);
        for (path, bytes) in told(py, self.inner.files())? {
            files.set_item(path, PyBytes::new(py, &bytes))?;
        }
        Ok(files)
    }

    /// The designs of its runs, without settings of their own.
    fn designs(&self, py: Python<'_>) -> PyResult<Vec<String>> {
        let study = told(py, tailcut_scenario::Study::of(&self.inner))?;
        let mut designs: Vec<String> = Vec::new();
        for run in &study.runs {
            let design = run.stack.to_string();
            if !designs.contains(&design) {
                designs.push(design);
            }
        }
        Ok(designs)
    }

    /// Runs cases by their numbers, and gives their records as bytes: what a worker of an executor
    /// does.
    fn run_cases(&self, py: Python<'_>, cases: Vec<usize>) -> PyResult<Vec<Py<PyBytes>>> {
        let study = told(py, tailcut_scenario::Study::of(&self.inner))?;
        if let Some(case) = cases.iter().find(|&&case| case >= study.runs.len()) {
            let allowed = format!("below {}, the number of cases", study.runs.len());
            return Err(error::given(py, "cases", case.to_string(), &allowed));
        }
        let records = drive::drive(py, &study.runs, &cases, NonZeroUsize::MIN, None)?;
        let bytes = records
            .iter()
            .map(|record| PyBytes::new(py, &codec::encode(record)).unbind());
        Ok(bytes.collect())
    }

    /// The runs that follow from it: design, topology, workload, load, seed.
    fn cases(&self, py: Python<'_>) -> PyResult<Vec<Case>> {
        let study = told(py, tailcut_scenario::Study::of(&self.inner))?;
        let case = |run: &tailcut_scenario::sim::RunConfig| {
            let key = run.key();
            let swept = key
                .parameters
                .iter()
                .map(|one| (one.key.clone(), one.shown()));
            let swept = swept.collect();
            (
                key.design,
                key.topology,
                key.workload,
                key.load,
                key.seed,
                swept,
            )
        };
        Ok(study.runs.iter().map(case).collect())
    }

    /// Runs all of it. `tick` is called now and then with how many runs are done, as a number with
    /// fractions.
    #[pyo3(signature = (threads=None, tick=None))]
    fn run(
        &self,
        py: Python<'_>,
        threads: Option<i64>,
        tick: Option<Py<PyAny>>,
    ) -> PyResult<Study> {
        let study = told(py, tailcut_scenario::Study::of(&self.inner))?;
        let threads = drive::threads(py, threads)?;
        let all: Vec<usize> = (0..study.runs.len()).collect();
        let records = drive::drive(py, &study.runs, &all, threads, tick.as_ref())?;
        Ok(Study::new(
            Plan::of(&study),
            records.into_iter().map(Some).collect(),
        ))
    }

    /// The study of records that workers gave, in the order of the cases.
    fn collect(&self, py: Python<'_>, records: Vec<Option<Vec<u8>>>) -> PyResult<Study> {
        let study = told(py, tailcut_scenario::Study::of(&self.inner))?;
        Study::of_bytes(py, Plan::of(&study), &records)
    }

    /// Every key with its value, in JSON.
    fn config(&self) -> String {
        self.inner.to_json().to_string()
    }

    #[getter]
    fn name(&self) -> String {
        let named = self.inner.table("").text("name");
        named.unwrap_or_else(|| self.inner.name.clone())
    }
}

/// A value of Python as the scenario reads it. A text may be that of any value, as on a command
/// line.
fn raw(path: &str, value: &Bound<'_, PyAny>) -> PyResult<Raw> {
    if value.is_instance_of::<PyBool>() {
        return Ok(Raw::Flag(value.extract()?));
    }
    if value.is_instance_of::<PyInt>() {
        return Ok(Raw::Number(value.str()?.to_string()));
    }
    if value.is_instance_of::<PyFloat>() {
        return Ok(Raw::Number(format!("{:?}", value.extract::<f64>()?)));
    }
    if value.is_instance_of::<PyString>() {
        return Ok(Raw::Argument(value.extract()?));
    }
    if value.is_instance_of::<PyList>() || value.is_instance_of::<PyTuple>() {
        let items = value.try_iter()?.map(|item| raw(path, &item?));
        return Ok(Raw::Array(items.collect::<PyResult<_>>()?));
    }
    // Numbers and arrays of numpy are numbers and lists in Python's own terms.
    if let Ok(plain) = value.call_method0("tolist") {
        return raw(path, &plain);
    }
    if let Ok(path) = value.call_method0("__fspath__") {
        return Ok(Raw::Argument(path.extract()?));
    }
    let kind = value.get_type().name()?;
    Err(PyTypeError::new_err(format!(
        "{path}: found a value of type {kind}; allowed: bool, int, float, str, list, tuple"
    )))
}

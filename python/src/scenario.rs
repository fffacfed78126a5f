//! Scenarios in Python.

use crate::error;
use crate::study::{Plan, Study};
use crate::{codec, runner, text};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyBytes, PyDict, PyFloat, PyInt, PyList, PyString, PyTuple};
use std::collections::BTreeMap;
use std::num::NonZeroUsize;
use std::path::PathBuf;
use tailcut_scenario::{BuiltIn, Location, Outcome, Raw, replace_topology, replace_workload};

/// Design, topology, workload, load, seed, and the values of swept keys.
type Case = (
    String,
    String,
    String,
    Option<f64>,
    u64,
    BTreeMap<String, String>,
);

/// Scenario for Python. Each value has already been checked.
#[pyclass(frozen, module = "tailcut._native")]
pub struct Scenario {
    pub inner: tailcut_scenario::Scenario,
}

/// Returns the result, or raises the error as a Python exception.
pub fn or_raise<T>(py: Python<'_>, outcome: Outcome<T>) -> PyResult<T> {
    outcome.map_err(|wrong| error::scenario(py, &wrong))
}

#[pymethods]
impl Scenario {
    /// Reads a scenario from the contents of a file. Errors use `file` as its name.
    /// Relative paths start in `directory`.
    #[staticmethod]
    fn parse(py: Python<'_>, bytes: Vec<u8>, file: &str, directory: PathBuf) -> PyResult<Self> {
        let inner = tailcut_scenario::Scenario::parse_bytes(file, directory, bytes);
        Ok(Self {
            inner: or_raise(py, inner)?,
        })
    }

    /// Returns the built-in scenario with this name, if there is one.
    #[staticmethod]
    fn built_in(py: Python<'_>, name: &str) -> PyResult<Option<Self>> {
        let built_in = BuiltIn::named(name).map(BuiltIn::parse).transpose();
        Ok(or_raise(py, built_in)?.map(|inner| Self { inner }))
    }

    /// Returns the scenario as a starting point, in which a key that no design reads is not an error.
    fn as_start(&self) -> Self {
        let mut inner = self.inner.clone();
        inner.mark_as_starting_values();
        Self { inner }
    }

    /// Returns the scenario with other values, by the paths of their keys.
    /// `topology` and `workload` replace whole sections.
    /// `topology` and `workload` have the short form of the command line, and must come first.
    fn with_values(&self, py: Python<'_>, values: &Bound<'_, PyDict>) -> PyResult<Self> {
        let mut inner = self.inner.clone();
        for (path, value) in values {
            let path: String = path.extract()?;
            let place = Location::flag(&path);
            match path.as_str() {
                "topology" | "workload" => {
                    let short: String = value.extract()?;
                    inner.unset("", "about");
                    let replace = match path.as_str() {
                        "topology" => replace_topology,
                        _ => replace_workload,
                    };
                    or_raise(py, replace(&mut inner, &short, &place))?;
                }
                _ => inner = or_raise(py, inner.with(&path, raw(&path, &value)?))?,
            }
        }
        Ok(Self { inner })
    }

    /// Returns the scenario with `bytes` as the contents of a file that it names.
    fn with_file(&self, path: &str, bytes: Vec<u8>) -> Self {
        Self {
            inner: self.inner.clone().with_file(path, bytes),
        }
    }

    /// Returns the scenario as one text in TOML.
    fn resolved(&self, py: Python<'_>) -> PyResult<String> {
        or_raise(py, text::resolved(&self.inner))
    }

    /// Returns the contents of all files that the scenario names, by their paths.
    fn files<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let files = PyDict::new(py);
        for (path, bytes) in or_raise(py, self.inner.files())? {
            files.set_item(path, PyBytes::new(py, &bytes))?;
        }
        Ok(files)
    }

    /// Returns the designs of the scenario's runs. Settings of single designs are left out.
    fn designs(&self, py: Python<'_>) -> PyResult<Vec<String>> {
        let study = or_raise(py, tailcut_scenario::Study::of(&self.inner))?;
        let mut designs: Vec<String> = Vec::new();
        for run in &study.runs {
            let design = run.stack.to_string();
            if !designs.contains(&design) {
                designs.push(design);
            }
        }
        Ok(designs)
    }

    /// Runs cases by their numbers, and returns their records as bytes. Workers of an executor call this method.
    fn run_cases(&self, py: Python<'_>, cases: Vec<usize>) -> PyResult<Vec<Py<PyBytes>>> {
        let study = or_raise(py, tailcut_scenario::Study::of(&self.inner))?;
        if let Some(case) = cases.iter().find(|&&case| case >= study.runs.len()) {
            let allowed = format!("below {}, the number of cases", study.runs.len());
            return Err(error::given(py, "cases", case.to_string(), &allowed));
        }
        let records = runner::run(py, &study.runs, &cases, NonZeroUsize::MIN, None)?;
        let bytes = records
            .iter()
            .map(|record| PyBytes::new(py, &codec::encode(record)).unbind());
        Ok(bytes.collect())
    }

    /// Returns the runs of the scenario: design, topology, workload, load, seed.
    fn cases(&self, py: Python<'_>) -> PyResult<Vec<Case>> {
        let study = or_raise(py, tailcut_scenario::Study::of(&self.inner))?;
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

    /// Runs all cases. `tick` is called regularly with the number of finished runs, such as 2.5 if a run is half done.
    #[pyo3(signature = (threads=None, tick=None))]
    fn run(
        &self,
        py: Python<'_>,
        threads: Option<i64>,
        tick: Option<Py<PyAny>>,
    ) -> PyResult<Study> {
        let study = or_raise(py, tailcut_scenario::Study::of(&self.inner))?;
        let threads = runner::threads(py, threads)?;
        let all: Vec<usize> = (0..study.runs.len()).collect();
        let records = runner::run(py, &study.runs, &all, threads, tick.as_ref())?;
        Ok(Study::new(
            Plan::of(&study),
            records.into_iter().map(Some).collect(),
        ))
    }

    /// Returns the study of records that workers have sent, in the order of the cases.
    fn collect(&self, py: Python<'_>, records: Vec<Option<Vec<u8>>>) -> PyResult<Study> {
        let study = or_raise(py, tailcut_scenario::Study::of(&self.inner))?;
        Study::of_bytes(py, Plan::of(&study), &records)
    }

    /// Returns all keys with their values, as JSON.
    fn config(&self) -> String {
        self.inner.to_json().to_string()
    }

    #[getter]
    fn name(&self) -> String {
        let named = self.inner.table("").text("name");
        named.unwrap_or_else(|| self.inner.name.clone())
    }
}

/// Converts a Python value for the scenario. A text is accepted for a value of any type, as on the command line.
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
    // Numbers and arrays of numpy are converted to Python numbers and lists.
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

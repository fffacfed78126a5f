//! Conversion of errors to Python exceptions. The classes of the exceptions are in `tailcut._errors`.

use pyo3::prelude::*;
use tailcut_scenario::{RunFailed, ScenarioError, record};

/// Returns a `tailcut.ScenarioError` for an error of a scenario.
pub fn scenario(py: Python<'_>, error: &ScenarioError) -> PyErr {
    let ScenarioError {
        place,
        key,
        found,
        allowed,
        meant,
    } = error;
    let parts = (place.to_string(), key, found, allowed, meant);
    raised(py, "ScenarioError", parts)
}

/// Returns a `tailcut.ScenarioError` about a value from Python.
pub fn given(py: Python<'_>, place: &str, found: String, allowed: &str) -> PyErr {
    raised(
        py,
        "ScenarioError",
        (place, "", found, allowed, None::<String>),
    )
}

/// Returns a `tailcut.RunError` for a run that failed.
pub fn run(py: Python<'_>, error: &RunFailed) -> PyErr {
    failed(py, error.to_string())
}

/// Returns a `tailcut.RunError` with this text.
pub fn failed(py: Python<'_>, words: String) -> PyErr {
    raised(py, "RunError", (words,))
}

/// Returns a `tailcut.StudyError` about a directory that cannot be read or written.
pub fn stored(py: Python<'_>, error: &record::Error) -> PyErr {
    unusable(py, error.to_string())
}

/// Returns a `tailcut.StudyError` with this text.
pub fn unusable(py: Python<'_>, words: String) -> PyErr {
    raised(py, "StudyError", (words,))
}

/// Returns the exception for an error of a study's cases.
pub fn of_cases(py: Python<'_>, error: &tailcut_study::Error) -> PyErr {
    match error {
        tailcut_study::Error::Scenario(wrong) => scenario(py, wrong),
        tailcut_study::Error::Record(wrong) => stored(py, wrong),
        other => unusable(py, other.to_string()),
    }
}

fn raised<'py>(py: Python<'py>, class: &str, arguments: impl pyo3::call::PyCallArgs<'py>) -> PyErr {
    let instance = py
        .import("tailcut._errors")
        .and_then(|errors| errors.getattr(class)?.call1(arguments));
    match instance {
        Ok(error) => PyErr::from_value(error),
        Err(error) => error,
    }
}

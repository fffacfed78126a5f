//! Errors as Python raises them. Their classes are in `tailcut._errors`.

use pyo3::prelude::*;
use tailcut_scenario::{RunFailed, ScenarioError, record};

/// `tailcut.ScenarioError`.
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

/// `tailcut.ScenarioError` about something that is given from Python.
pub fn given(py: Python<'_>, place: &str, found: String, allowed: &str) -> PyErr {
    raised(
        py,
        "ScenarioError",
        (place, "", found, allowed, None::<String>),
    )
}

/// `tailcut.RunError`.
pub fn run(py: Python<'_>, error: &RunFailed) -> PyErr {
    failed(py, error.to_string())
}

/// `tailcut.RunError` in words.
pub fn failed(py: Python<'_>, words: String) -> PyErr {
    raised(py, "RunError", (words,))
}

/// `tailcut.StudyError`: a directory that cannot be read or written.
pub fn stored(py: Python<'_>, error: &record::Error) -> PyErr {
    unusable(py, error.to_string())
}

/// `tailcut.StudyError` in words.
pub fn unusable(py: Python<'_>, words: String) -> PyErr {
    raised(py, "StudyError", (words,))
}

/// What Python raises for an error of a study's cases.
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

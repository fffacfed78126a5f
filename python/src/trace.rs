//! Conversion of columns of flows to a trace.

use crate::error;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyBytes, PyInt, PyList};
use std::fmt::Write;

/// Returns a trace in CSV from four lists of equal length. Starts may have fractions, down to a picosecond.
#[pyfunction]
pub fn trace_of<'py>(
    py: Python<'py>,
    start_ns: &Bound<'py, PyList>,
    src: &Bound<'py, PyList>,
    dst: &Bound<'py, PyList>,
    bytes: &Bound<'py, PyList>,
) -> PyResult<Bound<'py, PyBytes>> {
    let columns = [("src", src), ("dst", dst), ("bytes", bytes)];
    for (name, column) in columns {
        if column.len() != start_ns.len() {
            let found = format!(
                "{} values, and {} of start_ns",
                column.len(),
                start_ns.len()
            );
            return Err(error::given(py, name, found, "columns of equal length"));
        }
    }
    let mut text = String::from("start_ns,src,dst,bytes\n");
    for (row, start) in start_ns.iter().enumerate() {
        text.push_str(&instant(row, &start)?);
        for (name, column) in columns {
            let value = whole(name, row, &column.get_item(row)?)?;
            // Writing to a string cannot fail.
            let _ = write!(text, ",{value}");
        }
        text.push('\n');
    }
    Ok(PyBytes::new(py, text.as_bytes()))
}

fn whole(column: &str, row: usize, value: &Bound<'_, PyAny>) -> PyResult<u64> {
    let number = value
        .extract::<u64>()
        .ok()
        .filter(|_| !value.is_instance_of::<PyBool>());
    number.ok_or_else(|| wrong(column, row, value, "a whole number from 0 to 2^64 - 1"))
}

fn instant(row: usize, value: &Bound<'_, PyAny>) -> PyResult<String> {
    const ALLOWED: &str = "nanoseconds from 0, whole or with fractions";
    if value.is_instance_of::<PyInt>() {
        return Ok(whole("start_ns", row, value)?.to_string());
    }
    let number = value.extract::<f64>().ok();
    let number = number.filter(|number| (0.0..1e18).contains(number));
    let number = number.ok_or_else(|| wrong("start_ns", row, value, ALLOWED))?;
    Ok(format!("{number:.3}"))
}

fn wrong(column: &str, row: usize, value: &Bound<'_, PyAny>, allowed: &str) -> PyErr {
    let shown = value
        .repr()
        .map_or_else(|_| "a value".to_owned(), |shown| shown.to_string());
    error::given(value.py(), column, format!("{shown} in row {row}"), allowed)
}

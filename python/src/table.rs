//! Table of a study. Other libraries read the table through Arrow's C stream.

use crate::columns::Kind;
use crate::record::Finished;
use crate::study::Data;
use arrow_array::ffi_stream::FFI_ArrowArrayStream;
use arrow_array::{RecordBatch, RecordBatchIterator, RecordBatchReader};
use arrow_schema::{ArrowError, DataType, Schema, ffi::FFI_ArrowSchema};
use pyo3::exceptions::{PyImportError, PyRuntimeError};
use pyo3::prelude::*;
use pyo3::types::PyCapsule;
use std::sync::Arc;

/// Table of a study. Columns are created when they are read, one run at a time.
#[pyclass(frozen, module = "tailcut")]
pub struct Table {
    pub data: Arc<Data>,
    pub kind: Kind,
}

/// Batches of columns of a study's runs. All batches of a run are created when its first batch is read.
struct Batches {
    data: Arc<Data>,
    kind: Kind,
    next: usize,
    /// Number of finished runs before `next`.
    finished: usize,
    ready: std::vec::IntoIter<RecordBatch>,
}

impl Iterator for Batches {
    type Item = Result<RecordBatch, ArrowError>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            if let Some(batch) = self.ready.next() {
                return Some(Ok(batch));
            }
            let index = self.next;
            let run = self.data.runs.get(index)?;
            self.next += 1;
            if let Some(run) = run {
                let reported = self.kind.has_measured().then(|| self.data.report());
                let reported = reported.and_then(|study| study.runs().get(self.finished));
                self.finished += 1;
                match self.kind.batches(index, run, reported, &self.data.swept) {
                    Ok(batches) => self.ready = batches.into_iter(),
                    Err(error) => return Some(Err(error)),
                }
            }
        }
    }
}

impl Table {
    fn schema(&self) -> Arc<Schema> {
        self.kind.schema(&self.data.swept)
    }

    fn finished(&self) -> impl Iterator<Item = &Finished> {
        self.data.runs.iter().flatten()
    }
}

#[pymethods]
impl Table {
    /// Returns the table as a capsule of Arrow's C stream interface.
    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        // The interface allows a producer to ignore the requested schema.
        let _ = requested_schema;
        let batches = Batches {
            data: Arc::clone(&self.data),
            kind: self.kind,
            next: 0,
            finished: 0,
            ready: Vec::new().into_iter(),
        };
        let reader = RecordBatchIterator::new(batches, self.schema());
        let reader: Box<dyn RecordBatchReader + Send> = Box::new(reader);
        let stream = FFI_ArrowArrayStream::new(reader);
        PyCapsule::new_with_value(py, stream, c"arrow_array_stream")
    }

    /// Returns the columns and their types as a capsule of Arrow's C data interface.
    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        let schema = FFI_ArrowSchema::try_from(self.schema().as_ref());
        let schema = schema.map_err(|error| PyRuntimeError::new_err(error.to_string()))?;
        PyCapsule::new_with_value(py, schema, c"arrow_schema")
    }

    /// Returns the table as a data frame of pandas.
    fn to_pandas<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        let table = imported(slf.py(), "pyarrow")?.call_method1("table", (slf,))?;
        imported(slf.py(), "pandas")?;
        table.call_method0("to_pandas")
    }

    /// Returns the table as a data frame of polars.
    fn to_polars<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        imported(slf.py(), "polars")?.call_method1("DataFrame", (slf,))
    }

    /// Names of the columns.
    #[getter]
    fn columns(&self) -> Vec<String> {
        let schema = self.schema();
        schema
            .fields()
            .iter()
            .map(|field| field.name().clone())
            .collect()
    }

    fn __len__(&self) -> usize {
        self.finished().map(|run| self.kind.rows(&run.record)).sum()
    }

    fn __repr__(&self) -> String {
        let schema = self.schema();
        let column = |field: &Arc<arrow_schema::Field>| {
            let kind = match field.data_type() {
                DataType::Int64 => "int",
                DataType::Float64 => "float",
                DataType::Boolean => "bool",
                _ => "str",
            };
            let null = if field.is_nullable() { " or null" } else { "" };
            format!("  {}: {kind}{null}", field.name())
        };
        let columns: Vec<String> = schema.fields().iter().map(column).collect();
        let (name, rows) = (self.kind.name(), self.__len__());
        format!("tailcut table {name}, {rows} rows\n{}", columns.join("\n"))
    }
}

/// Imports an optional Python package.
fn imported<'py>(py: Python<'py>, name: &str) -> PyResult<Bound<'py, PyModule>> {
    py.import(name).map_err(|error| {
        if error.is_instance_of::<PyImportError>(py) {
            let words = format!("this needs the package {name}: pip install {name}");
            return PyImportError::new_err(words);
        }
        error
    })
}

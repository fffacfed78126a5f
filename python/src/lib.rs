//! The part of the Python package that is written in Rust: scenarios, runs, tables and reports.
//!
//! What users import is `tailcut`, in Python, which is built on this module.

mod cases;
mod codec;
mod columns;
mod drive;
mod error;
mod own;
mod record;
mod scenario;
mod study;
mod summary;
mod swept;
mod table;
mod text;
mod trace;

use pyo3::prelude::*;

#[pymodule]
fn _native(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    module.add_class::<scenario::Scenario>()?;
    module.add_class::<study::Study>()?;
    module.add_class::<cases::Cases>()?;
    module.add_class::<table::Table>()?;
    module.add_class::<own::Window>()?;
    module.add_class::<own::Ack>()?;
    module.add_class::<own::Congested>()?;
    module.add_function(wrap_pyfunction!(own::register, module)?)?;
    module.add_function(wrap_pyfunction!(trace::trace_of, module)?)
}

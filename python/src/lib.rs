//! Rust part of the Python package: scenarios, runs, tables and reports.
//!
//! Users import the Python package `tailcut`, which uses this module.

mod cases;
mod codec;
mod columns;
mod custom;
mod error;
mod record;
mod runner;
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
    module.add_class::<custom::Window>()?;
    module.add_class::<custom::Ack>()?;
    module.add_class::<custom::Congested>()?;
    module.add_function(wrap_pyfunction!(custom::register, module)?)?;
    module.add_function(wrap_pyfunction!(trace::trace_of, module)?)
}

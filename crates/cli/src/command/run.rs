//! `tailcut run`: runs a scenario from a file, or a built-in scenario.

use crate::args::Run;
use crate::captures;
use crate::execution::{StudyOptions, execute_and_report};
use crate::failure::Failure;
use crate::interrupt;
use crate::limit;
use crate::real_hosts;
use crate::scenario_args;
use tailcut_scenario::Study;

/// Runs the command.
///
/// # Errors
/// The input is wrong, or the study fails.
pub fn execute(arguments: &Run) -> Result<(), Failure> {
    let mut scenario = scenario_args::of_file(
        &arguments.scenario,
        &arguments.changes,
        &arguments.shared.seeds,
    )?;
    if let Some(flag) = &arguments.limit.find_limit {
        return limit::find_and_print(
            &scenario,
            flag,
            arguments.finished.into(),
            &arguments.shared,
        );
    }
    real_hosts::apply_kernel_limits(&mut scenario)?;
    let study = Study::of(&scenario)?;
    real_hosts::prepare(&study)?;
    let options = StudyOptions {
        earlier: arguments.finished.into(),
        sensitivity: arguments.variants.sensitivity,
        capture: captures::plan(&study, &arguments.capture)?,
    };
    execute_and_report(&study, &arguments.shared, options, &*interrupt::listen()?)
}

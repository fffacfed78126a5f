//! `tailcut compare`: runs the built-in scenario `compare` with the designs and changes of the command line.

use crate::args::Compare;
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
pub fn execute(arguments: &Compare) -> Result<(), Failure> {
    let mut scenario = scenario_args::of_designs(
        &arguments.designs,
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
        capture: None,
    };
    execute_and_report(&study, &arguments.shared, options, &*interrupt::listen()?)
}

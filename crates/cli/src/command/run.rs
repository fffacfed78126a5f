//! `tailcut run`: a scenario from a file, or one that is built in.

use crate::args::Run;
use crate::asked;
use crate::captures;
use crate::conduct::{Asked, conduct_and_report};
use crate::failure::Failure;
use crate::interrupt;
use crate::limit;
use crate::real_hosts;
use tailcut_scenario::Study;

/// Runs the command.
///
/// # Errors
/// Wrong input, or whatever keeps the study from its end.
pub fn execute(arguments: &Run) -> Result<(), Failure> {
    let mut scenario = asked::of_file(
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
    real_hosts::settle(&mut scenario)?;
    let study = Study::of(&scenario)?;
    real_hosts::prepare(&study)?;
    let asked = Asked {
        earlier: arguments.finished.into(),
        sensitivity: arguments.variants.sensitivity,
        capture: captures::plan(&study, &arguments.capture)?,
    };
    conduct_and_report(&study, &arguments.shared, asked, &*interrupt::listen()?)
}

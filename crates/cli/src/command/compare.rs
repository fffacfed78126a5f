//! `tailcut compare`: the built-in scenario of that name, with designs and changes of the flags.

use crate::args::Compare;
use crate::asked;
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
pub fn execute(arguments: &Compare) -> Result<(), Failure> {
    let mut scenario = asked::of_designs(
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
    real_hosts::settle(&mut scenario)?;
    let study = Study::of(&scenario)?;
    real_hosts::prepare(&study)?;
    let asked = Asked {
        earlier: arguments.finished.into(),
        sensitivity: arguments.variants.sensitivity,
        capture: None,
    };
    conduct_and_report(&study, &arguments.shared, asked, &*interrupt::listen()?)
}

//! `tailcut compare`: the built-in scenario of that name, with designs and changes of the flags.

use crate::args::{Common, Compare};
use crate::changes;
use crate::conduct::{Asked, conduct_and_report};
use crate::failure::Failure;
use crate::interrupt;
use crate::limit;
use tailcut_scenario::{Place, SCENARIOS, Study};

/// Runs the command.
///
/// # Errors
/// Wrong input, or whatever keeps the study from its end.
pub fn execute(arguments: &Compare, common: &Common) -> Result<(), Failure> {
    let mut scenario = SCENARIOS[0].parse()?;
    scenario.start_from_here();
    changes::apply(&mut scenario, &arguments.changes, common)?;
    // An argument may be a list; the settings of a design have commas, too.
    let names = arguments
        .designs
        .iter()
        .flat_map(|name| match name.contains(':') {
            true => vec![name.as_str()],
            false => name.split(',').collect(),
        });
    let names: Vec<&str> = names.collect();
    scenario.put("designs", &names.into(), &Place::flag("DESIGN"))?;
    if let Some(flag) = &arguments.limit.find_limit {
        return limit::find_and_print(&scenario, flag, arguments.finished.into(), common);
    }
    let study = Study::of(&scenario)?;
    let asked = Asked {
        earlier: arguments.finished.into(),
        sensitivity: arguments.changes.sensitivity,
        capture: None,
    };
    conduct_and_report(&study, common, asked, &*interrupt::listen()?)
}

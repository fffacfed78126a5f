//! `tailcut run`: a scenario from a file, or one that is built in.

use crate::args::{Common, Run};
use crate::captures;
use crate::changes;
use crate::conduct::{Asked, conduct_and_report};
use crate::failure::Failure;
use crate::interrupt;
use crate::limit;
use anyhow::anyhow;
use std::io;
use std::path::Path;
use tailcut_scenario::{BuiltIn, SCENARIOS, Scenario, Study, did_you_mean};

/// Runs the command.
///
/// # Errors
/// Wrong input, or whatever keeps the study from its end.
pub fn execute(arguments: &Run, common: &Common) -> Result<(), Failure> {
    let mut scenario = read(&arguments.scenario)?;
    changes::apply(&mut scenario, &arguments.changes, common)?;
    if let Some(flag) = &arguments.limit.find_limit {
        return limit::find_and_print(&scenario, flag, arguments.finished.into(), common);
    }
    let study = Study::of(&scenario)?;
    let asked = Asked {
        earlier: arguments.finished.into(),
        sensitivity: arguments.changes.sensitivity,
        capture: captures::plan(&study, &arguments.capture)?,
    };
    conduct_and_report(&study, common, asked, &*interrupt::listen()?)
}

/// The scenario in a file, or the built-in one of that name where there is no such file.
fn read(path: &Path) -> Result<Scenario, Failure> {
    let shown = path.display().to_string();
    match std::fs::read(path) {
        Ok(bytes) => {
            let directory = path.parent().unwrap_or(Path::new(""));
            Ok(Scenario::parse_bytes(&shown, directory, bytes)?)
        }
        Err(error) => {
            if let Some(built_in) = BuiltIn::named(&shown) {
                return Ok(built_in.parse()?);
            }
            let names = SCENARIOS.iter().map(|scenario| scenario.name);
            let meant = did_you_mean(&shown, names.clone())
                .filter(|_| error.kind() == io::ErrorKind::NotFound);
            let guess = meant.map_or_else(String::new, |name| format!("; did you mean '{name}'?"));
            let names: Vec<&str> = names.collect();
            let allowed = format!(
                "a scenario's file, or one that is built in: {}",
                names.join(", ")
            );
            Err(
                anyhow!("cannot read the scenario {shown}: {error}; allowed: {allowed}{guess}")
                    .into(),
            )
        }
    }
}

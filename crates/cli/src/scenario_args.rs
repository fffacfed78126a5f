//! Scenario of a command line: from designs or from a file, with the changes of the flags.

use crate::args::Changes;
use crate::changes;
use crate::failure::Failure;
use crate::shared::Seeds;
use anyhow::{Context, anyhow};
use std::io::{self, Read};
use std::path::Path;
use tailcut_scenario::{BuiltIn, Location, SCENARIOS, Scenario, did_you_mean};

/// Scenario that `compare` starts from on real hosts.
const ON_HOSTS: &str = "lab-two-racks";

/// Returns the scenario that `compare` starts from, with the given designs.
///
/// # Errors
/// A design or a flag is not allowed.
pub fn of_designs(
    designs: &[String],
    changes: &Changes,
    seeds: &Seeds,
) -> Result<Scenario, Failure> {
    // The default scenario has rates that real hosts on one machine cannot emulate in time.
    let start = match changes.clock.as_deref() {
        Some("wall" | "both") => BuiltIn::named(ON_HOSTS).unwrap_or(&SCENARIOS[0]),
        _ => &SCENARIOS[0],
    };
    let mut scenario = start.parse()?;
    scenario.mark_as_starting_values();
    changes::apply(&mut scenario, changes, seeds)?;
    // An argument may be a list of designs. If it has settings, its commas separate settings instead.
    let names = designs.iter().flat_map(|name| match name.contains(':') {
        true => vec![name.as_str()],
        false => name.split(',').collect(),
    });
    let names: Vec<&str> = names.collect();
    scenario.put("designs", &names.into(), &Location::flag("DESIGN"))?;
    Ok(scenario)
}

/// Returns the scenario from a file, or the built-in scenario of this name if the file cannot be read.
///
/// # Errors
/// The file cannot be read or is not a scenario, or a flag is not allowed.
pub fn of_file(path: &Path, changes: &Changes, seeds: &Seeds) -> Result<Scenario, Failure> {
    let mut scenario = read(path)?;
    changes::apply(&mut scenario, changes, seeds)?;
    Ok(scenario)
}

/// Path that stands for standard input.
const STANDARD_INPUT: &str = "-";

fn read(path: &Path) -> Result<Scenario, Failure> {
    if path == Path::new(STANDARD_INPUT) {
        let mut bytes = Vec::new();
        let read = io::stdin().lock().read_to_end(&mut bytes);
        read.context("cannot read the scenario from standard input")?;
        return Ok(Scenario::parse_bytes("stdin", Path::new(""), bytes)?);
    }
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
                "a scenario file, or a built-in scenario: {}",
                names.join(", ")
            );
            Err(
                anyhow!("cannot read the scenario {shown}: {error}; allowed: {allowed}{guess}")
                    .into(),
            )
        }
    }
}

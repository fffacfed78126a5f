//! Scenario that a command line describes: it starts from designs or from a file, and flags change it.

use crate::args::Changes;
use crate::changes;
use crate::failure::Failure;
use crate::shared::Seeds;
use anyhow::{Context, anyhow};
use std::io::{self, Read};
use std::path::Path;
use tailcut_scenario::{BuiltIn, Location, SCENARIOS, Scenario, did_you_mean};

/// Built-in scenario from which `compare` starts on real hosts.
const ON_HOSTS: &str = "lab-two-racks";

/// Returns the built-in scenario from which `compare` starts, with the given designs and the changes of the flags.
///
/// # Errors
/// A design or a flag is not allowed.
pub fn of_designs(
    designs: &[String],
    changes: &Changes,
    seeds: &Seeds,
) -> Result<Scenario, Failure> {
    // Real hosts on one machine cannot emulate the default rates in time.
    // The wall clock therefore needs a scenario with lower rates.
    let start = match changes.clock.as_deref() {
        Some("wall" | "both") => BuiltIn::named(ON_HOSTS).unwrap_or(&SCENARIOS[0]),
        _ => &SCENARIOS[0],
    };
    let mut scenario = start.parse()?;
    scenario.mark_as_starting_values();
    changes::apply(&mut scenario, changes, seeds)?;
    // Without settings, commas in an argument separate designs.
    // With settings, commas separate the settings of one design.
    let names = designs.iter().flat_map(|name| match name.contains(':') {
        true => vec![name.as_str()],
        false => name.split(',').collect(),
    });
    let names: Vec<&str> = names.collect();
    scenario.put("designs", &names.into(), &Location::flag("DESIGN"))?;
    Ok(scenario)
}

/// Returns the scenario from a file. If the file cannot be read, returns the built-in scenario of this name.
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

//! Application of flags to a scenario.

use crate::args::Changes;
use crate::shared::Seeds;
use tailcut_scenario::{
    Location, Outcome, Scenario, ScenarioError, replace_topology, replace_workload, shortened,
};

/// Overrides values of the scenario with flags. The flags `--topology` and `--workload` replace whole sections.
/// `--topology` and `--workload` are applied first. The flag `--set` overrides all other flags, so it is applied last.
///
/// # Errors
/// The value of a flag is not allowed.
pub fn apply(scenario: &mut Scenario, changes: &Changes, seeds: &Seeds) -> Outcome<()> {
    if changes.topology.is_some() || changes.workload.is_some() {
        // With a new topology or workload, the scenario's description is no longer true.
        scenario.unset("", "about");
    }
    if let Some(text) = &changes.topology {
        replace_topology(scenario, text, &Location::flag("--topology"))?;
    }
    if let Some(text) = &changes.workload {
        replace_workload(scenario, text, &Location::flag("--workload"))?;
    }
    let seed = seeds.first.seed.map(|seed| seed.to_string());
    let seeds = seeds.seeds.map(|seeds| seeds.to_string());
    let flags = [
        ("--load", "loads", &changes.load),
        ("--matrix", "workload.matrix", &changes.matrix),
        ("--arrivals", "workload.arrivals", &changes.arrivals),
        ("--duration", "duration", &changes.duration),
        ("--flows", "flows", &changes.flows),
        ("--clock", "clock", &changes.clock),
        ("--slowdown", "slowdown", &changes.slowdown),
        ("--seed", "seed", &seed),
        ("--seeds", "seeds", &seeds),
    ];
    for (flag, path, text) in flags {
        if let Some(text) = text {
            scenario.set(path, text, &Location::flag(flag))?;
        }
    }
    let set = Location::flag("--set");
    let mut given: Vec<&str> = Vec::new();
    for assignment in &changes.set {
        let Some((path, text)) = assignment.split_once('=') else {
            let found = format!("'{}'", shortened(assignment));
            return Err(ScenarioError::new(
                &set,
                "",
                found,
                "KEY=VALUE, such as tcp.min_rto=10ms",
            ));
        };
        let path = path.trim();
        if given.contains(&path) {
            let found = format!("'{}' twice", shortened(path));
            return Err(ScenarioError::new(&set, "", found, "each key once"));
        }
        given.push(path);
        scenario.set(path, text.trim(), &set)?;
    }
    sweep(scenario, changes, &given)
}

/// Adds the sweeps of the command line to the scenario. The new sweeps replace the scenario's sweeps of the same keys.
/// A key in `set` must not also be swept.
fn sweep(scenario: &mut Scenario, changes: &Changes, set: &[&str]) -> Outcome<()> {
    let flag = Location::flag("--sweep");
    let mut given: Vec<&str> = Vec::new();
    for sweep in &changes.sweep {
        let Some((path, values)) = sweep.split_once('=') else {
            let found = format!("'{}'", shortened(sweep));
            let allowed = "KEY=VALUES, such as queue.limit=50,100,200";
            return Err(ScenarioError::new(&flag, "", found, allowed));
        };
        let path = path.trim();
        if given.contains(&path) || set.contains(&path) {
            let found = format!("'{}' twice", shortened(path));
            return Err(ScenarioError::new(
                &flag,
                "",
                found,
                "each key once, set or swept",
            ));
        }
        given.push(path);
        scenario.sweep(path, values, &flag)?;
    }
    for zip in &changes.zip {
        let keys: Vec<&str> = zip.split(',').map(str::trim).collect();
        scenario.zip(&keys, &Location::flag("--zip"))?;
    }
    Ok(())
}

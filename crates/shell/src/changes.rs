//! Flags, put into a scenario.

use crate::args::{Changes, Common};
use tailcut_scenario::{
    Outcome, Place, Scenario, ScenarioError, replace_topology, replace_workload, shortened,
};

/// Puts what the command line says in place of what the scenario says. `--topology` and
/// `--workload` replace whole sections, so they come first; `--set` comes last.
///
/// # Errors
/// A flag whose value is not allowed.
pub fn apply(scenario: &mut Scenario, changes: &Changes, common: &Common) -> Outcome<()> {
    if changes.topology.is_some() || changes.workload.is_some() {
        // What the scenario says of itself is no longer true.
        scenario.unset("", "about");
    }
    if let Some(text) = &changes.topology {
        replace_topology(scenario, text, &Place::flag("--topology"))?;
    }
    if let Some(text) = &changes.workload {
        replace_workload(scenario, text, &Place::flag("--workload"))?;
    }
    let seed = common.seed.map(|seed| seed.to_string());
    let seeds = common.seeds.map(|seeds| seeds.to_string());
    let flags = [
        ("--load", "loads", &changes.load),
        ("--matrix", "workload.matrix", &changes.matrix),
        ("--arrivals", "workload.arrivals", &changes.arrivals),
        ("--duration", "duration", &changes.duration),
        ("--flows", "flows", &changes.flows),
        ("--seed", "seed", &seed),
        ("--seeds", "seeds", &seeds),
    ];
    for (flag, path, text) in flags {
        if let Some(text) = text {
            scenario.set(path, text, &Place::flag(flag))?;
        }
    }
    let set = Place::flag("--set");
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
    Ok(())
}

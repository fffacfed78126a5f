//! Check of the measured part of each run.

use crate::error::Outcome;
use crate::scenario::Scenario;
use crate::value::shortened;
use tailcut_record::MeasureBound;
use tailcut_sim::{FlowsSpec, WorkloadSpec};
use tailcut_units::Duration;

/// Checks that the start and the end of the measured part are valid bounds, and that the end follows the start.
pub fn check(scenario: &Scenario) -> Outcome<()> {
    use MeasureBound::{At, Auto, End, Share};
    let table = scenario.table("measure");
    let bound = |key: &str, other: MeasureBound, is_allowed: fn(MeasureBound) -> bool, shares| {
        let Some(text) = table.text(key) else {
            return Ok(other);
        };
        let bound = MeasureBound::read(&text).filter(|&bound| is_allowed(bound));
        bound.ok_or_else(|| {
            let allowed = format!(
                "\"{other}\", a time such as \"10ms\", or a share of the flows such as \"20%\", {shares}"
            );
            table.error(key, format!("\"{}\"", shortened(&text)), allowed)
        })
    };
    let starts = |bound| matches!(bound, At(_)) || matches!(bound, Share(share) if share < 1.0);
    let ends = |bound| match bound {
        At(span) => span > Duration::ZERO,
        Share(share) => share > 0.0,
        Auto | End => false,
    };
    let from = bound("from", Auto, starts, "below \"100%\"")?;
    let until = bound("until", End, ends, "above zero and at most \"100%\"")?;
    let is_empty = match (from, until) {
        (At(from), At(until)) => until <= from,
        (Share(from), Share(until)) => until <= from,
        _ => false,
    };
    if is_empty {
        let found = table.text("until").unwrap_or_default();
        let allowed = format!("a value above measure.from = \"{from}\"");
        return Err(table.error("until", found, allowed));
    }
    Ok(())
}

/// Checks that the load can continue: flows arrive at random in all parts of the workload, and hosts are simulated.
pub fn check_load(scenario: &Scenario, workload: &WorkloadSpec) -> Outcome<()> {
    let table = scenario.table("measure");
    if !table.get::<bool>("continue_load") {
        return Ok(());
    }
    let mut parts = workload.parts.iter();
    let is_open = parts.all(|part| matches!(part.flows, FlowsSpec::Open(_)));
    let is_simulated = matches!(scenario.table("").word("clock"), None | Some("simulated"));
    if is_open && is_simulated {
        return Ok(());
    }
    let allowed = "only on simulated hosts, and with workload.kind = \"open\" in all parts";
    Err(table.error("continue_load", "true", allowed))
}

//! Reproductions of published figures. Each reproduction runs scenarios and computes rows from their records.
//! The rows compare our values with published values.
//!
//! A reproduction is a value of type [`Reproduction`] in the list [`ALL`].
//! The scenarios of a reproduction are files in `scenarios/reproduce/`. Each [`Part`] of a reproduction is a study.
//! The rows are computed from the records of all parts.
//! [`Check`] checks the rows, and [`page`] writes them into Markdown.
//!
//! ```
//! use tailcut_reproduce::{Results, named};
//! use tailcut_scenario::Workers;
//!
//! let reproduction = named("incast-drain").expect("one of ALL"); let mut results = Results::default();
//! for part in (reproduction.parts)() {
//!     // The short form, with the seeds of the scenario.
//!     let study = part.study(true, None, None)?;
//!     results.parts.push((part.name, study.run(&Workers::default())?));
//! } for row in (reproduction.rows)(&results) {
//!     println!("{}: {:?}, published {:?}: {:?}", row.metric, row.ours, row.theirs, row.verdict);
//! }
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod band;
mod case;
mod check;
mod expeditus;
mod hull;
mod incast_drain;
mod interactions;
mod measure;
mod measured_value;
pub mod page;
mod part;
mod rans;
mod rans_hedging;
mod repnet_bucket_sort;
mod repnet_choice;
mod repnet_deck;
mod repnet_incast;
mod repnet_mininet;
mod repnet_probes;
mod repnet_sensitivity;
mod repnet_testbed;
mod row;
mod runs;
mod scdp;
mod storage;

pub use band::Band;
pub use check::Check;
pub use measured_value::MeasuredValue;
pub use part::{Part, Program, Reproduction, Results, Times};
pub use row::row;
pub use runs::{PartRuns, ReproductionRuns, Runs};

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

/// All reproductions, in the order in which the command runs them.
pub const ALL: &[Reproduction] = &[
    incast_drain::INCAST_DRAIN,
    repnet_probes::REPNET_PROBES,
    repnet_choice::REPNET_CHOICE,
    repnet_testbed::REPNET_TESTBED,
    repnet_incast::REPNET_INCAST,
    repnet_mininet::REPNET_MININET,
    repnet_bucket_sort::REPNET_BUCKET_SORT,
    repnet_deck::REPNET_DECK,
    repnet_sensitivity::REPNET_SENSITIVITY,
    hull::HULL_DYNAMIC,
    hull::HULL_SENSITIVITY,
    hull::HULL_STATIC,
    hull::HULL_BURSTS,
    hull::HULL_SCALE,
    scdp::SHORT_FLOWS,
    scdp::SENSITIVITY,
    scdp::INCAST,
    scdp::OUTCAST,
    scdp::INITIAL_WINDOW,
    scdp::DECODING,
    scdp::FAIRNESS,
    expeditus::EXPEDITUS,
    expeditus::SENSITIVITY,
    expeditus::EMULAB,
    rans::RANS,
    rans_hedging::RANS_HEDGING,
    storage::FIRST_FIGURE,
    storage::WRITES,
    storage::READS,
    storage::HOTSPOTS,
    storage::OVERHEAD,
    storage::SENSITIVITY,
    interactions::INTERACTIONS,
];

/// Returns the reproduction with this name.
pub fn named(name: &str) -> Option<&'static Reproduction> {
    ALL.iter().find(|known| known.name == name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;
    use tailcut_scenario::sim::{RunClock, RunConfig};
    use tailcut_scenario::{Scenario, Study};

    /// Returns whether a part with TCP sets its timers explicitly.
    /// Published results depend on TCP's timers. A new default value of a timer must not change our results.
    fn says_its_timers(part: &Part, study: &Study) -> bool {
        let scenario = Scenario::parse(part.name, "", part.scenario).expect("a scenario");
        let tcp = scenario.table("tcp");
        let is_said = |key: &str| {
            let path = format!("tcp.{key}");
            tcp.given(key).is_some() || part.changes.iter().any(|(changed, _)| *changed == path)
        };
        let has_tcp = |run: &RunConfig| run.stack.design.handshake;
        !study.runs.iter().any(has_tcp) || (is_said("min_rto") && is_said("initial_rto"))
    }

    #[test]
    fn every_part_is_a_study_full_and_quick_under_a_name_of_its_own() {
        let mut reproductions = BTreeSet::new();
        for reproduction in ALL {
            let name = reproduction.name;
            assert!(reproductions.insert(name), "{name} twice");
            let mut parts = BTreeSet::new();
            let real = (reproduction.parts_on_real_hosts)();
            for (is_real, part) in (reproduction.parts)()
                .into_iter()
                .map(|part| (false, part))
                .chain(real.into_iter().map(|part| (true, part)))
            {
                assert!(
                    parts.insert((is_real, part.name)),
                    "{name}: {} twice",
                    part.name
                );
                for quick in [false, true] {
                    let study = part.study(quick, None, None);
                    let study = study.unwrap_or_else(|e| panic!("{name}, {}: {e}", part.name));
                    assert!(!study.runs.is_empty());
                    let is_timed = |run: &RunConfig| run.clock != RunClock::Simulated;
                    // Parts with this suffix run in the simulator, for comparison with the parts on real hosts.
                    let is_wall = is_real && !part.name.ends_with("-simulated");
                    assert!(
                        study.runs.iter().all(|run| is_timed(run) == is_wall),
                        "{name}"
                    );
                    assert!(says_its_timers(&part, &study), "{name}, {}", part.name);
                }
            }
        }
    }
}

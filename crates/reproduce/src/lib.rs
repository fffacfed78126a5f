//! Published figures, run again: scenarios, and from their records rows of ours beside theirs.
//!
//! A reproduction is a type that implements [`Reproduction`] and stands in [`ALL`]. Its scenarios are
//! files under `scenarios/reproduce/`. Each of its [`Part`]s is a study; from the records of all of
//! them follow the rows. [`Check`] says whether rows hold; [`page`] writes them into Markdown.
//!
//! ```
//! use tailcut_reproduce::{Results, named};
//! use tailcut_scenario::Crew;
//!
//! let reproduction = named("incast-drain").expect("one of ALL");
//! let mut results = Results::default();
//! for part in reproduction.parts() {
//!     // The short form, with the seeds of the scenario.
//!     let study = part.study(true, None, None)?;
//!     results.parts.push((part.name, study.run(&Crew::default())?));
//! }
//! for row in reproduction.rows(&results) {
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
mod ours;
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
pub use ours::Ours;
pub use part::{Part, Program, Reproduction, Results, Times};
pub use row::row;
pub use runs::{Runs, RunsOf, RunsOfPart};

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

/// Every reproduction, in the order in which they are run.
pub const ALL: &[&dyn Reproduction] = &[
    &incast_drain::IncastDrain,
    &repnet_probes::RepNetProbes,
    &repnet_choice::RepNetChoice,
    &repnet_testbed::RepNetTestbed,
    &repnet_incast::RepNetIncast,
    &repnet_mininet::RepNetMininet,
    &repnet_bucket_sort::RepNetBucketSort,
    &repnet_deck::RepNetDeck,
    &repnet_sensitivity::RepNetSensitivity,
    &hull::HullDynamic,
    &hull::HullSensitivity,
    &hull::HullStatic,
    &hull::HullBursts,
    &hull::HullScale,
    &scdp::ShortFlows,
    &scdp::Sensitivity,
    &scdp::Incast,
    &scdp::Outcast,
    &scdp::InitialWindow,
    &scdp::Decoding,
    &scdp::Fairness,
    &expeditus::Expeditus,
    &expeditus::Sensitivity,
    &expeditus::Emulab,
    &rans::Rans,
    &rans_hedging::RansHedging,
    &storage::FirstFigure,
    &storage::Writes,
    &storage::Reads,
    &storage::Hotspots,
    &storage::Overhead,
    &storage::Sensitivity,
    &interactions::Interactions,
];

/// The reproduction of that name.
pub fn named(name: &str) -> Option<&'static dyn Reproduction> {
    ALL.iter().copied().find(|known| known.name() == name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;
    use tailcut_scenario::sim::{RunClock, RunConfig};
    use tailcut_scenario::{Scenario, Study};

    /// Whether a part with TCP in it says which timers it has: what is published depends on them, and
    /// must not follow the defaults.
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
            let name = reproduction.name();
            assert!(reproductions.insert(name), "{name} twice");
            let mut parts = BTreeSet::new();
            let real = reproduction.parts_on_real_hosts();
            for (is_real, part) in reproduction
                .parts()
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
                    // Some have a simulated one beside them.
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

//! Published figures, run again: scenarios, and from their records rows of ours beside theirs.
//!
//! A reproduction is a type that implements [`Reproduction`] and stands in [`ALL`]. Its scenarios are
//! files under `scenarios/reproduce/`.

mod band;
mod case;
pub mod check;
mod expeditus;
mod hull;
mod incast_drain;
mod interactions;
mod measure;
mod ours;
pub mod page;
mod rans;
mod rans_hedging;
mod repnet_choice;
mod repnet_deck;
mod repnet_incast;
mod repnet_mininet;
mod repnet_probes;
mod repnet_sensitivity;
mod repnet_testbed;
mod scdp;
mod storage;

use crate::scenario::{Place, Scenario, ScenarioError};
use crate::study::Study;
use band::Band;
use ours::Ours;
use tailcut_record::RunRecord;
use tailcut_report::{ComparisonRow, Verdict, seeds_that_would_do};

/// Every reproduction, in the order in which they are run.
pub const ALL: &[&dyn Reproduction] = &[
    &incast_drain::IncastDrain,
    &repnet_probes::RepNetProbes,
    &repnet_choice::RepNetChoice,
    &repnet_testbed::RepNetTestbed,
    &repnet_incast::RepNetIncast,
    &repnet_mininet::RepNetMininet,
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

/// A figure or table that is run again.
pub trait Reproduction: Sync {
    /// Its name on the command line.
    fn name(&self) -> &'static str;

    /// What is reproduced and where it was published, in a line.
    fn title(&self) -> &'static str;

    /// The studies that it takes.
    fn parts(&self) -> Vec<Part>;

    /// The rows, from the finished runs of all parts.
    fn rows(&self, results: &Results) -> Vec<ComparisonRow>;
}

/// One study of a reproduction.
pub struct Part {
    /// Its name, unique within the reproduction; that of its directory too.
    pub name: &'static str,
    /// The text of its scenario.
    pub scenario: &'static str,
    /// Keys that differ from the scenario, so that parts can share one.
    pub changes: Vec<(&'static str, String)>,
    /// Keys that differ in the quick form.
    pub quick: Vec<(&'static str, String)>,
}

impl Part {
    /// The keys that differ from the scenario, in the order in which they are set.
    pub fn keys(&self, quick: bool) -> impl Iterator<Item = &(&'static str, String)> {
        let short = self.quick.iter().filter(move |_| quick);
        self.changes.iter().chain(short)
    }

    /// The part's runs; `seed` and `seeds` come from the command line.
    ///
    /// # Errors
    /// Flags that the scenario does not allow; none else for a scenario that was tested.
    pub fn study(
        &self,
        quick: bool,
        seed: Option<u64>,
        seeds: Option<u64>,
    ) -> Result<Study, Box<ScenarioError>> {
        let file = format!("scenarios/reproduce/{}.toml", self.name);
        let mut scenario = Scenario::parse(&file, "", self.scenario)?;
        for (path, text) in self.keys(quick) {
            scenario.set(path, text, &Place::flag(self.name))?;
        }
        // Parts with other designs share it.
        scenario.start_from_here();
        for (flag, path, value) in [("--seed", "seed", seed), ("--seeds", "seeds", seeds)] {
            if let Some(value) = value {
                scenario.set(path, &value.to_string(), &Place::flag(flag))?;
            }
        }
        Study::of(&scenario)
    }
}

/// Keys with their values as a [`Part`] has them.
fn keys(given: &[(&'static str, &str)]) -> Vec<(&'static str, String)> {
    let owned = given.iter().map(|&(key, value)| (key, value.to_owned()));
    owned.collect()
}

/// The finished runs of a reproduction's parts.
#[derive(Default)]
pub struct Results {
    /// By part, in the order of its study.
    pub parts: Vec<(&'static str, Vec<RunRecord>)>,
}

impl Results {
    /// The runs of a part and a design, in the order of their seeds.
    pub fn runs<'a>(
        &'a self,
        part: &'a str,
        design: &'a str,
    ) -> impl Iterator<Item = &'a RunRecord> {
        let of_part = self.parts.iter().filter(move |(name, _)| *name == part);
        let runs = of_part.flat_map(|(_, runs)| runs);
        runs.filter(move |run| run.key.design == design)
    }

    /// The loads at which a part ran a design, ascending.
    pub fn loads(&self, part: &str, design: &str) -> Vec<f64> {
        let loads = self.runs(part, design).filter_map(|run| run.key.load);
        let mut loads: Vec<f64> = loads.collect();
        loads.sort_unstable_by(f64::total_cmp);
        loads.dedup();
        loads
    }
}

/// A row: ours beside theirs.
pub fn row(
    metric: impl Into<String>,
    ours: impl Into<Ours>,
    theirs: Option<f64>,
    band: impl Into<Option<Band>>,
    why: impl Into<String>,
) -> ComparisonRow {
    let (ours, band) = (ours.into(), band.into());
    let verdict = match ours.seeds_that_would_do {
        Some(_) => Verdict::TooFew,
        None => Verdict::of(ours.value, ours.interval, band),
    };
    let estimated = || {
        let (value, interval) = (ours.value?, ours.interval?);
        seeds_that_would_do(value, interval, band?, ours.seeds as u64)
    };
    let would_do = ours.seeds_that_would_do.map(|seeds| seeds as u64);
    ComparisonRow {
        metric: metric.into(),
        ours: ours.value,
        ours_ci: ours.interval,
        seeds: ours.seeds as u64,
        flows: ours.flows.map(|flows| flows as u64),
        theirs,
        band,
        verdict,
        seeds_that_would_do: match verdict {
            Verdict::TooFew => would_do.or_else(estimated),
            _ => None,
        },
        why: why.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;
    use tailcut_sim::RunConfig;

    /// Whether a part with TCP in it says which timers it has: what is published depends on them, and
    /// must not follow the defaults.
    fn says_its_timers(part: &Part, study: &Study) -> bool {
        let scenario = Scenario::parse(part.name, "", part.scenario).expect("a scenario");
        let tcp = scenario.table("tcp");
        let is_said = |key: &str| {
            let path = format!("tcp.{key}");
            tcp.given(key).is_some() || part.changes.iter().any(|(changed, _)| *changed == path)
        };
        let has_tcp = |run: &RunConfig| run.design.transport.has_handshake();
        !study.runs.iter().any(has_tcp) || (is_said("min_rto") && is_said("initial_rto"))
    }

    #[test]
    fn every_part_is_a_study_full_and_quick_under_a_name_of_its_own() {
        let mut reproductions = BTreeSet::new();
        for reproduction in ALL {
            let name = reproduction.name();
            assert!(reproductions.insert(name), "{name} twice");
            let mut parts = BTreeSet::new();
            for part in reproduction.parts() {
                assert!(parts.insert(part.name), "{name}: {} twice", part.name);
                for quick in [false, true] {
                    let study = part.study(quick, None, None);
                    let study = study.unwrap_or_else(|e| panic!("{name}, {}: {e}", part.name));
                    assert!(!study.runs.is_empty());
                    assert!(says_its_timers(&part, &study), "{name}, {}", part.name);
                }
            }
        }
    }
}

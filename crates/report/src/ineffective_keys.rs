//! Swept keys that have no effect on a design.

use crate::caveat::Caveat;
use crate::format::list;
use crate::run::{Run, Setting};
use crate::study::Study;
use std::collections::{BTreeMap, BTreeSet};

/// Returns a sentence for each swept key whose values all give the same results with a design, seed by seed.
/// The reason is that the design does not read the key, or that the limit of the key was never reached.
pub(crate) fn sentences(study: &Study) -> Vec<String> {
    let designs = study.designs();
    let mut keys: Vec<&str> = Vec::new();
    for parameter in study
        .runs()
        .iter()
        .flat_map(|run| &run.summary.key.parameters)
    {
        // Keys of this section change the measured part of a run, but not the run itself.
        let is_of_runs = !parameter.key.starts_with("measure.");
        if is_of_runs && !keys.contains(&&*parameter.key) {
            keys.push(&parameter.key);
        }
    }
    let sentences = keys.into_iter().filter_map(|key| {
        let unaffected = designs.iter().filter(|design| {
            let is_its = |run: &&Run| run.summary.key.design == **design;
            has_no_effect(study.runs().iter().filter(is_its), key)
        });
        let unaffected: Vec<String> = unaffected.map(|design| (*design).to_owned()).collect();
        (!unaffected.is_empty()).then(|| {
            format!(
                "No effect: {key} does not change any result of {}.{}",
                list(&unaffected),
                Caveat::NoEffect.see()
            )
        })
    });
    sentences.collect()
}

/// Returns whether all runs that differ only in this key have the same results.
/// Returns `false` if no two runs differ only in this key.
fn has_no_effect<'a>(runs: impl Iterator<Item = &'a Run>, key: &str) -> bool {
    // Each entry of this map contains the runs that differ only in the swept key.
    // An entry contains the hash of the first run's results and all values of the swept key.
    let mut by_setting: BTreeMap<String, (&str, BTreeSet<String>)> = BTreeMap::new();
    for run in runs {
        let mut setting = Setting::from(&run.summary.key);
        let of_key = setting.parameters.iter().position(|p| p.key == key);
        let Some(value) = of_key.map(|place| setting.parameters.remove(place)) else {
            continue;
        };
        let beside = format!("{setting:?} {}", run.summary.key.seed);
        let hash = run.summary.record_hash.as_str();
        let (first, values) = by_setting.entry(beside).or_insert((hash, BTreeSet::new()));
        if *first != hash {
            return false;
        }
        values.insert(value.to_string());
    }
    by_setting.values().any(|(_, values)| values.len() > 1)
}

//! Swept keys that change nothing for a design.

use crate::format::list;
use crate::run::{Run, Setting};
use crate::study::Study;
use std::collections::{BTreeMap, BTreeSet};

/// A sentence for each swept key whose values give the same results with a design, seed by seed: the design
/// does not read the key, or nothing came to what it limits.
pub(crate) fn sentences(study: &Study) -> Vec<String> {
    let designs = study.designs();
    let mut keys: Vec<&str> = Vec::new();
    for parameter in study
        .runs()
        .iter()
        .flat_map(|run| &run.summary.key.parameters)
    {
        if !keys.contains(&&*parameter.key) {
            keys.push(&parameter.key);
        }
    }
    let sentences = keys.into_iter().filter_map(|key| {
        let unmoved = designs.iter().filter(|design| {
            let is_its = |run: &&Run| run.summary.key.design == **design;
            is_unmoved(study.runs().iter().filter(is_its), key)
        });
        let unmoved: Vec<String> = unmoved.map(|design| (*design).to_owned()).collect();
        (!unmoved.is_empty()).then(|| {
            format!(
                "{key} changes nothing for {}: the results are the same at each of its values, seed by seed.",
                list(&unmoved)
            )
        })
    });
    sentences.collect()
}

/// Whether runs that differ in one key alone have the same results, and there are such.
fn is_unmoved<'a>(runs: impl Iterator<Item = &'a Run>, key: &str) -> bool {
    // By everything else that tells a run apart: the hash of its results, and the values of the key.
    let mut alike: BTreeMap<String, (&str, BTreeSet<String>)> = BTreeMap::new();
    for run in runs {
        let mut setting = Setting::from(&run.summary.key);
        let of_key = setting.parameters.iter().position(|p| p.key == key);
        let Some(value) = of_key.map(|place| setting.parameters.remove(place)) else {
            continue;
        };
        let beside = format!("{setting:?} {}", run.summary.key.seed);
        let hash = run.summary.record_hash.as_str();
        let (first, values) = alike.entry(beside).or_insert((hash, BTreeSet::new()));
        if *first != hash {
            return false;
        }
        values.insert(value.to_string());
    }
    alike.values().any(|(_, values)| values.len() > 1)
}

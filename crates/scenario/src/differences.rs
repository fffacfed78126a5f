//! Differences between studies: the keys in which they differ become parameters of their runs.

use crate::recorded::{recorded_keys, recorded_parameters};
use crate::sweep::with_common_form;
use serde_json::Value;
use std::collections::BTreeMap;
use tailcut_record::{Manifest, Parameter, RunKey};

/// Keys from which the name of a workload is made.
const NAMING: [&str; 4] = [
    "workload.kind",
    "workload.sizes",
    "workload.matrix",
    "workload.file",
];

/// Name that replaces the name of a network or workload that differs between the runs.
const SWEPT: &str = "swept";

/// Keys in which several studies differ, and keys that one of the studies sweeps.
pub struct Differences {
    keys: Vec<String>,
    columns: Vec<Column>,
}

impl Differences {
    /// Returns the differences between the studies of the given manifests.
    pub fn between(studies: &[&Manifest]) -> Self {
        let all: Vec<BTreeMap<String, Value>> = studies
            .iter()
            .map(|study| recorded_keys(&study.config))
            .collect();
        let mut keys: Vec<String> = Vec::new();
        let swept = studies.iter().flat_map(|study| &study.runs);
        let swept = swept.flat_map(|run| run.key.parameters.iter().map(|one| one.key.clone()));
        let differing = all.iter().flat_map(BTreeMap::keys).filter(|key| {
            let mut values = all.iter().map(|keys| keys.get(*key));
            let first = values.next().flatten();
            values.any(|value| value != first)
        });
        for key in swept.chain(differing.cloned()) {
            if !keys.contains(&key) {
                keys.push(key);
            }
        }
        let columns = keys
            .iter()
            .map(|key| Column::of(key, studies, &all))
            .collect();
        Self { keys, columns }
    }

    /// Adds the keys that differ to the parameters of a run of study number `study`.
    /// Removes the keys from the names of the run's network and workload.
    pub fn name(&self, study: usize, run: &mut RunKey) {
        let parameters = self
            .columns
            .iter()
            .filter_map(|column| column.parameter(study, run));
        run.parameters = parameters.collect();
        remove_from_names(run, &self.keys);
    }
}

/// Key with its values in all studies.
struct Column {
    key: String,
    /// Value of the key for each study; `None` if the study does not have the key or sweeps the key.
    of_studies: Vec<Option<Parameter>>,
    /// Values of the key in runs that sweep the key: each in its original form, and in the form that all studies share.
    swept: Vec<(Parameter, Parameter)>,
}

impl Column {
    fn of(key: &str, studies: &[&Manifest], keys: &[BTreeMap<String, Value>]) -> Self {
        let mut swept: Vec<Parameter> = Vec::new();
        for run in studies.iter().flat_map(|study| &study.runs) {
            let here = run.key.parameters.iter().find(|one| one.key == key);
            if let Some(one) = here.filter(|one| !swept.contains(one)) {
                swept.push(one.clone());
            }
        }
        // If a study sweeps the key, the value in the study's configuration is not the value of its runs.
        let set = keys.iter().zip(studies).map(|(keys, study)| {
            let mut runs = study.runs.iter();
            let is_swept = runs.any(|run| run.key.parameters.iter().any(|one| one.key == key));
            keys.get(key).filter(|_| !is_swept)
        });
        let set: Vec<Option<&Value>> = set.collect();
        let values: Vec<Value> = set.iter().flatten().map(|value| (*value).clone()).collect();
        let mut all = recorded_parameters(key, &values);
        let count = all.len();
        all.extend(swept.iter().cloned());
        let mut all = with_common_form(all).into_iter();
        let mut of_set = all.by_ref().take(count).collect::<Vec<_>>().into_iter();
        Self {
            key: key.to_owned(),
            of_studies: set
                .iter()
                .map(|set| set.and_then(|_| of_set.next()))
                .collect(),
            swept: swept.into_iter().zip(all).collect(),
        }
    }

    fn parameter(&self, study: usize, key: &RunKey) -> Option<Parameter> {
        let own = key.parameters.iter().find(|one| one.key == self.key);
        match own {
            Some(own) => {
                let known = self.swept.iter().find(|(known, _)| known == own);
                known.map(|(_, common)| common.clone())
            }
            None => self.of_studies[study].clone(),
        }
    }
}

/// Removes `named_keys` and their values from the names of networks and workloads.
/// With named keys in their names, the runs of two studies would have different names and would not be compared.
fn remove_from_names(key: &mut RunKey, named_keys: &[String]) {
    let is_named = |name: &str| named_keys.iter().any(|key| key == name);
    if is_named("topology.kind") {
        SWEPT.clone_into(&mut key.topology);
    } else if let Some((kind, given)) = key.topology.split_once(':') {
        let kept = given.split(',').filter(|one| {
            let name = one.split('=').next().unwrap_or_default();
            !is_named(&format!("topology.{name}"))
        });
        let kept: Vec<&str> = kept.collect();
        key.topology = match kept.is_empty() {
            true => kind.to_owned(),
            false => format!("{kind}:{}", kept.join(",")),
        };
    }
    if NAMING.iter().any(|name| is_named(name)) {
        SWEPT.clone_into(&mut key.workload);
    }
}

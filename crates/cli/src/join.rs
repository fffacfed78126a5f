//! Joining of several studies. The keys in which they differ become parameters.

use crate::output::note;
use anyhow::Context;
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::PathBuf;
use tailcut_report::Study;
use tailcut_scenario::record::{Parameter, RunKey};
use tailcut_scenario::{recorded_keys, recorded_parameters, with_common_form};

/// Keys that determine the name of a workload.
const NAMING: [&str; 4] = [
    "workload.kind",
    "workload.sizes",
    "workload.matrix",
    "workload.file",
];

/// Name of a network or workload that differs between the runs.
const SWEPT: &str = "swept";

/// Loads the study in a directory, or joins the studies of several directories.
///
/// # Errors
/// A directory contains no study or a damaged study.
pub fn load(dirs: &[PathBuf]) -> anyhow::Result<Study> {
    let mut studies = Vec::new();
    for dir in dirs {
        let shown = dir.display();
        anyhow::ensure!(
            dir.join("manifest.json").exists(),
            "DIR: found {shown}, which has no manifest.json; allowed: a directory that compare, run or study collect \
             wrote, such as out/compare"
        );
        studies.push(tailcut_report::load(dir)?);
    }
    if studies.len() > 1 {
        name_differences(&mut studies);
    }
    let joined = Study::join(studies).context("DIR: found none; allowed: a study's directory")?;
    let (study, repeated) = joined;
    if repeated > 0 {
        note(&format!(
            "runs that are in several directories (only the first is used): {repeated}"
        ));
    }
    Ok(study)
}

/// Adds parameters to all runs: the keys in which the studies differ, and the keys that a study sweeps.
fn name_differences(studies: &mut [Study]) {
    let keys = studies
        .iter()
        .map(|study| recorded_keys(&study.manifest().config));
    let keys: Vec<BTreeMap<String, Value>> = keys.collect();
    let mut named_keys: Vec<String> = Vec::new();
    let swept = studies.iter().flat_map(|study| &study.manifest().runs);
    let swept = swept.flat_map(|run| run.key.parameters.iter().map(|one| one.key.clone()));
    let differing = keys.iter().flat_map(BTreeMap::keys).filter(|key| {
        let mut values = keys.iter().map(|keys| keys.get(*key));
        let first = values.next().flatten();
        values.any(|value| value != first)
    });
    for key in swept.chain(differing.cloned()) {
        if !named_keys.contains(&key) {
            named_keys.push(key);
        }
    }
    let columns: Vec<Column> = named_keys
        .iter()
        .map(|key| Column::of(key, studies, &keys))
        .collect();
    for (index, study) in studies.iter_mut().enumerate() {
        study.rename(|key| {
            let parameters = columns
                .iter()
                .filter_map(|column| column.parameter(index, key));
            key.parameters = parameters.collect();
            remove_from_names(key, &named_keys);
        });
    }
}

/// Key, and its values in all studies.
struct Column {
    key: String,
    /// Value of the key for each study; `None` if the study does not have the key or sweeps it.
    of_studies: Vec<Option<Parameter>>,
    /// Parameters of runs that sweep the key: original form, and the form that all studies share.
    swept: Vec<(Parameter, Parameter)>,
}

impl Column {
    fn of(key: &str, studies: &[Study], keys: &[BTreeMap<String, Value>]) -> Self {
        let mut swept: Vec<Parameter> = Vec::new();
        for run in studies.iter().flat_map(|study| &study.manifest().runs) {
            let here = run.key.parameters.iter().find(|one| one.key == key);
            if let Some(one) = here.filter(|one| !swept.contains(one)) {
                swept.push(one.clone());
            }
        }
        // If a study sweeps the key, the value in its configuration is not the value of its runs.
        let set = keys.iter().zip(studies).map(|(keys, study)| {
            let mut runs = study.manifest().runs.iter();
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

/// Removes the differing keys from the names of networks and workloads. Runs with different names would not be
/// compared.
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

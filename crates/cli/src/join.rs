//! Several studies as one: what they differ in are its parameters.

use crate::output::note;
use anyhow::Context;
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::PathBuf;
use tailcut_report::Study;
use tailcut_scenario::record::{Parameter, RunKey};
use tailcut_scenario::{alike, recorded_keys, recorded_parameters};

/// Keys that decide a workload's name.
const NAMING: [&str; 4] = [
    "workload.kind",
    "workload.sizes",
    "workload.matrix",
    "workload.file",
];

/// The name of a network or workload whose runs differ in it.
const SWEPT: &str = "swept";

/// The study in a directory, or those of several as one.
///
/// # Errors
/// A directory that holds no study, or a damaged one.
pub fn load(dirs: &[PathBuf]) -> anyhow::Result<Study> {
    let studies = dirs.iter().map(tailcut_report::load);
    let mut studies: Vec<Study> = studies.collect::<Result<_, _>>()?;
    if studies.len() > 1 {
        name_differences(&mut studies);
    }
    let joined = Study::join(studies).context("DIR: found none; allowed: a study's directory")?;
    let (study, repeated) = joined;
    if repeated > 0 {
        note(&format!(
            "runs that are in several of the directories, of which the first is taken: {repeated}"
        ));
    }
    Ok(study)
}

/// Gives every run the keys that studies differ in, or that one of them sweeps, as parameters.
fn name_differences(studies: &mut [Study]) {
    let keys = studies
        .iter()
        .map(|study| recorded_keys(&study.manifest().config));
    let keys: Vec<BTreeMap<String, Value>> = keys.collect();
    let mut told: Vec<String> = Vec::new();
    let swept = studies.iter().flat_map(|study| &study.manifest().runs);
    let swept = swept.flat_map(|run| run.key.parameters.iter().map(|one| one.key.clone()));
    let differing = keys.iter().flat_map(BTreeMap::keys).filter(|key| {
        let mut values = keys.iter().map(|keys| keys.get(*key));
        let first = values.next().flatten();
        values.any(|value| value != first)
    });
    for key in swept.chain(differing.cloned()) {
        if !told.contains(&key) {
            told.push(key);
        }
    }
    let columns: Vec<Column> = told
        .iter()
        .map(|key| Column::of(key, studies, &keys))
        .collect();
    for (index, study) in studies.iter_mut().enumerate() {
        study.rename(|key| {
            let parameters = columns
                .iter()
                .filter_map(|column| column.parameter(index, key));
            key.parameters = parameters.collect();
            rename_place(key, &told);
        });
    }
}

/// A key with all of its values.
struct Column {
    key: String,
    /// By study, what it was set to; `None` where there is no such key.
    of_studies: Vec<Option<Parameter>>,
    /// Each parameter of a run that sweeps the key, and the same in the form that all have.
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
        // What a study sweeps everywhere is not what its configuration says.
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
        let mut all = alike(all).into_iter();
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
                known.map(|(_, told)| told.clone())
            }
            None => self.of_studies[study].clone(),
        }
    }
}

/// Leaves what runs differ in out of the names of their networks and workloads, so that they are compared.
fn rename_place(key: &mut RunKey, told: &[String]) {
    let is_told = |name: &str| told.iter().any(|key| key == name);
    if is_told("topology.kind") {
        SWEPT.clone_into(&mut key.topology);
    } else if let Some((kind, given)) = key.topology.split_once(':') {
        let kept = given.split(',').filter(|one| {
            let name = one.split('=').next().unwrap_or_default();
            !is_told(&format!("topology.{name}"))
        });
        let kept: Vec<&str> = kept.collect();
        key.topology = match kept.is_empty() {
            true => kind.to_owned(),
            false => format!("{kind}:{}", kept.join(",")),
        };
    }
    if NAMING.iter().any(|name| is_told(name)) {
        SWEPT.clone_into(&mut key.workload);
    }
}

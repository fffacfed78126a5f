//! Joining of several studies into one. The keys whose values differ between the studies become parameters.

use crate::output::note;
use anyhow::Context;
use std::path::PathBuf;
use tailcut_report::Study;
use tailcut_scenario::Differences;
use tailcut_scenario::record::Manifest;

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
        let manifests: Vec<&Manifest> = studies.iter().map(Study::manifest).collect();
        let differences = Differences::between(&manifests);
        for (index, study) in studies.iter_mut().enumerate() {
            study.rename(|key| differences.name(index, key));
        }
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

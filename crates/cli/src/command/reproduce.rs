//! `tailcut reproduce`: published figures, ours beside theirs.

use crate::args::{Common, Reproduce};
use crate::conduct::{REPORT, conduct};
use crate::failure::Failure;
use crate::interrupt;
use crate::output::{note, print, print_json};
use crate::reproduction::{ALL, Reproduction, Results};
use crate::runner::{Crew, checked_threads};
use crate::scenario::did_you_mean;
use anyhow::anyhow;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
use tailcut_record::RunRecord;
use tailcut_report::{Comparison, Verdict};

/// Runs the command.
///
/// # Errors
/// An unknown name, whatever keeps a study from its end, and with `--check` a row outside its band.
pub fn execute(arguments: &Reproduce, common: &Common) -> Result<(), Failure> {
    let chosen = chosen(arguments.name.as_deref())?;
    let stop = interrupt::listen()?;
    let mut comparisons = Vec::with_capacity(chosen.len());
    for reproduction in chosen {
        let comparison = reproduce(reproduction, arguments, common, &stop)?;
        if !common.json {
            print(&comparison.table().to_text())?;
        }
        comparisons.push(comparison);
    }
    if common.json {
        print_json(&comparisons)?;
    }
    let rows = comparisons.iter().flat_map(|comparison| &comparison.rows);
    let outside = rows
        .filter(|row| matches!(row.verdict, Verdict::Outside | Verdict::Unknown))
        .count();
    if arguments.check && outside > 0 {
        note(&format!("{outside} rows are outside of their bands"));
        return Err(Failure::CheckFailed);
    }
    Ok(())
}

fn chosen(name: Option<&str>) -> Result<Vec<&'static dyn Reproduction>, Failure> {
    let Some(name) = name else {
        return Ok(ALL.to_vec());
    };
    let found: Vec<_> = ALL
        .iter()
        .copied()
        .filter(|known| known.name() == name)
        .collect();
    if found.is_empty() {
        let names: Vec<&str> = ALL.iter().map(|known| known.name()).collect();
        let meant = did_you_mean(name, names.iter().copied());
        let guess = meant.map_or_else(String::new, |name| format!("; did you mean '{name}'?"));
        let allowed = names.join(", ");
        return Err(anyhow!(
            "NAME: found the unknown reproduction '{name}'; allowed: {allowed}{guess}"
        )
        .into());
    }
    Ok(found)
}

/// Runs the parts of one reproduction, each into a directory of its own, and compares.
fn reproduce(
    reproduction: &dyn Reproduction,
    arguments: &Reproduce,
    common: &Common,
    stop: &AtomicBool,
) -> Result<Comparison, Failure> {
    note(reproduction.title());
    let base = common
        .out
        .clone()
        .unwrap_or_else(|| PathBuf::from("out/reproduce"));
    let crew = Crew {
        threads: checked_threads(common.threads)?,
        stop,
        json: common.json,
    };
    let mut results = Results::default();
    let mut dirs = Vec::new();
    for part in reproduction.parts() {
        let study = part.study(arguments.quick, common.seed, common.seeds)?;
        let dir = base.join(reproduction.name()).join(part.name);
        let records: Vec<Mutex<Option<RunRecord>>> =
            study.runs.iter().map(|_| Mutex::default()).collect();
        let conducted = conduct(&study, dir, crew, |index, record| {
            *records[index]
                .lock()
                .unwrap_or_else(PoisonError::into_inner) = Some(record.clone());
        })?;
        if stop.load(Ordering::Relaxed) {
            let finished = conducted.runs.iter().flatten().count();
            let (planned, dir) = (study.runs.len(), conducted.dir.display());
            note(&format!(
                "interrupted: {finished} of {planned} runs had finished; they are in {dir}"
            ));
            return Err(Failure::Interrupted);
        }
        let records = records
            .into_iter()
            .filter_map(|record| record.into_inner().unwrap_or_else(PoisonError::into_inner));
        results.parts.push((part.name, records.collect()));
        dirs.push(conducted.dir);
    }
    let comparison = Comparison {
        name: reproduction.title().to_owned(),
        rows: reproduction.rows(&results),
    };
    for dir in &dirs {
        write_report(dir, &comparison)?;
    }
    Ok(comparison)
}

/// The report of one part, with the comparison in it.
fn write_report(dir: &Path, comparison: &Comparison) -> Result<(), Failure> {
    tailcut_report::write_comparisons(dir, std::slice::from_ref(comparison))?;
    let study = tailcut_report::load(dir)?;
    tailcut_report::write_html(&study, dir.join(REPORT))?;
    Ok(())
}

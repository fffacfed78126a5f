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
use tailcut_record::StoredStudy;
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
    let mut outputs = Vec::new();
    for part in reproduction.parts() {
        let study = part.study(arguments.quick, common.seed, common.seeds)?;
        let dir = base.join(reproduction.name()).join(part.name);
        let conducted = conduct(&study, dir, arguments.finished.into(), crew)?;
        if stop.load(Ordering::Relaxed) {
            let (finished, planned) = (conducted.finished(), study.runs.len());
            let dir = conducted.output.path().display();
            note(&format!(
                "interrupted: {finished} of {planned} runs had finished; they are in {dir}"
            ));
            return Err(Failure::Interrupted);
        }
        // From the files, so that runs of now and runs that were there already count alike.
        let stored = StoredStudy::open(conducted.output.path())?;
        let records = stored.runs().map(|run| run?.record());
        let records = records.collect::<Result<_, tailcut_record::Error>>()?;
        results.parts.push((part.name, records));
        outputs.push(conducted.output);
    }
    let comparison = Comparison {
        name: reproduction.title().to_owned(),
        rows: reproduction.rows(&results),
    };
    for output in &outputs {
        write_report(output.path(), &comparison)?;
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

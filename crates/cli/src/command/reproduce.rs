//! `tailcut reproduce`: reproduces published figures, and shows them next to the published values.

use crate::args::{Reproduce, ReproduceOn};
use crate::command::node_program;
use crate::execution::{REPORT, execute_study};
use crate::failure::Failure;
use crate::interrupt;
use crate::output::{note, print_exactly, print_json, screen, warn};
use crate::pool::Pool;
use crate::real_hosts;
use anyhow::{Context, anyhow};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use tailcut_report::Comparison;
use tailcut_reproduce::page::{fill, on_real_hosts, unknown_marks};
use tailcut_reproduce::{
    ALL, Check, Part, PartRuns, Program, Reproduction, ReproductionRuns, Results, Runs, named,
};
use tailcut_scenario::record::{self, RunSummary, StoredStudy, WallClock};
use tailcut_scenario::{Location, Study, did_you_mean};

/// Runs the command.
///
/// # Errors
/// A name is unknown, a page cannot be read, a page names an unknown reproduction, or a study fails.
/// With `--check`, a row outside of its band is also an error.
pub fn execute(arguments: &Reproduce) -> Result<(), Failure> {
    let chosen = chosen(arguments)?;
    let mut page = arguments.page.as_deref().map(Page::open).transpose()?;
    // The lab must be prepared before this process starts threads.
    if let Some(part) = chosen
        .first()
        .and_then(|first| parts(first, arguments).pop())
    {
        real_hosts::prepare(&study(&part, arguments)?)?;
    }
    let stop = interrupt::listen()?;
    let mut comparisons = Vec::with_capacity(chosen.len());
    for reproduction in chosen {
        let (comparison, runs) = reproduce(reproduction, arguments, &stop)?;
        if !arguments.shared.json.json {
            print_exactly(&comparison.table().to_text(screen()))?;
        }
        if let Some(page) = &mut page {
            page.put(&called(reproduction, arguments), &comparison, runs)?;
        }
        comparisons.push(comparison);
    }
    if arguments.shared.json.json {
        print_json(&comparisons)?;
    }
    let check = Check::of(comparisons.iter().flat_map(|comparison| &comparison.rows));
    note(&check.sentence());
    let failures = check.failures(arguments.quick);
    if arguments.check && !failures.is_empty() {
        failures.iter().for_each(|failure| warn(failure));
        return Err(Failure::CheckFailed);
    }
    Ok(())
}

/// Markdown page whose tables the command fills, and the list of the page's runs.
struct Page<'a> {
    path: &'a Path,
    text: String,
    runs_path: PathBuf,
    runs: Runs,
}

impl<'a> Page<'a> {
    fn open(path: &'a Path) -> Result<Self, Failure> {
        let shown = path.display();
        let text = std::fs::read_to_string(path)
            .with_context(|| format!("--page: cannot read {shown}"))?;
        if let Some((line, name)) = unknown_marks(&text).first() {
            let names: Vec<&str> = ALL.iter().map(|known| known.name).collect();
            let allowed = names.join(", ");
            return Err(anyhow!(
                "{shown}:{line}: found rows of the unknown reproduction '{name}'; allowed: {allowed}"
            )
            .into());
        }
        let runs_path = path.with_extension("runs.json");
        let runs = match runs_path.exists() {
            true => record::read_json(&runs_path)?,
            false => Runs::default(),
        };
        Ok(Self {
            path,
            text,
            runs_path,
            runs,
        })
    }

    /// Writes the tables of a reproduction to the page, and adds its runs to the list.
    fn put(
        &mut self,
        name: &str,
        comparison: &Comparison,
        runs: ReproductionRuns,
    ) -> Result<(), Failure> {
        self.text = fill(&self.text, name, comparison);
        self.runs.reproductions.insert(name.to_owned(), runs);
        record::write_whole(self.path, self.text.as_bytes())?;
        record::write_json(&self.runs_path, &self.runs)?;
        Ok(())
    }
}

fn chosen(arguments: &Reproduce) -> Result<Vec<&'static Reproduction>, Failure> {
    let (clock, hosts) = match arguments.clock {
        ReproduceOn::Simulated => ("simulated", "the simulator"),
        ReproduceOn::Wall => ("wall", "real hosts"),
    };
    let can = |known: &Reproduction| {
        !parts(known, arguments).is_empty() || !programs(known, arguments).is_empty()
    };
    let all: Vec<&Reproduction> = ALL.iter().filter(|known| can(known)).collect();
    let Some(name) = arguments.name.as_deref() else {
        return Ok(all);
    };
    let names: Vec<&str> = all.iter().map(|known| known.name).collect();
    match named(name) {
        Some(found) if can(found) => return Ok(vec![found]),
        Some(_) => {
            let allowed = names.join(", ");
            return Err(anyhow!(
                "--clock: found {clock} for '{name}', which has no form for {hosts}; allowed: {allowed}"
            )
            .into());
        }
        None => {}
    }
    let meant = did_you_mean(name, names.iter().copied());
    let guess = meant.map_or_else(String::new, |name| format!("; did you mean '{name}'?"));
    let allowed = names.join(", ");
    Err(anyhow!("NAME: found the unknown reproduction '{name}'; allowed: {allowed}{guess}").into())
}

/// Runs the parts of one reproduction, each in a separate directory.
/// After all parts, the function compares the results with the published figures.
fn reproduce(
    reproduction: &Reproduction,
    arguments: &Reproduce,
    stop: &AtomicBool,
) -> Result<(Comparison, ReproductionRuns), Failure> {
    note(reproduction.title);
    let shared = &arguments.shared;
    let base = shared.out.out.clone();
    let base = base.unwrap_or_else(|| PathBuf::from("out/reproduce"));
    let base = base.join(called(reproduction, arguments));
    let pool = Pool::new(shared.threads, shared.json, stop)?;
    let mut results = Results::default();
    let mut outputs = Vec::new();
    let mut runs = ReproductionRuns {
        form: if arguments.quick { "quick" } else { "full" }.to_owned(),
        ..ReproductionRuns::default()
    };
    for part in parts(reproduction, arguments) {
        let study = study(&part, arguments)?;
        let dir = base.join(part.name);
        let executed = execute_study(&study, dir, arguments.finished.into(), pool, None)?;
        if stop.load(Ordering::Relaxed) {
            let (finished, planned) = (executed.finished(), study.runs.len());
            let dir = executed.output.path().display();
            note(&format!(
                "interrupted: {finished} of {planned} runs had finished; they are in {dir}"
            ));
            return Err(Failure::Interrupted);
        }
        // Results of both new and reused runs are read from files, so that all results have the same precision.
        let stored = StoredStudy::open(executed.output.path())?;
        let records = stored.runs().map(|run| run?.record());
        let records = records.collect::<Result<_, record::Error>>()?;
        results.parts.push((part.name, records));
        let finished: Vec<&RunSummary> = executed.runs.iter().flatten().collect();
        if let Some(words) = late(part.name, &finished) {
            note(&words);
        }
        runs.add(PartRuns::new(&part, &study, &finished, arguments.quick));
        outputs.push(executed.output);
    }
    for program in programs(reproduction, arguments) {
        let dir = base.join(program.name);
        let (times, of_program) = node_program::run(&program, arguments, &dir, stop)?;
        results.times.extend(times);
        runs.add(of_program);
    }
    let comparison = Comparison {
        name: reproduction.title.to_owned(),
        rows: (reproduction.rows)(&results),
    };
    for output in &outputs {
        write_report(output.path(), &comparison)?;
    }
    Ok((comparison, runs))
}

/// Returns a message if the runs of a part on real hosts are not valid because packets arrived too late.
fn late(part: &str, finished: &[&RunSummary]) -> Option<String> {
    let walls = finished.iter().filter_map(|run| run.wall.as_ref());
    let (invalid, valid): (Vec<_>, Vec<_>) = walls.partition(|wall| !wall.is_valid);
    let lateness = |wall: &&&WallClock| wall.late_p99_us;
    let worst = invalid
        .iter()
        .max_by(|a, b| lateness(a).total_cmp(&lateness(b)))?;
    Some(format!(
        "{part}: NOT VALID: {} of {} runs on real hosts: {}",
        invalid.len(),
        invalid.len() + valid.len(),
        worst.why_not
    ))
}

/// Returns the study of a part. On real hosts, the settings are adapted to the kernels.
fn study(part: &Part, arguments: &Reproduce) -> Result<Study, Failure> {
    let seeds = &arguments.shared.seeds;
    let mut scenario = part.scenario(arguments.quick, seeds.first.seed, seeds.seeds)?;
    if let Some(slowdown) = arguments.slowdown {
        scenario.set(
            "slowdown",
            &slowdown.to_string(),
            &Location::flag("--slowdown"),
        )?;
    }
    real_hosts::apply_kernel_limits(&mut scenario)?;
    Ok(Study::of(&scenario)?)
}

/// Returns the parts of a reproduction for the selected clock.
fn parts(reproduction: &Reproduction, arguments: &Reproduce) -> Vec<Part> {
    match arguments.clock {
        ReproduceOn::Simulated => (reproduction.parts)(),
        ReproduceOn::Wall => (reproduction.parts_on_real_hosts)(),
    }
}

/// Returns the programs of a reproduction for the selected clock.
fn programs(reproduction: &Reproduction, arguments: &Reproduce) -> Vec<Program> {
    match arguments.clock {
        ReproduceOn::Simulated => Vec::new(),
        ReproduceOn::Wall => (reproduction.programs_on_real_hosts)(),
    }
}

/// Returns the name of the reproduction's directory. The tables of the reproduction on a page have the same name.
fn called(reproduction: &Reproduction, arguments: &Reproduce) -> String {
    match arguments.clock {
        ReproduceOn::Simulated => reproduction.name.to_owned(),
        ReproduceOn::Wall => on_real_hosts(reproduction.name),
    }
}

/// Writes the report of one part. The report includes the comparison with the published figures.
fn write_report(dir: &Path, comparison: &Comparison) -> Result<(), Failure> {
    tailcut_report::write_comparisons(dir, std::slice::from_ref(comparison))?;
    let study = tailcut_report::load(dir)?;
    tailcut_report::write_html(&study, dir.join(REPORT))?;
    Ok(())
}

//! `--find-limit`: searches for the value of a key at which a metric passes a limit, for each design.

mod answer;
mod args;

use crate::execution::{open, run_missing};
use crate::failure::Failure;
use crate::interrupt;
use crate::output::note;
use crate::pool::Pool;
use crate::shared::Shared;
use answer::Answer;
use anyhow::anyhow;
use args::Limit;
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;
use tailcut_report::{Judged, Run, SearchNext, Side, judge};
use tailcut_scenario::record::{Earlier, OutputDir, StoredStudy};
use tailcut_scenario::{Location, Scenario, ScenarioError, Study};

/// Finds and prints the limit of each design. All runs of the search stay in the study's directory.
///
/// # Errors
/// Wrong input, a run that cannot be executed or written, or an interruption ([`Failure::Interrupted`]).
pub fn find_and_print(
    scenario: &Scenario,
    flag: &[String],
    earlier: Earlier,
    shared: &Shared,
) -> Result<(), Failure> {
    let limit = Limit::read(scenario, flag, &shared.seeds)?;
    let stop = interrupt::listen()?;
    let study = study_at(scenario, &limit, limit.range().low, 1)?;
    let of_designs: Vec<String> = study.runs.iter().map(|run| run.key().design).collect();
    let mut designs: Vec<Design> = Vec::new();
    for name in of_designs {
        if designs.iter().any(|known| known.name == name) {
            let found = "several settings for each value of the key";
            let allowed = "one load, and no sweep of another key";
            let location = Location::flag("--find-limit");
            return Err(ScenarioError::new(&location, limit.key.name(), found, allowed).into());
        }
        designs.push(Design::new(name, &limit));
    }
    if !study.about.is_empty() {
        note(&study.about);
    }
    let dir = shared
        .out
        .out
        .clone()
        .unwrap_or_else(|| Path::new("out").join(&study.name));
    let mut search_runs = SearchRuns {
        study: Study {
            runs: Vec::new(),
            ..study
        },
        dir,
        earlier,
        found: 0,
        run: 0,
    };
    let pool = Pool::new(shared.threads, shared.json, &stop)?;
    loop {
        let mut probes: Vec<(usize, f64)> = Vec::new();
        for (index, design) in designs.iter().enumerate() {
            if let SearchNext::Probe(value) = design.next(&limit) {
                let seeds = design.seeds;
                search_runs.plan(study_at(scenario, &limit, value, seeds)?, &design.name);
                probes.push((index, value));
            }
        }
        if probes.is_empty() {
            break;
        }
        search_runs.run(pool)?;
        if stop.load(Ordering::Relaxed) {
            let there = search_runs.study.runs.len();
            let dir = search_runs.dir.display();
            note(&format!(
                "interrupted: some of {there} planned runs have finished and are in {dir}; run the same command again to continue"
            ));
            return Err(Failure::Interrupted);
        }
        for (index, value) in probes {
            let design = &mut designs[index];
            let point = study_at(scenario, &limit, value, design.seeds)?;
            let runs = search_runs.read(&point, &design.name)?;
            let judged = judge(&point.config, runs, limit.statistic, limit.limit_us);
            design.take(value, judged, &limit);
        }
    }
    let answer = Answer::new(&limit, &designs)?;
    answer.print(shared.json.json, &search_runs)
}

/// Returns the study of all designs at one value of the key.
fn study_at(scenario: &Scenario, limit: &Limit, value: f64, seeds: u64) -> Result<Study, Failure> {
    let mut scenario = limit.key.at(scenario, value)?;
    scenario.set("seeds", &seeds.to_string(), &Location::flag("--seeds"))?;
    Ok(Study::of(&scenario)?)
}

/// Point of a design's search that was evaluated.
struct EvaluatedPoint {
    value: f64,
    seeds: u64,
    judged: Judged,
}

/// State of the search for one design.
struct Design {
    name: String,
    points: Vec<EvaluatedPoint>,
    /// Number of seeds for the next point.
    seeds: u64,
}

impl Design {
    fn new(name: String, limit: &Limit) -> Self {
        Self {
            name,
            points: Vec::new(),
            seeds: limit.first_seeds(),
        }
    }

    fn next(&self, limit: &Limit) -> SearchNext {
        let seen = self.points.iter();
        let seen: Vec<(f64, Side)> = seen.map(|one| (one.value, one.judged.side)).collect();
        limit.range().next(&seen)
    }

    /// Handles the result of a point: records its side of the limit, or requests a repetition with more seeds.
    fn take(&mut self, value: f64, judged: Judged, limit: &Limit) {
        let needed = judged
            .too_few
            .map_or(0, |few| few.seeds_that_would_do as u64);
        if judged.side == Side::Open
            && needed <= limit.most_seeds
            && let Some(more) = limit.more_seeds(self.seeds)
        {
            self.seeds = more;
            return;
        }
        self.points.push(EvaluatedPoint {
            value,
            seeds: self.seeds,
            judged,
        });
        self.seeds = limit.first_seeds();
    }

    /// Returns the number of runs that the search needed.
    fn runs(&self) -> u64 {
        self.points.iter().map(|one| one.seeds).sum()
    }
}

/// Runs of all points that the search has evaluated so far, in one directory.
struct SearchRuns {
    study: Study,
    dir: PathBuf,
    earlier: Earlier,
    /// Number of runs that already existed and were reused.
    found: usize,
    /// Number of runs that the search executed.
    run: usize,
}

impl SearchRuns {
    /// Adds the runs of a point to the plan.
    fn plan(&mut self, point: Study, design: &str) {
        for run in point.runs {
            let key = run.key();
            if key.design == design && self.study.runs.iter().all(|known| known.key() != key) {
                self.study.runs.push(run);
            }
        }
    }

    /// Executes the planned runs that are missing.
    fn run(&mut self, pool: Pool<'_>) -> Result<(), Failure> {
        let output = open(&self.study, &self.dir, self.earlier)?;
        // Existing runs are removed only before the first point. Later points must keep the runs of the search.
        if self.earlier == Earlier::Remove {
            self.earlier = Earlier::SameBuild;
        }
        let before = self.found + self.run;
        self.report_existing_runs(&output, before);
        let here = output.found().count();
        self.found += here.saturating_sub(before);
        let conducted = run_missing(&self.study, output, pool, None)?;
        self.run += conducted.finished() - here;
        Ok(())
    }

    /// Prints which existing runs are reused or damaged. Runs of this search itself are not counted.
    fn report_existing_runs(&self, output: &OutputDir, before: usize) {
        let found = output.found();
        for reason in &found.damaged {
            note(&format!("{reason}; this run is executed again"));
        }
        if found.left_of_other_builds > 0 {
            let (others, shown) = (found.left_of_other_builds, self.dir.display());
            note(&format!(
                "{others} runs in {shown} are from another build of tailcut and are executed again; --accept-older reuses them"
            ));
        }
        if found.count() > before {
            let (here, dir) = (found.count() - before, self.dir.display());
            note(&format!("{here} runs of this point are in {dir} already"));
        }
    }

    /// Reads the runs of a point.
    fn read(&self, point: &Study, design: &str) -> Result<Vec<Run>, Failure> {
        let stored = StoredStudy::open(&self.dir)?;
        let wanted = point.runs.iter().map(|run| run.key());
        let wanted: Vec<_> = wanted.filter(|key| key.design == design).collect();
        let mut runs = Vec::with_capacity(wanted.len());
        for run in stored.runs() {
            let run = run?;
            if wanted.contains(&run.summary.key) {
                runs.push(Run::from(&run.record()?));
            }
        }
        match runs.len() == wanted.len() {
            true => Ok(runs),
            false => Err(anyhow!(
                "{}: found {} of {} runs that were written there",
                self.dir.display(),
                runs.len(),
                wanted.len()
            )
            .into()),
        }
    }
}

//! `--find-limit`: at which value of a key a figure of each design passes a value.

mod asked;
mod told;

use crate::conduct::{open, run_missing};
use crate::failure::Failure;
use crate::interrupt;
use crate::output::note;
use crate::pool::Pool;
use crate::shared::Shared;
use anyhow::anyhow;
use asked::Limit;
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;
use tailcut_report::{Judged, Run, SearchNext, Side, judge};
use tailcut_scenario::record::{Earlier, OutputDir, StoredStudy};
use tailcut_scenario::{Place, Scenario, ScenarioError, Study};
use told::Answer;

/// Finds the limit of every design, prints it and leaves the runs in the study's directory.
///
/// # Errors
/// Wrong input, whatever keeps a run from being run or written, or [`Failure::Interrupted`].
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
            let place = Place::flag("--find-limit");
            return Err(ScenarioError::new(&place, limit.key.name(), found, allowed).into());
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
    let mut kept = Kept {
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
        let mut asked: Vec<(usize, f64)> = Vec::new();
        for (index, design) in designs.iter().enumerate() {
            if let SearchNext::Look(value) = design.next(&limit) {
                let seeds = design.seeds;
                kept.plan(study_at(scenario, &limit, value, seeds)?, &design.name);
                asked.push((index, value));
            }
        }
        if asked.is_empty() {
            break;
        }
        kept.run(pool)?;
        if stop.load(Ordering::Relaxed) {
            let there = kept.study.runs.len();
            let dir = kept.dir.display();
            note(&format!(
                "interrupted: what had finished of {there} runs is in {dir}; the same command goes on from there"
            ));
            return Err(Failure::Interrupted);
        }
        for (index, value) in asked {
            let design = &mut designs[index];
            let runs = kept.read(
                &study_at(scenario, &limit, value, design.seeds)?,
                &design.name,
            )?;
            let runs: Vec<&Run> = runs.iter().collect();
            design.take(value, judge(&runs, limit.statistic, limit.limit_us), &limit);
        }
    }
    let answer = Answer::new(&limit, &designs)?;
    answer.print(shared.json.json, &kept)
}

/// The study of every design at one value of the key.
fn study_at(scenario: &Scenario, limit: &Limit, value: f64, seeds: u64) -> Result<Study, Failure> {
    let mut scenario = limit.key.at(scenario, value)?;
    scenario.set("seeds", &seeds.to_string(), &Place::flag("--seeds"))?;
    Ok(Study::of(&scenario)?)
}

/// A point that a design was looked at.
struct Looked {
    value: f64,
    seeds: u64,
    judged: Judged,
}

/// The search of one design.
struct Design {
    name: String,
    looked: Vec<Looked>,
    /// The seeds of the next point.
    seeds: u64,
}

impl Design {
    fn new(name: String, limit: &Limit) -> Self {
        Self {
            name,
            looked: Vec::new(),
            seeds: limit.first_seeds(),
        }
    }

    fn next(&self, limit: &Limit) -> SearchNext {
        let seen = self.looked.iter();
        let seen: Vec<(f64, Side)> = seen.map(|one| (one.value, one.judged.side)).collect();
        limit.range().next(&seen)
    }

    /// Takes what a point has shown: its side, or that it needs more seeds.
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
        self.looked.push(Looked {
            value,
            seeds: self.seeds,
            judged,
        });
        self.seeds = limit.first_seeds();
    }

    /// The runs that the search took.
    fn runs(&self) -> u64 {
        self.looked.iter().map(|one| one.seeds).sum()
    }
}

/// The runs of all points so far, in one directory.
struct Kept {
    study: Study,
    dir: PathBuf,
    earlier: Earlier,
    /// Runs that the directory held already.
    found: usize,
    /// Those that were run.
    run: usize,
}

impl Kept {
    /// Adds the runs of a point.
    fn plan(&mut self, point: Study, design: &str) {
        for run in point.runs {
            let key = run.key();
            if key.design == design && self.study.runs.iter().all(|known| known.key() != key) {
                self.study.runs.push(run);
            }
        }
    }

    /// Runs what is missing.
    fn run(&mut self, pool: Pool<'_>) -> Result<(), Failure> {
        let output = open(&self.study, &self.dir, self.earlier)?;
        // Runs are removed once, before the first point.
        if self.earlier == Earlier::Remove {
            self.earlier = Earlier::SameBuild;
        }
        let before = self.found + self.run;
        self.tell(&output, before);
        let here = output.found().count();
        self.found += here.saturating_sub(before);
        let conducted = run_missing(&self.study, output, pool, None)?;
        self.run += conducted.finished() - here;
        Ok(())
    }

    /// Says what became of runs that were there before this search came to them.
    fn tell(&self, output: &OutputDir, before: usize) {
        let found = output.found();
        for reason in &found.damaged {
            note(&format!("{reason}; that run is run again"));
        }
        if found.left_of_other_builds > 0 {
            let (others, shown) = (found.left_of_other_builds, self.dir.display());
            note(&format!(
                "{others} runs in {shown} of another build of tailcut: run again; --accept-older takes them"
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

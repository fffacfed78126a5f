//! From results of cases to the directory that one command would have written.

use crate::error::Error;
use crate::layout::{DONE, FAILED};
use crate::plan::{PlannedCase, hash_of_case};
use crate::study_dir::StudyDir;
use std::collections::BTreeMap;
use std::path::Path;
use tailcut_record::{self as record, Earlier, Manifest, Origin, OutputDir, RunSummary, StoredRun};

/// What may be collected.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Collecting {
    /// Whether a part of the study will do.
    pub partial: bool,
    /// Whether cases of several builds of the program may stand beside each other.
    pub any_build: bool,
}

/// What was collected.
#[derive(Debug)]
pub struct Collected {
    /// The directory, which no other process writes into while this lives.
    pub output: OutputDir,
    /// The runs' summaries, by places; `None` for cases that are not done.
    pub runs: Vec<Option<RunSummary>>,
    /// By how many builds they were run.
    pub builds: usize,
}

impl StudyDir {
    /// Writes the runs that are done, and their manifest, into `out`, as a command would have that ran all
    /// of them itself. Runs that are there already stay, tables that are on the same file system are shared.
    ///
    /// # Errors
    /// [`Error::Incomplete`] and [`Error::Builds`], unless `what` allows that; [`Error::Locked`]; results
    /// that are damaged, or what the system refuses.
    pub fn collect(&self, out: &Path, what: Collecting) -> Result<Collected, Error> {
        let _lock = self.lock()?;
        let plan = self.plan();
        let results = self.results()?;
        let missing = results.iter().enumerate().filter(|(_, run)| run.is_none());
        let missing: Vec<usize> = missing.map(|(place, _)| place).collect();
        if !missing.is_empty() && !what.partial {
            let failed = self.names_in(FAILED)?;
            let failed = missing
                .iter()
                .filter(|&&place| failed.contains(&plan.cases[place].hash));
            return Err(Error::Incomplete {
                path: self.path().to_owned(),
                cases: plan.cases.len(),
                failed: failed.count(),
                missing,
            });
        }
        let builds = count_builds(&results);
        if builds.len() > 1 && !what.any_build {
            let mut cases: Vec<usize> = builds.into_values().collect();
            cases.sort_unstable_by(|a, b| b.cmp(a));
            return Err(Error::Builds {
                path: self.path().to_owned(),
                cases,
            });
        }
        let manifest = Manifest::new(
            plan.by.version.clone(),
            plan.by.command_line.clone(),
            plan.seed,
            plan.config.clone(),
            plan.cases.iter().map(|case| case.key.clone()),
        );
        let origins = results
            .iter()
            .map(|one| one.as_ref().map(|(_, origin)| origin.clone()));
        let manifest = manifest.with_origins(origins);
        let builds = builds.len();
        let output = OutputDir::open(out, manifest, plan.table_format(), Earlier::SameBuild)?;
        let mut runs = Vec::with_capacity(results.len());
        for (place, result) in results.iter().enumerate() {
            runs.push(match (result, &output.found().taken[place]) {
                (_, Some(there)) => Some(there.clone()),
                (Some((run, _)), None) => Some(output.take_run(place, run)?),
                (None, None) => None,
            });
        }
        output.conclude()?;
        Ok(Collected {
            output,
            runs,
            builds,
        })
    }

    /// How many cases of the plan each build of the program ran, of those that are done.
    ///
    /// # Errors
    /// A result that is damaged, or what the system refuses.
    pub fn builds(&self) -> Result<BTreeMap<String, usize>, Error> {
        Ok(count_builds(&self.results()?))
    }

    /// The results of the cases, by places; `None` for those that are not done.
    fn results(&self) -> Result<Vec<Option<(StoredRun, Origin)>>, Error> {
        let done = self.names_in(DONE)?;
        let result = |case: &PlannedCase| match done.contains(&case.hash) {
            true => self.result_of(&case.hash).map(Some),
            false => Ok(None),
        };
        self.plan().cases.iter().map(result).collect()
    }

    /// The result of a case that is done, and what decided it.
    fn result_of(&self, hash: &str) -> Result<(StoredRun, Origin), Error> {
        let path = self.result(hash);
        let run = StoredRun::open(&path)?;
        let origin = run.origin().filter(|origin| hash_of_case(origin) == hash);
        match origin.cloned() {
            Some(origin) => Ok((run, origin)),
            None => Err(record::Error::Damaged {
                path,
                reason: "found the result of another case".to_owned(),
            }
            .into()),
        }
    }
}

fn count_builds(results: &[Option<(StoredRun, Origin)>]) -> BTreeMap<String, usize> {
    let mut builds = BTreeMap::new();
    for (_, origin) in results.iter().flatten() {
        *builds.entry(origin.build.clone()).or_default() += 1;
    }
    builds
}

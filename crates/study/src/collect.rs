//! Collection: copies the results of a study's cases into an output directory.
//! The directory has the same contents as the output of one command that runs all cases.

use crate::error::Error;
use crate::layout::{DONE, FAILED};
use crate::plan::{PlannedCase, hash_of_case};
use crate::study_dir::StudyDir;
use std::collections::BTreeMap;
use std::path::Path;
use tailcut_record::{self as record, Earlier, Manifest, Origin, OutputDir, RunSummary, StoredRun};

/// Options of a collection: the faults of a study that the collection accepts.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct CollectOptions {
    /// Whether some of the cases may be missing.
    pub partial: bool,
    /// Whether the cases may come from several builds of the program.
    pub any_build: bool,
}

/// Result of a collection.
#[derive(Debug)]
pub struct Collected {
    /// Output directory. No other process writes into it as long as this value exists.
    pub output: OutputDir,
    /// Summaries of the runs, by index. `None` for unfinished cases.
    pub runs: Vec<Option<RunSummary>>,
    /// Number of builds of the program that ran the cases.
    pub builds: usize,
}

impl StudyDir {
    /// Writes the finished runs and their manifest into `out`, like a command that runs all cases itself.
    /// Runs that `out` already contains stay.
    /// If `out` is on the same file system, the tables are not copied: both directories refer to the same files.
    ///
    /// # Errors
    /// [`Error::Locked`]. Also [`Error::Incomplete`] and [`Error::Builds`], unless `what` allows them.
    /// Damaged results and failed system calls are also errors.
    pub fn collect(&self, out: &Path, what: CollectOptions) -> Result<Collected, Error> {
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

    /// Returns the number of finished cases of the plan for each build of the program.
    ///
    /// # Errors
    /// A damaged result, or a failed system call.
    pub fn builds(&self) -> Result<BTreeMap<String, usize>, Error> {
        Ok(count_builds(&self.results()?))
    }

    /// Returns the results of the cases, by index. `None` for unfinished cases.
    fn results(&self) -> Result<Vec<Option<(StoredRun, Origin)>>, Error> {
        let done = self.names_in(DONE)?;
        let result = |case: &PlannedCase| match done.contains(&case.hash) {
            true => self.result_of(&case.hash).map(Some),
            false => Ok(None),
        };
        self.plan().cases.iter().map(result).collect()
    }

    /// Returns the result of a finished case, with its origin.
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

//! Parallel execution of a study's runs, with progress on standard error.

use crate::failure::Failure;
use crate::progress::StudyProgress;
use crate::real_hosts;
use crate::shared::{Json, Threads};
use anyhow::Context;
use std::num::NonZeroUsize;
use std::sync::atomic::AtomicBool;
use tailcut_scenario::record::{PackedRun, RunKey, RunSummary};
use tailcut_scenario::sim::RunConfig;
use tailcut_scenario::{Watcher, Workers};

/// Settings for the execution of runs.
#[derive(Clone, Copy)]
pub struct Pool<'a> {
    /// Number of runs that are executed at the same time.
    threads: NonZeroUsize,
    /// Flag that becomes true when the runs must stop.
    pub stop: &'a AtomicBool,
    /// Whether progress is shown as plain lines, without a progress bar.
    plain: bool,
}

/// Returns the number of runs that are executed at the same time, according to the flag.
///
/// # Errors
/// The number of threads is too large.
pub fn threads(flag: Threads) -> anyhow::Result<NonZeroUsize> {
    const MOST: usize = 4_096;
    let threads = flag.threads.unwrap_or(Workers::default().threads);
    (threads.get() <= MOST)
        .then_some(threads)
        .with_context(|| format!("--threads: found {threads}; allowed: 1 to {MOST}"))
}

impl<'a> Pool<'a> {
    /// Creates the settings from flags.
    ///
    /// # Errors
    /// The number of threads is too large.
    pub fn new(flag: Threads, json: Json, stop: &'a AtomicBool) -> anyhow::Result<Self> {
        Ok(Self {
            threads: threads(flag)?,
            stop,
            plain: json.json,
        })
    }

    /// Executes the runs that are not in `done`. `watch` creates the observer of each run.
    /// `keep` receives the number, the record and the observer of each finished run.
    /// Returns the summaries of all runs in order, with `None` for interrupted runs.
    ///
    /// # Errors
    /// The first error of a run, of `watch` or of `keep`. The first error stops all other runs.
    pub fn run<O: Watcher>(
        &self,
        runs: &[RunConfig],
        done: &[Option<RunSummary>],
        watch: impl Fn(usize) -> Result<O, Failure> + Sync,
        keep: impl Fn(usize, PackedRun, O) -> Result<RunSummary, Failure> + Sync,
    ) -> Result<Vec<Option<RunSummary>>, Failure> {
        let missing = (0..runs.len()).filter(|&run| done.get(run).is_none_or(Option::is_none));
        let missing: Vec<usize> = missing.collect();
        let mut summaries = done.to_vec();
        let Some(most) = NonZeroUsize::new(missing.len()) else {
            return Ok(summaries);
        };
        let threads = self.threads.min(most);
        let keys: Vec<RunKey> = runs.iter().map(RunConfig::key).collect();
        let progress = StudyProgress::new(&keys, done, threads.get(), self.plain, self.stop);
        let workers = Workers {
            threads,
            progress: &progress,
            hosts: real_hosts::hosts(),
        };
        let outcome = workers.run_watched(runs, &missing, watch, keep);
        progress.clear();
        for (run, summary) in missing.into_iter().zip(outcome?) {
            summaries[run] = summary;
        }
        Ok(summaries)
    }
}

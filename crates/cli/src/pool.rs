//! Runs of a study over threads, with their progress on standard error.

use crate::failure::Failure;
use crate::progress::StudyProgress;
use crate::real_hosts;
use crate::shared::{Json, Threads};
use anyhow::Context;
use std::num::NonZeroUsize;
use std::sync::atomic::AtomicBool;
use tailcut_scenario::record::{PackedRun, RunKey, RunSummary};
use tailcut_scenario::sim::RunConfig;
use tailcut_scenario::{Crew, Watcher};

/// How runs are run.
#[derive(Clone, Copy)]
pub struct Pool<'a> {
    /// Runs at the same time.
    threads: NonZeroUsize,
    /// Turns true when runs are to stop.
    pub stop: &'a AtomicBool,
    /// Whether progress is kept to plain lines.
    plain: bool,
}

/// Runs at the same time, as the command line says.
///
/// # Errors
/// A number of threads beyond any machine.
pub fn threads(flag: Threads) -> anyhow::Result<NonZeroUsize> {
    const MOST: usize = 4_096;
    let threads = flag.threads.unwrap_or(Crew::default().threads);
    (threads.get() <= MOST)
        .then_some(threads)
        .with_context(|| format!("--threads: found {threads}; allowed: 1 to {MOST}"))
}

impl<'a> Pool<'a> {
    /// As the command line says.
    ///
    /// # Errors
    /// A number of threads beyond any machine.
    pub fn new(flag: Threads, json: Json, stop: &'a AtomicBool) -> anyhow::Result<Self> {
        Ok(Self {
            threads: threads(flag)?,
            stop,
            plain: json.json,
        })
    }

    /// Runs those of `runs` that are not `done`, each with an observer that `watch` makes, and gives
    /// each record, with its run's number and its observer, to `keep`. The summaries of all come back
    /// in the order of the runs; `None` for those that were stopped.
    ///
    /// # Errors
    /// The first error of a run, of `watch` or of `keep`; the other runs are stopped then.
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
        let crew = Crew {
            threads,
            progress: &progress,
            hosts: real_hosts::hosts(),
        };
        let outcome = crew.run_watched(runs, &missing, watch, keep);
        progress.clear();
        for (run, summary) in missing.into_iter().zip(outcome?) {
            summaries[run] = summary;
        }
        Ok(summaries)
    }
}

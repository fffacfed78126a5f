//! Runs a study over the machine's cores, one run a thread, and keeps what is finished.

use crate::failure::Failure;
use crate::progress::{Following, Progress};
use anyhow::Context;
use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;
use tailcut_record::{RunKey, RunRecord, RunSummary};
use tailcut_sim::{RunConfig, RunError};

/// How runs are run.
#[derive(Clone, Copy)]
pub struct Crew<'a> {
    /// Runs at the same time.
    pub threads: NonZeroUsize,
    /// Turns true when runs are to stop.
    pub stop: &'a AtomicBool,
    /// Whether progress is kept to plain lines.
    pub json: bool,
}

/// As many as the machine has cores.
pub fn usual_threads() -> NonZeroUsize {
    thread::available_parallelism().unwrap_or(NonZeroUsize::MIN)
}

impl Crew<'_> {
    /// Runs those of `runs` that are not `done` and gives each record, with its run's number, to
    /// `keep`, from the thread that ran it. The summaries of all come back in the order of the
    /// runs; `None` for those that were stopped.
    ///
    /// # Errors
    /// The first error of a run or of `keep`; the other runs are stopped then.
    pub fn run(
        &self,
        runs: &[RunConfig],
        done: &[Option<RunSummary>],
        keep: impl Fn(usize, RunRecord) -> Result<RunSummary, Failure> + Sync,
    ) -> Result<Vec<Option<RunSummary>>, Failure> {
        let missing = (0..runs.len()).filter(|&run| done.get(run).is_none_or(Option::is_none));
        let missing: Vec<usize> = missing.collect();
        if missing.is_empty() {
            return Ok(done.to_vec());
        }
        let threads = self.threads.get().min(missing.len());
        let keys: Vec<RunKey> = runs.iter().map(RunConfig::key).collect();
        let progress = Progress::new(&keys, done, threads, self.json);
        let next = AtomicUsize::new(0);
        let failed = AtomicBool::new(false);
        let kept = Mutex::new(done.to_vec());
        let failure: Mutex<Option<Failure>> = Mutex::new(None);
        let work = || {
            while !self.stop.load(Ordering::Relaxed) && !failed.load(Ordering::Relaxed) {
                let Some(&run) = missing.get(next.fetch_add(1, Ordering::Relaxed)) else {
                    return;
                };
                let following = progress.follow(run, self.stop, &failed);
                let outcome = one(&runs[run], &progress, following, |record| keep(run, record));
                match outcome {
                    Ok(summary) => {
                        kept.lock().unwrap_or_else(PoisonError::into_inner)[run] = summary
                    }
                    Err(error) => {
                        failed.store(true, Ordering::Relaxed);
                        let mut first = failure.lock().unwrap_or_else(PoisonError::into_inner);
                        first.get_or_insert(error);
                    }
                }
            }
        };
        thread::scope(|scope| {
            for _ in 0..threads {
                scope.spawn(work);
            }
        });
        progress.clear();
        match failure.into_inner().unwrap_or_else(PoisonError::into_inner) {
            Some(failure) => Err(failure),
            None => Ok(kept.into_inner().unwrap_or_else(PoisonError::into_inner)),
        }
    }
}

/// Runs one run; `None` when it was stopped.
fn one(
    config: &RunConfig,
    progress: &Progress,
    following: Following<'_>,
    keep: impl FnOnce(RunRecord) -> Result<RunSummary, Failure>,
) -> Result<Option<RunSummary>, Failure> {
    let record = match tailcut_sim::run(config, &following) {
        Ok(record) => record,
        Err(RunError::Stopped) => return Ok(None),
        Err(error) => return Err(anyhow::Error::new(error).context(label(config)).into()),
    };
    let line = format!(
        "{}: {}, {:.1} s",
        label(config),
        match (record.flows.len(), record.requests.len()) {
            (flows, 0) => format!("{flows} flows"),
            (0, requests) => format!("{requests} requests"),
            (flows, requests) => format!("{flows} flows, {requests} requests"),
        },
        record.cost.wall_seconds.unwrap_or_default()
    );
    let kept = keep(record)?;
    progress.finished(&following, &line);
    Ok(Some(kept))
}

/// A run in a few words.
fn label(config: &RunConfig) -> String {
    let load = config
        .workload
        .load
        .map_or_else(String::new, |load| format!(" at load {load}"));
    format!("{}{load}, seed {}", config.design, config.seed)
}

/// Makes sure that a number of threads is one that the machine can start.
///
/// # Errors
/// A number beyond any machine.
pub fn checked_threads(threads: Option<NonZeroUsize>) -> anyhow::Result<NonZeroUsize> {
    const MOST: usize = 4_096;
    let threads = threads.unwrap_or_else(usual_threads);
    (threads.get() <= MOST)
        .then_some(threads)
        .with_context(|| format!("--threads: found {threads}; allowed: 1 to {MOST}"))
}

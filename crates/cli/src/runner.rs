//! Runs a study over the machine's cores, one run a thread, and keeps what is finished.

use crate::failure::Failure;
use crate::progress::Progress;
use anyhow::Context;
use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;
use tailcut_record::RunRecord;
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
    /// Runs all of `runs` and gives each record, with its run's number, to `keep`, from the thread that
    /// ran it. What `keep` gives comes back in the order of the runs; `None` for those that were
    /// stopped.
    ///
    /// # Errors
    /// The first error of a run or of `keep`; the other runs are stopped then.
    pub fn run<T: Send>(
        &self,
        runs: &[RunConfig],
        keep: impl Fn(usize, RunRecord) -> Result<T, Failure> + Sync,
    ) -> Result<Vec<Option<T>>, Failure> {
        let progress = Progress::new(runs.len(), self.json);
        let next = AtomicUsize::new(0);
        let failed = AtomicBool::new(false);
        let kept: Vec<Mutex<Option<T>>> = runs.iter().map(|_| Mutex::new(None)).collect();
        let failure: Mutex<Option<Failure>> = Mutex::new(None);
        let work = || {
            while !self.stop.load(Ordering::Relaxed) && !failed.load(Ordering::Relaxed) {
                let index = next.fetch_add(1, Ordering::Relaxed);
                let Some(config) = runs.get(index) else {
                    return;
                };
                let outcome = self.one(config, &progress, &failed, |record| keep(index, record));
                match outcome {
                    Ok(value) => {
                        *kept[index].lock().unwrap_or_else(PoisonError::into_inner) = value
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
            for _ in 0..self.threads.get().min(runs.len()) {
                scope.spawn(work);
            }
        });
        progress.clear();
        match failure.into_inner().unwrap_or_else(PoisonError::into_inner) {
            Some(failure) => Err(failure),
            None => Ok(kept
                .into_iter()
                .map(|slot| slot.into_inner().unwrap_or_else(PoisonError::into_inner))
                .collect()),
        }
    }

    fn one<T>(
        &self,
        config: &RunConfig,
        progress: &Progress,
        failed: &AtomicBool,
        keep: impl FnOnce(RunRecord) -> Result<T, Failure>,
    ) -> Result<Option<T>, Failure> {
        let following = progress.follow(self.stop, failed);
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

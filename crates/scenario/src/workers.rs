//! Execution of a study's runs on the cores of the machine, one run per thread.

use crate::study::Study;
use std::fmt;
use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;
use tailcut_capture::Body;
use tailcut_record::{PackedRun, RunRecord};
use tailcut_sim::fabric::Observer;
use tailcut_sim::transport::Segment;
use tailcut_sim::{RunClock, RunConfig, RunControl, RunError};

/// Receiver of progress reports. The threads that execute the runs call its methods.
/// The argument `run` is the index of the run in the study.
pub trait Progress: Sync {
    /// Reports that a run has started.
    fn started(&self, _run: usize) {}
    /// Reports that a run has completed about this share, from 0 to 1.
    fn advanced(&self, _run: usize, _share: f64) {}
    /// Reports that a run has ended and its record is stored.
    fn ended(&self, _run: usize, _ended: &Ended<'_>) {}
    /// Reports that a run was stopped or has failed.
    fn left(&self, _run: usize) {}
    /// Returns whether all runs must stop now.
    fn stop(&self) -> bool {
        false
    }
}

/// Summary of a run that has ended.
#[derive(Clone, Copy, Debug)]
pub struct Ended<'a> {
    /// Configuration of the run.
    pub config: &'a RunConfig,
    /// Number of flows that started.
    pub flows: usize,
    /// Number of requests that started.
    pub requests: usize,
    /// Duration of the run on the wall clock, in seconds, if measured.
    pub wall_seconds: Option<f64>,
}

/// Progress receiver that ignores all reports and never stops a run.
#[derive(Clone, Copy, Default, Debug)]
pub struct Silent;

impl Progress for Silent {}

/// Executor of runs on real hosts, under the wall clock.
pub trait RealHosts: Sync {
    /// Executes one run. Calls never overlap. `watch` observes the frames of the hosts.
    ///
    /// # Errors
    /// The reason why the run cannot be executed here, or [`RunError::Stopped`] if `control` stopped it.
    fn run(
        &self,
        config: &RunConfig,
        control: &dyn RunControl,
        watch: &mut dyn Observer<dyn Body>,
    ) -> Result<PackedRun, RunError>;
}

/// Observer of the packets of a run, simulated or real.
pub trait Watcher: Observer<Segment> + Observer<dyn Body> {}

impl<O: Observer<Segment> + Observer<dyn Body>> Watcher for O {}

/// Settings for the execution of runs.
#[derive(Clone, Copy)]
pub struct Workers<'a> {
    /// Number of runs that execute at the same time. Results do not depend on it.
    pub threads: NonZeroUsize,
    /// Receiver of progress reports.
    pub progress: &'a dyn Progress,
    /// Executor of the runs under the wall clock. `None`: runs under the wall clock are rejected.
    pub hosts: Option<&'a dyn RealHosts>,
}

impl Default for Workers<'_> {
    /// Uses one thread per core and reports no progress.
    fn default() -> Self {
        Self {
            threads: thread::available_parallelism().unwrap_or(NonZeroUsize::MIN),
            progress: &Silent,
            hosts: None,
        }
    }
}

/// Error of a run that produced no record.
#[derive(Clone, PartialEq, Debug)]
pub struct RunFailed {
    /// Short name of the run, from [`RunKey::label`](tailcut_record::RunKey::label).
    pub run: String,
    /// Reason why the run has no record.
    pub error: RunError,
}

impl fmt::Display for RunFailed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.run, self.error)
    }
}

impl std::error::Error for RunFailed {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(&self.error)
    }
}

impl Study {
    /// Executes all runs and returns their records, in the order of the runs.
    ///
    /// # Errors
    /// The first error of a run, or [`RunError::Stopped`] if [`Progress::stop`] stopped a run.
    pub fn run(&self, workers: &Workers<'_>) -> Result<Vec<RunRecord>, RunFailed> {
        let all: Vec<usize> = (0..self.runs.len()).collect();
        let records = workers.run(&self.runs, &all, |_, record| Ok::<_, RunFailed>(record))?;
        let records = records.into_iter().zip(&self.runs);
        let stopped = |config: &RunConfig| RunFailed {
            run: config.key().label(),
            error: RunError::Stopped,
        };
        records
            .map(|(record, config)| record.ok_or_else(|| stopped(config)))
            .collect()
    }
}

impl Workers<'_> {
    /// Executes the runs with the indexes `wanted`. Each thread passes its run's index and record to `keep`.
    /// Returns the results of `keep` in the order of `wanted`, with `None` for a run that was stopped.
    ///
    /// # Errors
    /// The first error of a run or of `keep`. After an error, all other runs stop.
    pub fn run<T: Send, E: From<RunFailed> + Send>(
        &self,
        runs: &[RunConfig],
        wanted: &[usize],
        keep: impl Fn(usize, RunRecord) -> Result<T, E> + Sync,
    ) -> Result<Vec<Option<T>>, E> {
        self.run_watched(
            runs,
            wanted,
            |_| Ok(()),
            |run, record, ()| keep(run, record.with_flows(Vec::from)),
        )
    }

    /// Works like [`Workers::run`], and observes the packets of each run.
    /// The thread that executes a run calls `watch` to create the observer, and finally passes it to `keep`.
    /// The record holds ended flows in packed form, as in [`run_packed`](tailcut_sim::run_packed).
    ///
    /// # Errors
    /// The first error of a run, of `watch` or of `keep`. After an error, all other runs stop.
    pub fn run_watched<O: Watcher, T: Send, E: From<RunFailed> + Send>(
        &self,
        runs: &[RunConfig],
        wanted: &[usize],
        watch: impl Fn(usize) -> Result<O, E> + Sync,
        keep: impl Fn(usize, PackedRun, O) -> Result<T, E> + Sync,
    ) -> Result<Vec<Option<T>>, E> {
        let next = AtomicUsize::new(0);
        let failed = AtomicBool::new(false);
        let kept: Mutex<Vec<Option<T>>> = Mutex::new(wanted.iter().map(|_| None).collect());
        let failure: Mutex<Option<E>> = Mutex::new(None);
        let work = || {
            while !self.progress.stop() && !failed.load(Ordering::Relaxed) {
                let place = next.fetch_add(1, Ordering::Relaxed);
                let Some(&run) = wanted.get(place) else {
                    return;
                };
                let context = RunContext {
                    progress: self.progress,
                    hosts: self.hosts,
                    run,
                    failed: &failed,
                };
                let ended = watch(run).and_then(|observer| {
                    context.execute_and_keep(&runs[run], observer, |record, observer| {
                        keep(run, record, observer)
                    })
                });
                match ended {
                    Ok(summary) => {
                        kept.lock().unwrap_or_else(PoisonError::into_inner)[place] = summary;
                    }
                    Err(error) => {
                        failed.store(true, Ordering::Relaxed);
                        let mut first = failure.lock().unwrap_or_else(PoisonError::into_inner);
                        first.get_or_insert(error);
                    }
                }
            }
        };
        // A run on real hosts needs exact wall-clock time. Other runs on the machine at the same time would disturb it.
        let is_timed = |run: &usize| {
            runs.get(*run)
                .is_some_and(|run| run.clock != RunClock::Simulated)
        };
        let threads = match wanted.iter().any(is_timed) {
            true => 1,
            false => self.threads.get().min(wanted.len()),
        };
        thread::scope(|scope| {
            for _ in 0..threads {
                scope.spawn(work);
            }
        });
        match failure.into_inner().unwrap_or_else(PoisonError::into_inner) {
            Some(failure) => Err(failure),
            None => Ok(kept.into_inner().unwrap_or_else(PoisonError::into_inner)),
        }
    }
}

/// Context of the run that one thread executes.
struct RunContext<'a> {
    progress: &'a dyn Progress,
    hosts: Option<&'a dyn RealHosts>,
    run: usize,
    failed: &'a AtomicBool,
}

impl RunContext<'_> {
    /// Executes the run under the clock of its configuration.
    fn execute(
        &self,
        config: &RunConfig,
        observer: &mut impl Watcher,
    ) -> Result<PackedRun, RunError> {
        match (config.clock, self.hosts) {
            (RunClock::Simulated, _) => tailcut_sim::run_packed(config, self, observer),
            (RunClock::Wall { .. }, Some(hosts)) => hosts.run(config, self, observer),
            (RunClock::Wall { .. }, None) => Err(RunError::Elsewhere(
                "clock: found wall; allowed here: simulated (tailcut run and tailcut compare have real \
                 hosts, on Linux)"
                    .to_owned(),
            )),
        }
    }

    /// Executes the run and keeps its record. Returns `None` if the run was stopped.
    fn execute_and_keep<O: Watcher, T, E: From<RunFailed>>(
        &self,
        config: &RunConfig,
        mut observer: O,
        keep: impl FnOnce(PackedRun, O) -> Result<T, E>,
    ) -> Result<Option<T>, E> {
        self.progress.started(self.run);
        let kept = match self.execute(config, &mut observer) {
            Ok(record) => {
                let ended = Ended {
                    config,
                    flows: record.flows.len(),
                    requests: record.requests.len(),
                    wall_seconds: record.cost.wall_seconds,
                };
                keep(record, observer).map(|kept| Some((kept, ended)))
            }
            Err(RunError::Stopped) => Ok(None),
            Err(error) => Err(E::from(RunFailed {
                run: config.key().label(),
                error,
            })),
        };
        match kept {
            Ok(Some((kept, ended))) => {
                self.progress.ended(self.run, &ended);
                Ok(Some(kept))
            }
            none => {
                self.progress.left(self.run);
                none.map(|_| None)
            }
        }
    }
}

impl RunControl for RunContext<'_> {
    fn progress(&self, share: f64) {
        self.progress.advanced(self.run, share);
    }

    fn stop(&self) -> bool {
        self.failed.load(Ordering::Relaxed) || self.progress.stop()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenario::Scenario;

    fn study() -> Study {
        let text = "designs = [\"tcp\", \"dctcp\"]\nseeds = 2\nloads = 0.3\nflows = 20\n[topology]\n\
                    kind = \"single-switch\"\nhosts = 4\n[[workload]]\nsizes = \"fixed:20KB\"\n";
        Study::of(&Scenario::from_text(text).expect("a scenario")).expect("a study")
    }

    /// Counts the reports, and stops all runs when `stop_after` runs have ended.
    #[derive(Default)]
    struct Counts {
        started: AtomicUsize,
        ended: AtomicUsize,
        left: AtomicUsize,
        stop_after: Option<usize>,
    }

    impl Counts {
        fn all(&self) -> [usize; 3] {
            [&self.started, &self.ended, &self.left].map(|count| count.load(Ordering::SeqCst))
        }
    }

    impl Progress for Counts {
        fn started(&self, _run: usize) {
            self.started.fetch_add(1, Ordering::SeqCst);
        }
        fn ended(&self, _run: usize, ended: &Ended<'_>) {
            assert_eq!((ended.flows, ended.requests), (20, 0));
            self.ended.fetch_add(1, Ordering::SeqCst);
        }
        fn left(&self, _run: usize) {
            self.left.fetch_add(1, Ordering::SeqCst);
        }
        fn stop(&self) -> bool {
            self.stop_after
                .is_some_and(|most| self.ended.load(Ordering::SeqCst) >= most)
        }
    }

    fn workers(threads: usize, progress: &dyn Progress) -> Workers<'_> {
        Workers {
            threads: NonZeroUsize::new(threads).expect("a thread"),
            progress,
            hosts: None,
        }
    }

    #[test]
    fn records_come_in_the_order_of_the_runs_whatever_the_number_of_threads() {
        let study = study();
        let counts = Counts::default();
        let hashes = |threads| {
            let records = study.run(&workers(threads, &counts)).expect("four records");
            let keys: Vec<_> = records.iter().map(|record| record.key.clone()).collect();
            assert_eq!(
                keys,
                study.runs.iter().map(RunConfig::key).collect::<Vec<_>>()
            );
            records.iter().map(RunRecord::hash).collect::<Vec<_>>()
        };
        assert_eq!(hashes(1), hashes(3));
        assert_eq!(counts.all(), [8, 8, 0]);
    }

    #[test]
    fn what_was_stopped_has_no_record() {
        let counts = Counts {
            stop_after: Some(1),
            ..Counts::default()
        };
        let failed = study().run(&workers(1, &counts)).expect_err("stopped");
        assert_eq!(failed.error, RunError::Stopped);
        assert_eq!(failed.run, "dctcp at load 0.3, seed 1");
        assert_eq!(counts.all(), [1, 1, 0]);
    }

    #[test]
    fn a_record_that_cannot_be_kept_ends_the_others() {
        let (study, counts) = (study(), Counts::default());
        let full = |_, _| -> Result<(), RunFailed> {
            Err(RunFailed {
                run: "a full disk".to_owned(),
                error: RunError::Stopped,
            })
        };
        let failed = workers(1, &counts).run(&study.runs, &[1, 3], full);
        assert_eq!(failed.expect_err("nothing is kept").run, "a full disk");
        assert_eq!(counts.all(), [1, 0, 1]);
    }
}

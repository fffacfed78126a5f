//! Runs that release Python's global lock (GIL), so that other threads continue and Ctrl-C works.

use crate::custom::{self, Failure};
use crate::error;
use pyo3::prelude::*;
use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread;
use std::time::Duration;
use tailcut_scenario::record::RunRecord;
use tailcut_scenario::sim::{self, RunConfig, RunControl, RunError};
use tailcut_scenario::{Ended, Progress, RunFailed, Workers};

/// Time between two checks for signals such as Ctrl-C.
const CHECK_INTERVAL: Duration = Duration::from_millis(20);

/// Largest number of threads. The command line has the same limit.
const MOST_THREADS: i64 = 4_096;

/// Returns the number of threads that Python code passed. The default is one thread for each core.
pub fn threads(py: Python<'_>, given: Option<i64>) -> PyResult<NonZeroUsize> {
    let Some(given) = given else {
        return Ok(Workers::default().threads);
    };
    let allowed = (1..=MOST_THREADS).contains(&given);
    let threads = allowed.then(|| NonZeroUsize::new(given as usize)).flatten();
    threads.ok_or_else(|| {
        let allowed =
            format!("a whole number from 1 to {MOST_THREADS}, or None for one for each core");
        error::given(py, "threads", given.to_string(), &allowed)
    })
}

/// State that the threads of the runs share with the thread that waits for them.
pub struct Watch {
    /// Finished share of each run, in millionths.
    shares: Vec<AtomicU32>,
    /// First exception of a part in Python. An exception stops all runs.
    pub failure: Arc<Failure>,
}

const WHOLE: u32 = 1_000_000;

impl Watch {
    /// Creates the state for this number of runs.
    pub fn new(runs: usize) -> Self {
        Self {
            shares: (0..runs).map(|_| AtomicU32::new(0)).collect(),
            failure: Arc::default(),
        }
    }

    /// Executes the run with the index `run` in this thread.
    fn one(&self, runs: &[RunConfig], run: usize) -> Result<RunRecord, RunFailed> {
        let control = RunMonitor {
            watch: self,
            run,
            in_python: true,
        };
        let ended = match self.stop() {
            true => Err(RunError::Stopped),
            false => sim::run(&runs[run], &control),
        };
        self.shares[run].store(WHOLE, Ordering::Relaxed);
        ended.map_err(|error| failed(&runs[run], error))
    }

    /// Returns the number of finished runs, such as 2.5 if two runs are finished and another run is half done.
    fn done(&self) -> f64 {
        let shares = self
            .shares
            .iter()
            .map(|share| share.load(Ordering::Relaxed));
        shares.map(f64::from).sum::<f64>() / f64::from(WHOLE)
    }
}

impl Progress for Watch {
    fn advanced(&self, run: usize, share: f64) {
        let share = (share.clamp(0.0, 1.0) * f64::from(WHOLE)) as u32;
        self.shares[run].store(share, Ordering::Relaxed);
    }
    fn ended(&self, run: usize, _ended: &Ended<'_>) {
        self.shares[run].store(WHOLE, Ordering::Relaxed);
    }
    fn stop(&self) -> bool {
        self.failure.happened()
    }
}

/// Result that one thread passes to another thread.
struct Awaited<T> {
    result: Mutex<Option<T>>,
    there: Condvar,
}

impl<T> Awaited<T> {
    const fn new() -> Self {
        Self {
            result: Mutex::new(None),
            there: Condvar::new(),
        }
    }

    fn set(&self, result: T) {
        *self.result.lock().unwrap_or_else(PoisonError::into_inner) = Some(result);
        self.there.notify_one();
    }

    /// Waits for the result, but at most for the duration `while_`.
    fn wait(&self, while_: Duration) -> Option<T> {
        let result = self.result.lock().unwrap_or_else(PoisonError::into_inner);
        let waited = self
            .there
            .wait_timeout_while(result, while_, |result| result.is_none());
        waited.unwrap_or_else(PoisonError::into_inner).0.take()
    }
}

type Outcome = Result<Vec<RunRecord>, RunFailed>;

/// Executes the runs `wanted`, and returns their records in the same order.
///
/// # Errors
/// The error of a run or a part in Python, or the exception of a signal, such as `KeyboardInterrupt`.
pub fn run(
    py: Python<'_>,
    runs: &[RunConfig],
    wanted: &[usize],
    threads: NonZeroUsize,
    tick: Option<&Py<PyAny>>,
) -> PyResult<Vec<RunRecord>> {
    let watch = Watch::new(runs.len());
    let outcome = run_interruptibly(py, &watch, tick, || all(runs, wanted, threads, &watch))?;
    outcome.map_err(|failed| error::run(py, &failed))
}

/// Runs `work` in another thread, which reports its progress to `watch`.
/// During `work`, the calling thread lets Python handle signals, and calls `tick`.
///
/// # Errors
/// The exception of a part in Python, of `tick` or of a signal, or a panic.
/// After an exception, the work is stopped, and the function waits for the end of the work.
pub fn run_interruptibly<T: Send>(
    py: Python<'_>,
    watch: &Watch,
    tick: Option<&Py<PyAny>>,
    work: impl FnOnce() -> T + Send,
) -> PyResult<T> {
    let awaited = Awaited::new();
    let mut raised = None;
    let outcome = thread::scope(|scope| {
        let workers = scope.spawn(|| {
            // An inner thread catches a panic of `work`, so that the waiting thread always receives a result.
            let outcome = thread::scope(|inner| inner.spawn(work).join());
            awaited.set(outcome);
        });
        let outcome = loop {
            if let Some(outcome) = py.detach(|| awaited.wait(CHECK_INTERVAL)) {
                break outcome;
            }
            if raised.is_none() {
                let checked = py.check_signals().and_then(|()| match tick {
                    Some(tick) => tick.call1(py, (watch.done(),)).map(drop),
                    None => Ok(()),
                });
                if let Err(error) = checked {
                    // A run checks only at intervals whether it must stop.
                    // Until a run stops, calls of Python parts return immediately.
                    watch.failure.halt();
                    raised = Some(error);
                }
            }
        };
        // The thread has already delivered its result, so this line does not wait.
        py.detach(|| workers.join()).map(|()| outcome)
    });
    if let Some(error) = raised.or_else(|| watch.failure.take()) {
        return Err(error);
    }
    outcome.and_then(|outcome| outcome).map_err(|panic| {
        let words = panic.downcast_ref::<String>().map(String::as_str);
        let words = words.or_else(|| panic.downcast_ref::<&str>().copied());
        let words = format!("a run panicked: {}", words.unwrap_or("without a message"));
        error::failed(py, words)
    })
}

/// Executes runs without parts in Python first, on all threads.
/// Runs with parts in Python come last, because only one thread at a time can run Python code.
fn all(runs: &[RunConfig], wanted: &[usize], threads: NonZeroUsize, watch: &Watch) -> Outcome {
    let (in_python, in_rust): (Vec<usize>, Vec<usize>) =
        (0..wanted.len()).partition(|&place| custom::is_in_python(&runs[wanted[place]].stack));
    let mut records: Vec<Option<RunRecord>> = wanted.iter().map(|_| None).collect();
    let workers = Workers {
        threads,
        progress: watch,
        hosts: None,
    };
    let these: Vec<usize> = in_rust.iter().map(|&place| wanted[place]).collect();
    let keep = |_, record| Ok::<_, RunFailed>(record);
    for (place, record) in in_rust.into_iter().zip(workers.run(runs, &these, keep)?) {
        records[place] = record;
    }
    custom::with_lock(|| {
        custom::report_to(&watch.failure);
        in_python.into_iter().try_for_each(|place| {
            records[place] = Some(watch.one(runs, wanted[place])?);
            Ok(())
        })
    })?;
    let whole = records.into_iter().zip(wanted);
    whole
        .map(|(record, &run)| record.ok_or_else(|| failed(&runs[run], RunError::Stopped)))
        .collect()
}

fn failed(config: &RunConfig, error: RunError) -> RunFailed {
    RunFailed {
        run: config.key().label(),
        error,
    }
}

/// Monitor of one run. The thread of the run calls it.
pub struct RunMonitor<'a> {
    pub watch: &'a Watch,
    /// Index of the run in `watch`.
    pub run: usize,
    /// Whether a part of the run is written in Python. If so, the run's thread holds Python's global lock (GIL).
    pub in_python: bool,
}

impl RunControl for RunMonitor<'_> {
    fn progress(&self, share: f64) {
        self.watch.advanced(self.run, share);
    }
    fn stop(&self) -> bool {
        if self.in_python {
            custom::yield_lock();
        }
        self.watch.stop()
    }
}

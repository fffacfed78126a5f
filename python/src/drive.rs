//! Runs that go on while Python waits: without its lock, and ended by Ctrl-C.

use crate::error;
use crate::own::{self, Failure};
use pyo3::prelude::*;
use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread;
use std::time::Duration;
use tailcut_scenario::record::RunRecord;
use tailcut_scenario::sim::{self, RunConfig, RunControl, RunError};
use tailcut_scenario::{Crew, Ended, Progress, RunFailed};

/// How often Python is asked whether somebody has pressed Ctrl-C.
const LOOK_UP_EVERY: Duration = Duration::from_millis(20);

/// The most threads, as on the command line.
const MOST_THREADS: i64 = 4_096;

/// Threads as Python gives them; one a core without.
pub fn threads(py: Python<'_>, given: Option<i64>) -> PyResult<NonZeroUsize> {
    let Some(given) = given else {
        return Ok(Crew::default().threads);
    };
    let allowed = (1..=MOST_THREADS).contains(&given);
    let threads = allowed.then(|| NonZeroUsize::new(given as usize)).flatten();
    threads.ok_or_else(|| {
        let allowed = format!("a whole number from 1 to {MOST_THREADS}, or None for one a core");
        error::given(py, "threads", given.to_string(), &allowed)
    })
}

/// What the threads of runs and the one that waits for them tell each other.
pub struct Watch {
    /// By run: the share that is over, in millionths.
    shares: Vec<AtomicU32>,
    /// What a part in Python has raised; halts all runs.
    pub failure: Arc<Failure>,
}

const WHOLE: u32 = 1_000_000;

impl Watch {
    /// For so many runs.
    pub fn new(runs: usize) -> Self {
        Self {
            shares: (0..runs).map(|_| AtomicU32::new(0)).collect(),
            failure: Arc::default(),
        }
    }

    /// Runs one of `runs` in this thread.
    fn one(&self, runs: &[RunConfig], run: usize) -> Result<RunRecord, RunFailed> {
        let control = UnderWay {
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

    /// How many runs are done, with fractions.
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

/// A result that one thread leaves for another.
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

    fn leave(&self, result: T) {
        *self.result.lock().unwrap_or_else(PoisonError::into_inner) = Some(result);
        self.there.notify_one();
    }

    /// The result, if it comes within a while.
    fn wait(&self, while_: Duration) -> Option<T> {
        let result = self.result.lock().unwrap_or_else(PoisonError::into_inner);
        let waited = self
            .there
            .wait_timeout_while(result, while_, |result| result.is_none());
        waited.unwrap_or_else(PoisonError::into_inner).0.take()
    }
}

type Outcome = Result<Vec<RunRecord>, RunFailed>;

/// Runs those of `runs` whose places are `wanted`, and gives their records in this order.
///
/// # Errors
/// What a run or a part in Python fails with, and whatever a signal raises, such as
/// `KeyboardInterrupt`.
pub fn drive(
    py: Python<'_>,
    runs: &[RunConfig],
    wanted: &[usize],
    threads: NonZeroUsize,
    tick: Option<&Py<PyAny>>,
) -> PyResult<Vec<RunRecord>> {
    let watch = Watch::new(runs.len());
    let outcome = attend(py, &watch, tick, || all(runs, wanted, threads, &watch))?;
    outcome.map_err(|failed| error::run(py, &failed))
}

/// Has another thread do some work, which `watch` follows, while this one lets Python act on signals
/// and calls `tick`.
///
/// # Errors
/// What a part in Python, `tick` or a signal raises, or a panic. The work is asked to stop, and waited
/// for.
pub fn attend<T: Send>(
    py: Python<'_>,
    watch: &Watch,
    tick: Option<&Py<PyAny>>,
    work: impl FnOnce() -> T + Send,
) -> PyResult<T> {
    let awaited = Awaited::new();
    let mut raised = None;
    let outcome = thread::scope(|scope| {
        let crew = scope.spawn(|| {
            // Whatever happens here, whoever waits is told.
            let outcome = thread::scope(|inner| inner.spawn(work).join());
            awaited.leave(outcome);
        });
        let outcome = loop {
            if let Some(outcome) = py.detach(|| awaited.wait(LOOK_UP_EVERY)) {
                break outcome;
            }
            if raised.is_none() {
                let told = py.check_signals().and_then(|()| match tick {
                    Some(tick) => tick.call1(py, (watch.done(),)).map(drop),
                    None => Ok(()),
                });
                if let Err(error) = told {
                    // Runs look up now and then; until they do, parts in Python cost nothing more.
                    watch.failure.halt();
                    raised = Some(error);
                }
            }
        };
        // It has nothing left to do.
        py.detach(|| crew.join()).map(|()| outcome)
    });
    if let Some(error) = raised.or_else(|| watch.failure.take()) {
        return Err(error);
    }
    outcome.and_then(|outcome| outcome).map_err(|panic| {
        let words = panic.downcast_ref::<String>().map(String::as_str);
        let words = words.or_else(|| panic.downcast_ref::<&str>().copied());
        let words = format!("a run panicked: {}", words.unwrap_or("without a word"));
        error::failed(py, words)
    })
}

/// All runs: first those in Rust alone, over all threads, then those with parts in Python, which
/// only one thread at a time could run anyway.
fn all(runs: &[RunConfig], wanted: &[usize], threads: NonZeroUsize, watch: &Watch) -> Outcome {
    let (in_python, in_rust): (Vec<usize>, Vec<usize>) =
        (0..wanted.len()).partition(|&place| own::is_in_python(&runs[wanted[place]].stack));
    let mut records: Vec<Option<RunRecord>> = wanted.iter().map(|_| None).collect();
    let crew = Crew {
        threads,
        progress: watch,
        hosts: None,
    };
    let these: Vec<usize> = in_rust.iter().map(|&place| wanted[place]).collect();
    let keep = |_, record| Ok::<_, RunFailed>(record);
    for (place, record) in in_rust.into_iter().zip(crew.run(runs, &these, keep)?) {
        records[place] = record;
    }
    own::with_lock(|| {
        own::report_to(&watch.failure);
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

/// A run under way in the thread that calls.
pub struct UnderWay<'a> {
    pub watch: &'a Watch,
    /// Its place among those that are watched.
    pub run: usize,
    /// Whether a part of it is in Python, so that this thread has Python's lock.
    pub in_python: bool,
}

impl RunControl for UnderWay<'_> {
    fn progress(&self, share: f64) {
        self.watch.advanced(self.run, share);
    }
    fn stop(&self) -> bool {
        if self.in_python {
            own::yield_lock();
        }
        self.watch.stop()
    }
}

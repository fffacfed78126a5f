//! Directory of a study, in which Python runs cases in the same way as the command.

use crate::custom;
use crate::error;
use crate::runner::{self, RunMonitor, Watch};
use crate::scenario::Scenario;
use crate::study::Study;
use pyo3::prelude::*;
use std::num::NonZeroUsize;
use std::panic::resume_unwind;
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use tailcut_scenario::Progress;
use tailcut_scenario::sim::RunControl;
use tailcut_study::{CaseState, CollectOptions, Draft, Error, Program, StudyDir};

/// Directory of a study, and the description of the program that runs its cases.
#[pyclass(frozen, module = "tailcut._native")]
pub struct Cases {
    dir: StudyDir,
    by: Program,
}

/// Number of finished cases, and the indices of the failed, of the running and of the waiting cases.
type Tally = (usize, Vec<usize>, Vec<usize>, Vec<usize>);

#[pymethods]
impl Cases {
    /// Plans a scenario in a directory. Finished cases are kept, and failed cases wait again.
    /// `build` is the path of this module's file. `code` identifies the code of parts in Python.
    /// With `expect`, the plan contains the expected time of each case.
    #[staticmethod]
    fn plan(
        py: Python<'_>,
        scenario: &Scenario,
        directory: PathBuf,
        command_line: Vec<String>,
        build: PathBuf,
        code: &str,
        expect: bool,
    ) -> PyResult<Self> {
        let by = program(command_line, build, code)?;
        let to_python = |wrong: Error| error::of_cases(py, &wrong);
        py.detach(|| StudyDir::check_free(&directory))
            .map_err(to_python)?;
        let draft = py.detach(|| Draft::of(&scenario.inner, by.clone()));
        let mut draft = draft.map_err(to_python)?;
        if expect {
            let watch = Watch::new(1);
            runner::run_interruptibly(py, &watch, None, || {
                custom::report_to(&watch.failure);
                draft.estimate(&RunMonitor {
                    watch: &watch,
                    run: 0,
                    in_python: false,
                });
            })?;
        }
        let written = py.detach(|| {
            let (dir, _) = StudyDir::write(directory, draft)?;
            dir.retry()?;
            let builds = dir.builds()?;
            Ok((dir, builds))
        });
        let (dir, builds) = written.map_err(to_python)?;
        let other: usize = builds
            .iter()
            .filter(|(build, _)| **build != by.build)
            .map(|(_, cases)| cases)
            .sum();
        if other > 0 {
            let path = dir.path().display();
            let words = format!(
                "{path}: found {other} cases that another build of tailcut ran, or other code of parts in \
                 Python; allowed: those of this one, or another directory"
            );
            return Err(error::unusable(py, words));
        }
        Ok(Self { dir, by })
    }

    /// Opens a directory that was planned before.
    #[staticmethod]
    fn open(
        py: Python<'_>,
        directory: PathBuf,
        command_line: Vec<String>,
        build: PathBuf,
        code: &str,
    ) -> PyResult<Self> {
        let by = program(command_line, build, code)?;
        let dir = py.detach(|| StudyDir::open(directory));
        let dir = dir.map_err(|wrong| error::of_cases(py, &wrong))?;
        Ok(Self { dir, by })
    }

    /// Runs cases by their indices. Cases that are finished, have failed or run in another process are skipped.
    /// `tick` is called regularly with the number of finished cases, such as 2.5 if a case is half done.
    /// An exception in `tick` stops the running cases, which then wait again.
    #[pyo3(signature = (places, threads=None, tick=None))]
    fn run(
        &self,
        py: Python<'_>,
        places: Vec<usize>,
        threads: Option<i64>,
        tick: Option<Py<PyAny>>,
    ) -> PyResult<()> {
        let threads = runner::threads(py, threads)?;
        let watch = Watch::new(places.len());
        let walk = || self.walk(&places, threads, &watch);
        let walked = runner::run_interruptibly(py, &watch, tick.as_ref(), walk)?;
        walked.map_err(|wrong| error::of_cases(py, &wrong))
    }

    /// Returns the state of the cases.
    fn tally(&self, py: Python<'_>) -> PyResult<Tally> {
        let tally = py.detach(|| {
            let all: Vec<usize> = (0..self.dir.plan().cases.len()).collect();
            self.dir.tally(&all)
        });
        let tally = tally.map_err(|wrong| error::of_cases(py, &wrong))?;
        Ok((tally.done, tally.failed, tally.running, tally.waiting))
    }

    /// Returns the waiting cases in chunks. The expected CPU time of each chunk is at least `least` seconds.
    fn chunks(&self, py: Python<'_>, least: f64) -> PyResult<Vec<Vec<usize>>> {
        let chunks = py.detach(|| self.dir.chunks(least, usize::MAX));
        let chunks = chunks.map_err(|wrong| error::of_cases(py, &wrong))?;
        Ok(chunks.into_iter().map(|chunk| chunk.places).collect())
    }

    /// Returns a text for each failed run, with the reason.
    fn failures(&self, py: Python<'_>) -> PyResult<Vec<String>> {
        let states = py.detach(|| self.dir.states(0..self.dir.plan().cases.len()));
        let states = states.map_err(|wrong| error::of_cases(py, &wrong))?;
        let failures = states.into_iter().filter_map(|state| match state {
            CaseState::Failed(failure) => {
                Some(format!("{}: {}", failure.key.label(), failure.error))
            }
            _ => None,
        });
        Ok(failures.collect())
    }

    /// Returns the directory for the output of workers.
    fn jobs(&self, py: Python<'_>) -> PyResult<PathBuf> {
        let jobs = self.dir.jobs();
        jobs.map_err(|wrong| error::of_cases(py, &wrong))
    }

    /// Returns the study of all cases, after they have finished. Writes the same files as the command to `out`.
    fn collect(&self, py: Python<'_>, out: PathBuf) -> PyResult<Study> {
        let collected = py.detach(|| self.dir.collect(&out, CollectOptions::default()).map(drop));
        collected.map_err(|wrong| error::of_cases(py, &wrong))?;
        Study::open(py, out)
    }
}

impl Cases {
    /// Runs cases without parts in Python first, on all threads.
    /// Cases with parts in Python come last, because only one thread at a time can run Python code.
    fn walk(&self, places: &[usize], threads: NonZeroUsize, watch: &Watch) -> Result<(), Error> {
        let runner = self.dir.runner(self.by.clone())?;
        let is_in_python = |place: usize| {
            let run = runner.config(place);
            run.is_some_and(|run| custom::is_in_python(&run.stack))
        };
        let (in_python, in_rust): (Vec<usize>, Vec<usize>) =
            (0..places.len()).partition(|&index| is_in_python(places[index]));
        let run = |index: usize, in_python: bool| {
            let under_way = RunMonitor {
                watch,
                run: index,
                in_python,
            };
            if !watch.stop() {
                runner.run(places[index], &under_way)?;
            }
            under_way.progress(1.0);
            Ok(())
        };
        let next = AtomicUsize::new(0);
        let work = || -> Result<(), Error> {
            while let Some(&index) = in_rust.get(next.fetch_add(1, Ordering::Relaxed)) {
                run(index, false).inspect_err(|_| watch.failure.halt())?;
            }
            Ok(())
        };
        thread::scope(|scope| {
            let crew = (0..threads.get().min(in_rust.len())).map(|_| scope.spawn(work));
            let crew: Vec<_> = crew.collect();
            let ends = crew.into_iter().map(|thread| thread.join());
            // All threads are joined before the first error is returned.
            let ends: Vec<_> = ends.collect();
            ends.into_iter()
                .try_for_each(|end| end.unwrap_or_else(|panic| resume_unwind(panic)))
        })?;
        custom::with_lock(|| {
            custom::report_to(&watch.failure);
            in_python.into_iter().try_for_each(|index| run(index, true))
        })
    }
}

/// Returns the description of this package that is stored in a study's directory.
fn program(command_line: Vec<String>, build: PathBuf, code: &str) -> PyResult<Program> {
    let build = tailcut_study::identity(&build)?;
    Ok(Program {
        version: env!("CARGO_PKG_VERSION").to_owned(),
        build: match code {
            "" => build,
            code => format!("{build} {code}"),
        },
        command_line,
    })
}

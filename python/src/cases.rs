//! A study's directory of cases: those of the command, run from Python.

use crate::drive::{self, UnderWay, Watch};
use crate::error;
use crate::own;
use crate::scenario::Scenario;
use crate::study::{Study, hash};
use pyo3::prelude::*;
use std::num::NonZeroUsize;
use std::panic::resume_unwind;
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use tailcut_scenario::Progress;
use tailcut_scenario::sim::RunControl;
use tailcut_study::{CaseState, Collecting, Draft, Error, Program, StudyDir};

/// A study's directory, and the program that runs cases in it.
#[pyclass(frozen, module = "tailcut._native")]
pub struct Cases {
    dir: StudyDir,
    by: Program,
}

/// How many cases are done, and the places of those that failed, that processes are at, and that wait.
type Tally = (usize, Vec<usize>, Vec<usize>, Vec<usize>);

#[pymethods]
impl Cases {
    /// Plans a scenario in a directory. What is done there stays done, what failed waits again. `build`
    /// is the file of this module, `code` tells the code of parts in Python from any other. With
    /// `expect`, it says how long each case is expected to take.
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
        let told = |wrong: Error| error::of_cases(py, &wrong);
        py.detach(|| StudyDir::check_free(&directory))
            .map_err(told)?;
        let draft = py.detach(|| Draft::of(&scenario.inner, by.clone()));
        let mut draft = draft.map_err(told)?;
        if expect {
            let watch = Watch::new(1);
            drive::attend(py, &watch, None, || {
                own::report_to(&watch.failure);
                draft.estimate(&UnderWay {
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
        let (dir, builds) = written.map_err(told)?;
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

    /// Runs cases by their places, but for those that are done, that have failed, or that another
    /// process is at. `tick` is called now and then with how many of them are over, with fractions; what
    /// it raises stops them, and they wait as before.
    #[pyo3(signature = (places, threads=None, tick=None))]
    fn run(
        &self,
        py: Python<'_>,
        places: Vec<usize>,
        threads: Option<i64>,
        tick: Option<Py<PyAny>>,
    ) -> PyResult<()> {
        let threads = drive::threads(py, threads)?;
        let watch = Watch::new(places.len());
        let walk = || self.walk(&places, threads, &watch);
        let walked = drive::attend(py, &watch, tick.as_ref(), walk)?;
        walked.map_err(|wrong| error::of_cases(py, &wrong))
    }

    /// What has become of the cases.
    fn tally(&self, py: Python<'_>) -> PyResult<Tally> {
        let tally = py.detach(|| {
            let all: Vec<usize> = (0..self.dir.plan().cases.len()).collect();
            self.dir.tally(&all)
        });
        let tally = tally.map_err(|wrong| error::of_cases(py, &wrong))?;
        Ok((tally.done, tally.failed, tally.running, tally.waiting))
    }

    /// The cases that wait in chunks, each of which is expected to take so many seconds of CPU time or
    /// more.
    fn chunks(&self, py: Python<'_>, least: f64) -> PyResult<Vec<Vec<usize>>> {
        let chunks = py.detach(|| self.dir.chunks(least, usize::MAX));
        let chunks = chunks.map_err(|wrong| error::of_cases(py, &wrong))?;
        Ok(chunks.into_iter().map(|chunk| chunk.places).collect())
    }

    /// Which runs failed, and why.
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

    /// The folder for what workers print.
    fn jobs(&self, py: Python<'_>) -> PyResult<PathBuf> {
        let jobs = self.dir.jobs();
        jobs.map_err(|wrong| error::of_cases(py, &wrong))
    }

    /// The study of all cases, once they are done, from `out`, where the files of the command are
    /// written.
    fn collect(&self, py: Python<'_>, out: PathBuf) -> PyResult<Study> {
        let collected = py.detach(|| self.dir.collect(&out, Collecting::default()).map(drop));
        collected.map_err(|wrong| error::of_cases(py, &wrong))?;
        Study::open(py, out)
    }
}

impl Cases {
    /// First the cases in Rust alone, over all threads, then those with parts in Python, which only one
    /// thread at a time could run anyway.
    fn walk(&self, places: &[usize], threads: NonZeroUsize, watch: &Watch) -> Result<(), Error> {
        let runner = self.dir.runner(self.by.clone())?;
        let is_in_python = |place: usize| {
            let run = runner.config(place);
            run.is_some_and(|run| own::is_in_python(&run.stack))
        };
        let (in_python, in_rust): (Vec<usize>, Vec<usize>) =
            (0..places.len()).partition(|&index| is_in_python(places[index]));
        let run = |index: usize, in_python: bool| {
            let under_way = UnderWay {
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
            // All are waited for; the first refusal is told.
            let ends: Vec<_> = ends.collect();
            ends.into_iter()
                .try_for_each(|end| end.unwrap_or_else(|panic| resume_unwind(panic)))
        })?;
        own::with_lock(|| {
            own::report_to(&watch.failure);
            in_python.into_iter().try_for_each(|index| run(index, true))
        })
    }
}

/// This package as a study's directory knows it.
fn program(command_line: Vec<String>, build: PathBuf, code: &str) -> PyResult<Program> {
    let build = hash(&build)?;
    Ok(Program {
        version: env!("CARGO_PKG_VERSION").to_owned(),
        build: match code {
            "" => build,
            code => format!("{build} {code}"),
        },
        command_line,
    })
}

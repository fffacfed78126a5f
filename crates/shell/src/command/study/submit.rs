//! `tailcut study submit`: the cases that wait, as jobs of an engine.

use super::slurm;
use crate::args::{Common, Engine, Submit};
use crate::failure::Failure;
use crate::output::{note, print, print_json};
use anyhow::Context;
use serde_json::json;
use std::num::NonZeroUsize;
use std::path::Path;
use tailcut_cases::{Chunk, StudyDir};

/// Runs the command.
///
/// # Errors
/// Wrong input, or what the engine or the system refuses.
pub fn execute(arguments: &Submit, common: &Common) -> Result<(), Failure> {
    match arguments.on {
        Engine::Slurm => on_slurm(arguments, common),
    }
}

fn on_slurm(arguments: &Submit, common: &Common) -> Result<(), Failure> {
    let study = StudyDir::open(&arguments.dir)?;
    let chunks = study.chunks(f64::from(arguments.chunk.get()), slurm::most_jobs())?;
    if chunks.is_empty() {
        return nothing_waits(&study, common);
    }
    let absolute = |path: &Path| {
        let named = || format!("cannot tell where {} is", path.display());
        std::path::absolute(path).with_context(named)
    };
    let program = std::env::current_exe().context("cannot tell where this program is")?;
    let asked = [
        ("--partition", &arguments.partition),
        ("--account", &arguments.account),
    ];
    let asked = asked
        .into_iter()
        .filter_map(|(flag, value)| Some(format!("{flag}={}", value.as_ref()?)));
    let script = slurm::Array {
        name: &study.plan().name,
        program: &program,
        dir: &absolute(study.path())?,
        printed: &absolute(&study.jobs()?)?,
        flags: asked.chain(arguments.flags.iter().cloned()).collect(),
        time_limit: arguments.time_limit.as_deref(),
        at_most: arguments.at_most.map(NonZeroUsize::get),
        chunks: &chunks,
    }
    .script()?;
    if arguments.print {
        return match common.json {
            true => tell(&study, &chunks, None, &script, common),
            false => print(&script),
        };
    }
    let job = slurm::submit(&script)?;
    tell(&study, &chunks, Some(&job), &script, common)
}

fn nothing_waits(study: &StudyDir, common: &Common) -> Result<(), Failure> {
    let dir = study.path().display();
    note(&format!(
        "no case in {dir} waits; `tailcut study status {dir}` says what has become of them"
    ));
    match common.json {
        true => print_json(&json!({ "job": null, "cases": 0, "chunks": [], "script": null })),
        false => Ok(()),
    }
}

fn tell(
    study: &StudyDir,
    chunks: &[Chunk],
    job: Option<&str>,
    script: &str,
    common: &Common,
) -> Result<(), Failure> {
    let cases: usize = chunks.iter().map(|chunk| chunk.places.len()).sum();
    if common.json {
        let chunks = chunks.iter().map(|chunk| {
            json!({
                "cases": chunk.places_as_argument(),
                "expected_cpu_seconds": chunk.cpu_seconds,
            })
        });
        return print_json(&json!({
            "job": job,
            "cases": cases,
            "chunks": chunks.collect::<Vec<_>>(),
            "script": script,
        }));
    }
    let expected: Option<Vec<f64>> = chunks.iter().map(|chunk| chunk.cpu_seconds).collect();
    let longest = expected.map_or_else(String::new, |expected| {
        let longest = expected.into_iter().fold(0.0, f64::max);
        let longest = tailcut_scenario::in_words(longest);
        format!(", the longest {longest} of CPU time")
    });
    let (dir, job, jobs) = (study.path().display(), job.unwrap_or("?"), chunks.len());
    print(&format!(
        "Job {job}: {cases} cases of {dir} in an array of {jobs} jobs{longest}\n\
         Watch: squeue --job {job}; tailcut study status {dir}\n\
         What jobs print: {dir}/jobs/{job}_*.log\n\
         In the end: tailcut study collect {dir}"
    ))
}

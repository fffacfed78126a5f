//! `tailcut study submit`: submits the waiting cases as jobs to an engine.

use crate::args::{Engine, Submit};
use crate::failure::Failure;
use crate::output::{note, print, print_exactly, print_json};
use anyhow::Context;
use serde_json::json;
use std::num::NonZeroUsize;
use tailcut_study::{StudyDir, slurm};

/// Runs the command.
///
/// # Errors
/// Wrong input, or an error of the engine or the operating system.
pub fn execute(arguments: &Submit, is_json: bool) -> Result<(), Failure> {
    match arguments.on {
        Engine::Slurm => on_slurm(arguments, is_json),
    }
}

fn on_slurm(arguments: &Submit, is_json: bool) -> Result<(), Failure> {
    let study = StudyDir::open(&arguments.dir)?;
    let chunks = study.chunks(f64::from(arguments.chunk.get()), slurm::most_jobs())?;
    if chunks.is_empty() {
        let dir = study.path().display();
        note(&format!(
            "no case in {dir} is waiting; `tailcut study status {dir}` shows the state of the cases"
        ));
        return match is_json {
            true => print_json(&json!({ "job": null, "cases": 0, "chunks": [], "script": null })),
            false => Ok(()),
        };
    }
    let named = [
        ("--partition", &arguments.partition),
        ("--account", &arguments.account),
    ];
    let named = named
        .into_iter()
        .filter_map(|(flag, value)| Some(format!("{flag}={}", value.as_ref()?)));
    let array = slurm::Array {
        study: &study,
        chunks: &chunks,
        program: &std::env::current_exe().context("cannot find this program's own file")?,
        flags: named.chain(arguments.flags.iter().cloned()).collect(),
        time_limit: arguments.time_limit.as_deref(),
        at_most: arguments.at_most.map(NonZeroUsize::get),
    };
    let script = array.script()?;
    let job = match arguments.print {
        true => None,
        false => Some(slurm::submit(&script)?),
    };
    match (is_json, &job) {
        (true, job) => print_json(&array.json(job.as_deref(), &script)),
        (false, Some(job)) => print(&array.text(job)),
        (false, None) => print_exactly(&script),
    }
}

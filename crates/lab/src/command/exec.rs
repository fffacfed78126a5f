//! `tailcut lab exec` and `tailcut lab shell`.

use super::lab_selection::LabSelection;
use crate::emulator::control;
use crate::emulator::sandbox::enter;
use anyhow::Result;
use std::ffi::OsString;

/// Arguments of `tailcut lab exec`.
#[derive(clap::Args, Debug)]
pub struct Exec {
    #[command(flatten)]
    selection: LabSelection,
    /// The host's name: h0, h1, ...
    host: String,
    /// The program and its arguments
    #[arg(required = true, trailing_var_arg = true, allow_hyphen_values = true)]
    program: Vec<OsString>,
}

/// Arguments of `tailcut lab shell`.
#[derive(clap::Args, Debug)]
pub struct Shell {
    #[command(flatten)]
    selection: LabSelection,
    /// The host's name: h0, h1, ...
    host: String,
}

/// Runs a program on a host, and returns its exit code.
///
/// # Errors
/// The lab or the host does not exist, or the kernel rejects a call.
pub fn execute(arguments: &Exec) -> Result<i32> {
    run(&arguments.selection, &arguments.host, &arguments.program)
}

/// Opens a shell on a host, and returns its exit code.
///
/// # Errors
/// The errors of [`execute`].
pub fn shell(arguments: &Shell) -> Result<i32> {
    let shell = std::env::var_os("SHELL").unwrap_or_else(|| "/bin/sh".into());
    run(&arguments.selection, &arguments.host, &[shell])
}

fn run(selection: &LabSelection, host: &str, program: &[OsString]) -> Result<i32> {
    let entered = control::find(selection.lab.as_deref())?.enter(host)?;
    enter::run(&entered, program)
}

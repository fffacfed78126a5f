//! `tailcut lab exec` and `tailcut lab shell`.

use super::which::Which;
use crate::emulator::control;
use crate::emulator::world::enter;
use anyhow::Result;
use std::ffi::OsString;

/// A program and its host.
#[derive(clap::Args, Debug)]
pub struct Exec {
    #[command(flatten)]
    which: Which,
    /// The host's name: h0, h1, ...
    host: String,
    /// The program and its arguments
    #[arg(required = true, trailing_var_arg = true, allow_hyphen_values = true)]
    program: Vec<OsString>,
}

/// A host to have a shell on.
#[derive(clap::Args, Debug)]
pub struct Shell {
    #[command(flatten)]
    which: Which,
    /// The host's name: h0, h1, ...
    host: String,
}

/// Runs a program on a host.
///
/// # Errors
/// There is no such lab or host, or the system refuses.
pub fn execute(arguments: &Exec) -> Result<i32> {
    run(&arguments.which, &arguments.host, &arguments.program)
}

/// Opens a shell on a host.
///
/// # Errors
/// As [`execute`].
pub fn shell(arguments: &Shell) -> Result<i32> {
    let shell = std::env::var_os("SHELL").unwrap_or_else(|| "/bin/sh".into());
    run(&arguments.which, &arguments.host, &[shell])
}

fn run(which: &Which, host: &str, program: &[OsString]) -> Result<i32> {
    let entered = control::find(which.lab.as_deref())?.enter(host)?;
    enter::run(&entered, program)
}

//! Identity of this build of the program, which distinguishes its runs from runs of other builds.

use anyhow::Context;
use std::io;
use std::path::PathBuf;
use tailcut_study::Program;

/// Returns the identity of this program's executable file.
///
/// # Errors
/// The file cannot be read.
pub fn identity() -> anyhow::Result<String> {
    let read = || tailcut_study::identity(&program()?);
    read().context("cannot read the file of this program")
}

/// Returns the identity of this program that studies record.
///
/// # Errors
/// The errors of [`identity`].
pub fn this() -> anyhow::Result<Program> {
    Ok(Program {
        version: env!("CARGO_PKG_VERSION").to_owned(),
        build: identity()?,
        command_line: command_line(),
    })
}

/// Returns the command line of this process.
pub fn command_line() -> Vec<String> {
    let arguments = std::env::args_os();
    arguments
        .map(|argument| argument.to_string_lossy().into_owned())
        .collect()
}

/// Returns the path of the file from which this process was started.
///
/// # Errors
/// The operating system does not provide the path.
pub fn program() -> io::Result<PathBuf> {
    // On Linux, this path leads to the running program even if another file has replaced the program's file.
    let running = PathBuf::from("/proc/self/exe");
    match running.exists() {
        true => Ok(running),
        false => std::env::current_exe(),
    }
}

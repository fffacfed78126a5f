//! Identity of this build of the program, which distinguishes its runs from runs of other builds.

use anyhow::Context;
use std::fs::File;
use std::io;
use std::path::PathBuf;
use tailcut_scenario::record::Fingerprint;
use tailcut_study::Program;

/// Returns the hash of this program's executable file.
///
/// # Errors
/// The file cannot be read.
pub fn hash() -> anyhow::Result<String> {
    let read = || -> io::Result<String> {
        let mut hash = Fingerprint::new();
        io::copy(&mut File::open(program()?)?, &mut hash)?;
        Ok(hash.digits())
    };
    read().context("cannot read the file of this program")
}

/// Returns the identity of this program that studies record.
///
/// # Errors
/// The errors of [`hash`].
pub fn this() -> anyhow::Result<Program> {
    Ok(Program {
        version: env!("CARGO_PKG_VERSION").to_owned(),
        build: hash()?,
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

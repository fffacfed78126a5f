//! Which build of the program this is, so that runs of another one are told apart.

use anyhow::Context;
use std::fs::File;
use std::io;
use std::path::PathBuf;
use tailcut_scenario::record::Fingerprint;
use tailcut_study::Program;

/// The hash of this program's file.
///
/// # Errors
/// Where it cannot be read.
pub fn hash() -> anyhow::Result<String> {
    let read = || -> io::Result<String> {
        let mut hash = Fingerprint::new();
        io::copy(&mut File::open(program()?)?, &mut hash)?;
        Ok(hash.digits())
    };
    read().context("cannot read the file of this program")
}

/// This program, as it tells studies who it is.
///
/// # Errors
/// As [`hash`].
pub fn this() -> anyhow::Result<Program> {
    Ok(Program {
        version: env!("CARGO_PKG_VERSION").to_owned(),
        build: hash()?,
        command_line: command_line(),
    })
}

/// This process's command line.
pub fn command_line() -> Vec<String> {
    let arguments = std::env::args_os();
    arguments
        .map(|argument| argument.to_string_lossy().into_owned())
        .collect()
}

/// The file that this process was started from.
///
/// # Errors
/// Where the system does not say.
pub fn program() -> io::Result<PathBuf> {
    // On Linux this is that very file, even after another one has taken its name.
    let running = PathBuf::from("/proc/self/exe");
    match running.exists() {
        true => Ok(running),
        false => std::env::current_exe(),
    }
}

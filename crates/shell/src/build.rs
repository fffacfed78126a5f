//! Which build of the program this is, so that runs of another one are told apart.

use anyhow::Context;
use std::fs::File;
use std::io;
use std::path::PathBuf;
use tailcut_scenario::record::Fingerprint;

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

/// The file that this process was started from.
fn program() -> io::Result<PathBuf> {
    // On Linux this is that very file, even after another one has taken its name.
    let running = PathBuf::from("/proc/self/exe");
    match running.exists() {
        true => Ok(running),
        false => std::env::current_exe(),
    }
}

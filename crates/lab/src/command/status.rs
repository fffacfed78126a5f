//! `tailcut lab status`.

use super::lab_selection::LabSelection;
use crate::emulator::control;
use anyhow::{Context, Result};
use std::io::{self, ErrorKind, IsTerminal, Write};
use std::time::Duration;

/// Arguments of `tailcut lab status`.
#[derive(clap::Args, Debug)]
pub struct StatusOf {
    #[command(flatten)]
    selection: LabSelection,
    /// Repeat every second, until Ctrl-C or the end of the lab
    #[arg(long)]
    watch: bool,
    /// Print JSON on standard output
    #[arg(long)]
    json: bool,
}

/// Interval between two outputs of `--watch`.
const EVERY: Duration = Duration::from_secs(1);
/// Escape sequences that move the cursor to the top of a terminal and clear it.
const CLEAR: &str = "\x1b[H\x1b[2J";

/// Prints the status of a lab.
///
/// # Errors
/// The lab does not exist, or standard output cannot be written.
pub fn execute(arguments: &StatusOf) -> Result<i32> {
    let lab = control::find(arguments.selection.lab.as_deref())?;
    let mut out = io::stdout();
    loop {
        let status = lab.status()?;
        let shown = match arguments.json {
            true => serde_json::to_string(&status)? + "\n",
            false => status.to_string(),
        };
        let clear = arguments.watch && !arguments.json && out.is_terminal();
        let written = write!(out, "{}{shown}", if clear { CLEAR } else { "" });
        match written.and_then(|()| out.flush()) {
            Ok(()) => {}
            Err(error) if error.kind() == ErrorKind::BrokenPipe => return Ok(0),
            Err(error) => return Err(error).context("cannot write standard output"),
        }
        if !arguments.watch {
            return Ok(0);
        }
        std::thread::sleep(EVERY);
        if !control::names().iter().any(|name| name == lab.name()) {
            return Ok(0);
        }
    }
}

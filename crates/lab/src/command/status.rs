//! `tailcut lab status`.

use super::which::Which;
use crate::emulator::control;
use anyhow::{Context, Result};
use std::io::{self, ErrorKind, IsTerminal, Write};
use std::time::Duration;

/// What is shown of a lab.
#[derive(clap::Args, Debug)]
pub struct StatusOf {
    #[command(flatten)]
    which: Which,
    /// Show it again every second, until Ctrl-C or the lab's end
    #[arg(long)]
    watch: bool,
    /// Print JSON on standard output
    #[arg(long)]
    json: bool,
}

/// How often a watched status is drawn.
const EVERY: Duration = Duration::from_secs(1);
/// Clears a terminal and goes to its top.
const CLEAR: &str = "\x1b[H\x1b[2J";

/// Shows a lab.
///
/// # Errors
/// There is no such lab, or nobody reads standard output.
pub fn execute(arguments: &StatusOf) -> Result<i32> {
    let lab = control::find(arguments.which.lab.as_deref())?;
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

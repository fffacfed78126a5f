//! Writing to standard output and standard error. Standard output may be closed, or redirected to a full disk.

use crate::failure::Failure;
use serde::Serialize;
use std::io::Write;

/// Writes text to standard output and adds a line end if there is none.
///
/// # Errors
/// The text cannot be written completely.
pub fn print(text: &str) -> Result<(), Failure> {
    let mut out = std::io::stdout().lock();
    out.write_all(text.as_bytes())
        .and_then(|()| {
            if text.ends_with('\n') {
                Ok(())
            } else {
                out.write_all(b"\n")
            }
        })
        .and_then(|()| out.flush())
        .map_err(Failure::of_stdout)
}

/// Returns the width in characters of the terminal on standard output, or `None` if it is no terminal.
pub fn width() -> Option<u16> {
    let (width, _) = terminal_size::terminal_size_of(std::io::stdout())?;
    Some(width.0)
}

/// Writes a value to standard output as JSON.
///
/// # Errors
/// The text cannot be written completely.
pub fn print_json(value: &impl Serialize) -> Result<(), Failure> {
    let text = serde_json::to_string_pretty(value)
        .map_err(|error| anyhow::Error::new(error).context("cannot encode the result"))?;
    print(&text)
}

/// Writes a value to standard output as JSON on one line.
///
/// # Errors
/// The text cannot be written completely.
#[cfg(all(feature = "cast", target_os = "linux"))]
pub fn print_json_line(value: &impl Serialize) -> Result<(), Failure> {
    let text = serde_json::to_string(value)
        .map_err(|error| anyhow::Error::new(error).context("cannot encode an event"))?;
    print(&text)
}

/// Writes a line to standard error. An error is ignored, because it cannot be reported anywhere.
pub fn note(text: &str) {
    let _ = writeln!(std::io::stderr().lock(), "{text}");
}

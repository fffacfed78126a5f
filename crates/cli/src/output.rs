//! Writing to standard output and standard error. Standard output may be closed, or redirected to a full disk.

use crate::failure::Failure;
use serde::Serialize;
use std::io::{IsTerminal, Write};
use std::sync::atomic::{AtomicBool, Ordering};
use tailcut_report::Screen;
use terminal_size::{Height, Width, terminal_size_of};

/// Whether [`note`] writes nothing, because of `--quiet`.
static QUIET: AtomicBool = AtomicBool::new(false);

/// Sets whether [`note`] writes nothing, for `--quiet`.
pub fn set_quiet(quiet: bool) {
    QUIET.store(quiet, Ordering::Relaxed);
}

/// Returns whether `--quiet` disables progress and notes.
pub fn is_quiet() -> bool {
    QUIET.load(Ordering::Relaxed)
}

/// Writes text to standard output, with line breaks for the screen width. Adds a final line break if there is none.
///
/// # Errors
/// The text cannot be written completely.
pub fn print(text: &str) -> Result<(), Failure> {
    print_exactly(&screen().wrap(text, "  "))
}

/// Writes text for another program to standard output without changes. Adds a line end if the text has none.
///
/// # Errors
/// The text cannot be written completely.
pub fn print_exactly(text: &str) -> Result<(), Failure> {
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

/// Returns the width and the colours of standard output.
pub fn screen() -> Screen {
    let out = std::io::stdout();
    screen_of(out.is_terminal(), terminal_size_of(&out))
}

/// Returns the width and the colours of standard error, to which notes are written.
fn screen_of_notes() -> Screen {
    let err = std::io::stderr();
    screen_of(err.is_terminal(), terminal_size_of(&err))
}

/// Returns the width and the colours of a stream. The variable `COLUMNS` sets the width of pipes and files.
/// The variable `NO_COLOR` (https://no-color.org) disables the colours of terminals.
fn screen_of(is_terminal: bool, size: Option<(Width, Height)>) -> Screen {
    /// Minimum width in columns. A narrower output has no space for a word and its indent.
    const LEAST: u16 = 20;
    let given = std::env::var("COLUMNS").ok();
    let given = given.and_then(|columns| columns.parse::<u16>().ok());
    let is_set = |name: &str| std::env::var_os(name).is_some_and(|value| !value.is_empty());
    let is_dumb = std::env::var_os("TERM").is_some_and(|term| term == "dumb");
    Screen {
        width: size
            .map(|(width, _)| width.0)
            .or(given)
            .map(|width| width.max(LEAST)),
        colours: is_terminal && !is_set("NO_COLOR") && !is_dumb,
    }
}

/// Writes a value to standard output as JSON.
///
/// # Errors
/// The text cannot be written completely.
pub fn print_json(value: &impl Serialize) -> Result<(), Failure> {
    let text = serde_json::to_string_pretty(value)
        .map_err(|error| anyhow::Error::new(error).context("cannot encode the result"))?;
    print_exactly(&text)
}

/// Writes a value to standard output as JSON on one line.
///
/// # Errors
/// The text cannot be written completely.
#[cfg(all(feature = "cast", target_os = "linux"))]
pub fn print_json_line(value: &impl Serialize) -> Result<(), Failure> {
    let text = serde_json::to_string(value)
        .map_err(|error| anyhow::Error::new(error).context("cannot encode an event"))?;
    print_exactly(&text)
}

/// Writes a line to standard error, unless `--quiet` is set.
/// A write error is ignored, because no other output could report it.
pub fn note(text: &str) {
    if !is_quiet() {
        warn(text);
    }
}

/// Writes a line to standard error, even with `--quiet`.
pub fn warn(text: &str) {
    write_exactly(&screen_of_notes().wrap(text, "  "));
}

/// Writes a value to standard error as JSON on one line.
pub fn warn_json(value: &impl Serialize) {
    write_exactly(&serde_json::to_string(value).unwrap_or_default());
}

/// Writes the message of an error that ends the command to standard error.
pub fn complain(message: &str) {
    let screen = screen_of_notes();
    let text = screen.wrap(&format!("tailcut: {message}"), "  ");
    let name = "tailcut:";
    write_exactly(&text.replacen(name, &screen.bold(name), 1));
}

fn write_exactly(text: &str) {
    let _ = writeln!(std::io::stderr().lock(), "{text}");
}

//! Access log and error log. A thread writes each log, so a slow output never delays a request.
//! If the output is too slow, lines are dropped and counted.
//!
//! The library `tracing` makes the lines. Each program has its own logs, and a reload can replace them.
//! So the events of a program go to its own subscriber, and not to a global one.

mod config;

pub use config::{Format, Level, LogConfig, Output};

use anyhow::{Context as _, Result};
use std::fmt;
use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, PoisonError, RwLock};
use tracing::Dispatch;
use tracing::dispatcher::with_default;
use tracing_appender::non_blocking::{ErrorCounter, NonBlockingBuilder, WorkerGuard};

/// Number of lines that may wait for an output. A line has a few hundred bytes, and some kilobytes at most.
/// So the lines of a log need a few megabytes while its output stands still, and some 20 MiB at most.
const WAITING_LINES: usize = 4_096;

/// Log with its thread.
struct Stream {
    dispatch: Dispatch,
    dropped: ErrorCounter,
    /// Dropping this value writes the lines that wait. It gives up after a second.
    _thread: WorkerGuard,
}

fn append_to(path: &Path) -> Result<File> {
    let mut options = OpenOptions::new();
    // Access logs contain data of clients, so other users cannot read them.
    let opened = options.append(true).create(true).mode(0o640).open(path);
    opened.with_context(|| format!("log: cannot open {}", path.display()))
}

impl Stream {
    /// Opens a log. `level` is absent in the access log, whose lines all have the same level.
    fn open(output: &Output, format: Format, level: Option<Level>) -> Result<Option<Self>> {
        let writer: Box<dyn Write + Send> = match output {
            Output::Nothing => return Ok(None),
            Output::Stdout => Box::new(io::stdout()),
            Output::Stderr => Box::new(io::stderr()),
            Output::File(path) => Box::new(append_to(path)?),
        };
        let builder = NonBlockingBuilder::default()
            .buffered_lines_limit(WAITING_LINES)
            .lossy(true)
            .thread_name("log");
        let (writer, thread) = builder.finish(writer);
        let dropped = writer.error_counter();
        let most = match level {
            Some(Level::Error) => tracing::Level::ERROR,
            Some(Level::Warn) => tracing::Level::WARN,
            Some(Level::Info) | None => tracing::Level::INFO,
            Some(Level::Debug) => tracing::Level::DEBUG,
        };
        let lines = tracing_subscriber::fmt()
            .with_writer(writer)
            .with_max_level(most)
            .with_target(false)
            .with_ansi(false)
            .with_level(level.is_some());
        let dispatch = match format {
            Format::Text => Dispatch::new(lines.finish()),
            Format::Json => Dispatch::new(lines.json().flatten_event(true).finish()),
        };
        Ok(Some(Self {
            dispatch,
            dropped,
            _thread: thread,
        }))
    }
}

/// Opened logs that are not used yet.
pub struct OpenLogs {
    access: Option<Stream>,
    errors: Option<Stream>,
}

impl fmt::Debug for OpenLogs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OpenLogs").finish_non_exhaustive()
    }
}

impl OpenLogs {
    /// Opens the outputs of a configuration.
    ///
    /// # Errors
    /// A file cannot be opened.
    pub fn open(config: &LogConfig) -> Result<Self> {
        let format = config.format;
        Ok(Self {
            access: Stream::open(&config.access, format, None)?,
            errors: Stream::open(&config.errors, format, Some(config.level))?,
        })
    }

    fn dropped(&self) -> u64 {
        let streams = self.access.iter().chain(&self.errors);
        let dropped = streams.map(|stream| stream.dropped.dropped_lines() as u64);
        dropped.sum()
    }
}

struct Shared {
    logs: RwLock<OpenLogs>,
    /// Lines that were dropped by logs that a reload has replaced.
    dropped_before: AtomicU64,
}

/// Access log and error log of a program. Clones share the outputs.
#[derive(Clone)]
pub struct Log(Arc<Shared>);

impl fmt::Debug for Log {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Log").finish_non_exhaustive()
    }
}

impl Default for Log {
    /// Returns logs without outputs.
    fn default() -> Self {
        Self(Arc::new(Shared {
            logs: RwLock::new(OpenLogs {
                access: None,
                errors: None,
            }),
            dropped_before: AtomicU64::new(0),
        }))
    }
}

impl Log {
    /// Replaces the outputs. The lines of the old outputs are written before this function returns.
    /// If an old output stands still, the function gives up after a second.
    pub fn set(&self, logs: OpenLogs) {
        let old = {
            let mut current = self.0.logs.write().unwrap_or_else(PoisonError::into_inner);
            self.0.dropped_before.fetch_add(current.dropped(), Relaxed);
            std::mem::replace(&mut *current, logs)
        };
        // The lock is free again, so requests do not wait for the old outputs.
        drop(old);
    }

    /// Writes the waiting lines, and closes the outputs. Later events are lost.
    pub fn close(&self) {
        self.set(OpenLogs {
            access: None,
            errors: None,
        });
    }

    /// Calls `event` with the access log as its subscriber.
    pub fn access(&self, event: impl FnOnce()) {
        let logs = self.0.logs.read().unwrap_or_else(PoisonError::into_inner);
        if let Some(stream) = &logs.access {
            with_default(&stream.dispatch, event);
        }
    }

    /// Calls `event` with the error log as its subscriber.
    pub fn errors(&self, event: impl FnOnce()) {
        let logs = self.0.logs.read().unwrap_or_else(PoisonError::into_inner);
        if let Some(stream) = &logs.errors {
            with_default(&stream.dispatch, event);
        }
    }

    /// Returns the number of lines that were dropped, because an output was too slow.
    pub fn dropped(&self) -> u64 {
        let logs = self.0.logs.read().unwrap_or_else(PoisonError::into_inner);
        self.0.dropped_before.load(Relaxed) + logs.dropped()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::PermissionsExt as _;

    fn to_file(path: &Path, format: Format) -> LogConfig {
        LogConfig {
            access: Output::File(path.to_owned()),
            format,
            ..LogConfig::default()
        }
    }

    #[test]
    fn a_line_cannot_be_forged_by_what_a_client_sends() {
        let dir = tempfile::tempdir().expect("a directory");
        for format in [Format::Text, Format::Json] {
            let path = dir.path().join(format!("{format:?}"));
            let log = Log::default();
            log.set(OpenLogs::open(&to_file(&path, format)).expect("a file"));
            let hostile = "a\"\n2026-01-01T00:00:00Z forged=\x1b[2J";
            log.access(|| tracing::info!(path = hostile, status = 200));
            log.close();
            let text = fs::read_to_string(&path).expect("a file");
            assert_eq!(text.lines().count(), 1, "{text}");
            assert!(!text.contains('\x1b'), "{text}");
            if format == Format::Json {
                let line: serde_json::Value = serde_json::from_str(&text).expect("JSON");
                assert_eq!(line["path"], hostile);
                assert_eq!(line["status"], 200);
            }
            let mode = fs::metadata(&path).expect("a file").permissions().mode();
            assert_eq!(mode & 0o007, 0);
        }
    }

    #[test]
    fn a_file_that_was_moved_away_is_opened_again() {
        let dir = tempfile::tempdir().expect("a directory");
        let (path, old) = (dir.path().join("log"), dir.path().join("log.1"));
        let log = Log::default();
        log.set(OpenLogs::open(&to_file(&path, Format::Text)).expect("a file"));
        log.access(|| tracing::info!(number = 1));
        fs::rename(&path, &old).expect("moved");
        log.set(OpenLogs::open(&to_file(&path, Format::Text)).expect("a file"));
        log.access(|| tracing::info!(number = 2));
        log.close();
        assert!(fs::read_to_string(old).is_ok_and(|text| text.contains("number=1")));
        assert!(fs::read_to_string(path).is_ok_and(|text| text.contains("number=2")));
    }

    #[test]
    fn an_output_that_stands_still_delays_nobody_and_lines_beyond_the_limit_are_counted() {
        let dir = tempfile::tempdir().expect("a directory");
        let path = dir.path().join("pipe");
        // Nobody reads this pipe, so the thread of the log waits as soon as the pipe is full.
        let made = rustix::fs::mkfifoat(
            rustix::fs::CWD,
            &path,
            rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR,
        );
        made.expect("a pipe");
        let reader = OpenOptions::new().read(true).write(true).open(&path);
        let _reader = reader.expect("a pipe");
        let log = Log::default();
        log.set(OpenLogs::open(&to_file(&path, Format::Text)).expect("a pipe"));
        let more = 4 * WAITING_LINES;
        let text = "x".repeat(100);
        for _ in 0..more {
            log.access(|| tracing::info!(text));
        }
        // A pipe holds 64 KiB, which is less than a thousand of these lines.
        let dropped = log.dropped();
        assert!(dropped > 2 * WAITING_LINES as u64, "{dropped}");
        log.close();
        assert!(log.dropped() >= dropped);
    }
}

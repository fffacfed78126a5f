//! `tailcut cast`: copies files, directories and streams to other hosts.

use crate::args::CastOf;
use crate::failure::Failure;
use crate::interrupt;
use crate::output::{note, print, print_json_line};
use indicatif::{BinaryBytes, HumanDuration, ProgressBar, ProgressStyle};
use std::io::IsTerminal;
use std::time::{Duration, Instant};
use tailcut_cast::command::{CommandEvent, Moment, execute as run};

/// Interval between two progress lines if standard error is not a terminal.
const PROGRESS_INTERVAL: Duration = Duration::from_secs(5);

/// Runs the command.
///
/// # Errors
/// The transfer fails. The failure contains the exit code that the help of the command describes.
pub fn execute(CastOf { json, command }: &CastOf) -> Result<(), Failure> {
    let stop = interrupt::listen()?;
    let mut output = Output::new(json.json);
    let result = run(command, json.json, &stop, &mut |event| output.show(&event));
    output.clear();
    if let Some(failure) = output.failed {
        return Err(failure);
    }
    result.map_err(|failed| match failed.code {
        130 => Failure::Interrupted,
        code => Failure::Ended(code, failed.words),
    })
}

/// Writer of the command's output.
struct Output {
    is_json: bool,
    is_terminal: bool,
    bar: Option<ProgressBar>,
    printed_at: Instant,
    /// First error that occurred when the command wrote to standard output.
    failed: Option<Failure>,
}

impl Output {
    fn new(is_json: bool) -> Self {
        Self {
            is_json,
            is_terminal: std::io::stderr().is_terminal(),
            bar: None,
            printed_at: Instant::now(),
            failed: None,
        }
    }

    fn clear(&mut self) {
        if let Some(bar) = self.bar.take() {
            bar.finish_and_clear();
        }
    }

    fn line(&mut self, text: &str) {
        match &self.bar {
            Some(bar) => bar.suspend(|| note(text)),
            None => note(text),
        }
    }

    fn show(&mut self, event: &CommandEvent<'_>) {
        if self.is_json {
            self.failed = self.failed.take().or(print_json_line(event).err());
            return;
        }
        match event {
            CommandEvent::Listening { at } => self.line(&format!("listening at {at}")),
            CommandEvent::Serving { what, root, at } => {
                self.line(&format!("serving {what} at {at}: root {root}"));
            }
            CommandEvent::Note { text } => self.line(text),
            CommandEvent::Joined { peer } => self.line(&format!("{peer}: connected")),
            CommandEvent::Waiting { peer, why } => self.line(&format!("{peer}: waits: {why}")),
            CommandEvent::Left { why, .. } => self.line(why),
            CommandEvent::Progress { moment, .. } => self.progress(moment),
            CommandEvent::Done {
                what,
                root,
                peers,
                progress,
            } => {
                self.clear();
                let peers: Vec<String> = peers.iter().map(ToString::to_string).collect();
                let root = root.as_deref().unwrap_or("");
                let verified = BinaryBytes(progress.verified);
                // The receiver already had all of the data before the transfer.
                let present = match progress.verified > 0 && progress.kept == progress.verified {
                    true => ", already present",
                    false => "",
                };
                self.line(&format!(
                    "{what}: {verified} verified{present}, {}, with {}; root {root}",
                    rate(progress),
                    peers.join(", "),
                ));
            }
            CommandEvent::Failed { why, .. } => {
                self.clear();
                self.line(&format!("tailcut: {why}"));
            }
            CommandEvent::Checked { report } => {
                let printed = print(&report.to_string());
                self.failed = self.failed.take().or(printed.err());
            }
            CommandEvent::Entry { path, bytes } => {
                let bytes = bytes.map_or(String::new(), |bytes| bytes.to_string());
                let printed = print(&format!("{bytes:>14} {path}"));
                self.failed = self.failed.take().or(printed.err());
            }
        }
    }

    fn progress(&mut self, moment: &Moment) {
        if self.is_terminal {
            let bar = self.bar.get_or_insert_with(bar);
            bar.set_length(moment.total.unwrap_or(moment.verified));
            bar.set_position(moment.verified);
            bar.set_message(words(moment));
        } else if self.printed_at.elapsed() >= PROGRESS_INTERVAL {
            self.printed_at = Instant::now();
            let of = moment.total.map_or(String::new(), |total| {
                let share = moment.verified as f64 * 100.0 / total.max(1) as f64;
                format!(" of {}, {share:.0} %", BinaryBytes(total))
            });
            note(&format!(
                "{}{of}, {}",
                BinaryBytes(moment.verified),
                words(moment)
            ));
        }
    }
}

fn bar() -> ProgressBar {
    let bar = ProgressBar::new(0);
    let style = "{bar:24.cyan/blue} {binary_bytes:>10} of {binary_total_bytes}  {msg}";
    let style = ProgressStyle::with_template(style);
    bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
    bar
}

fn rate(moment: &Moment) -> String {
    format!("{}/s", BinaryBytes(moment.rate as u64))
}

/// Returns a text about the progress: rate, time left, loss, repair symbols, and the slowest receiver.
fn words(moment: &Moment) -> String {
    let mut words = rate(moment);
    let left = moment
        .total
        .map(|total| total.saturating_sub(moment.verified));
    if let Some(left) = left.filter(|_| moment.rate * moment.seconds >= 1e6) {
        let to_go = Duration::from_secs_f64((left as f64 / moment.rate).min(1e9));
        words = format!("{words}, {} to go", HumanDuration(to_go));
    }
    if moment.kept > 0 {
        words = format!("{words}, {} already present", BinaryBytes(moment.kept));
    }
    if let Some(loss) = moment.loss.filter(|loss| *loss > 0.0) {
        words = format!("{words}, loss {:.1} %", loss * 100.0);
    }
    if let Some(repair) = moment.repair.filter(|repair| *repair > 0.0) {
        words = format!("{words}, repair {:.1} %", repair * 100.0);
    }
    if let Some(slowest) = moment.slowest {
        words = format!("{words}, {} receive, slowest {slowest}", moment.receivers);
    }
    words
}

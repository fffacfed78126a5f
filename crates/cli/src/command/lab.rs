//! `tailcut lab`, if this build includes it.

use crate::failure::Failure;
#[cfg(all(feature = "lab", target_os = "linux"))]
use crate::output::{note, print, print_exactly, print_json, screen};
use crate::shared::Json;
#[cfg(all(feature = "lab", target_os = "linux"))]
use crate::{build, execution::REPORT};
#[cfg(all(feature = "lab", target_os = "linux"))]
use tailcut_lab::command::flows;
#[cfg(all(feature = "lab", target_os = "linux"))]
use tailcut_scenario::record::{Earlier, Manifest, OutputDir, TableFormat};

/// Runs the command. A command that runs a program ends the process with the program's exit code.
///
/// # Errors
/// Wrong input, or an error of the operating system.
#[cfg(all(feature = "lab", target_os = "linux"))]
pub fn execute(command: &tailcut_lab::command::LabCommand) -> Result<(), Failure> {
    match tailcut_lab::command::execute(command, keep)? {
        0 => Ok(()),
        code => std::process::exit(code),
    }
}

/// Writes the flows that programs have sent over a lab, as a study of one run with a report.
#[cfg(all(feature = "lab", target_os = "linux"))]
fn keep(arguments: &flows::Flows) -> Result<(), Failure> {
    let (record, notes) = flows::record(arguments)?;
    let dir = arguments
        .out
        .clone()
        .map_or_else(|| flows::place(arguments), Ok)?;
    let manifest = Manifest::new(
        env!("CARGO_PKG_VERSION"),
        build::command_line(),
        record.key.seed,
        serde_json::Value::Null,
        [record.key.clone()],
    );
    // The new record contains all flows since the lab started, so it can replace an earlier record.
    let output = OutputDir::open(&dir, manifest, TableFormat::default(), Earlier::Remove)?;
    output.write_run(0, &record)?;
    output.conclude()?;
    notes.iter().for_each(|words| note(words));
    let study = tailcut_report::load(&dir)?;
    let report = dir.join(REPORT);
    tailcut_report::write_html(&study, &report)?;
    let shown = format!("report: {}", report.display());
    if arguments.json {
        note(&shown);
        return print_json(&tailcut_report::json(&study));
    }
    let table = tailcut_report::text_table_on(&study, screen());
    print_exactly(&format!("{table}\n{shown}\n"))
}

/// Runs a benchmark of the lab. Returns `None` if `name` is not a benchmark of the lab.
pub fn bench(name: &str, times: usize, json: Json) -> Option<Result<(), Failure>> {
    #[cfg(all(feature = "lab", target_os = "linux"))]
    if tailcut_lab::bench::names().any(|known| known == name) {
        return Some(measure(name, times, json));
    }
    let _ = (name, times, json);
    None
}

#[cfg(all(feature = "lab", target_os = "linux"))]
fn measure(name: &str, times: usize, json: Json) -> Result<(), Failure> {
    tailcut_lab::prepare()?;
    let figures = tailcut_lab::bench::run(name, times)?;
    if json.json {
        return print_json(&figures);
    }
    let lines = figures.iter().map(|figure| {
        let wanted = figure.wanted.map_or_else(String::new, |wanted| {
            let verdict = if figure.holds() { "" } else { ": MISSED" };
            format!("  wanted {:.2} to {:.2}{verdict}", wanted.from, wanted.to)
        });
        let spread = match figure.n {
            1 => String::new(),
            n => format!(" ({:.3} to {:.3}, n {n})", figure.least, figure.largest),
        };
        format!(
            "{:52} {:>12.3}{spread}{wanted}\n",
            figure.name, figure.measured
        )
    });
    print(&lines.collect::<String>())
}

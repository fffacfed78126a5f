//! `tailcut report`: writes a new report for the runs of one or more directories.

use crate::args::{Picture, Report};
use crate::execution::REPORT;
use crate::failure::Failure;
use crate::join;
use crate::output::{note, print_exactly, print_json, screen};
use anyhow::Context;
use std::path::Path;

/// Default directory for the report of several studies.
const JOINED: &str = "out/joined";

/// Runs the command.
///
/// # Errors
/// A directory contains no runs, or the report cannot be written.
pub fn execute(arguments: &Report) -> Result<(), Failure> {
    let study = join::load(&arguments.dirs)?;
    let (first, others) = arguments.dirs.split_first().context("DIR: found none")?;
    if study.runs().is_empty() {
        let dir = first.display();
        return Err(anyhow::anyhow!(
            "{dir}: found no finished run; allowed: a directory with a finished run"
        )
        .into());
    }
    // The report of several studies is written to its own directory.
    let usual = match others.is_empty() {
        true => first.as_path(),
        false => Path::new(JOINED),
    };
    let out = arguments.out.out.as_deref().unwrap_or(usual);
    make_dir(out)?;
    let report = out.join(REPORT);
    tailcut_report::write_html(&study, &report)?;
    if let Some(picture) = arguments.plots {
        let dir = out.join("plots");
        write_plots(&study, &dir, picture)?;
        note(&format!("plots: {}", dir.display()));
    }
    if arguments.json.json {
        note(&format!("report: {}", report.display()));
        return print_json(&tailcut_report::json(&study));
    }
    let (answer, table) = (
        tailcut_report::text_answer_on(&study, screen()),
        tailcut_report::text_table_on(&study, screen()),
    );
    print_exactly(&format!(
        "{answer}\n\n{table}\nReport: {}",
        report.display()
    ))
}

fn make_dir(dir: &Path) -> anyhow::Result<()> {
    std::fs::create_dir_all(dir).with_context(|| format!("cannot create {}", dir.display()))
}

fn write_plots(study: &tailcut_report::Study, dir: &Path, picture: Picture) -> anyhow::Result<()> {
    make_dir(dir)?;
    for drawn in tailcut_report::pictures(study) {
        let name = drawn.id.clone();
        let (bytes, extension) = match picture {
            Picture::Svg => (drawn.svg.into_bytes(), "svg"),
            #[cfg(feature = "png")]
            Picture::Png => (
                drawn.png().with_context(|| format!("cannot draw {name}"))?,
                "png",
            ),
            #[cfg(not(feature = "png"))]
            Picture::Png => {
                anyhow::bail!("--plots: this build writes no PNG files; found png; allowed: svg")
            }
        };
        let path = dir.join(format!("{name}.{extension}"));
        std::fs::write(&path, bytes).with_context(|| format!("cannot write {}", path.display()))?;
    }
    Ok(())
}

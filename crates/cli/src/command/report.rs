//! `tailcut report`: writes a new report for the runs of one or more directories.

use crate::args::Report;
use crate::execution::REPORT;
use crate::failure::Failure;
use crate::join;
use crate::output::{note, print_exactly, print_json, screen};
use crate::picture::Picture;
use anyhow::Context;
#[cfg(not(feature = "images"))]
use clap::ValueEnum;
use std::path::Path;
use tailcut_report::{Size, Study};

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
    if arguments.open {
        open(&report)?;
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

/// Shows the report in the browser that the desktop has set, or in the program in `BROWSER`.
fn open(report: &Path) -> anyhow::Result<()> {
    let whole = std::path::absolute(report)?;
    let opened = match std::env::var_os("BROWSER").filter(|browser| !browser.is_empty()) {
        Some(browser) => open::with_detached(&whole, browser.to_string_lossy()),
        None => open::that_detached(&whole),
    };
    let hint = "set BROWSER to one, or open the file by hand";
    opened.with_context(|| format!("--open: found no browser for {}; {hint}", whole.display()))
}

fn make_dir(dir: &Path) -> anyhow::Result<()> {
    std::fs::create_dir_all(dir).with_context(|| format!("cannot create {}", dir.display()))
}

fn write_plots(study: &Study, dir: &Path, picture: Picture) -> anyhow::Result<()> {
    make_dir(dir)?;
    let sizes: &[Size] = match picture {
        Picture::Svg | Picture::Pdf | Picture::Png => &[Size::Screen],
        Picture::Paper => &Size::PAPER,
    };
    for drawn in tailcut_report::pictures(study, sizes) {
        let name = match picture {
            Picture::Svg | Picture::Pdf | Picture::Png => drawn.id.clone(),
            Picture::Paper => format!("{}-{}in", drawn.id, drawn.size.inches()),
        };
        let (bytes, extension) =
            image(drawn, picture).with_context(|| format!("cannot draw {name}"))?;
        let path = dir.join(format!("{name}.{extension}"));
        std::fs::write(&path, bytes).with_context(|| format!("cannot write {}", path.display()))?;
    }
    Ok(())
}

/// Returns the contents and the extension of a drawing's file.
#[cfg(feature = "images")]
fn image(
    drawn: tailcut_report::Picture,
    picture: Picture,
) -> anyhow::Result<(Vec<u8>, &'static str)> {
    Ok(match picture {
        Picture::Svg => (drawn.svg.into_bytes(), "svg"),
        Picture::Pdf | Picture::Paper => (drawn.pdf()?, "pdf"),
        Picture::Png => (drawn.png()?, "png"),
    })
}

/// Returns the contents and the extension of a drawing's file.
#[cfg(not(feature = "images"))]
fn image(
    drawn: tailcut_report::Picture,
    picture: Picture,
) -> anyhow::Result<(Vec<u8>, &'static str)> {
    match picture {
        Picture::Svg => Ok((drawn.svg.into_bytes(), "svg")),
        other => anyhow::bail!(
            "--plots: this build writes no PDF or PNG files; found {}; allowed: svg",
            other
                .to_possible_value()
                .map_or_else(String::new, |value| value.get_name().to_owned())
        ),
    }
}

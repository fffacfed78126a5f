//! The page: one HTML file that opens from disk and asks nothing of any network.

use crate::network::{dark_heat, heat_rules, light_heat};
use crate::plot::{Layout, Plot, Series, colour_class, dark_colours, light_colours, swatch};
use crate::sections::{opening, sections};
use crate::study::Study;
use crate::table::{Cell, Table, Tendency};
use maud::{DOCTYPE, Markup, PreEscaped, html};
use serde_json::json;
use std::path::Path;
use tailcut_record::Error;

const STYLE: &str = include_str!("page.css");
const SCRIPT: &str = include_str!("page.js");
const NETWORK_SCRIPT: &str = include_str!("network.js");

/// What the page may load: nothing but what it carries.
const POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'";

/// Writes the report as one self-contained HTML file.
///
/// # Errors
/// [`Error::Io`] where the system refuses; an earlier file stays then.
pub fn write_html(study: &Study, path: impl AsRef<Path>) -> Result<(), Error> {
    tailcut_record::write_whole(path.as_ref(), html(study).as_bytes())
}

/// The report as one self-contained HTML file.
pub fn html(study: &Study) -> String {
    let designs = study.designs().join(", ");
    let sections = sections(study);
    html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta http-equiv="Content-Security-Policy" content=(POLICY);
                title { "tailcut: " (designs) }
                style { (PreEscaped(style())) }
            }
            body {
                header {
                    p { b { "tailcut" } " · " (designs) " · " (study.manifest().started_at) }
                    button type="button" id="theme" { "Dark" }
                }
                main {
                    (opening(study))
                    nav aria-label="Sections" {
                        @for section in &sections { a href={ "#" (section.id) } { (section.title) } }
                    }
                    @for section in &sections {
                        section id=(section.id) { h2 { (section.title) } (section.body) }
                    }
                }
                footer { "Written by tailcut " (study.manifest().version) ". This file is complete: it loads nothing." }
                script { (PreEscaped(SCRIPT)) (PreEscaped(NETWORK_SCRIPT)) }
            }
        }
    }
    .into_string()
}

fn style() -> String {
    let mut colours = String::new();
    for index in 0..8 {
        colours.push_str(&format!(".c{index}{{color:var(--series-{index})}}"));
    }
    STYLE
        .replace("/*light*/", &(light_colours() + &light_heat()))
        .replace("/*dark*/", &(dark_colours() + &dark_heat()))
        .replace("/*colours*/", &colours)
        .replace("/*heat*/", &heat_rules())
}

pub(crate) fn show_plots(plots: &[Plot]) -> Markup {
    html! { @if !plots.is_empty() { div class="plots" { @for plot in plots { (figure(plot)) } } } }
}

fn figure(plot: &Plot) -> Markup {
    let data: Vec<_> = plot
        .series
        .iter()
        .map(|series| json!({ "name": series.name, "points": plot.places(series) }))
        .collect();
    html! {
        figure id=(plot.id) {
            figcaption {
                h3 { (plot.title) }
                @if !plot.caption.is_empty() { p { (unbroken(&plot.caption)) } }
            }
            (plot.drawing(Layout::WIDE, "wide"))
            (plot.drawing(Layout::NARROW, "narrow"))
            @if plot.has_legend() {
                div class="legend" role="group" aria-label="Series" {
                    @for (index, series) in plot.series.iter().enumerate() { (legend_button(index, series)) }
                }
            }
            div class="tip" role="status" hidden {}
            script type="application/json" { (PreEscaped(script_json(&data))) }
        }
    }
}

/// A value as JSON that is safe within a script element: without "<", which could end it or begin a
/// comment in it.
pub(crate) fn script_json(value: &impl serde::Serialize) -> String {
    let json = serde_json::to_string(value).unwrap_or_default();
    json.replace('<', "\\u003c")
}

fn legend_button(index: usize, series: &Series) -> Markup {
    html! {
        button type="button" aria-pressed="true" data-series=(index) {
            svg class=(colour_class(series)) viewBox="0 -7 28 14" aria-hidden="true" { (swatch(series)) }
            span { (series.name) }
        }
    }
}

pub(crate) fn show_table(table: &Table) -> Markup {
    html! {
        div class="table" {
            h3 { (table.title) }
            (table_rows(table))
            @if !table.caption.is_empty() { p { (unbroken(&table.caption)) } }
        }
    }
}

pub(crate) fn table_rows(table: &Table) -> Markup {
    let numeric = |column: usize| {
        let mut rows = table.rows.iter();
        rows.any(|row| row.get(column).is_some_and(Cell::is_number))
    };
    html! {
        div class="scroll" tabindex="0" role="region" aria-label=(table.title) {
            table {
                thead { tr {
                    @for (index, name) in table.columns.iter().enumerate() {
                        th scope="col" class=(if numeric(index) { "n" } else { "" }) { (name) }
                    }
                } }
                tbody {
                    @for (index, row) in table.rows.iter().enumerate() {
                        tr class=(if starts_group(table, index) { "first" } else { "" }) {
                            @for cell in row { td class=(cell_class(cell)) { (cell.text) } }
                        }
                    }
                }
            }
        }
    }
}

/// The text with its numbers kept on one line with their unit.
pub(crate) fn unbroken(text: &str) -> String {
    text.replace(" % CI", "\u{a0}%\u{a0}CI")
        .replace(" %", "\u{a0}%")
}

/// Whether a row's first cell differs from the one before, in tables whose first column groups.
fn starts_group(table: &Table, index: usize) -> bool {
    let first = |index: usize| table.rows[index].first().map(|cell| &cell.text);
    let grouped = (1..table.rows.len()).any(|index| first(index) == first(index - 1));
    grouped && index > 0 && first(index) != first(index - 1)
}

/// How a cell is aligned and coloured.
fn cell_class(cell: &Cell) -> &'static str {
    match (cell.is_number(), cell.tendency) {
        (true, Some(Tendency::Better)) => "n better",
        (true, Some(Tendency::Worse)) => "n worse",
        (true, None) => "n",
        (false, _) if cell.text.chars().count() > 40 => "prose",
        (false, _) => "",
    }
}

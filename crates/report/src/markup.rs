//! Markup of tables and plots for the page.

use crate::plot::{Layout, Plot, Series, colour_class, swatch};
use crate::table::{Cell, Table, Tendency};
use maud::{Markup, PreEscaped, html};
use serde_json::json;

pub(crate) fn show_plots(plots: &[Plot]) -> Markup {
    html! { @if !plots.is_empty() { div class="plots" { @for plot in plots { (figure(plot)) } } } }
}

/// Returns markup that shows small plots next to each other.
pub(crate) fn show_small(plots: &[Plot]) -> Markup {
    html! { @if !plots.is_empty() { div class="plots small" { @for plot in plots { (figure(plot)) } } } }
}

fn figure(plot: &Plot) -> Markup {
    let series = plot.series.iter();
    let series: Vec<_> = series
        .map(|series| json!({ "name": series.name, "points": plot.places(series) }))
        .collect();
    let data = json!({ "labels": [plot.x.label, plot.y.label], "series": series });
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

/// Returns a value as JSON for use in a script element. The text contains no "<", which could end the element or begin
/// a comment.
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

/// Returns the text with a no-break space between each number and its unit.
pub(crate) fn unbroken(text: &str) -> String {
    text.replace(" % CI", "\u{a0}%\u{a0}CI")
        .replace(" %", "\u{a0}%")
}

/// Returns whether a row starts a new group: its first cell differs from the first cell of the previous row.
fn starts_group(table: &Table, index: usize) -> bool {
    let first = |index: usize| table.rows[index].first().map(|cell| &cell.text);
    let grouped = (1..table.rows.len()).any(|index| first(index) == first(index - 1));
    grouped && index > 0 && first(index) != first(index - 1)
}

/// Returns the CSS class for the alignment and the colour of a cell.
fn cell_class(cell: &Cell) -> &'static str {
    match (cell.is_number(), cell.tendency) {
        (true, Some(Tendency::Better)) => "n better",
        (true, Some(Tendency::Worse)) => "n worse",
        (true, None) => "n",
        (false, _) if cell.text.chars().count() > 40 => "prose",
        (false, _) => "",
    }
}

//! Markup of tables and plots for the page.

use crate::plot::{Curves, Layout, Mark, Plot, Series, Side, colour_class, swatch};
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
        .map(|series| {
            let runs = series.runs.iter().map(|run| (&run.id, run.seed, run.noun));
            // Point that determines the height of a curve: next or last point of steps, otherwise nearest point.
            let height = match series.mark {
                Mark::StepBefore => "next",
                Mark::Step => "last",
                _ => "nearest",
            };
            json!({
                "name": series.name,
                "height": height,
                "points": plot.places(series),
                "runs": runs.collect::<Vec<_>>(),
            })
        })
        .collect();
    // Only plots of curves can be zoomed, because markers and cells have a fixed size.
    let is_curve =
        |series: &Series| matches!(series.mark, Mark::Line | Mark::Step | Mark::StepBefore);
    let zooms = plot.series.iter().all(is_curve);
    let ticks = zooms.then(|| [plot.fine_ticks(Side::X), plot.fine_ticks(Side::Y)]);
    let data = json!({ "labels": [plot.x.label, plot.y.label], "series": series, "ticks": ticks });
    html! {
        figure id=(plot.id) {
            figcaption {
                h3 { (plot.title) }
                @if !plot.caption.is_empty() { p { (unbroken(&plot.caption)) } }
            }
            (plot.drawing(Layout::WIDE, "wide", Curves::Own))
            (plot.drawing(Layout::NARROW, "narrow", Curves::OfOther))
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

/// Returns a value as JSON for use in a script element.
/// The text contains no "<", because this character could end the element or begin a comment.
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
    table_in(table, "table", false)
}

/// Returns a table. A phone shows each row as a card, so all columns are visible.
pub(crate) fn show_cards(table: &Table) -> Markup {
    table_in(table, "table cards", true)
}

fn table_in(table: &Table, class: &str, labels: bool) -> Markup {
    html! {
        div class=(class) {
            h3 { (table.title) }
            (rows(table, labels))
            @if !table.caption.is_empty() { p { (unbroken(&table.caption)) } }
        }
    }
}

pub(crate) fn table_rows(table: &Table) -> Markup {
    rows(table, false)
}

/// Returns the rows. With `labels`, each cell has the name of its column.
fn rows(table: &Table, labels: bool) -> Markup {
    let numeric = |column: usize| {
        let mut rows = table.rows.iter();
        rows.any(|row| row.get(column).is_some_and(Cell::is_number))
    };
    html! {
        div class="scroll" tabindex="0" role="region" aria-label=(table.title) {
            table {
                thead { tr {
                    @for (index, name) in table.columns.iter().enumerate() {
                        th scope="col" class=[numeric(index).then_some("n")] { (name) }
                    }
                } }
                tbody {
                    @for (index, row) in table.rows.iter().enumerate() {
                        tr class=[starts_group(table, index).then_some("first")] {
                            @for (cell, name) in row.iter().zip(&table.columns) {
                                td class=[cell_class(cell)] data-label=[labels.then_some(name)] { (cell.text) }
                            }
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

/// Returns the CSS class for the alignment and the colour of a cell, or `None` if it needs none.
fn cell_class(cell: &Cell) -> Option<&'static str> {
    match (cell.is_number(), cell.tendency) {
        (true, Some(Tendency::Better)) => Some("n better"),
        (true, Some(Tendency::Worse)) => Some("n worse"),
        (true, None) => Some("n"),
        (false, _) => (cell.text.chars().count() > 40).then_some("prose"),
    }
}

//! The page: one HTML file that opens from disk and asks nothing of any network.

use crate::answer::sentences;
use crate::group::Group;
use crate::plot::{Layout, Plot, Series, colour_class, dark_colours, light_colours, swatch};
use crate::sample::Metric;
use crate::study::Study;
use crate::table::{Cell, Table, Tendency};
use crate::{Comparison, plots, queue, requests, tables};
use maud::{DOCTYPE, Markup, PreEscaped, html};
use serde_json::json;
use std::path::Path;
use tailcut_record::Error;

const STYLE: &str = include_str!("page.css");
const SCRIPT: &str = include_str!("page.js");

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
                script { (PreEscaped(SCRIPT)) }
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
        .replace("/*light*/", &light_colours())
        .replace("/*dark*/", &dark_colours())
        .replace("/*colours*/", &colours)
}

/// The answer, and the table and plots that carry it.
fn opening(study: &Study) -> Markup {
    let sentences = sentences(study);
    html! {
        div class="answer" {
            @for (index, sentence) in sentences.iter().enumerate() {
                @if index == 0 { h1 { (unbroken(sentence)) } } @else { p { (unbroken(sentence)) } }
            }
        }
        @if let Some(table) = tables::headline(study) {
            (show_table(&table))
            p class="note" { (unbroken(&tables::method_note(study, &[table]))) }
        }
        (show_plots(&plots::by_design(study)))
    }
}

struct Section {
    id: &'static str,
    title: &'static str,
    body: Markup,
}

/// The sections that have something to show.
fn sections(study: &Study) -> Vec<Section> {
    let mut sections = Vec::new();
    let mut add = |id, title, body: Option<Markup>| {
        sections.extend(body.map(|body| Section { id, title, body }));
    };
    let has_flows = !study.analysis().rows.is_empty();
    add(
        "published",
        "Published figures",
        published(&study.comparisons),
    );
    add("load", "Over the load", over_loads(study));
    add(
        "distribution",
        "Distribution",
        has_flows.then(|| distribution(study)),
    );
    add("size", "By flow size", by_size(study));
    add(
        "requests",
        "Requests",
        requests::table(study).map(|table| show_table(&table)),
    );
    add(
        "queues",
        "Queues",
        Some(queues(study)).filter(|_| has_flows),
    );
    add("figures", "All figures", has_flows.then(|| figures(study)));
    add(
        "unfinished",
        "Unfinished flows",
        has_flows.then(|| unfinished(study)),
    );
    add(
        "counts",
        "Packets and bytes",
        has_flows.then(|| show_table(&tables::counts(study))),
    );
    add("method", "Method", Some(method()));
    add("provenance", "Provenance", Some(provenance(study)));
    sections
}

fn published(comparisons: &[Comparison]) -> Option<Markup> {
    (!comparisons.is_empty()).then(|| {
        html! {
            p { "Ours beside theirs. The band is where ours should stay; where the two differ, the last \
                 column says why." }
            @for comparison in comparisons { (show_table(&comparison.table())) }
        }
    })
}

fn over_loads(study: &Study) -> Option<Markup> {
    let table = tables::sweep(study)?;
    Some(html! {
        (show_plots(&plots::over_loads(study)))
        (show_table(&table))
    })
}

fn distribution(study: &Study) -> Markup {
    let analysis = study.analysis();
    let headline = analysis.headline().unwrap_or(0);
    html! {
        (show_plots(&plots::distributions(study, headline)))
        @for setting in (0..analysis.settings.len()).filter(|s| *s != headline) {
            details {
                summary { "Distribution at " (analysis.setting_name(setting)) }
                (show_plots(&plots::distributions(study, setting)))
            }
        }
    }
}

fn by_size(study: &Study) -> Option<Markup> {
    let plots = plots::by_size(study);
    (!plots.is_empty()).then(|| show_plots(&plots))
}

fn queues(study: &Study) -> Markup {
    html! {
        @if let Some(table) = queue::table(study) {
            (show_plots(&queue::plots(study)))
            (show_table(&table))
        } @else {
            p { "Queues were not sampled in these runs." }
        }
    }
}

fn figures(study: &Study) -> Markup {
    let analysis = study.analysis();
    let settings: Vec<(usize, [Table; 2])> = (0..analysis.settings.len())
        .map(|setting| {
            let metrics = [Metric::Fct, Metric::Slowdown];
            (
                setting,
                metrics.map(|metric| tables::figures(study, setting, metric)),
            )
        })
        .collect();
    let all: Vec<Table> = settings
        .iter()
        .flat_map(|(_, tables)| tables.clone())
        .collect();
    html! {
        p class="note" { (unbroken(&tables::method_note(study, &all))) }
        @for (setting, tables) in &settings {
            @for table in tables {
                details open[analysis.headline() == Some(*setting)] {
                    summary { (table.title) }
                    (table_rows(table))
                }
            }
        }
    }
}

fn unfinished(study: &Study) -> Markup {
    html! {
        @match tables::unfinished(study) {
            Some(table) => (show_table(&table)),
            None => p { "Every flow finished in every run." },
        }
    }
}

fn method() -> Markup {
    let [mice, medium, elephants] = Group::main().map(|group| group.name);
    html! {
        dl {
            dt { "Completion time" }
            dd { "From the moment the application hands the flow over until the receiver holds its last byte." }
            dt { "Slowdown" }
            dd { "Completion time over that of the same flow alone in the network." }
            dt { "Groups" }
            dd { (mice) ", " (medium) ", " (elephants) "; 1 KB is 1,000 bytes." }
            dt { "Percentiles" }
            dd { "Order statistics without interpolation: the smallest completion time that at least so many of the flows do not exceed." }
            dt { "Unfinished flows" }
            dd { "Slower than every other in percentiles and distributions; left out of means." }
            dt { "Intervals" }
            dd { "95 %, each for its own figure. From three seeds on: Student's t over the seeds, and for \
                  ratios a paired t over the logarithms of the seeds' ratios, since one seed gives all designs \
                  the same arrivals. With fewer: a bootstrap of 500 resamples over a hundred blocks of \
                  consecutive flows a run, the same blocks for both designs of a ratio." }
            dt { "Difference" }
            dd { "A design is called faster or slower only where the interval of its ratio leaves out one. With \
                  many designs, one in twenty equal ones would still be called different." }
            dt { "Bytes" }
            dd { "All that hosts sent: headers, copies, retransmissions and acknowledgements." }
        }
    }
}

fn provenance(study: &Study) -> Markup {
    let manifest = study.manifest();
    let config = serde_json::to_string_pretty(&manifest.config).unwrap_or_default();
    let finished = study.runs().len();
    html! {
        dl {
            dt { "Command" }
            dd { code { (manifest.command_line.join(" ")) } }
            dt { "Version" }
            dd { (manifest.version) }
            dt { "Started" }
            dd { (manifest.started_at) }
            dt { "Machine" }
            dd { (manifest.host.cores) " cores, " (manifest.host.os) ", " (manifest.host.arch) }
            dt { "First seed" }
            dd { (manifest.seed) }
            dt { "Runs" }
            dd { (finished) " of " (manifest.runs.len()) " finished" }
        }
        details {
            summary { "Runs and their record hashes" }
            (table_rows(&tables::runs(study)))
        }
        details { summary { "Configuration" } pre tabindex="0" { (config) } }
    }
}

fn show_plots(plots: &[Plot]) -> Markup {
    html! { @if !plots.is_empty() { div class="plots" { @for plot in plots { (figure(plot)) } } } }
}

fn figure(plot: &Plot) -> Markup {
    let data: Vec<_> = plot
        .series
        .iter()
        .map(|series| json!({ "name": series.name, "points": plot.places(series) }))
        .collect();
    // Within a script element only "</" would end it.
    let data = serde_json::to_string(&data)
        .unwrap_or_default()
        .replace("</", "<\\/");
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
            script type="application/json" { (PreEscaped(data)) }
        }
    }
}

fn legend_button(index: usize, series: &Series) -> Markup {
    html! {
        button type="button" aria-pressed="true" data-series=(index) {
            svg class=(colour_class(series)) viewBox="0 -7 28 14" aria-hidden="true" { (swatch(series)) }
            span { (series.name) }
        }
    }
}

fn show_table(table: &Table) -> Markup {
    html! {
        div class="table" {
            h3 { (table.title) }
            (table_rows(table))
            @if !table.caption.is_empty() { p { (unbroken(&table.caption)) } }
        }
    }
}

fn table_rows(table: &Table) -> Markup {
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
fn unbroken(text: &str) -> String {
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

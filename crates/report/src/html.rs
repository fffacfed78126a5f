//! HTML page of a report: one file that is readable from disk and loads nothing from a network.

use crate::network::{dark_heat, heat_rules, light_heat};
use crate::plot::{cell_rules, dark_cells, dark_colours, light_cells, light_colours};
use crate::sections::{Section, opening, sections};
use crate::study::Study;
use maud::{DOCTYPE, Markup, PreEscaped, html};
use std::path::Path;
use tailcut_record::Error;

const STYLE: &str = include_str!("page.css");
const SCRIPT: &str = include_str!("page.js");
const PLOT_SCRIPT: &str = include_str!("plot.js");
const NETWORK_SCRIPT: &str = include_str!("network.js");

/// Content security policy: the page may use only the styles and scripts that it contains.
const POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'";

/// Writes the report as one self-contained HTML file.
///
/// # Errors
/// [`Error::Io`] if the file cannot be written. An existing file remains unchanged after an error.
pub fn write_html(study: &Study, path: impl AsRef<Path>) -> Result<(), Error> {
    tailcut_record::write_whole(path.as_ref(), html(study).as_bytes())
}

/// Returns the report as one self-contained HTML file.
pub fn html(study: &Study) -> String {
    let designs = study.designs().join(", ");
    let manifest = study.manifest();
    document(&Document {
        title: &designs,
        when: &manifest.started_at,
        version: &manifest.version,
        opening: opening(study),
        sections: sections(study),
    })
}

/// Contents of a page.
pub(crate) struct Document<'a> {
    /// Subject of the page.
    pub title: &'a str,
    /// Time of the study or measurement, as text.
    pub when: &'a str,
    /// Version of the program that writes the page.
    pub version: &'a str,
    /// Content before the first section.
    pub opening: Markup,
    pub sections: Vec<Section>,
}

/// Returns a complete page in the style of the report.
pub(crate) fn document(page: &Document<'_>) -> String {
    html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta http-equiv="Content-Security-Policy" content=(POLICY);
                title { "tailcut: " (page.title) }
                style { (PreEscaped(style())) }
            }
            body {
                header {
                    p { b { "tailcut" } " · " (page.title) " · " (page.when) }
                    button type="button" id="theme" { "Dark" }
                }
                nav aria-label="Sections" {
                    @for section in &page.sections { a href={ "#" (section.id) } { (section.title) } }
                }
                main {
                    (page.opening)
                    @for section in &page.sections {
                        section id=(section.id) { h2 { (section.title) } (section.body) }
                    }
                }
                footer { "Written by tailcut " (page.version) ". This file is self-contained: it loads nothing else." }
                script { (PreEscaped(SCRIPT)) (PreEscaped(PLOT_SCRIPT)) (PreEscaped(NETWORK_SCRIPT)) }
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
        .replace(
            "/*light*/",
            &(light_colours() + &light_heat() + &light_cells()),
        )
        .replace("/*dark*/", &(dark_colours() + &dark_heat() + &dark_cells()))
        .replace("/*colours*/", &colours)
        .replace("/*heat*/", &(heat_rules() + &cell_rules()))
}

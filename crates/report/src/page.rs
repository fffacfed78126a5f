//! Pages in the report's looks about something else than a study.

use crate::html::{Document, document};
use crate::markup::{show_plots, show_table, unbroken};
use crate::plot::Plot;
use crate::sections::Section;
use crate::table::Table;
use maud::html;

/// A page: an answer, and sections of tables and plots that carry it.
#[derive(Clone, Debug)]
pub struct Page {
    /// What it is about.
    pub title: String,
    /// When that was.
    pub when: String,
    /// The version of the program that writes it.
    pub version: String,
    /// The answer in sentences, the most important one first.
    pub answer: Vec<String>,
    /// What carries it.
    pub sections: Vec<PageSection>,
}

/// A part of a page.
#[derive(Clone, Debug)]
pub struct PageSection {
    /// A name for links, unique within the page.
    pub id: String,
    /// The title.
    pub title: String,
    /// Paragraphs before tables and plots.
    pub notes: Vec<String>,
    /// Tables.
    pub tables: Vec<Table>,
    /// Plots; those without a point are left out.
    pub plots: Vec<Plot>,
}

impl Page {
    /// The page as one self-contained HTML file.
    pub fn html(&self) -> String {
        let opening = html! {
            div class="answer" {
                @for (index, sentence) in self.answer.iter().enumerate() {
                    @if index == 0 { h1 { (unbroken(sentence)) } } @else { p { (unbroken(sentence)) } }
                }
            }
        };
        document(&Document {
            title: &self.title,
            when: &self.when,
            version: &self.version,
            opening,
            sections: self.sections.iter().map(section).collect(),
        })
    }
}

fn section(section: &PageSection) -> Section {
    let plots = section.plots.iter().filter(|plot| plot.has_points());
    let plots: Vec<Plot> = plots.cloned().collect();
    Section {
        id: section.id.clone(),
        title: section.title.clone(),
        body: html! {
            @for note in &section.notes { p { (unbroken(note)) } }
            @for table in &section.tables { (show_table(table)) }
            (show_plots(&plots))
        },
    }
}

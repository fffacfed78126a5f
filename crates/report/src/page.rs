//! Pages in the report's style with other contents than a study.

use crate::html::{Document, document};
use crate::markup::{show_plots, show_table, unbroken};
use crate::plot::Plot;
use crate::sections::Section;
use crate::table::Table;
use maud::html;

/// Page: an answer, and sections with the tables and plots behind it.
#[derive(Clone, Debug)]
pub struct Page {
    /// Subject of the page.
    pub title: String,
    /// Time of the measurement.
    pub when: String,
    /// Version of the program that writes the page.
    pub version: String,
    /// Answer in sentences, the most important one first.
    pub answer: Vec<String>,
    /// Sections with the tables and plots behind the answer.
    pub sections: Vec<PageSection>,
}

/// Section of a page.
#[derive(Clone, Debug)]
pub struct PageSection {
    /// Name for links, unique within the page.
    pub id: String,
    /// Title.
    pub title: String,
    /// Paragraphs before tables and plots.
    pub notes: Vec<String>,
    /// Tables.
    pub tables: Vec<Table>,
    /// Plots. Plots without a point are left out.
    pub plots: Vec<Plot>,
}

impl Page {
    /// Returns the page as one self-contained HTML file.
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

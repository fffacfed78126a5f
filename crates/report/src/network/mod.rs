//! The network over time: a drawing that shows where it was hot.

mod drawing;
mod film;
mod graph;
mod heat;
mod hot;
mod layout;
mod over_time;
mod page;
mod sampled;
mod trouble;

pub(crate) use drawing::{dark_heat, heat_rules, light_heat};
pub(crate) use over_time::plots;
pub(crate) use page::section;
pub(crate) use trouble::sentence as trouble_sentence;

use crate::plot::Picture;
use crate::study::Study;
use crate::table::Table;
use drawing::Drawing;
use film::Film;
use graph::Graph;
use sampled::sampled_runs;
use trouble::Trouble;

/// Bytes that all films of a page may take; frames are fewer where networks are large.
const FILM_BYTES: usize = 1_500_000;

/// Frames of a film, whatever the network's size.
const FEWEST_FRAMES: usize = 12;
const MOST_FRAMES: usize = 120;

/// The network of one setting with its film, one take a design.
pub(crate) struct Network {
    /// The setting's number.
    setting: usize,
    graph: Graph,
    film: Film,
    /// Links that were slow or down.
    troubles: Vec<Trouble>,
}

/// The links in trouble in `setting`, and those with the longest queues; none where links were not
/// sampled there.
pub(crate) fn tables(study: &Study, setting: usize) -> Vec<Table> {
    let runs = sampled_runs(study, setting);
    let Some((_, first)) = runs.first() else {
        return Vec::new();
    };
    let troubles = trouble::table(study, setting, first);
    troubles
        .into_iter()
        .chain([hot::table(study, setting, &runs)])
        .collect()
}

impl Network {
    /// The network of `setting`; `None` where links were not sampled there.
    pub fn of(study: &Study, setting: usize) -> Option<Self> {
        let runs = sampled_runs(study, setting);
        let (_, first) = runs.first()?;
        let graph = Graph::of(&first.topology)?;
        let frames = FILM_BYTES
            / study.analysis().headlines().len().max(1)
            / (2 * graph.directions() * runs.len()).max(1);
        let film = Film::of(&graph, &runs, frames.clamp(FEWEST_FRAMES, MOST_FRAMES))?;
        Some(Self {
            setting,
            troubles: Trouble::all(&graph, &first.failures),
            graph,
            film,
        })
    }

    /// The network at each design's busiest time, as pictures; none where it is too large.
    pub fn pictures(&self, study: &Study) -> Vec<Picture> {
        if !self.graph.can_be_drawn() {
            return Vec::new();
        }
        let drawing = Drawing::of(&self.graph, &self.troubles);
        let setting = &study.analysis().settings[self.setting];
        let takes = self.film.takes.iter().enumerate();
        takes
            .map(|(index, take)| {
                let title = format!("{} on {}", take.design, setting.describe(true));
                Picture {
                    id: format!("network-{}-{index}", self.setting),
                    svg: drawing.file(&title, &self.film, take),
                }
            })
            .collect()
    }
}

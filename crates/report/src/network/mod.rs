//! The network over time: a drawing that shows where it was hot.

mod drawing;
mod film;
mod graph;
mod heat;
mod hot;
mod layout;
mod over_time;
mod page;
mod trouble;

pub(crate) use drawing::{dark_heat, heat_rules, light_heat};
pub(crate) use over_time::plots;
pub(crate) use page::section;

use crate::plot::Picture;
use crate::study::{Run, Study};
use crate::table::Table;
use drawing::Drawing;
use film::Film;
use graph::Graph;
use tailcut_units::Time;
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

/// The first run of each design in `setting` whose links were sampled. All are on one network: runs on
/// another one by the same name are left out.
fn sampled_runs(study: &Study, setting: usize) -> Vec<(&str, &Run)> {
    let cells = study.cells();
    let sampled = |run: &&&Run| !run.links.is_empty() && !run.topology.is_empty();
    let designs = cells[setting].designs.iter();
    let mut runs: Vec<(&str, &Run)> = designs
        .filter_map(|(design, runs)| Some((*design, *runs.iter().find(sampled)?)))
        .collect();
    if let Some(&(_, first)) = runs.first() {
        runs.retain(|(_, run)| run.topology == first.topology && run.failures == first.failures);
    }
    runs
}

/// When drawings over time end: when nearly all bytes had been carried with every design, but by twice the
/// time that it took the first. One that waits for timeouts would leave the others no room.
fn end_of(runs: &[(&str, &Run)]) -> Option<Time> {
    let ends = || runs.iter().filter_map(|(_, run)| run.nearly_all_carried());
    let (first, last) = (ends().min()?, ends().max()?);
    Some(last.min(Time::from_ps(2 * first.as_ps())))
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

//! Network section of a report: a drawing over time that shows the most loaded links.

mod drawing;
mod edge_failures;
mod film;
mod graph;
mod heat;
mod hot;
mod layout;
mod over_time;
mod page;
mod sampled;

pub(crate) use drawing::{dark_heat, heat_rules, light_heat};
pub(crate) use edge_failures::sentence as failure_sentence;
pub(crate) use over_time::plots;
pub(crate) use page::section;

use crate::plot::{Picture, Size};
use crate::study::Study;
use crate::table::Table;
use drawing::Drawing;
use edge_failures::EdgeFailure;
use film::Film;
use graph::Graph;
use sampled::sampled_runs;

/// Maximum size in bytes of all films on a page. Larger networks therefore have fewer frames.
const FILM_BYTES: usize = 1_500_000;

/// Minimum and maximum number of frames of a film. The minimum also applies to very large networks.
const FEWEST_FRAMES: usize = 12;
const MOST_FRAMES: usize = 120;

/// Network of one setting, with a film that contains all designs.
pub(crate) struct Network {
    /// Index of the setting.
    setting: usize,
    graph: Graph,
    film: Film,
    /// Links that were slow, lossy or down.
    failures: Vec<EdgeFailure>,
}

/// Returns two kinds of tables for `setting`: the links that failed or were impaired, and the longest queues.
/// The list is empty if links were not sampled.
pub(crate) fn tables(study: &Study, setting: usize) -> Vec<Table> {
    let runs = sampled_runs(study, setting);
    let Some((_, first)) = runs.first() else {
        return Vec::new();
    };
    let failures = edge_failures::table(study, setting, first);
    failures
        .into_iter()
        .chain([hot::table(study, setting, &runs)])
        .collect()
}

impl Network {
    /// Returns the network of `setting`. Returns `None` if links were not sampled.
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
            failures: EdgeFailure::all(&graph, &first.failures),
            graph,
            film,
        })
    }

    /// Returns a picture of the network at each design's busiest time.
    /// The list is empty if the network is too large for a drawing, or if its names do not fit into this size.
    pub fn pictures(&self, study: &Study, size: Size) -> Vec<Picture> {
        if !self.graph.can_be_drawn() || size == Size::Column {
            return Vec::new();
        }
        let drawing = Drawing::of(&self.graph, &self.failures);
        let setting = &study.analysis().settings[self.setting];
        let designs = self.film.designs.iter().enumerate();
        designs
            .map(|(index, design_film)| {
                let title = format!("{} on {}", design_film.design, setting.describe(true));
                Picture {
                    id: format!("network-{}-{index}", self.setting),
                    svg: drawing.file(&title, &self.film, design_film, size),
                    size,
                }
            })
            .collect()
    }
}

//! Film of a network: utilisation and backlog of the links over time, in a limited number of frames.

use super::graph::Graph;
use super::sampled::end_of;
use crate::run::Run;
use tailcut_units::Duration;

/// Film of one setting: the network of its runs, frame by frame.
#[derive(Clone, Debug)]
pub(crate) struct Film {
    /// Number of sample intervals in each frame.
    pub intervals: u64,
    /// Duration of a frame.
    pub frame: Duration,
    /// Number of frames.
    pub frames: usize,
    /// Films of the designs, one for each design.
    pub designs: Vec<DesignFilm>,
    /// Longest backlog in bytes, over all directions, frames and designs.
    pub longest: u64,
}

/// Film of the run of one design.
#[derive(Clone, Debug)]
pub(crate) struct DesignFilm {
    pub design: String,
    pub seed: u64,
    directions: usize,
    /// Share of each frame in which a link was busy, ordered by frame, and within a frame as in [`Graph::ports`].
    /// If a direction represents several links, the share belongs to the busiest link.
    busy: Vec<f32>,
    /// Longest sampled backlog in bytes, in the same order as `busy`.
    backlog: Vec<u64>,
    /// Frame in which the most bytes waited. If there were no backlogs, the frame in which the most bytes were carried.
    pub busiest: usize,
}

impl Film {
    /// Returns the film of `runs`, one run for each design, in at most `most_frames` frames.
    /// Returns `None` if no run was sampled.
    pub fn of(graph: &Graph, runs: &[(&str, &Run)], most_frames: usize) -> Option<Self> {
        let sampled = |run: &Run| run.summary.sampling.filter(|_| !run.links.is_empty());
        let every = runs.iter().filter_map(|(_, run)| sampled(run));
        let every = Duration::from_ns(every.map(|sampling| sampling.every_ns).max()?);
        let end_ps = end_of(runs)?.as_ps();
        let intervals = end_ps.div_ceil(every.as_ps().max(1)).max(1);
        let together = intervals.div_ceil(most_frames.max(1) as u64).max(1);
        let frame = every * together;
        let frames = intervals.div_ceil(together) as usize;
        let designs: Vec<DesignFilm> = runs
            .iter()
            .filter(|(_, run)| sampled(run).is_some())
            .map(|(design, run)| DesignFilm::of(graph, design, run, (frame, frames), end_ps))
            .collect();
        let longest = designs
            .iter()
            .flat_map(|design_film| &design_film.backlog)
            .max();
        Some(Self {
            intervals: together,
            frame,
            frames,
            longest: longest.copied().unwrap_or(0),
            designs,
        })
    }
}

impl DesignFilm {
    fn of(
        graph: &Graph,
        design: &str,
        run: &Run,
        (frame, frames): (Duration, usize),
        end_ps: u64,
    ) -> Self {
        let ports = run.topology.len();
        let frame_ps = frame.as_ps().max(1);
        // A sample covers the interval before its time. An interval belongs to the frame in which it ends.
        let frame_of = |time_ps: u64| (time_ps.saturating_sub(1) / frame_ps) as usize;
        let every_ps = run.summary.sampling.map_or(0, |s| s.every_ns * 1_000);
        // The last frame may be shorter than all other frames.
        let length = |index: usize| frame_ps.min(end_ps - index as u64 * frame_ps);
        let mut busy = vec![0f32; frames * ports];
        for sample in &run.links {
            let index = frame_of(sample.time.as_ps());
            // Samples after the end of the film have no frame.
            if let Some(busy) = busy.get_mut(index * ports + sample.link as usize) {
                *busy += (sample.utilisation * every_ps as f64 / length(index) as f64) as f32;
            }
        }
        let mut backlog = vec![0u64; frames * ports];
        for sample in &run.queues {
            let place = frame_of(sample.time.as_ps()) * ports + sample.port as usize;
            if let Some(longest) = backlog.get_mut(place) {
                *longest = sample.backlog.0.max(*longest);
            }
        }
        let directions = graph.directions();
        let mut design_film = Self {
            design: design.to_owned(),
            seed: run.summary.key.seed,
            directions,
            busy: Vec::with_capacity(frames * directions),
            backlog: Vec::with_capacity(frames * directions),
            busiest: 0,
        };
        for at in 0..frames {
            for direction in 0..directions {
                let ports_of = graph.ports(direction).iter();
                let positions = ports_of.map(|port| at * ports + *port as usize);
                let of_ports = |place: usize| (busy.get(place), backlog.get(place));
                let (mut busiest, mut longest) = (0f32, 0u64);
                for (busy, backlog) in positions.map(of_ports) {
                    busiest = busiest.max(busy.copied().unwrap_or(0.0));
                    longest = longest.max(backlog.copied().unwrap_or(0));
                }
                design_film.busy.push(busiest.min(1.0));
                design_film.backlog.push(longest);
            }
        }
        let waiting = |at: usize| -> u64 { design_film.backlogs(at).iter().sum() };
        let carried = |at: usize| -> f32 { design_film.shares(at).iter().sum() };
        design_film.busiest = (0..frames)
            .max_by(|&a, &b| {
                let by_load = || carried(a).total_cmp(&carried(b));
                let by_queues = waiting(a).cmp(&waiting(b));
                by_queues.then_with(by_load).then(b.cmp(&a))
            })
            .unwrap_or(0);
        design_film
    }

    /// Returns the shares of one frame in which links were busy, by direction.
    pub fn shares(&self, frame: usize) -> &[f32] {
        &self.busy[frame * self.directions..][..self.directions]
    }

    /// Returns the longest backlogs of one frame, by direction.
    pub fn backlogs(&self, frame: usize) -> &[u64] {
        &self.backlog[frame * self.directions..][..self.directions]
    }
}

//! Chunks of cases. A job of an engine such as Slurm runs one chunk.

use crate::error::Error;
use crate::places;
use crate::status::CaseState;
use crate::study_dir::StudyDir;

/// Chunk: cases that one job runs, one at a time.
#[derive(Clone, PartialEq, Debug)]
pub struct Chunk {
    /// Indices of the cases in the plan, in order.
    pub places: Vec<usize>,
    /// Expected CPU time in seconds. `None` if no time is known for one of the cases.
    pub cpu_seconds: Option<f64>,
}

impl Chunk {
    /// Returns the indices in the notation of a command line: `0..2,7,9..11`.
    pub fn places_as_argument(&self) -> String {
        places::as_argument(&self.places)
    }
}

impl StudyDir {
    /// Returns the cases that no process has started, or whose process has ended, in chunks.
    /// The expected CPU time of a chunk is at least `least` seconds.
    /// The expected CPU time is the plan's estimate, corrected by the time of finished cases.
    /// A case without a known time counts as `least`.
    /// If all cases together take less than `least`, they are one chunk.
    /// If the cases fill more than `most` chunks of `least` seconds, the chunks become larger.
    ///
    /// # Errors
    /// A result cannot be read, or a system call fails.
    pub fn chunks(&self, least: f64, most: usize) -> Result<Vec<Chunk>, Error> {
        let status = self.status()?;
        let states = status.states.iter().enumerate();
        let waiting = states
            .filter(|(_, state)| matches!(state, CaseState::Waiting | CaseState::Stale(_)))
            .map(|(place, _)| (place, status.cpu_seconds_of(place)));
        Ok(chunks_of(&waiting.collect::<Vec<_>>(), least, most))
    }
}

fn chunks_of(waiting: &[(usize, Option<f64>)], least: f64, most: usize) -> Vec<Chunk> {
    let weight = |seconds: Option<f64>| seconds.unwrap_or(least);
    let all: f64 = waiting.iter().map(|(_, seconds)| weight(*seconds)).sum();
    let enough = least.max(all / most.max(1) as f64);
    let mut chunks: Vec<Chunk> = Vec::new();
    // CPU time of the current chunk. Infinity stands for a full chunk, so that the first case opens a new chunk.
    let mut last = f64::INFINITY;
    let mut rest = all;
    for &(place, seconds) in waiting {
        // Remaining cases that are too short for another chunk join the current chunk.
        let is_full = last >= enough && (rest >= enough || chunks.is_empty());
        if is_full && chunks.len() < most.max(1) {
            chunks.push(Chunk {
                places: Vec::new(),
                cpu_seconds: Some(0.0),
            });
            last = 0.0;
        }
        if let Some(chunk) = chunks.last_mut() {
            chunk.places.push(place);
            let sum = chunk.cpu_seconds.zip(seconds);
            chunk.cpu_seconds = sum.map(|(sum, seconds)| sum + seconds);
        }
        last += weight(seconds);
        rest -= weight(seconds);
    }
    chunks
}

#[cfg(test)]
mod tests {
    use super::*;

    fn places(chunks: &[Chunk]) -> Vec<String> {
        chunks.iter().map(Chunk::places_as_argument).collect()
    }

    fn each(count: usize, seconds: f64) -> Vec<(usize, Option<f64>)> {
        (0..count).map(|place| (place, Some(seconds))).collect()
    }

    #[test]
    fn a_chunk_is_as_large_as_asked_and_what_is_left_over_goes_to_the_last() {
        let chunks = chunks_of(&each(11, 25.0), 60.0, 1_000);
        assert_eq!(places(&chunks), ["0..2", "3..5", "6..10"]);
        assert_eq!(chunks[2].cpu_seconds, Some(125.0));
        let chunks = chunks_of(&each(3, 100.0), 60.0, 1_000);
        assert_eq!(places(&chunks), ["0", "1", "2"]);
        let chunks = chunks_of(&each(2, 1.0), 60.0, 1_000);
        assert_eq!(
            places(&chunks),
            ["0..1"],
            "all cases together are shorter than one chunk"
        );
        assert_eq!(chunks_of(&[], 60.0, 1_000), []);
    }

    #[test]
    fn places_that_are_done_are_left_out_of_a_chunk() {
        let mut waiting = each(8, 20.0);
        waiting.retain(|(place, _)| ![1, 5].contains(place));
        let chunks = chunks_of(&waiting, 60.0, 1_000);
        assert_eq!(places(&chunks), ["0,2..3", "4,6..7"]);
    }

    #[test]
    fn chunks_are_larger_where_there_would_be_too_many() {
        for (count, most) in [(5_000, 1_001), (5_000, 1), (7, 3), (1_001, 1_000)] {
            let chunks = chunks_of(&each(count, 61.3), 60.0, most);
            assert!(chunks.len() <= most, "{count} {most}: {}", chunks.len());
            let all: Vec<usize> = chunks.iter().flat_map(|one| one.places.clone()).collect();
            assert_eq!(all, Vec::from_iter(0..count), "each once");
        }
    }

    #[test]
    fn a_case_of_which_nothing_is_known_fills_a_chunk() {
        let waiting = [(0, None), (1, Some(30.0)), (2, None), (3, None)];
        let chunks = chunks_of(&waiting, 60.0, 1_000);
        assert_eq!(places(&chunks), ["0", "1..2", "3"]);
        assert_eq!(chunks[0].cpu_seconds, None);
    }
}

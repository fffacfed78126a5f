//! Choice of the path for each packet (NDP paper, section 3.2).
//! A sender uses all paths once in random order, and then in another random order.
//! For a limited time a scoreboard excludes paths that lose much more than the other paths.

use crate::PathPin;
use alloc::boxed::Box;
use alloc::vec;
use tailcut_units::{mix64, reduce};

/// Average number of answers for each path after which the paths are judged again.
const ANSWERS: u32 = 100;
/// Number of NACKs that count as much as one returned header.
const BOUNCE: u32 = 3;

/// Numbers of answers for one path since the last judgement.
#[derive(Clone, Copy, Default, Debug)]
struct Score {
    acks: u32,
    losses: u32,
    left_out: bool,
}

/// Paths of one sender.
#[derive(Debug)]
pub(crate) struct Paths {
    /// Order of the paths in this round. Paths at positions below `at` were already used.
    order: Box<[u16]>,
    at: usize,
    seed: u64,
    draws: u64,
    /// Score of each path. The list is empty if the flow is too short for a judgement.
    scores: Box<[Score]>,
    answers: u32,
}

impl Paths {
    /// Returns the paths of a flow of `packets` packets. If `count` is below 2, the switches choose the path.
    pub(crate) fn new(count: u16, packets: u64, seed: u64) -> Self {
        // With a single path, no random order is needed.
        let count = if count < 2 { 0 } else { count };
        // A flow that ends before the first judgement needs no scores.
        let judged = packets > u64::from(ANSWERS) * u64::from(count);
        let scores = if judged { usize::from(count) } else { 0 };
        Self {
            order: (0..count).collect(),
            at: 0,
            seed,
            draws: 0,
            scores: vec![Score::default(); scores].into_boxed_slice(),
            answers: 0,
        }
    }

    /// Returns the path of the next packet.
    #[inline]
    pub(crate) fn choose(&mut self) -> PathPin {
        if self.order.is_empty() {
            return PathPin::NONE;
        }
        // The loop ends, because a judgement never excludes all paths.
        loop {
            let path = self.draw();
            let score = self.scores.get(usize::from(path));
            if !score.is_some_and(|score| score.left_out) {
                return PathPin::to(path);
            }
        }
    }

    /// Returns the next path of the random order. Each call makes one step of a Fisher-Yates shuffle.
    #[inline]
    fn draw(&mut self) -> u16 {
        let left = self.order.len() - self.at;
        self.draws += 1;
        let draw = (mix64(self.seed ^ mix64(self.draws)) >> 32) as u32;
        let chosen = self.at + reduce(draw, left as u32) as usize;
        // The chosen path moves to the used paths. Each path is used once before a new order starts.
        self.order.swap(self.at, chosen);
        let path = self.order[self.at];
        self.at = if left == 1 { 0 } else { self.at + 1 };
        path
    }

    pub(crate) fn on_ack(&mut self, path: PathPin) {
        self.count(path, |score| score.acks += 1);
    }

    pub(crate) fn on_nack(&mut self, path: PathPin) {
        self.count(path, |score| score.losses += 1);
    }

    pub(crate) fn on_bounce(&mut self, path: PathPin) {
        self.count(path, |score| score.losses += BOUNCE);
    }

    #[inline]
    fn count(&mut self, path: PathPin, add: impl FnOnce(&mut Score)) {
        let score = path
            .index()
            .and_then(|index| self.scores.get_mut(usize::from(index)));
        let Some(score) = score else { return };
        add(score);
        self.answers += 1;
        if self.answers as usize >= ANSWERS as usize * self.scores.len() {
            self.judge();
        }
    }

    /// Excludes lossy paths until the next judgement.
    /// A lossy path is a path whose ratio of losses to ACKs is above 30 % and above 1.25 times the ratio of all paths.
    /// If all paths are lossy, no path is excluded. The function clears all counts of losses and ACKs.
    fn judge(&mut self) {
        self.answers = 0;
        let sum = |of: fn(&Score) -> u32| -> u64 {
            self.scores.iter().map(|score| u64::from(of(score))).sum()
        };
        let (acks, losses) = (sum(|s| s.acks), sum(|s| s.losses));
        let mut kept = 0;
        for score in &mut self.scores {
            let (a, l) = (u64::from(score.acks), u64::from(score.losses));
            // The comparison uses products and not ratios.
            // A comparison of products is exact in integers, and correct for a path without ACKs.
            // The paper gives no thresholds. The thresholds are from the authors' public simulator.
            let left_out = 10 * l > 3 * a && 4 * l * acks > 5 * losses * a;
            *score = Score {
                left_out,
                ..Score::default()
            };
            kept += usize::from(!left_out);
        }
        // If all paths were excluded, `choose` would never return.
        if kept == 0 {
            self.scores.fill(Score::default());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::collections::BTreeSet;
    use alloc::vec::Vec;

    fn indices(paths: &mut Paths, count: usize) -> Vec<u16> {
        (0..count).filter_map(|_| paths.choose().index()).collect()
    }

    #[test]
    fn every_path_has_one_packet_before_any_has_two_and_the_order_changes() {
        let mut paths = Paths::new(8, 50, 1);
        let rounds: Vec<Vec<u16>> = (0..20).map(|_| indices(&mut paths, 8)).collect();
        for round in &rounds {
            assert_eq!(round.iter().collect::<BTreeSet<_>>().len(), 8, "{round:?}");
        }
        assert!(rounds.windows(2).any(|pair| pair[0] != pair[1]));
    }

    #[test]
    fn a_path_that_loses_much_more_than_the_others_is_left_out_for_a_while() {
        let mut paths = Paths::new(4, 10_000, 1);
        let answer = |paths: &mut Paths, rounds: usize| {
            let mut chosen = Vec::new();
            for path in indices(paths, 4 * rounds) {
                chosen.push(path);
                if path == 2 {
                    paths.on_nack(PathPin::to(path));
                } else {
                    paths.on_ack(PathPin::to(path));
                }
            }
            chosen
        };
        assert_eq!(
            answer(&mut paths, 100).iter().filter(|p| **p == 2).count(),
            100
        );
        assert!(!answer(&mut paths, 50).contains(&2), "judged and left out");
        assert!(!answer(&mut paths, 50).contains(&2));
        assert!(answer(&mut paths, 50).contains(&2), "and tried again");
    }

    #[test]
    fn paths_that_lose_little_more_than_the_mean_stay() {
        let mut paths = Paths::new(4, 10_000, 1);
        // Three paths have one loss for two ACKs (0.5), and one path has one loss for five ACKs (0.2).
        // The ratio of all paths is 0.42, and 1.25 times 0.42 is 0.53.
        let mut answers = [0; 4];
        for path in indices(&mut paths, 400) {
            let place = usize::from(path);
            if answers[place] % if path == 3 { 6 } else { 3 } == 0 {
                paths.on_nack(PathPin::to(path));
            } else {
                paths.on_ack(PathPin::to(path));
            }
            answers[place] += 1;
        }
        assert_eq!(answers, [100; 4]);
        let next: BTreeSet<u16> = indices(&mut paths, 4).into_iter().collect();
        assert_eq!(next.len(), 4);
    }

    #[test]
    fn paths_that_are_all_alike_stay_however_bad_they_are() {
        let mut paths = Paths::new(4, 10_000, 1);
        for path in indices(&mut paths, 400) {
            paths.on_nack(PathPin::to(path));
        }
        let next: BTreeSet<u16> = indices(&mut paths, 4).into_iter().collect();
        assert_eq!(next.len(), 4);
    }

    #[test]
    fn with_one_path_the_switches_choose() {
        assert_eq!(Paths::new(1, 10, 1).choose(), PathPin::NONE);
    }
}

//! Which path the next packet takes (NDP paper, section 3.2): all of them once in random order, then
//! again in another order; and a scoreboard that leaves out the outliers for a while.

use crate::PathPin;
use alloc::boxed::Box;
use alloc::vec;
use tailcut_units::{mix64, reduce};

/// Answers that a path has on average when all are judged.
const ANSWERS: u32 = 100;
/// What a header that came back counts, in NACKs.
const BOUNCE: u32 = 3;

/// What became of packets on one path since the last judgement.
#[derive(Clone, Copy, Default, Debug)]
struct Score {
    acks: u32,
    losses: u32,
    left_out: bool,
}

/// The paths of one sender.
#[derive(Debug)]
pub(crate) struct Paths {
    /// The order of this round; what is before `at` has had its turn.
    order: Box<[u16]>,
    at: usize,
    seed: u64,
    draws: u64,
    /// Empty for flows too short to judge by.
    scores: Box<[Score]>,
    answers: u32,
}

impl Paths {
    /// `count` paths for a flow of `packets` packets; with fewer than two paths, none is chosen.
    pub(crate) fn new(count: u16, packets: u64, seed: u64) -> Self {
        let count = if count < 2 { 0 } else { count };
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

    /// The path of the next packet.
    #[inline]
    pub(crate) fn choose(&mut self) -> PathPin {
        if self.order.is_empty() {
            return PathPin::NONE;
        }
        loop {
            let path = self.draw();
            let score = self.scores.get(usize::from(path));
            if !score.is_some_and(|score| score.left_out) {
                return PathPin::to(path);
            }
        }
    }

    /// The next of a random order, made as it goes (Fisher and Yates).
    #[inline]
    fn draw(&mut self) -> u16 {
        let left = self.order.len() - self.at;
        self.draws += 1;
        let draw = (mix64(self.seed ^ mix64(self.draws)) >> 32) as u32;
        let chosen = self.at + reduce(draw, left as u32) as usize;
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

    /// Leaves out until the next judgement the paths that lost over 30 % and over 1.25 times the mean
    /// (each in proportion to what arrived), but never all of them, and starts afresh.
    fn judge(&mut self) {
        self.answers = 0;
        let sum = |of: fn(&Score) -> u32| -> u64 {
            self.scores.iter().map(|score| u64::from(of(score))).sum()
        };
        let (acks, losses) = (sum(|s| s.acks), sum(|s| s.losses));
        let mut kept = 0;
        for score in &mut self.scores {
            let (a, l) = (u64::from(score.acks), u64::from(score.losses));
            let left_out = 10 * l > 3 * a && 4 * l * acks > 5 * losses * a;
            *score = Score {
                left_out,
                ..Score::default()
            };
            kept += usize::from(!left_out);
        }
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
        // Three lose a half of what arrives, one a fifth: the mean is 0.42, and 1.25 times that 0.53.
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

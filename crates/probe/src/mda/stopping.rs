//! Stopping rule of the search for next hops. Assume that k next hops of a node are known.
//! The rule returns the number of flows after which no other next hop is likely to exist.

use std::cell::RefCell;

/// Size of the largest graph for which [`StoppingRule::of_graph`] keeps its confidence.
/// The size is the number of nodes with several next hops.
pub const MOST_BRANCHINGS: u32 = 64;

/// Rule for the number of flows to send through a node. The number depends on the known next hops.
#[derive(Clone, Debug)]
pub struct StoppingRule {
    /// Largest probability that the search misses a next hop of a node.
    bound: f64,
    /// Numbers of flows that were computed so far. The first one is for one known next hop.
    flows: RefCell<Vec<u32>>,
}

impl StoppingRule {
    /// Returns the rule for one node. All next hops of the node are found with the probability `confidence`, 0 to 1.
    /// With 0.95, the numbers of flows are as published: 6, 11, 16, 21, ...
    pub fn of_node(confidence: f64) -> Self {
        Self::bounded_by(1.0 - confidence)
    }

    /// Returns the rule for a graph. All next hops in the graph are found with the probability `confidence`.
    /// The graph may have at most [`MOST_BRANCHINGS`] nodes with several next hops.
    /// The confidence for each node is the 64th root of `confidence`.
    pub fn of_graph(confidence: f64) -> Self {
        Self::bounded_by(1.0 - confidence.powf(1.0 / f64::from(MOST_BRANCHINGS)))
    }

    fn bounded_by(bound: f64) -> Self {
        Self {
            // With a bound of 0, no number of flows would be enough.
            bound: bound.clamp(1e-12, 0.5),
            flows: RefCell::default(),
        }
    }

    /// Returns the number of flows to send when `found` next hops are known.
    /// With one more equally likely next hop, the returned number of flows would probably find all next hops.
    /// The bound limits the probability of a missed next hop. The result for no known next hop is the same as for one.
    pub fn flows(&self, found: usize) -> u32 {
        let mut flows = self.flows.borrow_mut();
        while flows.len() < found.max(1) {
            let next_hops = flows.len() + 2;
            let fewest = fewest_flows(next_hops, self.bound);
            flows.push(fewest);
        }
        flows[found.max(1) - 1]
    }
}

/// Returns the smallest number of flows that finds all of `next_hops` equally likely next hops.
/// The search may fail with probability `bound`.
fn fewest_flows(next_hops: usize, bound: f64) -> u32 {
    // `seen[n]` is the probability that n next hops have been seen.
    // The recursion adds only positive numbers, so no digits are lost.
    // With more than about 100 next hops, the inclusion-exclusion formula would lose all digits.
    let all = next_hops as f64;
    let mut seen = vec![0.0; next_hops + 1];
    seen[1] = 1.0;
    let mut flows = 1;
    while seen[..next_hops].iter().sum::<f64>() > bound {
        for number in (1..=next_hops).rev() {
            let stays = seen[number] * number as f64 / all;
            seen[number] = stays + seen[number - 1] * (all - (number - 1) as f64) / all;
        }
        flows += 1;
    }
    flows
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_published_numbers_come_out() {
        // The published numbers are from Augustin et al., table 1, and from scamper's tables for 95 % and 99 %.
        let at = |confidence| {
            let rule = StoppingRule::of_node(confidence);
            (1..=16).map(|k| rule.flows(k)).collect::<Vec<u32>>()
        };
        let of_95 = [
            6, 11, 16, 21, 27, 33, 38, 44, 51, 57, 63, 70, 76, 83, 90, 96,
        ];
        assert_eq!(at(0.95), of_95);
        assert_eq!(at(0.99)[..6], [8, 15, 21, 28, 36, 43]);
        assert_eq!(StoppingRule::of_node(0.95).flows(0), 6);
    }

    /// Returns the probability that the rule misses next hops of a node with `next_hops` next hops.
    /// The search fails if it stops when only some of the next hops are known.
    fn failure(rule: &StoppingRule, next_hops: usize) -> f64 {
        let all = next_hops as f64;
        let mut seen = vec![0.0; next_hops + 1];
        seen[1] = 1.0;
        let mut stopped = 0.0;
        for flows in 1..=rule.flows(next_hops - 1) {
            for (number, seen) in seen.iter_mut().enumerate().take(next_hops).skip(1) {
                if rule.flows(number) == flows {
                    stopped += std::mem::take(seen);
                }
            }
            for number in (1..=next_hops).rev() {
                let stays = seen[number] * number as f64 / all;
                seen[number] = stays + seen[number - 1] * (all - (number - 1) as f64) / all;
            }
        }
        stopped
    }

    #[test]
    fn stopping_anywhere_on_the_way_is_hardly_more_likely_than_the_bound() {
        let rule = StoppingRule::of_graph(0.999);
        let bound = 1.0 - 0.999_f64.powf(1.0 / 64.0);
        for next_hops in 2..=32 {
            let failure = failure(&rule, next_hops);
            assert!(failure < 1.05 * bound, "{next_hops}: {failure}");
        }
        assert_eq!(
            (rule.flows(1), rule.flows(2), rule.flows(4), rule.flows(8)),
            (17, 31, 57, 113)
        );
    }

    #[test]
    fn a_hundred_next_hops_are_no_trouble() {
        let rule = StoppingRule::of_graph(0.999);
        let many = rule.flows(128);
        assert!((1_900..2_300).contains(&many), "{many}");
    }
}

//! Bisection that finds the point at which a figure passes a value. Some points may remain undecided.
//!
//! The search has no state: its next point follows from the earlier points.
//! A figure may rise or fall over the key, but the search assumes that the figure passes the value only once.

use crate::threshold::Side;

/// Width of the bracket at which the search ends. The width is a share of the bracket's upper end.
const NARROW: f64 = 0.02;
/// Width at which a bracket next to an undecided point is narrow enough.
/// The width is a fraction of the bracket's upper end.
const NARROW_BESIDE_OPEN: f64 = 0.10;
/// If a bracket's upper end is at least this many times its lower end, its middle is the geometric mean of both ends.
const WIDE: f64 = 20.0;

/// Range of key values in which the search runs.
#[derive(Clone, Copy, Debug)]
pub struct SearchRange {
    /// Lower end of the range.
    pub low: f64,
    /// Upper end of the range.
    pub high: f64,
    /// Whether only whole numbers are allowed as points.
    pub is_whole: bool,
}

/// Next step of a search.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum SearchNext {
    /// Evaluate this point: find out whether the figure is below or above the value.
    Probe(f64),
    /// The search has ended with this outcome.
    Done(SearchOutcome),
}

/// Outcome of a search: where the figure passes the value.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum SearchOutcome {
    /// The figure passes the value between two points.
    Passes {
        /// Lower end of the bracket that contains the point.
        from: f64,
        /// Upper end of the bracket that contains the point.
        to: f64,
        /// Whether the figure is above the value at the upper end.
        rises: bool,
    },
    /// The figure is below the value at both ends.
    Below,
    /// The figure is above the value at both ends.
    Above,
    /// The figure passes the value somewhere between two points, but the point `open` between them is undecided.
    Undecided {
        /// Lower end of the bracket that contains the point.
        from: f64,
        /// Upper end of the bracket that contains the point.
        to: f64,
        /// Point for which the data do not decide the side.
        open: f64,
    },
}

impl SearchRange {
    /// Returns the next step of a search. `seen` contains the points that were evaluated, in any order.
    pub fn next(&self, seen: &[(f64, Side)]) -> SearchNext {
        let at = |point: f64| {
            seen.iter()
                .find(|(x, _)| *x == point)
                .map(|(_, side)| *side)
        };
        let Some(first) = at(self.low) else {
            return SearchNext::Probe(self.low);
        };
        let Some(last) = at(self.high) else {
            return SearchNext::Probe(self.high);
        };
        let rises = match (first, last) {
            (Side::Below, Side::Below) => return SearchNext::Done(SearchOutcome::Below),
            (Side::Above, Side::Above) => return SearchNext::Done(SearchOutcome::Above),
            (Side::Open, Side::Open) => {
                let (from, to) = (self.low, self.high);
                return SearchNext::Done(SearchOutcome::Undecided {
                    from,
                    to,
                    open: from,
                });
            }
            // If one end of an interval is undecided, the decided end determines the direction.
            (Side::Below, _) | (_, Side::Above) => true,
            (Side::Above, _) | (_, Side::Below) => false,
        };
        // `near` is the side of the lower end. Each decided point can move one end of the bracket.
        let near = if rises { Side::Below } else { Side::Above };
        let (mut from, mut to) = (self.low, self.high);
        for &(x, side) in seen.iter().filter(|(_, side)| *side != Side::Open) {
            if side == near {
                from = from.max(x);
            } else {
                to = to.min(x);
            }
        }
        let is_open = |(x, side): &&(f64, Side)| *side == Side::Open && (from..=to).contains(x);
        let open: Vec<f64> = seen.iter().filter(is_open).map(|(x, _)| *x).collect();
        let (Some(&first_open), Some(left), Some(right)) = (
            open.first(),
            open.iter().copied().reduce(f64::min),
            open.iter().copied().reduce(f64::max),
        ) else {
            return match self.middle(from, to, NARROW) {
                Some(middle) => SearchNext::Probe(middle),
                None => SearchNext::Done(SearchOutcome::Passes { from, to, rises }),
            };
        };
        // An undecided point stays undecided.
        // Only the parts of the bracket below and above the undecided points become narrower.
        let beside = self
            .middle(from, left, NARROW_BESIDE_OPEN)
            .or_else(|| self.middle(right, to, NARROW_BESIDE_OPEN));
        match beside {
            Some(middle) => SearchNext::Probe(middle),
            None => SearchNext::Done(SearchOutcome::Undecided {
                from,
                to,
                open: first_open,
            }),
        }
    }

    /// Returns a point between two others, with as few digits as possible.
    /// Returns `None` if the two points are close together.
    fn middle(&self, from: f64, to: f64, narrow: f64) -> Option<f64> {
        if to - from <= narrow * to || (self.is_whole && to - from <= 1.0) {
            return None;
        }
        let middle = match from > 0.0 && to / from > WIDE {
            true => (from * to).sqrt(),
            false => f64::midpoint(from, to),
        };
        let digits = (3..=6).map(|digits| self.rounded(middle, digits));
        let mut inside = digits.filter(|middle| from < *middle && *middle < to);
        inside.next()
    }

    /// Rounds a number to `digits` significant digits.
    fn rounded(&self, value: f64, digits: i32) -> f64 {
        let places = digits - 1 - value.abs().log10().floor() as i32;
        let scale = 10f64.powi(places.abs());
        match places > 0 {
            _ if self.is_whole && places >= 0 => value.round(),
            true => (value * scale).round() / scale,
            false => (value / scale).round() * scale,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LOADS: SearchRange = SearchRange {
        low: 0.05,
        high: 1.0,
        is_whole: false,
    };

    /// Runs a search in which `side` decides every point. Returns the outcome and the points.
    fn search(range: SearchRange, side: impl Fn(f64) -> Side) -> (SearchOutcome, Vec<f64>) {
        let mut seen = Vec::new();
        loop {
            match range.next(&seen) {
                SearchNext::Done(outcome) => {
                    return (outcome, seen.iter().map(|(x, _)| *x).collect());
                }
                SearchNext::Probe(x) => {
                    assert!(seen.iter().all(|(known, _)| *known != x), "{x} twice");
                    assert!(seen.len() < 60, "{seen:?}");
                    seen.push((x, side(x)));
                }
            }
        }
    }

    fn above(is_above: bool) -> Side {
        match is_above {
            true => Side::Above,
            false => Side::Below,
        }
    }

    #[test]
    fn the_bracket_has_the_limit_in_it_and_is_narrow() {
        for limit in [0.051, 0.1234, 0.5, 0.617, 0.999] {
            for rising in [true, false] {
                let (outcome, points) = search(LOADS, |x| above((x > limit) == rising));
                let SearchOutcome::Passes { from, to, rises } = outcome else {
                    panic!("{limit}: {outcome:?}");
                };
                assert_eq!(rises, rising);
                assert!(from <= limit && limit <= to, "{limit}: {from} to {to}");
                assert!(to - from <= NARROW * to, "{limit}: {from} to {to}");
                assert!(points.len() <= 12, "{limit}: {points:?}");
            }
        }
    }

    #[test]
    fn whole_numbers_are_searched_to_one_unit() {
        let range = SearchRange {
            low: 1.0,
            high: 64.0,
            is_whole: true,
        };
        let (outcome, points) = search(range, |x| above(x >= 7.0));
        let (from, to) = (6.0, 7.0);
        assert_eq!(
            outcome,
            SearchOutcome::Passes {
                from,
                to,
                rises: true
            }
        );
        assert!(points.iter().all(|x| x.fract() == 0.0), "{points:?}");
    }

    #[test]
    fn large_numbers_stay_short() {
        let range = SearchRange {
            low: 1e9,
            high: 4e11,
            is_whole: true,
        };
        let (_, points) = search(range, |x| above(x > 123_456_789_012.0));
        assert!(
            points.iter().all(|x| (x / 1e6).fract() == 0.0),
            "{points:?}"
        );
    }

    #[test]
    fn a_value_that_is_never_passed_takes_two_points() {
        for side in [Side::Below, Side::Above] {
            let (outcome, points) = search(LOADS, |_| side);
            let expected =
                [SearchOutcome::Below, SearchOutcome::Above][usize::from(side == Side::Above)];
            assert_eq!((outcome, points), (expected, vec![0.05, 1.0]));
        }
    }

    #[test]
    fn around_points_at_which_nobody_can_tell_the_bracket_closes_from_both_sides() {
        let blurred = |x: f64| match x {
            _ if x < 0.5 => Side::Below,
            _ if x > 0.56 => Side::Above,
            _ => Side::Open,
        };
        let (outcome, _) = search(LOADS, blurred);
        let SearchOutcome::Undecided { from, to, open } = outcome else {
            panic!("{outcome:?}");
        };
        assert!(0.44 < from && from < 0.5, "{outcome:?}");
        assert!(0.56 < to && to < 0.63, "{outcome:?}");
        assert!((0.5..=0.56).contains(&open), "{outcome:?}");
    }

    #[test]
    fn an_end_at_which_nobody_can_tell_is_an_end_of_the_bracket() {
        let (outcome, _) = search(LOADS, |x| match x > 0.06 {
            true => Side::Above,
            false => Side::Open,
        });
        let SearchOutcome::Undecided { from, to, .. } = outcome else {
            panic!("{outcome:?}");
        };
        assert!(from == 0.05 && to < 0.08, "{outcome:?}");
        let (outcome, points) = search(LOADS, |_| Side::Open);
        assert!(matches!(outcome, SearchOutcome::Undecided { .. }));
        assert_eq!(points.len(), 2);
    }
}

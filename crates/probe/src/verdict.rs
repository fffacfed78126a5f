//! Recommendation for or against RepSYN, as a sentence.

use crate::mda::Map;
use crate::stats::{FEWEST_VOLLEYS, Figure, Groups, LEVEL, Prediction};
use serde::Serialize;

/// Smallest reduction of the handshakes' p99 that justifies the second SYN of RepSYN. 0.1 means 10 %.
pub const WORTH: f64 = 0.10;
/// Largest number of further volleys that a user can be expected to measure.
const TOO_MANY: f64 = 100_000.0;

/// Kind of the recommendation for or against RepNet.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Decision {
    /// Deploy: RepSYN reduces the p99 of handshakes by at least 10 %. The 95 % interval supports this.
    Deploy,
    /// Do not deploy: RepSYN reduces the p99 of handshakes by less than 10 %. The 95 % interval supports this.
    DoNotDeploy,
    /// Do not deploy, because there is only one path.
    OnePath,
    /// Do not deploy for now. The faster of two handshakes needs less time than one handshake.
    /// But all ports have similar delays. A single path would look the same.
    NoDifference,
    /// More volleys are needed for a decision.
    Undecided,
}

/// Recommendation with its reasons.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Verdict {
    /// Kind of the recommendation.
    pub decision: Decision,
    /// Recommendation as a sentence, with the figure that it is based on.
    pub sentence: String,
    /// Changes that RepSYN would make for the mean, the p99 and lost SYNs, each with its 95 % interval.
    /// `None` if there are too few volleys.
    pub changes: Option<String>,
    /// Estimated number of further volleys that a decision needs.
    /// `None` if the decision is final, or if it would need too many volleys.
    pub more_volleys: Option<u64>,
}

impl Verdict {
    fn of(decision: Decision, sentence: impl Into<String>) -> Self {
        Self {
            decision,
            sentence: sentence.into(),
            changes: None,
            more_volleys: None,
        }
    }

    /// `what` is the question that is undecided, and `volleys` is the number of volleys until now.
    fn undecided(what: &str, volleys: usize, more: f64) -> Self {
        let is_feasible = more.is_finite() && more <= TOO_MANY;
        let more = is_feasible.then(|| (more.max(1.0) / 10.0).ceil() as u64 * 10);
        let then = more.map_or(
            "it is too close to 10 % for any number of volleys; measure at another time".to_owned(),
            |more| {
                let all = volleys as u64 + more;
                format!("about {more} more volleys would decide it (--volleys {all})")
            },
        );
        Self {
            decision: Decision::Undecided,
            sentence: format!("undecided {what}: {then}"),
            changes: None,
            more_volleys: more,
        }
    }

    /// Creates the recommendation. `volleys` is the number of volleys, and `ports` is the number of handshakes in each.
    pub fn new(
        map: &Map,
        volleys: usize,
        ports: usize,
        prediction: Option<&Prediction>,
        groups: Option<&Groups>,
    ) -> Self {
        Self {
            changes: prediction.map(changes),
            ..Self::decide(map, volleys, ports, prediction, groups)
        }
    }

    fn decide(
        map: &Map,
        volleys: usize,
        ports: usize,
        prediction: Option<&Prediction>,
        groups: Option<&Groups>,
    ) -> Self {
        let differ = groups.is_some_and(Groups::differ);
        if map.is_complete() && map.paths == 1 && !differ {
            return Self::of(Decision::OnePath, "one path: do not deploy");
        }
        let Some(prediction) = prediction else {
            let missing = FEWEST_VOLLEYS.saturating_sub(volleys);
            let what = "whether the p99 of handshakes falls by 10 %, there are too few volleys";
            return Self::undecided(what, volleys, missing as f64);
        };
        let Some(p99) = prediction.p99 else {
            // A p99 needs 10 handshakes above it, so 1,000 in total.
            let missing = (1_000.0 / ports.max(1) as f64).ceil() - volleys as f64;
            let what = "whether the p99 of handshakes falls by 10 %, there are too few handshakes";
            return Self::undecided(what, volleys, missing);
        };
        let change = p99.change;
        let words = format!("p99 of handshakes {}", words_of(&change));
        if change.low > -WORTH {
            return Self::of(Decision::DoNotDeploy, format!("do not deploy: {words}"));
        }
        if change.high > -WORTH {
            let half = (change.high - change.low) / 2.0;
            let apart = (change.value + WORTH).abs();
            let n = prediction.volleys as f64;
            // Half the width of the interval must become smaller than the distance to the limit.
            // The width falls with the square root of the number of volleys.
            let more = n * (half / apart).powi(2) - n;
            let what = format!("whether the {words} falls by 10 %");
            return Self::undecided(&what, volleys, more.max(n / 10.0));
        }
        if !differ {
            let p = groups.map_or(1.0, |groups| groups.p);
            return Self::of(
                Decision::NoDifference,
                format!(
                    "do not deploy for now: ports do not differ (p = {p:.2}, {LEVEL} at most to differ), so \
                     no path is faster than another; measure again when the network is busy"
                ),
            );
        }
        Self::of(Decision::Deploy, format!("deploy RepSYN: {words}"))
    }
}

/// Returns the changes of the mean, the p99 and lost SYNs as a sentence.
fn changes(prediction: &Prediction) -> String {
    let too_few = || "too few handshakes".to_owned();
    let p99 = prediction.p99.as_ref();
    let p99 = p99.map_or_else(too_few, |p99| words_of(&p99.change));
    let lost = prediction.lost.as_ref().map_or_else(
        || "no SYN was lost".to_owned(),
        |lost| format!("lost SYNs {}", words_of(&lost.change)),
    );
    let mean = words_of(&prediction.mean.change);
    format!("With RepSYN: mean {mean}, p99 {p99}, {lost}.")
}

fn words_of(change: &Figure) -> String {
    format!(
        "{} % ({} to {})",
        percent(change.value),
        percent(change.low),
        percent(change.high)
    )
}

/// Converts a share to a whole number of percent.
fn percent(share: f64) -> i64 {
    (share * 100.0).round() as i64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mda::Doubt;
    use crate::stats::Change;

    fn map(paths: u64, doubts: &[Doubt]) -> Map {
        Map {
            hops: Vec::new(),
            paths,
            doubts: doubts.to_vec(),
            probes: 0,
            ways: Vec::new(),
        }
    }

    fn groups(p: f64) -> Groups {
        Groups {
            p,
            groups: Vec::new(),
            volleys: 300,
        }
    }

    fn prediction(value: f64, low: f64, high: f64) -> Prediction {
        let figure = Figure { value, low, high };
        let change = Change {
            single: figure,
            pair: figure,
            change: figure,
        };
        Prediction {
            volleys: 300,
            handshakes: 14_400,
            block: 7,
            mean: change,
            p50: change,
            lost: None,
            p99: Some(change),
        }
    }

    fn decide(map: &Map, p: f64, change: (f64, f64, f64)) -> (Decision, String) {
        let prediction = prediction(change.0, change.1, change.2);
        let verdict = Verdict::new(map, 300, 48, Some(&prediction), Some(&groups(p)));
        (verdict.decision, verdict.sentence)
    }

    #[test]
    fn each_decision_has_its_sentence() {
        let four = map(4, &[]);
        let (decision, sentence) = decide(&four, 0.005, (-0.47, -0.55, -0.38));
        assert_eq!(decision, Decision::Deploy);
        assert_eq!(
            sentence,
            "deploy RepSYN: p99 of handshakes -47 % (-55 to -38)"
        );
        let (decision, sentence) = decide(&four, 0.005, (-0.02, -0.05, 0.01));
        assert_eq!(decision, Decision::DoNotDeploy);
        assert_eq!(sentence, "do not deploy: p99 of handshakes -2 % (-5 to 1)");
        let (decision, sentence) = decide(&four, 0.4, (-0.3, -0.35, -0.25));
        assert_eq!(decision, Decision::NoDifference);
        assert!(sentence.contains("p = 0.40"), "{sentence}");
        let (decision, sentence) = decide(&map(1, &[]), 0.4, (-0.3, -0.35, -0.25));
        assert_eq!(decision, Decision::OnePath);
        assert_eq!(sentence, "one path: do not deploy");
    }

    #[test]
    fn the_changes_are_those_of_the_mean_the_p99_and_lost_syns() {
        let figure = |value, low, high| Figure { value, low, high };
        let mut known = prediction(-0.13, -0.24, -0.06);
        known.mean.change = figure(-0.53, -0.6, -0.46);
        let changes =
            |known: &Prediction| Verdict::new(&map(3, &[]), 300, 48, Some(known), None).changes;
        let expected =
            "With RepSYN: mean -53 % (-60 to -46), p99 -13 % (-24 to -6), no SYN was lost.";
        assert_eq!(changes(&known).as_deref(), Some(expected));
        known.lost = Some(Change {
            change: figure(-0.5, -0.55, -0.44),
            ..known.mean
        });
        known.p99 = None;
        let expected = "With RepSYN: mean -53 % (-60 to -46), p99 too few handshakes, lost SYNs -50 % (-55 to -44).";
        assert_eq!(changes(&known).as_deref(), Some(expected));
    }

    #[test]
    fn one_address_where_ports_differ_is_more_than_one_path() {
        // Several parallel links may look like one router, with one address. So there may be more than one path.
        let (decision, _) = decide(&map(1, &[]), 0.005, (-0.3, -0.35, -0.25));
        assert_eq!(decision, Decision::Deploy);
        let unsure = map(1, &[Doubt::SilentHop { ttl: 2 }]);
        let (decision, _) = decide(&unsure, 0.4, (-0.3, -0.35, -0.25));
        assert_eq!(decision, Decision::NoDifference, "at least one is not one");
    }

    #[test]
    fn what_is_undecided_says_what_would_do() {
        let four = map(4, &[]);
        let (decision, sentence) = decide(&four, 0.005, (-0.2, -0.4, -0.0));
        assert_eq!(decision, Decision::Undecided);
        // Half the width of the interval is twice the distance to 10 %. So four times as many volleys are needed.
        let expected = "undecided whether the p99 of handshakes -20 % (-40 to 0) falls by 10 %: about 900 more \
                        volleys would decide it (--volleys 1200)";
        assert_eq!(sentence, expected);
        let (_, sentence) = decide(&four, 0.005, (-0.1, -0.4, 0.2));
        assert!(
            sentence.contains("too close to 10 % for any number of volleys"),
            "{sentence}"
        );
        let few = Verdict::new(&four, 15, 48, None, None);
        assert_eq!(few.more_volleys, Some(50));
        assert_eq!(few.changes, None);
    }
}

//! Predicts the time of the faster of two handshakes, compared with one handshake.
//! The prediction uses pairs of ports in the same volley.

use super::bootstrap::{block_length, expansion, interval, resamples};
use super::volley::Volley;
use serde::Serialize;

/// Smallest number of volleys for a prediction.
pub const FEWEST_VOLLEYS: usize = 60;
/// Smallest number of handshakes above a percentile that is reported.
const BEYOND: f64 = 10.0;

/// Figure (a number that describes the measurement) with its 95 % interval.
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
pub struct Figure {
    /// Value of the figure.
    pub value: f64,
    /// Lower end of the interval.
    pub low: f64,
    /// Upper end of the interval.
    pub high: f64,
}

/// Time of one handshake, time of the faster of two, and the relative change between them.
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
pub struct Change {
    /// Time of one handshake, in microseconds.
    pub single: Figure,
    /// Time of the faster of two handshakes, in microseconds.
    pub pair: Figure,
    /// Relative change from one handshake to the faster of two. -0.5 means half the time.
    pub change: Figure,
}

/// Predicted effect of RepSYN on handshakes.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Prediction {
    /// Volleys with at least two handshakes.
    pub volleys: usize,
    /// Handshakes in volleys with at least two handshakes.
    pub handshakes: usize,
    /// Volleys in a block of the bootstrap.
    pub block: usize,
    /// Mean time.
    pub mean: Change,
    /// Median time.
    pub p50: Change,
    /// 99th percentile of the time. `None` if fewer than ten handshakes are above it.
    pub p99: Option<Change>,
}

/// Handshake with two weights. `single` is the weight among single handshakes.
/// `pair` is the weight as the faster handshake of pairs. The weights of each kind add up to 1 in each volley.
#[derive(Clone, Copy)]
struct Weighted {
    us: f64,
    volley: u32,
    single: f64,
    pair: f64,
}

/// Function that returns one of the two weights of a handshake.
type Weight = fn(&Weighted) -> f64;

/// Computes the prediction from volleys in order of time.
/// Returns `None` for fewer than [`FEWEST_VOLLEYS`].
pub fn predict(volleys: &[Volley]) -> Option<Prediction> {
    let sorted = volleys.iter().map(Volley::sorted);
    let sorted: Vec<Vec<f64>> = sorted.filter(|times| times.len() > 1).collect();
    if sorted.len() < FEWEST_VOLLEYS {
        return None;
    }
    let means = sorted
        .iter()
        .map(|times| times.iter().sum::<f64>() / times.len() as f64);
    let block = block_length(&means.collect::<Vec<f64>>());
    let mut weighted: Vec<Weighted> = Vec::new();
    for (volley, times) in (0..).zip(&sorted) {
        let n = times.len() as f64;
        weighted.extend((0..).zip(times).map(|(rank, us): (u32, _)| Weighted {
            us: *us,
            volley,
            single: 1.0 / n,
            // Each slower handshake of the volley forms a pair in which the present handshake is faster.
            pair: 2.0 * (n - 1.0 - f64::from(rank)) / (n * (n - 1.0)),
        }));
    }
    weighted.sort_unstable_by(|a, b| a.us.total_cmp(&b.us));
    let wider = expansion(sorted.len(), block);
    let once = vec![1; sorted.len()];
    let drawn: Vec<Vec<u16>> = resamples(sorted.len(), block).collect();
    let change = |of: &dyn Fn(&[u16], Weight) -> f64| {
        let single = figure(
            wider,
            of(&once, one),
            drawn.iter().map(|drawn| of(drawn, one)),
        );
        let pair = figure(
            wider,
            of(&once, two),
            drawn.iter().map(|drawn| of(drawn, two)),
        );
        let changes = drawn
            .iter()
            .map(|drawn| of(drawn, two) / of(drawn, one) - 1.0);
        Change {
            change: figure(wider, pair.value / single.value - 1.0, changes),
            single,
            pair,
        }
    };
    let beyond = weighted.len() as f64 * 0.01;
    Some(Prediction {
        volleys: sorted.len(),
        handshakes: weighted.len(),
        block,
        mean: change(&|drawn, weight| mean(&weighted, drawn, weight)),
        p50: change(&|drawn, weight| percentile(&weighted, drawn, weight, 0.5)),
        p99: (beyond >= BEYOND)
            .then(|| change(&|drawn, weight| percentile(&weighted, drawn, weight, 0.99))),
    })
}

fn one(handshake: &Weighted) -> f64 {
    handshake.single
}

fn two(handshake: &Weighted) -> f64 {
    handshake.pair
}

fn figure(wider: f64, value: f64, resampled: impl Iterator<Item = f64>) -> Figure {
    let (low, high) = interval(resampled.collect());
    Figure {
        value,
        low: value - (value - low).max(0.0) * wider,
        high: value + (high - value).max(0.0) * wider,
    }
}

fn weights<'a>(
    handshakes: &'a [Weighted],
    drawn: &'a [u16],
    weight: Weight,
) -> impl Iterator<Item = (f64, f64)> + 'a {
    handshakes.iter().map(move |one| {
        let times = f64::from(drawn[one.volley as usize]);
        (one.us, times * weight(one))
    })
}

fn mean(handshakes: &[Weighted], drawn: &[u16], weight: Weight) -> f64 {
    let all = weights(handshakes, drawn, weight);
    let (sum, total) = all.fold((0.0, 0.0), |(sum, total), (us, weight)| {
        (sum + us * weight, total + weight)
    });
    sum / total
}

fn percentile(handshakes: &[Weighted], drawn: &[u16], weight: Weight, share: f64) -> f64 {
    // The weights of each drawn volley add up to 1.
    let total: f64 = drawn.iter().map(|times| f64::from(*times)).sum();
    // The factor is slightly below 1. Without this factor, a rounding error could select the next handshake.
    let wanted = share * total * (1.0 - 1e-9);
    let mut below = 0.0;
    let mut last = f64::NAN;
    for (us, weight) in weights(handshakes, drawn, weight) {
        below += weight;
        last = us;
        if below >= wanted {
            break;
        }
    }
    last
}

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

/// Figure of one handshake, figure of the faster of two, and the relative change between them.
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
pub struct Change {
    /// Time of one handshake, in microseconds, or the share of lost SYNs.
    pub single: Figure,
    /// The same for the faster of two handshakes.
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
    /// Share of handshakes whose SYN, or the answer to it, was lost. For the faster of two, both were lost.
    /// `None` if none was lost.
    pub lost: Option<Change>,
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

/// Kind of connection that the prediction compares.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Kind {
    /// One handshake.
    Single,
    /// Faster of two handshakes.
    Pair,
}

impl Kind {
    fn weight(self, handshake: &Weighted) -> f64 {
        match self {
            Self::Single => handshake.single,
            Self::Pair => handshake.pair,
        }
    }
}

/// Computes the prediction from volleys in order of time.
/// Returns `None` for fewer than [`FEWEST_VOLLEYS`].
pub fn predict(volleys: &[Volley]) -> Option<Prediction> {
    let volleys = volleys.iter();
    let volleys: Vec<&Volley> = volleys
        .filter(|volley| volley.handshakes.iter().flatten().count() > 1)
        .collect();
    let sorted: Vec<Vec<f64>> = volleys.iter().map(|volley| volley.sorted()).collect();
    let losses: Vec<Loss> = volleys.iter().map(|volley| Loss::of(volley)).collect();
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
    let change = |of: &dyn Fn(&[u16], Kind) -> f64| {
        let [single, pair] = [Kind::Single, Kind::Pair].map(|kind| {
            let resampled = drawn.iter().map(|drawn| of(drawn, kind));
            figure(wider, of(&once, kind), resampled)
        });
        let changes = drawn
            .iter()
            .map(|drawn| of(drawn, Kind::Pair) / of(drawn, Kind::Single) - 1.0);
        // A resample without any lost SYN has no change.
        let changes = changes.filter(|change| change.is_finite());
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
        mean: change(&|drawn, kind| mean(&weighted, drawn, kind)),
        lost: losses
            .iter()
            .any(|loss| loss.single > 0.0)
            .then(|| change(&|drawn, kind| mean_loss(&losses, drawn, kind))),
        p50: change(&|drawn, kind| percentile(&weighted, drawn, kind, 0.5)),
        p99: (beyond >= BEYOND)
            .then(|| change(&|drawn, kind| percentile(&weighted, drawn, kind, 0.99))),
    })
}

/// Shares of lost SYNs in a volley.
#[derive(Clone, Copy, Debug)]
struct Loss {
    single: f64,
    /// Share of the pairs of which both SYNs were lost.
    pair: f64,
}

impl Loss {
    fn of(volley: &Volley) -> Self {
        let all = || volley.handshakes.iter().flatten();
        let n = all().count() as f64;
        let lost = all().filter(|one| one.resent > 0 || !one.is_answered);
        let lost = lost.count() as f64;
        Self {
            single: lost / n,
            pair: lost * (lost - 1.0) / (n * (n - 1.0)),
        }
    }
}

/// Returns the mean share of lost SYNs of the drawn volleys.
fn mean_loss(losses: &[Loss], drawn: &[u16], kind: Kind) -> f64 {
    let (mut sum, mut total) = (0.0, 0.0);
    for (loss, times) in losses.iter().zip(drawn) {
        let share = match kind {
            Kind::Single => loss.single,
            Kind::Pair => loss.pair,
        };
        sum += share * f64::from(*times);
        total += f64::from(*times);
    }
    sum / total
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
    kind: Kind,
) -> impl Iterator<Item = (f64, f64)> + 'a {
    handshakes.iter().map(move |one| {
        let times = f64::from(drawn[one.volley as usize]);
        (one.us, times * kind.weight(one))
    })
}

fn mean(handshakes: &[Weighted], drawn: &[u16], kind: Kind) -> f64 {
    let all = weights(handshakes, drawn, kind);
    let (sum, total) = all.fold((0.0, 0.0), |(sum, total), (us, weight)| {
        (sum + us * weight, total + weight)
    });
    sum / total
}

fn percentile(handshakes: &[Weighted], drawn: &[u16], kind: Kind, share: f64) -> f64 {
    // The weights of each drawn volley add up to 1.
    let total: f64 = drawn.iter().map(|times| f64::from(*times)).sum();
    // The factor is slightly below 1. Without this factor, a rounding error could select the next handshake.
    let wanted = share * total * (1.0 - 1e-9);
    let mut below = 0.0;
    let mut last = f64::NAN;
    for (us, weight) in weights(handshakes, drawn, kind) {
        below += weight;
        last = us;
        if below >= wanted {
            break;
        }
    }
    last
}

//! Which ports share a path, by how their delays move together.
//!
//! Each delay is taken less its volley's 10th percentile, on a logarithmic scale; ports whose series correlate
//! are joined (average linkage of 1 - correlation, up to 0.3). Delays that differ by less than a twentieth of
//! the median handshake count as equal.
//!
//! Noise makes groups, too. So groups are told only where ports differ at all, by a permutation test: if all
//! ports had one path, the handshakes of a volley could as well have been those of other ports. Correlations of
//! the series less the volley's mean are squared and added; that sum has to be larger than in nearly all of 199
//! networks in which the handshakes of each volley are dealt out to the ports anew.

use super::volley::{Volley, quantile};
use rand_core::{RngCore, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use serde::Serialize;

/// How seldom the test may tell groups where there are none.
pub const LEVEL: f64 = 0.02;
const PERMUTATIONS: usize = 199;
/// Up to this mean distance ports are joined.
const LINKAGE: f64 = 0.3;
/// The share of a median handshake below which delays count as equal.
const FLOOR: f64 = 0.05;
/// Microseconds below which they do in any case.
const LEAST_FLOOR: f64 = 2.0;

/// What the delays tell of paths.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Groups {
    /// How likely one path alone would have made ports differ as much.
    pub p: f64,
    /// Ports that move together, by number, the largest group first; empty where ports do not differ, or
    /// where none move together.
    pub groups: Vec<Vec<usize>>,
    /// Volleys that all ports were in.
    pub volleys: usize,
}

impl Groups {
    /// Whether ports differ, as the test says.
    pub fn differ(&self) -> bool {
        self.p <= LEVEL
    }
}

/// Sorts ports by volleys in which all of them had their handshake; `None` of fewer than 20 volleys or 3 ports.
pub fn groups(volleys: &[Volley]) -> Option<Groups> {
    let whole = volleys.iter().filter_map(|volley| {
        let times = volley.handshakes.iter().map(|one| one.map(|one| one.us));
        times.collect::<Option<Vec<f64>>>()
    });
    let whole: Vec<Vec<f64>> = whole.collect();
    let ports = whole.first().map_or(0, Vec::len);
    if whole.len() < 20 || ports < 3 {
        return None;
    }
    let rows = logarithms(&whole);
    let mut random = Xoshiro256PlusPlus::seed_from_u64(0x6772_6f75_7073);
    let mut centred: Vec<Vec<f64>> = rows.iter().map(|row| less_mean(row)).collect();
    let seen = sum_of_squares(&correlations(&centred));
    let mut as_large = 0;
    for _ in 0..PERMUTATIONS {
        centred.iter_mut().for_each(|row| shuffle(row, &mut random));
        as_large += usize::from(sum_of_squares(&correlations(&centred)) >= seen);
    }
    let p = (1 + as_large) as f64 / (1 + PERMUTATIONS) as f64;
    let joined = match p <= LEVEL {
        true => join(&correlations(&rows)),
        false => Vec::new(),
    };
    Some(Groups {
        p,
        groups: joined,
        volleys: whole.len(),
    })
}

/// Each volley's delays less its 10th percentile, as logarithms.
fn logarithms(volleys: &[Vec<f64>]) -> Vec<Vec<f64>> {
    let mut all: Vec<f64> = volleys.iter().flatten().copied().collect();
    all.sort_unstable_by(f64::total_cmp);
    let floor = quantile(&all, 0.5).map_or(LEAST_FLOOR, |p50| (FLOOR * p50).max(LEAST_FLOOR));
    let row = |times: &Vec<f64>| {
        let mut sorted = times.clone();
        sorted.sort_unstable_by(f64::total_cmp);
        let low = quantile(&sorted, 0.1).unwrap_or(0.0);
        times.iter().map(|us| (us - low).max(floor).ln()).collect()
    };
    volleys.iter().map(row).collect()
}

fn less_mean(row: &[f64]) -> Vec<f64> {
    let mean = row.iter().sum::<f64>() / row.len() as f64;
    row.iter().map(|value| value - mean).collect()
}

fn shuffle(row: &mut [f64], random: &mut Xoshiro256PlusPlus) {
    for last in (1..row.len()).rev() {
        let other = (u64::from(random.next_u32()) * (last as u64 + 1)) >> 32;
        row.swap(last, other as usize);
    }
}

/// The correlation of each two ports over volleys; 0 for a port whose delay never changes.
fn correlations(rows: &[Vec<f64>]) -> Vec<Vec<f64>> {
    let ports = rows.first().map_or(0, Vec::len);
    let n = rows.len() as f64;
    let series = (0..ports).map(|port| {
        let values: Vec<f64> = rows.iter().map(|row| row[port]).collect();
        let mean = values.iter().sum::<f64>() / n;
        let variance = values
            .iter()
            .map(|value| (value - mean).powi(2))
            .sum::<f64>();
        let scale = match variance > 1e-12 {
            true => variance.sqrt().recip(),
            false => 0.0,
        };
        values.iter().map(|value| (value - mean) * scale).collect()
    });
    let series: Vec<Vec<f64>> = series.collect();
    let product = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
    let row = |a: &Vec<f64>| series.iter().map(|b| product(a, b)).collect();
    series.iter().map(row).collect()
}

fn sum_of_squares(correlations: &[Vec<f64>]) -> f64 {
    let others = correlations.iter().enumerate();
    let squares = others.flat_map(|(port, row)| row.iter().skip(port + 1).map(|c| c * c));
    squares.sum()
}

/// Joins the two closest clusters as long as they are close; what stays alone is in no group.
fn join(correlations: &[Vec<f64>]) -> Vec<Vec<usize>> {
    let mut clusters: Vec<Vec<usize>> = (0..correlations.len()).map(|port| vec![port]).collect();
    let distance = |a: &[usize], b: &[usize]| {
        let pairs = a
            .iter()
            .flat_map(|one| b.iter().map(move |other| (*one, *other)));
        let sum: f64 = pairs
            .map(|(one, other)| 1.0 - correlations[one][other])
            .sum();
        sum / (a.len() * b.len()) as f64
    };
    loop {
        let mut closest = (LINKAGE, None);
        for later in 1..clusters.len() {
            for earlier in 0..later {
                let apart = distance(&clusters[earlier], &clusters[later]);
                if apart < closest.0 {
                    closest = (apart, Some((earlier, later)));
                }
            }
        }
        let Some((earlier, later)) = closest.1 else {
            break;
        };
        let joined = clusters.remove(later);
        clusters[earlier].extend(joined);
    }
    clusters.retain(|ports| ports.len() > 1);
    clusters.iter_mut().for_each(|ports| ports.sort_unstable());
    clusters.sort_by_key(|ports| std::cmp::Reverse(ports.len()));
    clusters
}

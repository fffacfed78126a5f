//! Groups of ports that share a path. Ports on one path have correlated delays.
//!
//! The 10th percentile of each volley is subtracted from its delays.
//! The logarithms of the results form one series for each port.
//! Ports with correlated series are joined: average linkage of the distance 1 - correlation, up to a distance of 0.3.
//! Delays that differ by less than 5 % of the median handshake count as equal.
//!
//! Noise also causes groups. So groups are reported only if a permutation test shows that ports differ.
//! If all ports had one path, the handshakes of a volley could be exchanged between the ports.
//! The test therefore builds 199 networks in which the handshakes of each volley are randomly assigned to the ports.
//! For each network, it subtracts each volley's mean and sums the squared correlations of the series.
//! The sum of the real network must be larger than nearly all of the 199 sums.

use super::volley::{Volley, quantile};
use rand_core::{RngCore, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use serde::Serialize;

/// Significance level of the test: the probability that the test reports groups although there are none.
pub const LEVEL: f64 = 0.02;
const PERMUTATIONS: usize = 199;
/// Largest mean distance (1 - correlation) at which groups are joined.
const LINKAGE: f64 = 0.3;
/// Differences of delays below this share of the median handshake count as equal.
const FLOOR: f64 = 0.05;
/// Differences of delays below this number of microseconds always count as equal.
const LEAST_FLOOR: f64 = 2.0;

/// Result of the search for groups.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Groups {
    /// Probability (p-value) that ports on one single path differ by at least as much as the measured ports.
    pub p: f64,
    /// Groups of ports with correlated delays, the largest group first. Each group contains the numbers of its ports.
    /// The list is empty if the ports do not differ or if no delays are correlated.
    pub groups: Vec<Vec<usize>>,
    /// Number of volleys in which every port has a handshake.
    pub volleys: usize,
}

impl Groups {
    /// Returns whether the test shows that ports differ.
    pub fn differ(&self) -> bool {
        self.p <= LEVEL
    }
}

/// Finds the groups of ports. Uses only volleys in which every port has a handshake.
/// Returns `None` for fewer than 20 complete volleys or fewer than 3 ports.
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

/// Returns the logarithms of each volley's delays after subtraction of its 10th percentile.
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

/// Returns the correlation of each pair of ports over the volleys. A port with a constant delay has the correlation 0.
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

/// Joins the two closest clusters until no two clusters are close enough. Returns the clusters with at least two ports.
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

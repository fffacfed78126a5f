//! Tests of traffic matrices: no host sends to itself, and matrices between racks have no flows within a rack.

use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet};
use tailcut_units::HostId;
use tailcut_workload::{Matrix, Racks, Stream};

fn hosts(n: u32) -> Vec<HostId> {
    (0..n).map(HostId).collect()
}

fn assigned(matrix: &Matrix) -> Vec<(HostId, HostId)> {
    let mut stream = Stream::new(0, 0, 0);
    matrix
        .sources()
        .iter()
        .enumerate()
        .map(|(index, &source)| (source, matrix.destination(index, &mut stream)))
        .collect()
}

/// Returns Pearson's chi-square of `counts` against an even distribution.
fn chi_square(counts: &[f64]) -> f64 {
    let even = counts.iter().sum::<f64>() / counts.len() as f64;
    counts.iter().map(|c| (c - even) * (c - even) / even).sum()
}

#[test]
fn random_destinations_are_even_over_all_hosts_but_the_source() {
    let matrix = Matrix::anywhere(&hosts(8), &hosts(8)).expect("a matrix");
    let mut stream = Stream::new(1, 0, 0);
    let mut counts = [0.0; 8];
    for _ in 0..70_000 {
        counts[matrix.destination(3, &mut stream).0 as usize] += 1.0;
    }
    assert_eq!(counts[3], 0.0);
    let others: Vec<f64> = counts.into_iter().filter(|&count| count > 0.0).collect();
    assert_eq!(others.len(), 7);
    // Chi-square with 6 degrees of freedom exceeds 22.46 with probability 0.001.
    assert!(chi_square(&others) < 22.46);
}

#[test]
fn destinations_between_racks_are_even_over_the_other_racks() {
    let racks = Racks::even(12, 4);
    let matrix = Matrix::between_racks(&hosts(12), &hosts(12), &racks).expect("a matrix");
    let mut stream = Stream::new(2, 0, 0);
    let mut counts: BTreeMap<HostId, f64> = BTreeMap::new();
    for _ in 0..80_000 {
        *counts
            .entry(matrix.destination(5, &mut stream))
            .or_default() += 1.0;
    }
    let expected: BTreeSet<HostId> = (0..4).chain(8..12).map(HostId).collect();
    assert_eq!(counts.keys().copied().collect::<BTreeSet<_>>(), expected);
    let counts: Vec<f64> = counts.into_values().collect();
    // Chi-square with 7 degrees of freedom exceeds 24.32 with probability 0.001.
    assert!(chi_square(&counts) < 24.32);
}

#[test]
fn racks_need_not_be_numbered_in_order() {
    let racks = Racks::from_ids(vec![2, 0, 2, 1, 0]);
    let matrix = Matrix::between_racks(&hosts(5), &hosts(5), &racks).expect("a matrix");
    let mut stream = Stream::new(3, 0, 0);
    for index in 0..5 {
        for _ in 0..200 {
            let destination = matrix.destination(index, &mut stream);
            assert_ne!(racks.of(HostId(index as u32)), racks.of(destination));
        }
    }
}

#[test]
fn every_derangement_of_four_comes_up() {
    let drawn: BTreeSet<Vec<(HostId, HostId)>> = (0..400)
        .map(|seed| {
            let matrix = Matrix::permutation(&hosts(4), &hosts(4), seed).expect("a matrix");
            assigned(&matrix)
        })
        .collect();
    assert_eq!(drawn.len(), 9);
}

#[test]
fn a_permutation_between_two_racks_of_equal_size_swaps_them() {
    let racks = Racks::even(32, 16);
    for seed in 0..50 {
        let matrix = Matrix::permutation_between_racks(&hosts(32), &hosts(32), &racks, seed)
            .expect("a matrix");
        for (src, dst) in assigned(&matrix) {
            assert_ne!(racks.of(src), racks.of(dst));
        }
    }
}

#[test]
fn a_sample_of_hosts_is_as_large_as_asked_for_and_takes_all_alike() {
    let all = hosts(20);
    let mut taken = [0u32; 20];
    for seed in 0..2_000 {
        let sample = Matrix::sample(&all, 5, seed).expect("a sample");
        assert_eq!(sample.len(), 5);
        assert!(sample.is_sorted(), "in the order given");
        for host in sample {
            taken[host.0 as usize] += 1;
        }
    }
    // Each host is expected in 500 samples (a quarter of 2,000 samples). The standard deviation is 19.4.
    assert!(taken.iter().all(|n| (420..580).contains(n)), "{taken:?}");
    assert_eq!(Matrix::sample(&all, 20, 1).expect("all"), all);
    assert!(Matrix::sample(&all, 21, 1).is_err());
}

#[test]
fn matrices_that_cannot_be_built_say_why() {
    let message = |result: Result<Matrix, tailcut_workload::Error>| result.unwrap_err().to_string();
    assert_eq!(
        message(Matrix::anywhere(&[], &hosts(2))),
        "traffic matrix: found no sources; allowed: at least one of each"
    );
    assert_eq!(
        message(Matrix::anywhere(&hosts(1), &hosts(1))),
        "traffic matrix: found source h0 without any destination that it may pick; allowed: at \
         least one destination outside the source (or its rack) for each"
    );
    assert_eq!(
        message(Matrix::anywhere(&[HostId(1), HostId(1)], &hosts(3))),
        "traffic matrix: found h1 twice among the sources; allowed: each host once"
    );
    assert_eq!(
        message(Matrix::permutation(&hosts(3), &hosts(2), 0)),
        "traffic matrix: found 3 sources and 2 destinations; allowed: as many destinations as \
         sources in a permutation"
    );
    assert!(Matrix::permutation(&hosts(1), &hosts(1), 0).is_err());
    assert!(Matrix::between_racks(&hosts(4), &hosts(4), &Racks::even(4, 4)).is_err());
    let lopsided = Racks::from_ids(vec![0, 0, 0, 1, 2]);
    assert!(Matrix::permutation_between_racks(&hosts(5), &hosts(5), &lopsided, 0).is_err());
    assert!(Matrix::incast(&hosts(3), HostId(2)).is_err());
    assert!(Matrix::incast(&[], HostId(2)).is_err());
    assert!(Matrix::pairs(&[(HostId(1), HostId(1))]).is_err());
    assert!(Matrix::pairs(&[]).is_err());
}

proptest! {
    #[test]
    fn a_permutation_is_always_a_derangement(n in 2u32..200, seed: u64) {
        let matrix = Matrix::permutation(&hosts(n), &hosts(n), seed).expect("a matrix");
        let pairs = assigned(&matrix);
        let receivers: BTreeSet<HostId> = pairs.iter().map(|pair| pair.1).collect();
        prop_assert_eq!(receivers.len(), n as usize);
        prop_assert!(pairs.iter().all(|(src, dst)| src != dst));
    }

    #[test]
    fn a_permutation_between_racks_exists_exactly_when_no_rack_is_too_large(
        rack_of in proptest::collection::vec(0u32..5, 2..60),
        seed: u64,
    ) {
        let n = rack_of.len();
        let largest = (0..5)
            .map(|rack| rack_of.iter().filter(|&&of| of == rack).count())
            .max()
            .unwrap_or(0);
        let racks = Racks::from_ids(rack_of);
        let everyone = hosts(n as u32);
        match Matrix::permutation_between_racks(&everyone, &everyone, &racks, seed) {
            Ok(matrix) => {
                prop_assert!(2 * largest <= n);
                let pairs = assigned(&matrix);
                let receivers: BTreeSet<HostId> = pairs.iter().map(|pair| pair.1).collect();
                prop_assert_eq!(receivers.len(), n);
                prop_assert!(pairs.iter().all(|&(src, dst)| racks.of(src) != racks.of(dst)));
            }
            Err(_) => prop_assert!(2 * largest > n),
        }
    }
}

#[test]
fn shares_are_those_of_the_destinations_that_are_drawn() {
    let all: Vec<HostId> = (0..6).map(HostId).collect();
    let racks = Racks::even(6, 2);
    let between = Matrix::between_racks(&all, &all, &racks).expect("three racks");
    let shares: Vec<(HostId, f64)> = between.shares(2).collect();
    assert_eq!(shares, [0, 1, 4, 5].map(|host| (HostId(host), 0.25)));
    let assigned = Matrix::incast(&all[1..], all[0]).expect("five senders");
    assert_eq!(assigned.shares(3).collect::<Vec<_>>(), [(HostId(0), 1.0)]);
}

//! Tests of weights: the flows that a host sends and receives are proportional to its weights.

use tailcut_units::{HostId, Time};
use tailcut_workload::source::Source;
use tailcut_workload::{
    Arrivals, Class, Flow, Generated, GeneratedSpec, HostWeights, Matrix, Racks, SizeDistribution,
    Stream,
};

/// Function that returns whether the first host must not send to the second.
type IsForbidden<'a> = &'a dyn Fn(HostId, HostId) -> bool;

const HOSTS: u32 = 8;

/// 99.9th percentile of chi-square with 7 degrees of freedom, one fewer than the hosts.
const UNLIKELY: f64 = 24.32;

fn hosts() -> Vec<HostId> {
    (0..HOSTS).map(HostId).collect()
}

/// Returns the weights of the tests. Hosts 0 and 1 send four times as many flows as all other hosts.
/// Host 7 receives six times as many flows as most hosts, and host 2 receives half as many.
fn weights() -> HostWeights {
    let destinations = vec![1.0, 1.0, 0.5, 1.0, 1.0, 1.0, 1.0, 6.0];
    HostWeights::new(vec![4.0, 4.0], destinations).expect("weights above zero")
}

fn anywhere() -> Matrix {
    Matrix::anywhere(&hosts(), &hosts()).expect("a matrix")
}

fn generated(matrix: Matrix, seed: u64, flows: usize) -> Vec<Flow> {
    let source = Generated::new(GeneratedSpec {
        seed,
        label: 0,
        matrix,
        sizes: SizeDistribution::fixed(1_000),
        arrivals: Arrivals::Poisson,
        flows_per_second: 1e6,
        start: Time::ZERO,
        until: Time::MAX,
        arrivals_at_most: Some(flows as u64),
        fan_in: None,
        class: Class::Foreground,
        path: None,
    });
    let mut source = source.expect("a source");
    std::iter::from_fn(|| source.next()).collect()
}

/// Returns Pearson's chi-square of `counts`. `shares` are the expected shares, which sum to one.
fn chi_square(counts: &[f64], shares: &[f64]) -> f64 {
    let all: f64 = counts.iter().sum();
    let terms = counts.iter().zip(shares);
    terms
        .filter(|(_, share)| **share > 0.0)
        .map(|(count, share)| (count - all * share).powi(2) / (all * share))
        .sum()
}

fn counts(flows: &[Flow], of: impl Fn(&Flow) -> HostId) -> Vec<f64> {
    let mut counts = vec![0.0; HOSTS as usize];
    for flow in flows {
        counts[of(flow).0 as usize] += 1.0;
    }
    counts
}

#[test]
fn sources_send_in_proportion_to_their_weights() {
    let shares: Vec<f64> = (0..HOSTS)
        .map(|host| if host < 2 { 4.0 / 14.0 } else { 1.0 / 14.0 })
        .collect();
    for seed in 1..=5 {
        let flows = generated(anywhere().weighted(&weights()), seed, 20_000);
        let chi = chi_square(&counts(&flows, |flow| flow.src), &shares);
        assert!(chi < UNLIKELY, "seed {seed}: chi-square {chi}");
    }
}

#[test]
fn each_source_picks_destinations_in_proportion_to_their_weights_and_never_itself() {
    let racks = Racks::even(HOSTS, 3);
    let between = Matrix::between_racks(&hosts(), &hosts(), &racks).expect("a matrix");
    let same_rack = |a: HostId, b: HostId| racks.of(a) == racks.of(b);
    let itself = |a: HostId, b: HostId| a == b;
    let cases: [(Matrix, IsForbidden<'_>); 2] = [(anywhere(), &itself), (between, &same_rack)];
    for (matrix, is_forbidden) in cases {
        let matrix = matrix.weighted(&weights());
        for (index, &source) in hosts().iter().enumerate() {
            let weight = |host: &HostId| match is_forbidden(source, *host) {
                true => 0.0,
                false => weights().as_destination(*host),
            };
            let all: f64 = hosts().iter().map(weight).sum();
            let shares: Vec<f64> = hosts().iter().map(|host| weight(host) / all).collect();
            for (host, share) in matrix.shares(index) {
                assert!((share - shares[host.0 as usize]).abs() < 1e-12);
            }
            let mut stream = Stream::new(1, 2, index as u64);
            let mut drawn = vec![0.0; HOSTS as usize];
            for _ in 0..20_000 {
                drawn[matrix.destination(index, &mut stream).0 as usize] += 1.0;
            }
            let forbidden = drawn
                .iter()
                .zip(&shares)
                .filter(|(_, share)| **share == 0.0);
            assert_eq!(forbidden.map(|(count, _)| count).sum::<f64>(), 0.0);
            let chi = chi_square(&drawn, &shares);
            assert!(chi < UNLIKELY, "source {index}: chi-square {chi}");
        }
    }
}

#[test]
fn one_seed_draws_the_same_flows_again() {
    let flows = |seed| generated(anywhere().weighted(&weights()), seed, 500);
    assert_eq!(flows(3), flows(3));
    assert_ne!(flows(3), flows(4));
}

#[test]
fn equal_weights_change_nothing_whatever_they_are() {
    let same = HostWeights::new(vec![3.0; HOSTS as usize], vec![0.25; HOSTS as usize]);
    let same = anywhere().weighted(&same.expect("weights above zero"));
    assert!(!same.is_weighted());
    assert_eq!(generated(same, 1, 500), generated(anywhere(), 1, 500));
}

#[test]
fn weights_far_apart_still_keep_a_source_from_itself() {
    // Hosts 0, 3 and 7 receive almost all flows, but must not send to themselves.
    // The weights are so different that their sums are rounded.
    let far = HostWeights::new(Vec::new(), vec![1e6, 1e-6, 1e-6, 1e6, 1e-9, 1e-6, 1.0, 1e6]);
    let matrix = anywhere().weighted(&far.expect("weights above zero"));
    for index in 0..HOSTS as usize {
        let mut stream = Stream::new(7, 7, index as u64);
        for _ in 0..50_000 {
            let drawn = matrix.destination(index, &mut stream);
            assert_ne!(drawn, hosts()[index]);
        }
    }
}

#[test]
fn the_share_between_racks_is_that_of_the_flows() {
    let racks = Racks::even(HOSTS, 3);
    for matrix in [anywhere(), anywhere().weighted(&weights())] {
        let computed = matrix.share_between_racks(&racks);
        let flows = generated(matrix, 11, 100_000);
        let leaves = |flow: &&Flow| racks.of(flow.src) != racks.of(flow.dst);
        let share = flows.iter().filter(leaves).count() as f64 / flows.len() as f64;
        // The limit is four standard deviations of a share of 100,000 flows.
        assert!((share - computed).abs() < 0.0064, "{share} and {computed}");
    }
}

#[test]
fn a_weight_of_nothing_or_less_is_refused() {
    for wrong in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        assert!(HostWeights::new(vec![1.0, wrong], Vec::new()).is_err());
        assert!(HostWeights::new(Vec::new(), vec![wrong]).is_err());
    }
}

//! Tests of the queueing formulas. The results are compared with textbook values and with small simulations.

use rand_core::{RngCore, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use tailcut_oracle::queueing::repflow::{Lattice, Mouse, slow_start_rounds};
use tailcut_oracle::queueing::{
    Service, WaitDistribution, md1, mg1, mm1, priority, processor_sharing,
};
use tailcut_oracle::statistics::{Interval, batch_means};

struct Random(Xoshiro256PlusPlus);

impl Random {
    fn new(seed: u64) -> Self {
        Self(Xoshiro256PlusPlus::seed_from_u64(seed))
    }

    fn uniform(&mut self) -> f64 {
        (self.0.next_u64() >> 11) as f64 / (1u64 << 53) as f64
    }

    fn exponential(&mut self, mean: f64) -> f64 {
        -mean * (1.0 - self.uniform()).ln()
    }

    fn service(&mut self, service: &Service) -> f64 {
        match service {
            Service::Exponential(mean) => self.exponential(*mean),
            Service::Piecewise(points) => {
                let u = self.uniform();
                let above = points.partition_point(|point| point.1 <= u);
                if above == 0 {
                    return points[0].0;
                }
                let ((a, low), (b, high)) = (points[above - 1], points[above]);
                a + (b - a) * (u - low) / (high - low)
            }
        }
    }
}

/// Returns the waits of `customers` customers by Lindley's recursion, W' = max(0, W + S - A).
/// The first 10,000 customers are not included, because the queue is empty at the start.
fn lindley(arrivals: f64, service: &Service, customers: usize, seed: u64) -> Vec<f64> {
    let mut random = Random::new(seed);
    let mut wait = 0.0;
    let mut waits = Vec::with_capacity(customers);
    for customer in 0..customers + 10_000 {
        if customer >= 10_000 {
            waits.push(wait);
        }
        let served = random.service(service);
        let gap = random.exponential(1.0 / arrivals);
        wait = f64::max(0.0, wait + served - gap);
    }
    waits
}

const CUSTOMERS: usize = 2_000_000;

/// Asserts that the 99.9 % confidence interval of the series' mean contains `expected`.
/// The confidence interval must also be narrow.
fn assert_mean(what: &str, series: &[f64], expected: f64) {
    let interval: Interval = batch_means(series, 40, 0.999);
    assert!(
        interval.contains(expected),
        "{what}: {expected} outside {interval:?}"
    );
    assert!(
        interval.relative_half_width() < 0.06,
        "{what}: the interval {interval:?} is too wide"
    );
}

fn web_search() -> Service {
    // Table of the DCTCP paper, in packets. The result is in units of 1,000 packets, so that the mean is near one.
    let table = [
        (6.0, 0.15),
        (13.0, 0.2),
        (19.0, 0.3),
        (33.0, 0.4),
        (53.0, 0.53),
        (133.0, 0.6),
        (667.0, 0.7),
        (1333.0, 0.8),
        (3333.0, 0.9),
        (6667.0, 0.97),
        (20_000.0, 1.0),
    ];
    Service::Piecewise(table.iter().map(|&(x, p)| (x / 1_000.0, p)).collect())
}

#[test]
fn the_forms_give_the_values_of_the_textbook() {
    let close = |a: f64, b: f64| assert!((a - b).abs() < 1e-12, "{a} against {b}");
    // At half load and mean service time 1, the mean wait is 1 in M/M/1 and 0.5 in M/D/1.
    close(mm1::mean_wait(0.5, 1.0), 1.0);
    close(mm1::mean_sojourn(0.5, 1.0), 2.0);
    close(md1::mean_wait(0.5, 1.0), 0.5);
    close(mm1::wait_exceeds(0.5, 1.0, 0.0), 0.5);
    close(md1::wait_exceeds(0.5, 1.0, 0.0), 0.5);
    close(mm1::sojourn_quantile(0.9, 1.0, 0.99), 10.0 * 100f64.ln());
    close(processor_sharing::mean_sojourn(0.8, 1.0), 5.0);
    close(processor_sharing::probability_of_number(2, 0.5, 1.0), 0.125);
    // For exponential and constant service times, Pollaczek-Khinchine gives the same results as M/M/1 and M/D/1.
    let exponential = Service::Exponential(1.0);
    close(mg1::mean_wait(0.7, &exponential), mm1::mean_wait(0.7, 1.0));
    close(mg1::mean_number(0.75, &exponential), 3.0);
    let fixed = Service::deterministic(1.0);
    close(mg1::mean_wait(0.7, &fixed), md1::mean_wait(0.7, 1.0));
    close(
        mg1::variance_of_wait(0.7, &fixed),
        md1::variance_of_wait(0.7, 1.0),
    );
    // The variance of M/M/1's wait is rho (2 - rho) / (mu - lambda)^2.
    close(mg1::variance_of_wait(0.5, &exponential), 0.5 * 1.5 / 0.25);
}

#[test]
#[should_panic(expected = "no steady state")]
fn an_overloaded_queue_has_no_mean_wait() {
    md1::mean_wait(1.0, 1.0);
}

#[test]
fn mean_waits_agree_with_lindleys_recursion() {
    for (what, service, load) in [
        ("M/M/1", Service::Exponential(1.0), 0.6),
        ("M/D/1", Service::deterministic(1.0), 0.8),
        (
            "M/U/1",
            Service::Piecewise(vec![(0.0, 0.0), (2.0, 1.0)]),
            0.7,
        ),
        ("M/G/1, web search", web_search(), 0.3),
    ] {
        let arrivals = load / service.mean();
        let waits = lindley(arrivals, &service, CUSTOMERS, 1);
        assert_mean(what, &waits, mg1::mean_wait(arrivals, &service));
    }
}

#[test]
fn variances_of_the_wait_agree_with_lindleys_recursion() {
    for (what, service) in [
        ("M/D/1", Service::deterministic(1.0)),
        ("M/U/1", Service::Piecewise(vec![(0.0, 0.0), (2.0, 1.0)])),
        ("M/M/1", Service::Exponential(1.0)),
    ] {
        let mean = mg1::mean_wait(0.5, &service);
        let deviations: Vec<f64> = lindley(0.5, &service, CUSTOMERS, 2)
            .iter()
            .map(|wait| (wait - mean) * (wait - mean))
            .collect();
        assert_mean(what, &deviations, mg1::variance_of_wait(0.5, &service));
    }
}

#[test]
fn erlangs_formula_agrees_with_lindleys_recursion() {
    let waits = lindley(0.7, &Service::deterministic(1.0), CUSTOMERS, 3);
    for w in [0.0, 0.5, 1.0, 1.7, 3.2] {
        let exceeds: Vec<f64> = waits
            .iter()
            .map(|&wait| if wait > w { 1.0 } else { 0.0 })
            .collect();
        assert_mean("P(W > w)", &exceeds, md1::wait_exceeds(0.7, 1.0, w));
    }
}

#[test]
fn erlangs_formula_keeps_its_digits_up_to_twenty_services() {
    // For large w, P(W > w) is almost C exp(-theta w), where theta is the root of lambda (exp(theta) - 1) = theta.
    // One more service time multiplies P(W > w) by exp(-theta).
    let (mut low, mut high) = (0.1f64, 5.0f64);
    for _ in 0..80 {
        let theta = f64::midpoint(low, high);
        if 0.8 * theta.exp_m1() < theta {
            low = theta;
        } else {
            high = theta;
        }
    }
    let at = |w| md1::wait_exceeds(0.8, 1.0, w);
    for w in [6.0, 10.0, 14.0, 18.0] {
        let expected = at(w) * (-low).exp();
        assert!((at(w + 1.0) - expected).abs() < 1e-6, "at {w}");
    }
}

#[test]
fn lattice_bounds_hold_the_exact_distribution_and_shrink_with_the_step() {
    let exponential = Service::Exponential(1.0);
    let fixed = Service::deterministic(1.0);
    let mut widths = Vec::new();
    for step in [0.04, 0.01] {
        let cells = (30.0 / step) as usize;
        let mm1_waits = WaitDistribution::mg1(0.6, &exponential, step, cells);
        let md1_waits = WaitDistribution::mg1(0.6, &fixed, step, cells);
        for w in [0.0, 0.3, 1.1, 2.5, 7.7] {
            let bounds = mm1_waits.exceeds(w);
            let exact = mm1::wait_exceeds(0.6, 1.0, w);
            assert!(bounds.contains(exact), "{exact} outside {bounds:?}");
            let bounds = md1_waits.exceeds(w);
            let exact = md1::wait_exceeds(0.6, 1.0, w);
            assert!(bounds.contains(exact), "{exact} outside {bounds:?}");
        }
        let smaller = mm1_waits.mean_of_smaller_of_two();
        let exact = mm1::mean_smaller_of_two_waits(0.6, 1.0);
        assert!(smaller.contains(exact), "{exact} outside {smaller:?}");
        widths.push(smaller.upper - smaller.lower);
        // P(W <= w) = 1 - rho exp(-(mu - lambda) w), so the median is ln(2 rho) / (mu - lambda).
        let median = (0.6f64 / 0.5).ln() / 0.4;
        assert!(mm1_waits.quantile(0.5).contains(median));
    }
    assert!(widths[1] < widths[0] / 3.5, "{widths:?}");
    assert!(widths[1] < 0.02, "{widths:?}");
}

#[test]
fn a_near_horizon_widens_the_bounds_but_keeps_the_truth_inside() {
    let exact = mm1::mean_smaller_of_two_waits(0.8, 1.0);
    let near =
        WaitDistribution::mg1(0.8, &Service::Exponential(1.0), 0.01, 200).mean_of_smaller_of_two();
    let far = WaitDistribution::mg1(0.8, &Service::Exponential(1.0), 0.01, 3_000)
        .mean_of_smaller_of_two();
    assert!(near.contains(exact) && far.contains(exact));
    assert!(near.upper - near.lower > 4.0 * (far.upper - far.lower));
}

/// Returns, for each customer, the smaller of two sums of simulated waits.
/// One sum is for a mouse, and the second sum for its copy.
/// Each sum has `rounds` waits from independent queues.
fn smaller_sums(arrivals: f64, service: &Service, rounds: usize) -> Vec<f64> {
    let queues: Vec<Vec<f64>> = (0..2 * rounds)
        .map(|queue| lindley(arrivals, service, CUSTOMERS / 4, 100 + queue as u64))
        .collect();
    (0..CUSTOMERS / 4)
        .map(|customer| {
            let copy = |from: usize| -> f64 {
                queues[from..from + rounds]
                    .iter()
                    .map(|queue| queue[customer])
                    .sum()
            };
            copy(0).min(copy(rounds))
        })
        .collect()
}

#[test]
fn the_smaller_of_two_waits_agrees_with_two_simulated_queues() {
    for (what, service, load, step, cells) in [
        ("M/M/1", Service::Exponential(1.0), 0.6, 0.01, 4_000),
        ("M/D/1", Service::deterministic(1.0), 0.7, 0.01, 3_000),
        ("web search", web_search(), 0.4, 0.02, 6_000),
    ] {
        let arrivals = load / service.mean();
        let bounds =
            WaitDistribution::mg1(arrivals, &service, step, cells).mean_of_smaller_of_two();
        assert!(
            (bounds.upper - bounds.lower) / bounds.middle() < 0.03,
            "{what}: {bounds:?}"
        );
        assert_mean(what, &smaller_sums(arrivals, &service, 1), bounds.middle());
    }
}

#[test]
fn sums_of_waits_agree_with_simulated_rounds() {
    let service = Service::deterministic(1.0);
    let waits = WaitDistribution::mg1(0.7, &service, 0.01, 4_000).sum(3);
    assert!((waits.mean() - 3.0 * md1::mean_wait(0.7, 1.0)).abs() < 1e-12);
    let bounds = waits.mean_of_smaller_of_two();
    assert!((bounds.upper - bounds.lower) / bounds.middle() < 0.03);
    assert_mean(
        "three rounds",
        &smaller_sums(0.7, &service, 3),
        bounds.middle(),
    );
}

#[test]
fn slow_start_takes_the_logarithm_of_the_packets_in_rounds() {
    for (packets, window, rounds) in [
        (0, 3, 0),
        (1, 3, 1),
        (3, 3, 1),
        (4, 3, 2),
        (9, 3, 2),
        (10, 3, 3),
        (69, 8, 4),
    ] {
        assert_eq!(
            slow_start_rounds(packets, window),
            rounds,
            "{packets} from {window}"
        );
        let logarithm = (packets as f64 / window as f64 + 1.0).log2().ceil();
        assert_eq!(f64::from(rounds), logarithm);
    }
}

#[test]
fn in_the_model_replication_helps_mice_and_costs_what_its_load_costs() {
    let service = web_search();
    let mouse = Mouse {
        transmission: 0.05,
        rounds: 4,
    };
    let lattice = Lattice {
        step: 0.05,
        cells: 4_000,
    };
    let alone = mouse.mean_alone(0.4, &service);
    let free = mouse.mean_replicated(0.4, 0.0, &service, lattice);
    let charged = mouse.mean_replicated(0.4, 0.0105, &service, lattice);
    assert!(charged.lower > free.lower && charged.upper > free.upper);
    assert!(charged.upper < alone, "{charged:?} against {alone}");
    // Copies of all flows double the load from 0.4 to 0.8.
    // The additional load costs more time than the second copy saves.
    let all_doubled = mouse.mean_replicated(0.4, 1.0, &service, lattice);
    assert!(all_doubled.lower > alone, "{all_doubled:?} against {alone}");
}

/// Returns the sojourn time and the size of each customer of a processor-sharing queue, from an event-based simulation.
fn shared(arrivals: f64, service: &Service, customers: usize) -> Vec<(f64, f64)> {
    let mut random = Random::new(4);
    let mut now = 0.0;
    let mut next_arrival = random.exponential(1.0 / arrivals);
    // Arrival time, size and remaining size of each customer in the queue.
    let mut present: Vec<(f64, f64, f64)> = Vec::new();
    let mut done = Vec::with_capacity(customers);
    while done.len() < customers {
        let least = present.iter().map(|c| c.2).fold(f64::INFINITY, f64::min);
        let departs = now + least * present.len().max(1) as f64;
        let next = next_arrival.min(departs);
        if !present.is_empty() {
            let progress = (next - now) / present.len() as f64;
            present.iter_mut().for_each(|c| c.2 -= progress);
        }
        now = next;
        if next_arrival <= departs {
            let size = random.service(service);
            present.push((now, size, size));
            next_arrival = now + random.exponential(1.0 / arrivals);
        } else {
            let first = (0..present.len())
                .min_by(|&a, &b| present[a].2.total_cmp(&present[b].2))
                .expect("a departure");
            let (arrived, size, _) = present.remove(first);
            done.push((now - arrived, size));
        }
    }
    // The first customers are left out, because the queue is empty at the start.
    done.split_off(customers / 20)
}

#[test]
fn processor_sharing_slows_every_size_alike_whatever_the_distribution() {
    for service in [
        Service::deterministic(1.0),
        Service::Exponential(1.0),
        Service::Piecewise(vec![(0.1, 0.8), (0.1001, 0.8), (4.6, 0.8), (4.6001, 1.0)]),
    ] {
        let mean = service.mean();
        let arrivals = 0.6 / mean;
        let stays = shared(arrivals, &service, 400_000);
        let sojourns: Vec<f64> = stays.iter().map(|stay| stay.0).collect();
        let expected = processor_sharing::mean_sojourn(arrivals, mean);
        assert_mean("sojourn", &sojourns, expected);
        let slowdowns: Vec<f64> = stays.iter().map(|stay| stay.0 / stay.1).collect();
        let expected = processor_sharing::mean_sojourn_of(1.0, arrivals, mean);
        assert_mean("slowdown", &slowdowns, expected);
    }
}

#[test]
fn priorities_agree_with_the_queues_that_they_contain() {
    let (fast, slow) = (Service::Exponential(1.0), Service::deterministic(2.0));
    let classes = [(0.3, &fast), (0.2, &slow)];
    // With preemption, lower classes do not affect the highest class.
    let alone = mm1::mean_sojourn(0.3, 1.0);
    assert!((priority::preemptive_sojourn(&classes, 0) - alone).abs() < 1e-12);
    // The queue is never idle while a customer waits.
    // The sum of the waits, weighted by load, therefore does not depend on the order of the classes.
    // Source: Kleinrock, volume 2, 3.19.
    let weighted = 0.3 * priority::non_preemptive_wait(&classes, 0)
        + 0.4 * priority::non_preemptive_wait(&classes, 1);
    let residual: f64 = (0.3 * 2.0 + 0.2 * 4.0) / 2.0;
    assert!((weighted - 0.7 * residual / 0.3).abs() < 1e-12);
    // With a single class, the queue is M/G/1.
    let one = priority::non_preemptive_wait(&classes[1..], 0);
    assert!((one - mg1::mean_wait(0.2, &slow)).abs() < 1e-12);
}

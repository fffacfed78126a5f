//! Waiting times at ports. With Poisson arrivals, the waiting times follow queueing theory.
//! The better of two paths has the waiting time of RepFlow's model.

use crate::network::{SLOW, drawn, drive};
use tailcut_oracle::queueing::{Service, WaitDistribution, md1, mg1, mm1};
use tailcut_oracle::statistics::{Interval, batch_means};
use tailcut_sim::fabric::PortEvents;
use tailcut_sim::workload::sizes::Point;
use tailcut_sim::workload::{SizeDistribution, Stream};
use tailcut_units::Duration;

const BATCHES: usize = 20;
const CONFIDENCE: f64 = 0.99;
const LOADS: [f64; 3] = [0.3, 0.6, 0.8];
const MEAN_BYTES: f64 = 15_000.0;

fn seconds(bytes: f64) -> f64 {
    bytes * 8.0 / SLOW.as_bps() as f64
}

/// Checks that the interval contains the closed form, and that it is narrow.
fn agrees(what: &str, interval: Interval, exact: f64, widest: f64) {
    println!(
        "{what}: {:.4e}, interval {:.4e} to {:.4e}, closed form {exact:.4e}",
        interval.estimate, interval.low, interval.high
    );
    assert!(
        interval.contains(exact),
        "{what}: {exact} is not in {interval:?}"
    );
    assert!(
        interval.relative_half_width() < widest,
        "{what}: {interval:?}"
    );
}

fn exceeding(waits: &[f64], limit: f64) -> Interval {
    let beyond: Vec<f64> = waits
        .iter()
        .map(|&w| f64::from(u8::from(w > limit)))
        .collect();
    batch_means(&beyond, BATCHES, CONFIDENCE)
}

/// Returns a random exponential size in whole bytes. The rounding increases the mean of 15,000 by half a byte.
fn exponential(stream: &mut Stream) -> u32 {
    (stream.exponential() * MEAN_BYTES).ceil() as u32
}

/// Returns small, medium and full packets, as on a real link.
fn mixed_sizes() -> SizeDistribution {
    let point = |bytes, cumulative| Point { bytes, cumulative };
    let points = vec![
        point(64, 0.4),
        point(576, 0.5),
        point(1_500, 0.9),
        point(9_000, 1.0),
    ];
    SizeDistribution::new(points).expect("a distribution")
}

fn service_of(sizes: &SizeDistribution) -> Service {
    let points = sizes.points().iter();
    Service::Piecewise(
        points
            .map(|p| (seconds(p.bytes as f64), p.cumulative))
            .collect(),
    )
}

fn time_of(packets: f64, per_second: f64) -> Duration {
    Duration::from_secs_f64(packets / per_second)
}

#[test]
fn exponential_packets_wait_as_in_mm1_in_the_mean_and_in_the_tail() {
    let mu = 1.0 / seconds(MEAN_BYTES);
    for (seed, load) in (1..).zip(LOADS) {
        let rate = load * mu;
        let span = time_of(400_000.0, rate);
        let events = PortEvents::OneWherePossible;
        let waits = drive(&mut exponential, rate, 1.0, span, seed, events)
            .cross
            .concat();
        let mean = batch_means(&waits, BATCHES, CONFIDENCE);
        agrees(
            &format!("M/M/1 wait at {load}"),
            mean,
            mm1::mean_wait(rate, mu),
            0.05,
        );
        for services in [1.0, 4.0] {
            let limit = services / mu;
            agrees(
                &format!("M/M/1 share above {services} services at {load}"),
                exceeding(&waits, limit),
                mm1::wait_exceeds(rate, mu, limit),
                0.10,
            );
        }
    }
}

#[test]
fn equal_packets_wait_as_in_md1_in_the_mean_and_in_the_tail() {
    let service = seconds(1_500.0);
    for (seed, load) in (11..).zip(LOADS) {
        let rate = load / service;
        let span = time_of(400_000.0, rate);
        let waits =
            drive(&mut |_| 1_500, rate, 1.0, span, seed, PortEvents::Two).cross[1].split_off(0);
        let mean = batch_means(&waits, BATCHES, CONFIDENCE);
        agrees(
            &format!("M/D/1 wait at {load}"),
            mean,
            md1::mean_wait(rate, service),
            0.05,
        );
        for services in [0.5, 2.5] {
            let limit = services * service;
            agrees(
                &format!("M/D/1 share above {services} services at {load}"),
                exceeding(&waits, limit),
                md1::wait_exceeds(rate, service, limit),
                0.20,
            );
        }
    }
}

#[test]
fn packets_of_any_sizes_wait_as_pollaczek_and_khinchine_say() {
    let sizes = mixed_sizes();
    let service = service_of(&sizes);
    for (seed, load) in (21..).zip(LOADS) {
        let rate = load / service.mean();
        let span = time_of(400_000.0, rate);
        let events = PortEvents::OneWherePossible;
        let mut draw = drawn(sizes.clone());
        let waits = drive(&mut draw, rate, 1.0, span, seed, events)
            .cross
            .concat();
        let mean = batch_means(&waits, BATCHES, CONFIDENCE);
        agrees(
            &format!("M/G/1 wait at {load}"),
            mean,
            mg1::mean_wait(rate, &service),
            0.05,
        );
    }
}

#[test]
fn the_better_of_two_independent_paths_waits_as_repflows_model_says() {
    let sizes = mixed_sizes();
    let service = service_of(&sizes);
    for (seed, load) in (31..).zip(LOADS) {
        let rate = load / service.mean();
        // Probes are far apart, so their waiting times are almost independent.
        let probes = rate / 20.0;
        let span = time_of(40_000.0, probes);
        let events = PortEvents::OneWherePossible;
        let mut draw = drawn(sizes.clone());
        let waits = drive(&mut draw, rate, probes, span, seed, events).probes;
        let step = service.mean() / 50.0;
        let model = WaitDistribution::mg1(rate, &service, step, 6_000);
        let bounds = model.mean_of_smaller_of_two();
        assert!(bounds.upper / bounds.lower < 1.05, "{bounds:?}");
        let of = |pick: fn(&[f64; 2]) -> f64| {
            let series: Vec<f64> = waits.iter().map(pick).collect();
            batch_means(&series, BATCHES, CONFIDENCE)
        };
        let one = of(|pair| pair[0]);
        let smaller = of(|pair| pair[0].min(pair[1]));
        agrees(
            &format!("a probe's wait on one path at {load}"),
            one,
            model.mean(),
            0.06,
        );
        println!(
            "the smaller of two waits at {load}: {:.4e} in {:.4e} to {:.4e}, model {:.4e} to {:.4e}, gain {:.1} %",
            smaller.estimate,
            smaller.low,
            smaller.high,
            bounds.lower,
            bounds.upper,
            100.0 * (1.0 - bounds.middle() / model.mean()),
        );
        assert!(
            smaller.low <= bounds.upper && bounds.lower <= smaller.high,
            "{smaller:?}"
        );
        assert!(smaller.relative_half_width() < 0.10, "{smaller:?}");
    }
}

//! Goodput under random loss.

use crate::bottleneck::{Bottleneck, Link, message};
use crate::hosts::{link, packets_of, scdp, secs};
use tailcut_units::{Duration, Time};

/// Loss rates in percent.
const LOSSES: [f64; 9] = [0.0, 0.1, 0.3, 1.0, 3.0, 5.0, 10.0, 20.0, 30.0];

/// Returns the goodput in Mb/s of a transfer that takes about `seconds` at the rate of the link.
/// Returns `None` if the transfer takes more than 1,000 times as long.
fn goodput(link: Link, seconds: f64, seed: u64) -> Option<f64> {
    let bytes = (link.rate.as_bps() as f64 / 8.0 * seconds) as u64;
    let mut world = Bottleneck::new(link, vec![scdp(0, &link), scdp(1, &link)], seed);
    world.submit(0, message(1, 1, bytes));
    for step in 1..=1_000 {
        world.run_until(secs(seconds * f64::from(step)));
        if let Some(at) = world.completed(1) {
            return Some(bytes as f64 * 8e-6 / at.since(Time::ZERO).as_secs_f64());
        }
    }
    None
}

/// Prints a line for one link. The line contains the goodput without loss.
/// For each loss rate, the line contains the smallest and largest fraction of this goodput over all seeds.
fn line(mbit: u64, round_trip: Duration, queue: usize, seconds: f64, seeds: u64) {
    let ms = round_trip.as_secs_f64() * 1e3;
    let of_bars = mbit == 100 && (ms == 2.0 || ms == 20.0);
    let mark = if of_bars { '*' } else { ' ' };
    print!(" {mark}{mbit:4} Mb/s {ms:2.0} ms {queue:5} packets:");
    let mut clean = 0.0;
    for percent in LOSSES {
        let link = link(mbit, round_trip, queue, percent * 10.0);
        let runs: Vec<Option<f64>> = (1..=seeds)
            .map(|seed| goodput(link, seconds, seed))
            .collect();
        if runs.iter().any(Option::is_none) {
            print!("  never ends");
            continue;
        }
        let rates = runs.into_iter().flatten();
        let (least, most) = rates.fold((f64::MAX, 0.0f64), |(least, most), rate| {
            (least.min(rate), most.max(rate))
        });
        if percent == 0.0 {
            clean = most;
            print!(" {clean:6.1} Mb/s |");
        } else if seeds == 1 {
            print!(" {:.3}", least / clean);
        } else {
            print!(" {:.3}-{:.3}", least / clean, most / clean);
        }
    }
    println!();
}

fn head(seeds: u64) {
    println!(
        "goodput without loss, and the share of this goodput at {:?} % random loss in both directions",
        &LOSSES[1..]
    );
    println!(
        "(smallest and largest of {seeds} seeds; * marks links with a bound: 0.97, 0.95 and 0.88 at 0.1, 1 and 5 %)"
    );
}

/// Prints the time of 2 MB at 30 % loss, to show that it finishes.
fn heavy() {
    for ms in [2, 20] {
        let link = link(100, Duration::from_ms(ms), 167, 300.0);
        let rate = goodput(link, 0.16, 1).unwrap_or(0.0);
        println!("  2 MB at 30 % loss, {ms} ms: {:.1} s", 16.0 / rate);
    }
}

pub fn print() {
    head(3);
    for (ms, queue) in [(2, 64), (2, 17), (20, 167), (20, 64), (20, 334)] {
        line(100, Duration::from_ms(ms), queue, 20.0, 3);
    }
    heavy();
}

pub fn sweep() {
    head(1);
    for (mbit, seconds) in [(20, 20.0), (100, 20.0), (1_000, 5.0)] {
        for ms in [1, 2, 5, 20, 50] {
            let round_trip = Duration::from_ms(ms);
            for queue in packets_of(mbit, round_trip) {
                line(mbit, round_trip, queue, seconds, 1);
            }
        }
    }
}

/// Measures one link from the command line.
pub fn cell(mbit: u64, ms: u64, queue: usize, seeds: u64) {
    line(mbit, Duration::from_ms(ms), queue, 20.0, seeds);
}

//! Two long transfers at one bottleneck: SCDP and CUBIC, or two of the same kind.

use crate::bottleneck::{Bottleneck, Link, message};
use crate::hosts::{self, bdp, cubic, link, packets_of, scdp, secs};
use tailcut_transport::Transport;
use tailcut_units::{Duration, FlowId, mix64};

/// Kinds of the two transfers, in the order of their starts.
#[derive(Clone, Copy, Debug)]
enum Pair {
    /// SCDP, then CUBIC.
    First,
    /// CUBIC, then SCDP.
    Second,
    /// Two SCDP transfers.
    Own,
    /// Two CUBIC transfers, for comparison.
    Cubic,
}

/// Returns the rates in Mb/s of the first and the second transfer, during `span` seconds from the start of the second.
fn pair(pair: Pair, link: Link, span: f64, seed: u64) -> (f64, f64) {
    let hosts: Vec<Box<dyn Transport>> = (0..4)
        .map(|id| match (pair, id < 2) {
            (Pair::First, true) | (Pair::Second, false) | (Pair::Own, _) => scdp(id, &link),
            _ => cubic(id),
        })
        .collect();
    let mut world = Bottleneck::new(link, hosts, seed);
    let bytes = 1 << 40;
    // The second transfer starts 0.1 to 5 s after the first, depending on the seed.
    let gap = 0.1 * 50f64.powf(mix64(seed) as f64 / u64::MAX as f64);
    world.submit(0, message(1, 1, bytes));
    world.run_until(secs(gap));
    let before = world.delivered.get(&FlowId(1)).copied().unwrap_or(0);
    world.submit(2, message(2, 3, bytes));
    world.run_until(secs(gap + span));
    let of = |flow| world.delivered.get(&FlowId(flow)).copied().unwrap_or(0);
    let rate = |bytes: u64| bytes as f64 * 8e-6 / span;
    (rate(of(1) - before), rate(of(2)))
}

/// Returns a ratio of rates, and the fraction of the link that both transfers use.
/// The ratio is the rate of SCDP divided by the rate of CUBIC.
/// For two transfers of one kind, the ratio is the rate of the second transfer divided by the rate of the first.
fn ratio(of: Pair, link: Link, span: f64, seed: u64) -> (f64, f64) {
    let (first, second) = pair(of, link, span, seed);
    let used = (first + second) * 1e6 / link.rate.as_bps() as f64;
    match of {
        Pair::First => (first / second, used),
        _ => (second / first, used),
    }
}

/// Formats the geometric mean over all seeds, and the smallest and the largest value.
fn summary(ratios: &[f64]) -> String {
    let mean = (ratios.iter().map(|ratio| ratio.ln()).sum::<f64>() / ratios.len() as f64).exp();
    let least = ratios.iter().copied().fold(f64::MAX, f64::min);
    let most = ratios.iter().copied().fold(0.0, f64::max);
    format!("{mean:5.2} ({least:.2}-{most:.2})")
}

fn line(mbit: u64, round_trip: Duration, queue: usize, span: f64, seeds: u64) {
    let ms = round_trip.as_secs_f64() * 1e3;
    let link = link(mbit, round_trip, queue, 0.0);
    let of_path = queue as f64 / bdp(mbit, round_trip);
    let of_bars = mbit == 100 && of_path >= 1.0 && queue >= 64;
    let mark = if of_bars { '*' } else { ' ' };
    print!(" {mark}{mbit:4} Mb/s {ms:2.0} ms {queue:5} packets {of_path:4.1} BDP:");
    for of in [Pair::First, Pair::Second, Pair::Own, Pair::Cubic] {
        let runs: Vec<(f64, f64)> = (1..=seeds)
            .map(|seed| ratio(of, link, span, seed))
            .collect();
        let ratios: Vec<f64> = runs.iter().map(|run| run.0).collect();
        let used = runs.iter().map(|run| run.1).sum::<f64>() / seeds as f64;
        print!(" {:?} {} {used:.2} |", of, summary(&ratios));
    }
    println!();
}

fn head() {
    println!(
        "Over 60 s after the start of the second transfer. First, Second: rate of SCDP divided by rate of CUBIC;"
    );
    println!(
        "SCDP starts first or second. Own, Cubic: rate of the second divided by rate of the first transfer of one kind."
    );
    println!(
        "Geometric mean (range) over seeds; share of the link in use. Links with * must have ratios from 0.5 to 2."
    );
}

pub fn print() {
    head();
    for (ms, queue) in [
        (2, 17),
        (2, 33),
        (2, 64),
        (2, 128),
        (20, 64),
        (20, 167),
        (20, 334),
    ] {
        line(100, Duration::from_ms(ms), queue, 60.0, 5);
    }
}

pub fn sweep() {
    head();
    for (mbit, span, seeds) in [(20, 60.0, 5), (100, 60.0, 5), (1_000, 60.0, 2)] {
        for ms in [1, 2, 5, 20, 50] {
            let round_trip = Duration::from_ms(ms);
            if bdp(mbit, round_trip) > 2_048.0 {
                // A window has at most 4,096 symbols, so it cannot fill longer paths.
                continue;
            }
            for queue in packets_of(mbit, round_trip) {
                line(mbit, round_trip, queue, span, seeds);
            }
        }
    }
}

/// Measures one link from the command line.
pub fn cell(mbit: u64, ms: u64, queue: usize, seeds: u64) {
    line(mbit, Duration::from_ms(ms), queue, 60.0, seeds);
}

/// Runs sixteen transfers of one kind at the same time.
/// Returns the smallest and the largest rate of a transfer in Mb/s, and the percentage of dropped packets.
fn many(link: Link, seed: u64, host: impl FnMut(u32) -> Box<dyn Transport>) -> [f64; 3] {
    let mut world = hosts::crowd(link, 16, seed, host);
    world.run_until(secs(65.0));
    let rates = world
        .delivered
        .values()
        .map(|bytes| *bytes as f64 * 8e-6 / 60.0);
    let (least, most) = rates.fold((f64::MAX, 0.0f64), |(least, most), rate| {
        (least.min(rate), most.max(rate))
    });
    [least, most, hosts::dropped_share(&world) * 100.0]
}

/// Formats the smallest rate, the largest rate, and the range of the dropped percentage over all seeds.
fn many_over_seeds(link: Link, host: impl Fn(u32) -> Box<dyn Transport>) -> String {
    let runs: Vec<[f64; 3]> = (1..=6).map(|seed| many(link, seed, &host)).collect();
    let least = |what: usize| runs.iter().map(|run| run[what]).fold(f64::MAX, f64::min);
    let most = |what: usize| runs.iter().map(|run| run[what]).fold(0.0, f64::max);
    let drops = format!("{:.1}-{:.1} %", least(2), most(2));
    format!("{:.1}-{:.1} Mb/s, {drops}", least(0), most(1))
}

pub fn crowd() {
    println!(
        "16 transfers of one kind over 60 s, 100 Mb/s, 6 seeds: smallest and largest rate, share of dropped packets"
    );
    for (ms, queue) in [(2, 33), (2, 64), (20, 33), (20, 167), (50, 417)] {
        let link = link(100, Duration::from_ms(ms), queue, 0.0);
        let own = many_over_seeds(link, |id| scdp(id, &link));
        let cubic = many_over_seeds(link, cubic);
        println!("  {ms:2} ms {queue:3} packets: SCDP {own}; CUBIC {cubic}");
    }
}

//! Program that measures how often the report's 95 % intervals contain the true value: `make coverage`.
//!
//! The program runs the comparison of the demo with 4,000 seeds (about 2 CPU-hours; existing runs are reused).
//! From the 4,000 seeds, the program draws 1,000 sets of 20 seeds.
//! The program computes the report's intervals from the first 3, 6 and 10 seeds of each set, and from all 20 seeds.
//! The program prints how often an interval contains the value over all seeds, and the width of the intervals.
//! The exit code is 1 if a measured coverage or width is out of its bounds.
//!
//! A coverage from 200 disjoint sets would have a standard error of 1.5 points. With 1,000 sets, it is 0.7 points.
//! With an error of 1.5 points, one or two of fifty cells would be out of bounds by chance.
//!
//! `coverage simulate` only executes the runs, and `coverage measure` only evaluates existing runs.
//! `coverage summary FILE` writes the first 40 sets for the test.

mod measure;
mod seeds;
// The program only writes summaries. A test reads them with functions that the program does not use.
#[allow(dead_code)]
mod summary;

use measure::{Figures, SET, SIZES, Seed, cells, figures, table, truths};
use std::path::Path;
use std::process::ExitCode;
use tailcut_units::mix64;

/// Number of sets of seeds.
const SETS: u64 = 1_000;

fn main() -> anyhow::Result<ExitCode> {
    let file = Path::new("out/coverage/seeds.txt");
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let threads = std::thread::available_parallelism().map_or(1, |n| n.get());
    match words[..] {
        ["simulate"] => seeds::simulate(file, seeds::SEEDS, threads)?,
        ["measure"] => return measured(&seeds::read(file)?),
        ["summary", to] => {
            let seeds = seeds::read(file)?;
            summary::write(Path::new(to), &seeds, &truths(&seeds, &[]))?;
        }
        [] => {
            seeds::simulate(file, seeds::SEEDS, threads)?;
            return measured(&seeds::read(file)?);
        }
        _ => anyhow::bail!("found {words:?}; allowed: nothing, simulate, measure, summary FILE"),
    }
    Ok(ExitCode::SUCCESS)
}

/// Returns the estimates that each set gives when only its first `size` seeds are used.
fn of_sets(sets: &[Vec<Seed>], size: usize) -> Vec<Figures> {
    sets.iter().map(|set| figures(&set[..size])).collect()
}

/// Returns random sets of seeds. The seeds within a set differ.
fn sets(seeds: &[Seed]) -> Vec<Vec<Seed>> {
    let drawn = |set: u64| {
        let mut order: Vec<usize> = (0..seeds.len()).collect();
        order.sort_by_key(|&index| mix64(mix64(set) ^ index as u64));
        let first = order[..SET].iter();
        first.map(|&index| seeds[index].clone()).collect()
    };
    (0..SETS).map(drawn).collect()
}

fn measured(seeds: &[Seed]) -> anyhow::Result<ExitCode> {
    anyhow::ensure!(
        seeds.len() >= SET,
        "{} seeds are there; {SET} or more are needed",
        seeds.len()
    );
    let sets = sets(seeds);
    let mut all = Vec::new();
    for size in SIZES {
        let found = of_sets(&sets, size);
        all.extend(cells(size, &found, &truths(seeds, &found)));
    }
    println!(
        "{SETS} sets of {SET} of {} seeds: the share of intervals that hold, and their median width over the \
         middle 95 % of the sets' own values\n",
        seeds.len()
    );
    print!("{}", table(&all));
    let as_wanted = all.iter().all(measure::Cell::is_as_wanted);
    Ok(if as_wanted {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}

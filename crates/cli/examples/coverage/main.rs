//! Measures how often the report's 95 % intervals hold: `make coverage`.
//!
//! Runs the demo's comparison with 4,000 seeds (some 2 CPU-hours; what is there already is kept) and
//! draws 1,000 sets of 20 of them. Estimates the first 3, 6 and 10 seeds of each set, and all 20, as
//! the report does. Prints how often the interval holds the figure of all seeds together, and how
//! wide it is. Exits 1 where a cell is not as wanted.
//!
//! The 200 sets that share no seed would tell a coverage to 1.5 points only (standard error): of
//! fifty cells one or two would be out of bounds by chance. 1,000 sets tell it to 0.7.
//!
//! `coverage simulate` only runs, `coverage measure` only measures what is there, `coverage
//! summary FILE` writes the first 40 sets for the test.

mod measure;
mod seeds;
// The test reads what this program writes.
#[allow(dead_code)]
mod summary;

use measure::{Figures, SET, SIZES, Seed, cells, figures, table, truths};
use std::path::Path;
use std::process::ExitCode;
use tailcut_units::mix64;

/// The sets that are drawn.
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

/// The figures of the first `size` seeds of every set.
fn of_sets(sets: &[Vec<Seed>], size: usize) -> Vec<Figures> {
    sets.iter().map(|set| figures(&set[..size])).collect()
}

/// Sets of different seeds each, drawn at random.
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

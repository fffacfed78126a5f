//! Measures how often the report's 95 % intervals hold: `make coverage`.
//!
//! Runs the demo's comparison with 4,000 seeds (some 2 CPU-hours; what is there already is kept),
//! cuts them into 200 sets of 20, and estimates the first 6, 10 and 20 seeds of each set as the
//! report does. Prints how often the interval holds the figure of all seeds together, and how wide
//! it is. Exits 1 where a cell is not as wanted.
//!
//! `coverage simulate` only runs, `coverage measure` only measures what is there, `coverage
//! summary FILE` writes the first 40 sets for the test.

mod measure;
mod seeds;
mod summary;

use measure::{Figures, SET, SIZES, Seed, cells, figures, table, truths};
use std::path::Path;
use std::process::ExitCode;

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
            let truths = truths(&seeds, &of_sets(&seeds, 10));
            summary::write(Path::new(to), &seeds, &truths)?;
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
fn of_sets(seeds: &[Seed], size: usize) -> Vec<Figures> {
    let sets = seeds.chunks_exact(SET);
    sets.map(|set| figures(&set[..size])).collect()
}

fn measured(seeds: &[Seed]) -> anyhow::Result<ExitCode> {
    let truths = truths(seeds, &of_sets(seeds, 10));
    let cells: Vec<_> = SIZES
        .into_iter()
        .flat_map(|size| cells(size, &of_sets(seeds, size), &truths))
        .collect();
    println!(
        "{} sets of {SET} of {} seeds: the share of intervals that hold, and their median width over the \
         middle 95 % of the sets' own values\n",
        seeds.len() / SET,
        seeds.len()
    );
    print!("{}", table(&cells));
    let as_wanted = cells.iter().all(measure::Cell::is_as_wanted);
    Ok(if as_wanted {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}

//! Measures how often the report's 95 % intervals hold: `make coverage`.

mod seeds;

use std::path::Path;

fn main() -> anyhow::Result<()> {
    let file = Path::new("out/coverage/seeds.txt");
    let threads = std::thread::available_parallelism().map_or(1, |n| n.get());
    seeds::simulate(file, seeds::SEEDS, threads)
}

//! What a lab achieves on this machine: `tailcut bench lab-*`.

mod datagrams;
mod figure;
mod flows;

pub use figure::{Figure, Wanted};

use anyhow::{Result, bail};

type Bench = fn() -> Result<Vec<Figure>>;

/// The benches.
const BENCHES: [(&str, Bench); 4] = [
    ("lab-udp", datagrams::lone),
    ("lab-queue", datagrams::queue),
    ("lab-tcp", flows::one),
    ("lab-12x100M", flows::twelve),
];

/// The names of all benches.
pub fn names() -> impl Iterator<Item = &'static str> {
    BENCHES.iter().map(|(name, _)| *name)
}

/// Runs a bench. [`crate::prepare`] has to have been called, before there were threads.
///
/// # Errors
/// There is no such bench, or the system refuses.
pub fn run(name: &str) -> Result<Vec<Figure>> {
    match BENCHES.iter().find(|(known, _)| *known == name) {
        Some((_, bench)) => bench(),
        None => bail!("{name}: no bench of the lab"),
    }
}

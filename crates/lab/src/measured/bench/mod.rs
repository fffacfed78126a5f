//! What a lab achieves on this machine: `tailcut bench lab-*`.

mod datagrams;
mod figure;
mod flows;
mod objects;
mod thin;

pub use figure::{Figure, Wanted};

use anyhow::{Result, bail};

type Bench = fn() -> Result<Vec<Figure>>;

/// The benches.
const BENCHES: [(&str, Bench); 10] = [
    ("lab-udp", datagrams::lone),
    ("lab-queue", datagrams::queue),
    ("lab-tcp", flows::one),
    ("lab-12x100M", flows::twelve),
    ("lab-scdp-loss-2ms", || objects::loss(2)),
    ("lab-scdp-loss-20ms", || objects::loss(20)),
    ("lab-scdp-shares-2ms", || objects::shares(2, 64)),
    ("lab-scdp-shares-20ms", || objects::shares(20, 167)),
    ("lab-scdp-incast", objects::incast),
    ("lab-scdp-group", objects::group),
];

/// The names of all benches.
pub fn names() -> impl Iterator<Item = &'static str> {
    BENCHES.iter().map(|(name, _)| *name)
}

/// Runs a bench so many times. [`crate::prepare`] has to have been called, before there were threads.
///
/// # Errors
/// There is no such bench, or the system refuses.
pub fn run(name: &str, times: usize) -> Result<Vec<Figure>> {
    let Some((_, bench)) = BENCHES.iter().find(|(known, _)| *known == name) else {
        bail!("{name}: no bench of the lab");
    };
    let runs = (0..times).map(|_| bench());
    Ok(figure::merge(runs.collect::<Result<_>>()?))
}

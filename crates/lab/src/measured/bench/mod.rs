//! Benches of a lab's performance on this machine (`tailcut bench lab-*`).

mod datagrams;
mod figure;
mod flows;
mod objects;
mod slow_link;

pub use figure::{Figure, Wanted};

use anyhow::{Result, bail};

type Bench = fn() -> Result<Vec<Figure>>;

/// All benches, each with its name.
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

/// Returns the names of all benches.
pub fn names() -> impl Iterator<Item = &'static str> {
    BENCHES.iter().map(|(name, _)| *name)
}

/// Runs a bench `times` times. Call [`crate::prepare`] first, before this process starts threads.
///
/// # Errors
/// The bench does not exist, or the kernel rejects a call.
pub fn run(name: &str, times: usize) -> Result<Vec<Figure>> {
    let Some((_, bench)) = BENCHES.iter().find(|(known, _)| *known == name) else {
        bail!(
            "found the bench {name}; allowed: {}",
            names().collect::<Vec<_>>().join(", ")
        );
    };
    let runs = (0..times).map(|_| bench());
    Ok(figure::merge(runs.collect::<Result<_>>()?))
}

//! `--sensitivity`: the same runs with timers and buffers halved and doubled, one at a time, and whether
//! the order of the designs holds.

use crate::conduct::conduct;
use crate::failure::Failure;
use crate::output::note;
use crate::pool::Pool;
use std::path::Path;
use tailcut_report::{Variant, order, write_variants};
use tailcut_scenario::Study;
use tailcut_scenario::record::Earlier;
use tailcut_study::VARIATIONS;

/// Runs a finished study again with each change, into directories below its own, and keeps the order of the
/// designs beside it.
///
/// # Errors
/// As [`conduct`]; [`Failure::Interrupted`] when it was stopped.
pub fn vary(study: &Study, dir: &Path, earlier: Earlier, pool: Pool<'_>) -> Result<(), Failure> {
    let mut variants = Vec::new();
    for variation in VARIATIONS {
        note(&format!("the same with {}", variation.what));
        let varied = variation.of(study);
        let dir = dir.join("sensitivity").join(variation.name);
        let conducted = conduct(&varied, dir, earlier, pool, None)?;
        if conducted.runs.iter().any(Option::is_none) {
            return Err(Failure::Interrupted);
        }
        let loaded = tailcut_report::load(conducted.output.path())?;
        variants.push(Variant {
            what: variation.what.to_owned(),
            order: order(&loaded),
        });
    }
    Ok(write_variants(dir, &variants)?)
}

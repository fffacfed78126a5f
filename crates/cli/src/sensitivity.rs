//! `--sensitivity`: repeats all runs with halved and doubled timers and buffers, one change at a time.
//! The module records whether the order of the designs stays the same.

use crate::execution::execute_study;
use crate::failure::Failure;
use crate::output::note;
use crate::pool::Pool;
use std::path::Path;
use tailcut_report::{Variant, order, write_variants};
use tailcut_scenario::Study;
use tailcut_scenario::record::Earlier;
use tailcut_study::VARIATIONS;

/// Repeats a finished study with each change, in subdirectories of its directory.
/// Writes the order of the designs for each change to the study's directory.
///
/// # Errors
/// The errors of [`execute_study`]. After an interruption, the error is [`Failure::Interrupted`].
pub fn vary(study: &Study, dir: &Path, earlier: Earlier, pool: Pool<'_>) -> Result<(), Failure> {
    let mut variants = Vec::new();
    for variation in VARIATIONS {
        note(&format!("repetition with {}", variation.what));
        let varied = variation.of(study);
        let dir = dir.join("sensitivity").join(variation.name);
        let executed = execute_study(&varied, dir, earlier, pool, None)?;
        if executed.runs.iter().any(Option::is_none) {
            return Err(Failure::Interrupted);
        }
        let loaded = tailcut_report::load(executed.output.path())?;
        variants.push(Variant {
            what: variation.what.to_owned(),
            order: order(&loaded),
        });
    }
    Ok(write_variants(dir, &variants)?)
}

//! Order of the designs for each change of timers or buffers, and the file that stores the orders.

use serde::{Deserialize, Serialize};
use std::path::Path;
use tailcut_record::Error;

/// Name of the file with the results for other timers and buffers. The file is next to the study's manifest.
pub const FILE: &str = "sensitivity.json";

/// Rank of a design with one choice of timers and buffers.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Ranked {
    /// Name of the design.
    pub design: String,
    /// 99th percentile of the answer's group, in microseconds; `None` if the percentile falls among unfinished flows.
    pub p99_us: Option<f64>,
    /// 95 % confidence interval in microseconds; `None` without an interval.
    pub interval_us: Option<(f64, f64)>,
}

/// Order of the designs with one choice of timers and buffers.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Variant {
    /// Difference from the usual values, such as "timers halved".
    pub what: String,
    /// Designs in ascending order of their tail.
    pub order: Vec<Ranked>,
}

/// Writes the variants next to the study in `dir`, so that the study's report shows them.
///
/// # Errors
/// [`Error::Io`] if the file cannot be written.
pub fn write_variants(dir: impl AsRef<Path>, variants: &[Variant]) -> Result<(), Error> {
    tailcut_record::write_json(&dir.as_ref().join(FILE), &variants)
}

/// Returns the variants next to the study in `dir`. The list is empty if the file does not exist.
pub(crate) fn read(dir: &Path) -> Result<Vec<Variant>, Error> {
    let path = dir.join(FILE);
    match path.exists() {
        true => tailcut_record::read_json(&path),
        false => Ok(Vec::new()),
    }
}

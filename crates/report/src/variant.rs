//! The order of the designs under other timers and buffers, and the file that keeps it.

use serde::{Deserialize, Serialize};
use std::path::Path;
use tailcut_record::Error;

/// The file beside a study's manifest that keeps what other timers and buffers did.
pub const FILE: &str = "sensitivity.json";

/// A design's place under one choice of timers and buffers.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Ranked {
    /// The design.
    pub design: String,
    /// The 99th percentile of what the answer is about, in microseconds; `None` where it falls among what
    /// did not finish.
    pub p99_us: Option<f64>,
    /// Its 95 % confidence interval, where there is one.
    pub interval_us: Option<(f64, f64)>,
}

/// The designs under one choice of timers and buffers.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Variant {
    /// What differs, such as "timers halved".
    pub what: String,
    /// The designs, the shortest tail first.
    pub order: Vec<Ranked>,
}

/// Keeps the variants beside the study in `dir`, so that its report tells of them.
///
/// # Errors
/// [`Error::Io`] where the system refuses.
pub fn write_variants(dir: impl AsRef<Path>, variants: &[Variant]) -> Result<(), Error> {
    tailcut_record::write_json(&dir.as_ref().join(FILE), &variants)
}

/// The variants beside the study in `dir`; none where there is no such file.
pub(crate) fn read(dir: &Path) -> Result<Vec<Variant>, Error> {
    let path = dir.join(FILE);
    match path.exists() {
        true => tailcut_record::read_json(&path),
        false => Ok(Vec::new()),
    }
}

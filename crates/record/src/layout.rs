//! Names of a study's files, and the contents of `run.json`.

use crate::manifest::Origin;
use crate::run::RunSummary;
use serde::{Deserialize, Serialize};

pub(crate) const MANIFEST: &str = "manifest.json";
pub(crate) const RUNS: &str = "runs";
/// Directory of runs that the current study does not plan.
pub(crate) const KEPT: &str = "kept";
pub(crate) const RUN: &str = "run.json";
/// Directory of captures.
pub(crate) const CAPTURES: &str = "captures";
/// Extension of captures.
pub(crate) const CAPTURE: &str = "pcapng";

/// Format of a study's tables.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum TableFormat {
    /// Apache Parquet with Snappy.
    #[default]
    Parquet,
    /// Comma-separated values with a header line.
    Csv,
}

impl TableFormat {
    /// All formats.
    pub const ALL: [Self; 2] = [Self::Parquet, Self::Csv];

    /// Returns the extension of file names.
    pub const fn extension(self) -> &'static str {
        match self {
            Self::Parquet => "parquet",
            Self::Csv => "csv",
        }
    }
}

/// Contents of `run.json`: summary, classes, and the checksums of all tables in the same directory.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub(crate) struct RunFile {
    #[serde(flatten)]
    pub summary: RunSummary,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub origin: Option<Origin>,
    pub classes: Vec<String>,
    pub tables: Vec<TableFile>,
}

/// File of a table with its length in bytes and its XXH3-128 hash.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub(crate) struct TableFile {
    pub name: String,
    pub rows: u64,
    pub bytes: u64,
    pub xxh3_128: String,
}

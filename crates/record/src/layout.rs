//! What the files of a study are called, and what `run.json` holds.

use crate::manifest::Origin;
use crate::run::RunSummary;
use serde::{Deserialize, Serialize};

pub(crate) const MANIFEST: &str = "manifest.json";
pub(crate) const RUNS: &str = "runs";
/// Where runs of earlier studies are kept.
pub(crate) const KEPT: &str = "kept";
pub(crate) const RUN: &str = "run.json";
/// Where captures are.
pub(crate) const CAPTURES: &str = "captures";
/// What their names end in.
pub(crate) const CAPTURE: &str = "pcapng";

/// The format of a study's tables.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum TableFormat {
    /// Apache Parquet with Snappy.
    #[default]
    Parquet,
    /// Comma-separated values with a header line.
    Csv,
}

impl TableFormat {
    /// Both formats.
    pub const ALL: [Self; 2] = [Self::Parquet, Self::Csv];

    /// The file name's extension.
    pub const fn extension(self) -> &'static str {
        match self {
            Self::Parquet => "parquet",
            Self::Csv => "csv",
        }
    }
}

/// `run.json`: the summary, the classes, and a check on every table beside it.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub(crate) struct RunFile {
    #[serde(flatten)]
    pub summary: RunSummary,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub origin: Option<Origin>,
    pub classes: Vec<String>,
    pub tables: Vec<TableFile>,
}

/// A table's file, its length in bytes and its XXH3-128.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub(crate) struct TableFile {
    pub name: String,
    pub rows: u64,
    pub bytes: u64,
    pub xxh3_128: String,
}

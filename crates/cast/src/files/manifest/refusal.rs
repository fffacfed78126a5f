//! Errors of manifests.

use std::fmt;

/// Violation of the format of manifests.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{location}: {why}")]
pub struct ManifestError {
    /// Location of the violation.
    pub location: Location,
    /// Value found, and values allowed.
    pub why: String,
}

/// Location in a manifest.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Location {
    /// The header.
    Header,
    /// Page with this number, counted from 0.
    Page(u64),
    /// Entry with this number, counted from 0.
    Entry(u64),
}

impl ManifestError {
    /// Creates an error at a location.
    pub fn new(location: Location, why: impl Into<String>) -> Self {
        let why = why.into();
        Self { location, why }
    }
}

impl fmt::Display for Location {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Header => f.write_str("header"),
            Self::Page(page) => write!(f, "page {page}"),
            Self::Entry(entry) => write!(f, "entry {entry}"),
        }
    }
}

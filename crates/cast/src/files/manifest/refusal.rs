//! Errors of manifests.

use std::fmt;

/// Violation of the format of manifests.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{place}: {why}")]
pub struct ManifestError {
    /// Place of the violation.
    pub place: Place,
    /// Value found, and values allowed.
    pub why: String,
}

/// Place in a manifest.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Place {
    /// The header.
    Header,
    /// Page with this number, counted from 0.
    Page(u64),
    /// Entry with this number, counted from 0.
    Entry(u64),
}

impl ManifestError {
    /// Creates an error at a place.
    pub fn new(place: Place, why: impl Into<String>) -> Self {
        let why = why.into();
        Self { place, why }
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Header => f.write_str("header"),
            Self::Page(page) => write!(f, "page {page}"),
            Self::Entry(entry) => write!(f, "entry {entry}"),
        }
    }
}

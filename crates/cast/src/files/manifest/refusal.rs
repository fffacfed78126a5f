//! Errors about manifests that violate the format.

use std::fmt;

/// Violation of the format of manifests.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{location}: {why}")]
pub struct ManifestError {
    /// Place in the manifest that violates the format.
    pub location: Location,
    /// The value that was found, and the allowed values, as text.
    pub why: String,
}

/// Place in a manifest.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Location {
    /// The header.
    Header,
    /// The page with this number, counted from 0.
    Page(u64),
    /// The entry with this number, counted from 0.
    Entry(u64),
}

impl ManifestError {
    /// Creates an error about this place in a manifest.
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

//! How a manifest breaks the rules.

use std::fmt;

/// How a manifest breaks the rules.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ManifestError {
    /// Where.
    pub place: Place,
    /// What was found, and what is allowed.
    pub why: String,
}

/// A place in a manifest.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Place {
    /// The header.
    Header,
    /// A page, from 0.
    Page(u64),
    /// An entry, from 0.
    Entry(u64),
}

impl ManifestError {
    /// Says what is wrong at a place.
    pub fn new(place: Place, why: impl Into<String>) -> Self {
        let why = why.into();
        Self { place, why }
    }
}

impl fmt::Display for ManifestError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.place {
            Place::Header => write!(f, "header: {}", self.why),
            Place::Page(page) => write!(f, "page {page}: {}", self.why),
            Place::Entry(entry) => write!(f, "entry {entry}: {}", self.why),
        }
    }
}

impl std::error::Error for ManifestError {}

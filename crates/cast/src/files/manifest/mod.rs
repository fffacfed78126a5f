//! The manifest of a transfer: names, sizes, modes, times, byte by byte as in `docs/wire/manifest.md`.
//!
//! A manifest is a [`Header`] and pages of [`PAGE`] bytes, each readable alone. Entries come in the order
//! of a walk that visits a directory before what is in it, and names by their bytes; so there can be no
//! duplicates, and checking takes memory for one path only ([`Order`]). An entry has one name and the
//! number of directories above it, never a path: `..` and absolute paths cannot be said.

mod bytes;
mod entry;
mod header;
mod order;
mod page;
mod writer;

pub use entry::{Entry, Metadata, Owner, What, Xattrs};
pub use header::{Content, Header, LARGEST_SLAB, Layout, MOST_SLABS, SLAB_LOG2, SlabPlace};
pub use order::{LONGEST_NAME, LONGEST_PATH, Order};
pub use page::{FRONT, LARGEST_ENTRY, PAGE, Page, Reader};
pub use writer::Writer;

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
    pub(super) fn new(place: Place, why: impl Into<String>) -> Self {
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

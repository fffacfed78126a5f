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
mod refusal;
mod writer;

pub use entry::{Entry, Metadata, Owner, What, Xattrs};
pub use header::{Content, Header, LARGEST_SLAB, Layout, MOST_SLABS, SLAB_LOG2, SlabPlace};
pub use order::{LONGEST_NAME, LONGEST_PATH, Order};
pub use page::{FRONT, LARGEST_ENTRY, PAGE, Page, Reader};
pub use refusal::{ManifestError, Place};
pub use writer::Writer;

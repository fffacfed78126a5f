//! Manifest of a transfer. It contains the names, sizes, modes and times of all files.
//! `docs/wire/manifest.md` describes the format.
//!
//! A manifest consists of a [`Header`] and pages of [`PAGE`] bytes. Each page can be decoded without the other pages.
//! A directory comes before its contents, and the names in a directory are in byte order.
//! So duplicates are impossible, and a check of the order needs memory for only one path ([`Order`]).
//! An entry has one name and the number of directories above it, but no path.
//! So an entry cannot contain `..` or an absolute path.

mod bytes;
mod entry;
mod header;
mod order;
mod page;
mod refusal;
mod writer;

pub use entry::{Entry, Metadata, Owner, What, Xattrs};
pub use header::{Content, Header, LARGEST_SLAB, Layout, MOST_SLABS, SLAB_LOG2, SlabLocation};
pub use order::{LONGEST_NAME, LONGEST_PATH, Order, STATE_FOLDER, is_reserved};
pub use page::{FRONT, LARGEST_ENTRY, PAGE, Page, Reader};
pub use refusal::{Location, ManifestError};
pub use writer::Writer;

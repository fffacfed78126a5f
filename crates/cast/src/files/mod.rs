//! Files, trees and streams as sequences of slabs with hashes.
//!
//! A transfer is a sequence of **slabs**, numbered from 0. A slab has at most [`LARGEST_SLAB`] bytes.
//! The first slabs contain the [`manifest`]: names, sizes, modes and times.
//! The other slabs contain the contents of all files, one after another.
//! In each part, all slabs have the same size, except the last one, which may be shorter.
//!
//! This module does not use the network. A driver reads slabs from a [`Source`] and passes them to a [`Sink`]:
//!
//! ```
//! use tailcut_cast::files::{FileSink, FileSource, Next, Pool, ScanOptions, Sink, SinkOptions, Source};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let (from, to) = (tempfile::tempdir()?, tempfile::tempdir()?);
//! let (file, copy) = (from.path().join("weights"), to.path().join("weights"));
//! std::fs::write(&file, [7; 100_000])?;
//! let mut source = FileSource::open(&file, &ScanOptions::default(), &mut |_| ())?;
//! let mut sink = FileSink::new(to.path(), SinkOptions::default())?;
//!
//! // Memory is limited to three slabs at the same time.
//! let pool = Pool::new(3);
//! loop {
//!     match sink.next()? {
//!         Next::Fetch(slab) => {
//!             let mut buffer = pool.take();
//!             let label = source.read(slab, &mut buffer)?;
//!             // A real driver sends the label and the bytes over the network here.
//!             sink.deliver(label, buffer)?;
//!         }
//!         Next::Kept { .. } => {}
//!         Next::Wait => unreachable!("every slab is delivered at once"),
//!         Next::End => break,
//!     }
//! }
//! sink.finish(&source.root()?)?;
//! assert_eq!(std::fs::read(copy)?, [7; 100_000]);
//! # Ok(())
//! # }
//! ```
//!
//! Guarantees:
//! - A slab is accepted only if its hash matches ([`hash`]). The root verifies the whole transfer.
//!   The root of a file or a stream is the hash that `b3sum` prints.
//! - No manifest can cause a write outside of the given directory.
//!   Data gets its final name only after all of it is verified.
//!   Until then it is in the folder `.tailcut` of the directory. No file of another program is changed or removed.
//! - Verified slabs survive `kill -9` and a full disk, and the next transfer continues with them.
//! - Memory does not grow with the number of files, because the manifest is on disk and is read page by page.

mod attributes;
mod below;
mod destination;
mod error;
mod escaped;
mod exclude;
pub mod hash;
mod listing;
pub mod manifest;
mod part;
mod pool;
mod records;
mod scan;
mod sink;
mod source;
mod spool;
mod stream_end;
mod stream_sink;
mod there;
mod transfer;

pub use attributes::Keep;
pub use error::{Error, Failure};
pub use escaped::Escaped;
pub use exclude::Exclude;
pub use hash::{Hash, SlabHashes};
pub use manifest::LARGEST_SLAB;
pub use pool::{Buffer, Pool};
pub use scan::{Note, ScanOptions};
pub use sink::{FileSink, SinkOptions};
pub use source::{FileSource, StreamSource};
pub use spool::Item;
pub use stream_sink::StreamSink;
pub use transfer::{Amount, Delivered, Label, Next, RETRY, Sink, Source};

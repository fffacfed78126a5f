//! Files, trees and streams as sequences of slabs with hashes, on disk.
//!
//! A transfer is a sequence of **slabs**, numbered from 0. A slab has at most [`LARGEST_SLAB`] bytes.
//! The first slabs carry the [`manifest`]: names, sizes, modes, times. The others carry the contents of
//! all files, one after the other, so that every slab but the last one of each part is full.
//!
//! The network does not appear here. A driver takes slabs from a [`Source`] and gives them to a
//! [`Sink`]:
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
//! // Bounded memory: no more than three slabs at once.
//! let pool = Pool::new(3);
//! loop {
//!     match sink.next()? {
//!         Next::Fetch(slab) => {
//!             let mut buffer = pool.take();
//!             let label = source.read(slab, &mut buffer)?;
//!             // Here the network comes in: the label and the bytes travel.
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
//! What holds:
//! - A slab is delivered only if its hash agrees ([`hash`]). The root closes the transfer; for a file or
//!   a stream it is what `b3sum` prints.
//! - Nothing is written outside of the directory that was named, whatever a manifest says, and nothing
//!   takes its place before all of it is verified.
//! - What is verified survives `kill -9` and a full disk, and the next transfer goes on from there.
//! - Memory does not grow with the number of files: a manifest lies on disk and is read by pages.

mod attributes;
mod below;
mod error;
mod exclude;
pub mod hash;
mod listing;
pub mod manifest;
mod part;
mod place;
mod pool;
mod records;
mod scan;
mod sink;
mod source;
mod spool;
mod stream_sink;
mod transfer;

pub use attributes::Keep;
pub use error::{Error, Failure};
pub use exclude::Exclude;
pub use hash::Hash;
pub use manifest::LARGEST_SLAB;
pub use pool::{Buffer, Pool};
pub use scan::{Note, ScanOptions};
pub use sink::{FileSink, SinkOptions};
pub use source::{FileSource, StreamSource};
pub use spool::Item;
pub use stream_sink::StreamSink;
pub use transfer::{Amount, Delivered, Label, Next, Sink, Source};

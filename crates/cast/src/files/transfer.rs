//! Traits between files and a driver: a source of slabs, and a sink of slabs.

use super::error::Error;
use super::hash::{Hash, SlabHashes};
use super::manifest::Header;
use super::pool::Buffer;
use std::path::PathBuf;
use std::time::Duration;

/// Description of a slab, which is sent with the slab.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Label {
    /// Number of the slab.
    pub slab: u32,
    /// Size of the slab in bytes.
    pub length: u32,
    /// Whether the slab is the last one of the transfer.
    pub last: bool,
    /// Hash of the slab if it is a part of the data.
    pub hash: Hash,
}

/// Size and progress of a transfer.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Amount {
    /// Size of all slabs in bytes. `None` for a stream until its end.
    pub total: Option<u64>,
    /// Number of bytes of verified slabs, including slabs that were kept from an earlier transfer.
    pub verified: u64,
    /// Number of bytes of slabs that were kept from an earlier transfer.
    pub kept: u64,
}

/// Source of slabs, which a sender reads. All calls may block on a disk.
pub trait Source: Send {
    /// Returns the header of the manifest.
    fn header(&self) -> &Header;

    /// Returns the size of all slabs in bytes, or `None` if it is not known yet.
    fn total(&self) -> Option<u64>;

    /// Reads a slab into a buffer and sets the buffer's length.
    /// Slabs of files may be read in any order and several times.
    /// Slabs of a stream must be read in order, and only once.
    ///
    /// # Errors
    /// The disk reports an error, a file has changed, or the slab does not exist.
    fn read(&mut self, slab: u32, buffer: &mut Vec<u8>) -> Result<Label, Error>;

    /// Hashes one slab that no receiver has requested. Returns `false` if there is no such slab.
    /// The root needs the hashes of all slabs.
    /// An idle sender calls this function, so that [`Source::root`] needs less time later.
    ///
    /// # Errors
    /// Same as [`Source::read`].
    fn hash_ahead(&mut self, buffer: &mut Vec<u8>) -> Result<bool, Error>;

    /// Returns the root of all data. Reads all slabs that were not read before.
    ///
    /// # Errors
    /// Same as [`Source::read`].
    fn root(&mut self) -> Result<Hash, Error>;

    /// Returns the hashes of all slabs of contents, for a replica. Call [`Source::root`] first.
    ///
    /// # Errors
    /// The disk reports an error, or the source is a stream, which no replica can serve.
    fn slab_hashes(&mut self) -> Result<SlabHashes, Error>;
}

/// Next step of a receiver, which [`Sink::next`] returns.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Next {
    /// Request the slab with this number.
    Fetch(u32),
    /// A slab was kept from an earlier transfer and is verified. Call [`Sink::next`] again.
    Kept {
        /// Number of the slab.
        slab: u32,
        /// Size of the slab in bytes.
        bytes: u32,
    },
    /// A requested slab must be delivered before further slabs can be requested.
    Wait,
    /// All slabs have arrived or are requested.
    End,
}

/// Time after which a slab is requested again, because another transfer uses the files.
pub const RETRY: Duration = Duration::from_millis(500);

/// Result of delivering a slab to a sink.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Delivered {
    /// The slab is verified and stored.
    Verified,
    /// The hash of the slab is wrong. [`Sink::next`] will request the slab again.
    Mismatch,
    /// Another transfer of the same data uses the files. [`Sink::next`] will request the slab again.
    /// Call it after [`RETRY`].
    InUse,
}

/// Sink of slabs, into which a receiver writes. All calls may block on a disk.
/// After an error other than [`Error::Slab`], no further slab can be delivered.
/// Verified slabs are kept for the next transfer.
pub trait Sink: Send {
    /// Returns the next step. Slabs are requested in ascending order.
    /// Each call verifies at most one slab of an earlier transfer.
    ///
    /// # Errors
    /// The disk reports an error.
    fn next(&mut self) -> Result<Next, Error>;

    /// Verifies and stores a slab. Requested slabs may arrive in any order.
    ///
    /// # Errors
    /// The disk reports an error, or the slab is not allowed.
    fn deliver(&mut self, label: Label, buffer: Buffer) -> Result<Delivered, Error>;

    /// Returns the size and the progress of this transfer.
    fn amount(&self) -> Amount;

    /// Returns the final path of the data. `None`: the path is not known yet, or the data is not a file.
    fn destination(&self) -> Option<PathBuf> {
        None
    }

    /// Gives the received data its final name. Fails if the root does not match.
    ///
    /// # Errors
    /// Slabs are missing, the root does not match, or the disk reports an error.
    fn finish(&mut self, root: &Hash) -> Result<(), Error>;
}

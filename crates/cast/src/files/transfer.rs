//! Traits between files and a driver: source of slabs, and sink of slabs.

use super::error::Error;
use super::hash::Hash;
use super::manifest::Header;
use super::pool::Buffer;

/// Label that is sent with a slab.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Label {
    /// Number of the slab.
    pub slab: u32,
    /// Bytes of the slab.
    pub length: u32,
    /// Whether the slab is the last one of the transfer.
    pub last: bool,
    /// Hash of the slab as a part of the data.
    pub hash: Hash,
}

/// Size and progress of a transfer.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Amount {
    /// Bytes of all slabs. For a stream, their number is known only at its end.
    pub total: Option<u64>,
    /// Bytes of verified slabs, including slabs kept from an earlier transfer.
    pub verified: u64,
    /// Bytes of slabs kept from an earlier transfer.
    pub kept: u64,
}

/// Source of slabs for a sender. All calls may block on a disk.
pub trait Source: Send {
    /// Returns the manifest's header.
    fn header(&self) -> &Header;

    /// Returns the number of bytes of all slabs, or `None` if it is not known.
    fn total(&self) -> Option<u64>;

    /// Reads a slab into a buffer and sets the buffer's length. Slabs of files may be read in any
    /// order and several times. Slabs of a stream must be read in order and once.
    ///
    /// # Errors
    /// The disk reports an error, a file has changed, or the slab does not exist.
    fn read(&mut self, slab: u32, buffer: &mut Vec<u8>) -> Result<Label, Error>;

    /// Hashes a slab that no receiver has requested. Returns whether there was such a slab. The root needs
    /// the hashes of all slabs. An idle sender calls this function, so that [`Source::root`] needs less time.
    ///
    /// # Errors
    /// Same as [`Source::read`].
    fn hash_ahead(&mut self, buffer: &mut Vec<u8>) -> Result<bool, Error>;

    /// Returns the root of all data. Reads the slabs that were not read before.
    ///
    /// # Errors
    /// Same as [`Source::read`].
    fn root(&mut self) -> Result<Hash, Error>;
}

/// Next step of a receiver.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Next {
    /// Fetch the slab with this number.
    Fetch(u32),
    /// This slab is verified and was kept from an earlier transfer. Call [`Sink::next`] again.
    Kept {
        /// Number of the slab.
        slab: u32,
        /// Bytes of the slab.
        bytes: u32,
    },
    /// No further slab can be requested until a requested slab is delivered.
    Wait,
    /// All slabs have arrived or were requested.
    End,
}

/// Result of the delivery of a slab.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Delivered {
    /// The slab is stored.
    Verified,
    /// The slab does not match its hash. [`Sink::next`] will return it again.
    Mismatch,
}

/// Sink of slabs for a receiver. All calls may block on a disk. After any error except
/// [`Error::Slab`], no further slab can be delivered. Verified slabs are kept for the next
/// transfer.
pub trait Sink: Send {
    /// Returns the next slab to fetch, in ascending order. Each call verifies at most one slab of
    /// an earlier transfer.
    ///
    /// # Errors
    /// The disk reports an error.
    fn next(&mut self) -> Result<Next, Error>;

    /// Checks and stores a slab. Requested slabs may arrive in any order.
    ///
    /// # Errors
    /// The disk reports an error, or the slab is not allowed.
    fn deliver(&mut self, label: Label, buffer: Buffer) -> Result<Delivered, Error>;

    /// Returns the size and the progress of the transfer.
    fn amount(&self) -> Amount;

    /// Gives the received data its final name, if the root matches.
    ///
    /// # Errors
    /// Slabs are missing, the root does not match, or the disk reports an error.
    fn finish(&mut self, root: &Hash) -> Result<(), Error>;
}

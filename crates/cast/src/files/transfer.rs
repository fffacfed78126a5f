//! What a driver sees of files: a source of slabs and a sink for them.

use super::error::Error;
use super::hash::Hash;
use super::manifest::Header;
use super::pool::Buffer;

/// What travels with a slab.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Label {
    /// The slab's number.
    pub slab: u32,
    /// Its bytes.
    pub length: u32,
    /// Whether it is the last one of the transfer.
    pub last: bool,
    /// Its hash as a part.
    pub hash: Hash,
}

/// How much there is to do.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Amount {
    /// Bytes of all slabs; of a stream known only at its end.
    pub total: Option<u64>,
    /// Bytes of the slabs that are verified, from an earlier transfer too.
    pub verified: u64,
    /// Those of an earlier transfer.
    pub kept: u64,
}

/// Gives slabs to a sender. All calls may wait for a disk.
pub trait Source: Send {
    /// The manifest's header.
    fn header(&self) -> &Header;

    /// Bytes of all slabs, if they are known.
    fn total(&self) -> Option<u64>;

    /// Puts a slab into a buffer, whose length is the slab's then. Slabs of files may be read in any
    /// order and again; those of a stream in order and once.
    ///
    /// # Errors
    /// Where the disk refuses, where a file has changed, and for a slab that is not there.
    fn read(&mut self, slab: u32, buffer: &mut Vec<u8>) -> Result<Label, Error>;

    /// Hashes one of the slabs that nobody has asked for, which the root needs: whether there was one.
    /// For a sender with nothing else to do, so that [`Source::root`] need not do it all.
    ///
    /// # Errors
    /// As [`Source::read`].
    fn hash_ahead(&mut self, buffer: &mut Vec<u8>) -> Result<bool, Error>;

    /// The root of all that is sent. Reads what has not been read yet.
    ///
    /// # Errors
    /// As [`Source::read`].
    fn root(&mut self) -> Result<Hash, Error>;
}

/// What a receiver does next.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Next {
    /// Fetch this slab.
    Fetch(u32),
    /// This slab is here already, verified: ask again.
    Kept {
        /// The slab's number.
        slab: u32,
        /// Its bytes.
        bytes: u32,
    },
    /// Nothing before a slab that was asked for has been delivered.
    Wait,
    /// All slabs are here, or have been asked for.
    End,
}

/// What has become of a slab.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Delivered {
    /// It is in its place.
    Verified,
    /// Its hash does not agree; [`Sink::next`] asks for it again.
    Mismatch,
}

/// Takes slabs from a receiver. All calls may wait for a disk. After an error other than [`Error::Slab`]
/// nothing more can be delivered; what is verified stays for the next transfer.
pub trait Sink: Send {
    /// What to fetch next: slabs in ascending order. Looks at one slab of an earlier transfer at most.
    ///
    /// # Errors
    /// Where the disk refuses.
    fn next(&mut self) -> Result<Next, Error>;

    /// Takes a slab, in any order among those that were asked for.
    ///
    /// # Errors
    /// Where the disk refuses, and where the sender sends what is not allowed.
    fn deliver(&mut self, label: Label, buffer: Buffer) -> Result<Delivered, Error>;

    /// How much there is, and how much of it is verified.
    fn amount(&self) -> Amount;

    /// Puts what was received in its place, if the root agrees.
    ///
    /// # Errors
    /// Where slabs are missing, the root does not agree, or the disk refuses.
    fn finish(&mut self, root: &Hash) -> Result<(), Error>;
}

//! Header of a manifest, and the positions of slabs in a transfer.

use super::bytes::{Bytes, Short};
use super::page::PAGE;
use super::refusal::{Location, ManifestError};
use crate::files::hash::Hash;
use std::ops::RangeInclusive;

/// Size of the largest slab in bytes: 16 MiB. All slabs of a manifest have this size, except the last one.
pub const LARGEST_SLAB: u32 = 1 << 24;

/// Base-2 logarithms of the allowed slab sizes, for slabs of contents: 1 MiB to 16 MiB.
pub const SLAB_LOG2: RangeInclusive<u8> = 20..=24;

/// Largest number of slabs of a transfer, so that a slab's number needs only 24 bits.
pub const MOST_SLABS: u32 = 1 << 24;

/// Magic bytes "tcmf" at the start of every manifest.
const MAGIC: [u8; 4] = *b"tcmf";
/// Version of the format of manifests.
const VERSION: u8 = 1;
/// Flag: the entries of the manifest have owners.
const OWNERS: u8 = 1;
/// Flag: the entries of the manifest may have extended attributes.
const XATTRS: u8 = 2;
/// Encoded value of an unknown number of bytes.
const UNKNOWN: u64 = u64::MAX;

/// Size of the largest manifest in bytes. It is enough for about 10^8 names.
/// The limit protects the receiver's disk, on which the manifest is stored.
const LONGEST: u64 = 16 << 30;

/// Size of the shortest entry in bytes: a hard link with a name of one byte.
const SHORTEST_ENTRY: u64 = 14;

/// Kind of a transfer's contents.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Content {
    /// One file.
    File,
    /// A directory with its contents.
    Tree,
    /// A stream of bytes. The number of bytes is known only at the end of the stream.
    Stream,
}

/// Header of a manifest.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Header {
    /// Kind of the transfer's contents.
    pub content: Content,
    /// Base-2 logarithm of the size of a slab of contents in bytes. The last slab may be shorter.
    pub slab_log2: u8,
    /// Whether entries have owners.
    pub owners: bool,
    /// Whether entries have extended attributes.
    pub xattrs: bool,
    /// Size of the manifest in bytes, including this header.
    pub length: u64,
    /// Number of entries.
    pub entries: u64,
    /// Size of the contents in bytes. `None`: the contents are a stream.
    pub data: Option<u64>,
    /// BLAKE3 hash over all pages of the manifest.
    pub hash: Hash,
}

impl Header {
    /// Size of a header in bytes.
    pub const LENGTH: usize = 64;

    /// Encodes the header.
    pub fn encode(&self) -> [u8; Self::LENGTH] {
        let mut bytes = [0; Self::LENGTH];
        bytes[..4].copy_from_slice(&MAGIC);
        bytes[4] = VERSION;
        bytes[5] = match self.content {
            Content::File => 0,
            Content::Tree => 1,
            Content::Stream => 2,
        };
        bytes[6] = self.slab_log2;
        bytes[7] = u8::from(self.owners) * OWNERS + u8::from(self.xattrs) * XATTRS;
        bytes[8..16].copy_from_slice(&self.length.to_be_bytes());
        bytes[16..24].copy_from_slice(&self.entries.to_be_bytes());
        bytes[24..32].copy_from_slice(&self.data.unwrap_or(UNKNOWN).to_be_bytes());
        bytes[32..].copy_from_slice(&self.hash.0);
        bytes
    }

    /// Decodes the header at the start of a manifest.
    ///
    /// # Errors
    /// A field has a value that is not allowed.
    pub fn decode(bytes: &[u8]) -> Result<Self, ManifestError> {
        let wrong = |why: String| ManifestError::new(Location::Header, why);
        let short = |Short| {
            let (found, needed) = (bytes.len(), Self::LENGTH);
            wrong(format!(
                "it has {found} bytes; at least {needed} are needed"
            ))
        };
        let mut rest = Bytes(bytes);
        let magic: [u8; 4] = rest.array().map_err(short)?;
        if magic != MAGIC {
            return Err(wrong("no manifest: it does not start with `tcmf`".into()));
        }
        let version = rest.u8().map_err(short)?;
        if version != VERSION {
            return Err(wrong(format!("version {version}; allowed: {VERSION}")));
        }
        let content = match rest.u8().map_err(short)? {
            0 => Content::File,
            1 => Content::Tree,
            2 => Content::Stream,
            other => return Err(wrong(format!("content {other}; allowed: 0 to 2"))),
        };
        let slab_log2 = rest.u8().map_err(short)?;
        let flags = rest.u8().map_err(short)?;
        let length = rest.u64().map_err(short)?;
        let entries = rest.u64().map_err(short)?;
        let data = rest.u64().map_err(short)?;
        let hash = Hash(rest.array().map_err(short)?);
        if !SLAB_LOG2.contains(&slab_log2) {
            return Err(wrong(format!(
                "slabs of 2^{slab_log2} bytes; allowed: 2^20 to 2^24"
            )));
        }
        if flags & !(OWNERS | XATTRS) != 0 {
            return Err(wrong(format!("flags {flags:#04x}; allowed: bits 0 and 1")));
        }
        let header = Self {
            content,
            slab_log2,
            owners: flags & OWNERS != 0,
            xattrs: flags & XATTRS != 0,
            length,
            entries,
            data: (data != UNKNOWN).then_some(data),
            hash,
        };
        header.check().map_err(wrong)?;
        Ok(header)
    }

    fn check(&self) -> Result<(), String> {
        let (length, entries) = (self.length, self.entries);
        let shortest = Self::LENGTH as u64 + SHORTEST_ENTRY;
        if !(shortest..=LONGEST).contains(&length) {
            return Err(format!(
                "a manifest of {length} bytes; allowed: {shortest} to {LONGEST}"
            ));
        }
        // A manifest has at least the entry of its root, and each entry needs at least `SHORTEST_ENTRY` bytes.
        if entries == 0 || entries > length / SHORTEST_ENTRY {
            return Err(format!(
                "{entries} entries in {length} bytes; allowed: 1 to {}",
                length / SHORTEST_ENTRY
            ));
        }
        if self.content != Content::Tree && entries != 1 {
            return Err(format!(
                "{entries} entries; allowed: more than 1 only for a tree"
            ));
        }
        match (self.content, self.data) {
            (Content::Stream, Some(data)) => {
                return Err(format!(
                    "a stream with a length of {data} bytes; allowed: no length"
                ));
            }
            (Content::File | Content::Tree, None) => {
                return Err("contents of unknown length; allowed: only for a stream".into());
            }
            _ => {}
        }
        if self.layout().slabs_wide() > u64::from(MOST_SLABS) {
            return Err(format!(
                "{} slabs; allowed: {MOST_SLABS}",
                self.layout().slabs_wide()
            ));
        }
        Ok(())
    }

    /// Returns the positions of all slabs of the transfer.
    pub const fn layout(&self) -> Layout {
        Layout {
            manifest: self.length,
            data: self.data,
            slab_log2: self.slab_log2,
        }
    }

    /// Returns the number of pages of the manifest.
    pub const fn pages(&self) -> u64 {
        (self.length - Self::LENGTH as u64).div_ceil(PAGE as u64)
    }

    /// Returns the position and the length of a page in the manifest. Returns `None` after the last page.
    pub fn page(&self, page: u64) -> Option<(u64, usize)> {
        let begins = (Self::LENGTH as u64).checked_add(page.checked_mul(PAGE as u64)?)?;
        let length = self.length.checked_sub(begins)?.min(PAGE as u64);
        (length > 0).then_some((begins, length as usize))
    }
}

/// Positions of the slabs of a transfer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Layout {
    manifest: u64,
    data: Option<u64>,
    slab_log2: u8,
}

/// Position of a slab in the manifest, the contents or the stream.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SlabLocation {
    /// The slab belongs to the manifest.
    Manifest {
        /// Position of the slab's first byte in the manifest.
        begins: u64,
        /// Size of the slab in bytes.
        length: u32,
    },
    /// The slab belongs to contents whose length is known.
    Data {
        /// Position of the slab's first byte in the contents.
        begins: u64,
        /// Size of the slab in bytes.
        length: u32,
    },
    /// The slab belongs to a stream.
    Stream {
        /// Position of the slab's first byte in the stream.
        begins: u64,
        /// Size of a full slab in bytes. Only the last slab may be shorter.
        full: u32,
    },
}

impl Layout {
    /// Returns the number of slabs of the manifest.
    pub const fn manifest_slabs(&self) -> u32 {
        self.manifest.div_ceil(LARGEST_SLAB as u64) as u32
    }

    /// Returns the size of all slabs in bytes, or `None` for a stream.
    pub fn bytes(&self) -> Option<u64> {
        Some(self.manifest + self.data?)
    }

    /// Returns the number of all slabs, or `None` for a stream.
    pub fn slabs(&self) -> Option<u32> {
        self.data?;
        u32::try_from(self.slabs_wide()).ok()
    }

    /// Returns the number of slabs as a 64-bit number. The slabs of a stream are not included.
    fn slabs_wide(&self) -> u64 {
        let data = self.data.unwrap_or(0).div_ceil(1 << self.slab_log2);
        let manifest = self.manifest.div_ceil(u64::from(LARGEST_SLAB));
        manifest.saturating_add(data)
    }

    /// Returns the position of a slab. Returns `None` for a number after the last slab.
    pub fn location(&self, slab: u32) -> Option<SlabLocation> {
        let first = self.manifest_slabs();
        let Some(index) = slab.checked_sub(first) else {
            let begins = u64::from(slab) * u64::from(LARGEST_SLAB);
            let length = (self.manifest - begins).min(u64::from(LARGEST_SLAB)) as u32;
            return Some(SlabLocation::Manifest { begins, length });
        };
        let begins = u64::from(index) << self.slab_log2;
        let full = 1 << self.slab_log2;
        match self.data {
            None => (slab < MOST_SLABS).then_some(SlabLocation::Stream { begins, full }),
            Some(data) => {
                let left = data.checked_sub(begins).filter(|&left| left > 0)?;
                let length = left.min(u64::from(full)) as u32;
                Some(SlabLocation::Data { begins, length })
            }
        }
    }
}

//! Existing entry with the final name of a transfer.
//! The entry may have the same data, for example because the sender did not get the result of an earlier transfer.
//! If the data is the same, the transfer succeeds without any contents.

use super::error::Error;
use super::hash::Hash;
use super::manifest::{Content, Header};
use super::scan::ScanOptions;
use super::source::FileSource;
use super::transfer::Source;
use rustix::fs::{AtFlags, FileType, statat};
use rustix::io::Errno;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

/// Existing entry, which is hashed slab by slab.
#[derive(Debug)]
pub struct There {
    source: FileSource,
    path: PathBuf,
    /// Bytes of the slab that was hashed last.
    buffer: Vec<u8>,
}

impl There {
    /// Returns the entry `name` of a directory, if it may have the data of a transfer with this header.
    /// Returns `None` if the comparison is not possible, or if there is no such entry.
    ///
    /// # Errors
    /// The entry has other data, or it cannot be read.
    pub fn find(
        directory: &OwnedFd,
        path: PathBuf,
        name: &[u8],
        header: &Header,
    ) -> Result<Option<Self>, Error> {
        let stat = match statat(directory, name, AtFlags::SYMLINK_NOFOLLOW) {
            Err(Errno::NOENT) => return Ok(None),
            result => result.map_err(|error| Error::system("look at", &path, error))?,
        };
        let expected = match header.content {
            Content::File => FileType::RegularFile,
            Content::Tree => FileType::Directory,
            // A stream would have to arrive before it can be compared.
            Content::Stream => return Ok(None),
        };
        if FileType::from_raw_mode(stat.st_mode) != expected {
            return Ok(None);
        }
        let options = ScanOptions {
            owners: header.owners,
            xattrs: header.xattrs,
            slab_log2: header.slab_log2,
            ..ScanOptions::default()
        };
        let source = FileSource::open(&path, &options, &mut |_| ())?;
        let found = source.header();
        let may_be_same = match header.content {
            Content::Tree => found.hash == header.hash,
            _ => found.data == header.data,
        };
        match may_be_same {
            true => Ok(Some(Self {
                source,
                path,
                buffer: Vec::new(),
            })),
            false => Err(Error::Exists(path)),
        }
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    pub fn total(&self) -> Option<u64> {
        self.source.total()
    }

    /// Hashes the next slab. Returns `false` if all slabs are hashed.
    pub fn step(&mut self) -> Result<bool, Error> {
        self.source.hash_ahead(&mut self.buffer)
    }

    /// Compares the data with the root of the transfer.
    pub fn finish(mut self, root: &Hash) -> Result<(), Error> {
        match self.source.root()? == *root {
            true => Ok(()),
            false => Err(Error::Exists(self.path)),
        }
    }
}

//! Manifest on disk. It is read page by page, and a search needs no index in memory.

use super::error::Error;
use super::hash::Hash;
use super::manifest::{
    Entry, FRONT, Header, LONGEST_PATH, Location, ManifestError, Metadata, Page, What,
};
use std::fs::File;
use std::ops::{ControlFlow, Range};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

/// Manifest in a file that begins with the header.
#[derive(Debug)]
pub struct Spool {
    file: File,
    header: Header,
    /// Path of the file, for error messages.
    path: PathBuf,
}

/// Entry of a manifest, with its path and the position of its contents. Both values depend on the earlier entries.
#[derive(Debug)]
pub struct Item<'a> {
    /// Number of the entry.
    pub number: u64,
    /// Position of the entry's contents in the contents of all files.
    pub offset: u64,
    /// Path of the entry below the root. Empty for the root itself.
    pub below: &'a [u8],
    /// Entry as it is stored in the manifest.
    pub entry: &'a Entry<'a>,
}

/// Part of a file that is inside a given range of the contents.
#[derive(Debug)]
pub struct Piece<'a> {
    /// Number of the entry of the file.
    pub number: u64,
    /// Path of the file below the root. Empty for the root itself.
    pub below: &'a [u8],
    /// Mode, times and further metadata.
    pub metadata: &'a Metadata<'a>,
    /// Size of the whole file in bytes.
    pub size: u64,
    /// Position of the part's first byte in the file.
    pub at: u64,
    /// Position of the part in the given range.
    pub within: Range<usize>,
}

impl Spool {
    /// Creates access to a manifest. `file` begins with the header.
    pub fn new(file: File, header: Header, path: PathBuf) -> Self {
        Self { file, header, path }
    }

    /// Returns the manifest's header.
    pub const fn header(&self) -> &Header {
        &self.header
    }

    fn error(&self, error: std::io::Error) -> Error {
        Error::system("read", &self.path, error)
    }

    /// Reads bytes of the manifest, starting at position `begins`.
    pub fn read(&self, begins: u64, buffer: &mut [u8]) -> Result<(), Error> {
        let read = self.file.read_exact_at(buffer, begins);
        read.map_err(|error| self.error(error))
    }

    /// Writes bytes of the manifest, starting at position `begins`.
    pub fn write(&self, begins: u64, bytes: &[u8]) -> Result<(), Error> {
        let written = self.file.write_all_at(bytes, begins);
        written.map_err(|error| Error::system("write", &self.path, error))
    }

    /// Returns whether the file has all pages, and the pages match the hash in the header.
    pub fn is_whole(&self) -> Result<bool, Error> {
        let length = self.file.metadata().map_err(|error| self.error(error))?;
        if length.len() != self.header.length {
            return Ok(false);
        }
        let mut hasher = blake3::Hasher::new();
        let mut buffer = Vec::new();
        for page in 0..self.header.pages() {
            self.page(page, &mut buffer)?;
            hasher.update(&buffer);
        }
        Ok(Hash(*hasher.finalize().as_bytes()) == self.header.hash)
    }

    /// Reads a page into a buffer.
    pub fn page(&self, number: u64, buffer: &mut Vec<u8>) -> Result<(), Error> {
        let location = self.header.page(number).ok_or_else(|| {
            Error::Manifest(ManifestError::new(
                Location::Page(number),
                "the manifest has no such page",
            ))
        });
        let (begins, length) = location?;
        buffer.resize(length, 0);
        self.read(begins, buffer)
    }

    /// Returns the last page whose header satisfies `is_below`.
    /// The values in the headers increase, so a binary search is possible.
    fn last_page(&self, is_below: impl Fn((u64, u64)) -> bool) -> Result<u64, Error> {
        let (mut first, mut end) = (0, self.header.pages());
        while first + 1 < end {
            let middle = first + (end - first) / 2;
            let mut front = [0; FRONT];
            let begins = self.header.page(middle).map_or(0, |(begins, _)| begins);
            self.read(begins, &mut front)?;
            if is_below(Page::front(&front)) {
                first = middle;
            } else {
                end = middle;
            }
        }
        Ok(first)
    }

    /// Calls `call` for each entry of the pages in order, until `call` returns `Break`.
    pub fn each(
        &self,
        pages: Range<u64>,
        mut call: impl FnMut(&Item<'_>) -> Result<ControlFlow<()>, Error>,
    ) -> Result<(), Error> {
        let mut buffer = Vec::new();
        for number in pages {
            self.page(number, &mut buffer)?;
            let page = Page::parse(number, &buffer)?;
            let mut trail = Trail::of(&page)?;
            let mut offset = page.offset();
            for read in page.entries() {
                let (number, entry) = read?;
                let below = trail.step(number, usize::from(entry.level), entry.name)?;
                let item = Item {
                    number,
                    offset,
                    below,
                    entry: &entry,
                };
                if call(&item)?.is_break() {
                    return Ok(());
                }
                // The sizes may have any values in a manifest that is not checked yet. So the sum must not overflow.
                offset = offset.saturating_add(entry.size());
            }
        }
        Ok(())
    }

    /// Calls `call` for each entry of the manifest, in order.
    pub fn all(&self, mut call: impl FnMut(&Item<'_>) -> Result<(), Error>) -> Result<(), Error> {
        self.each(0..self.header.pages(), |item| {
            call(item).map(ControlFlow::Continue)
        })
    }

    /// Calls `call` for each directory. Each directory comes before its parent.
    pub fn directories_from_within(
        &self,
        mut call: impl FnMut(&[u8], &Metadata<'_>) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let mut buffer = Vec::new();
        for number in (0..self.header.pages()).rev() {
            self.page(number, &mut buffer)?;
            let page = Page::parse(number, &buffer)?;
            let mut trail = Trail::of(&page)?;
            let mut found = Vec::new();
            for read in page.entries() {
                let (number, entry) = read?;
                let below = trail.step(number, usize::from(entry.level), entry.name)?;
                if let What::Directory(metadata) = entry.what {
                    found.push((below.to_owned(), metadata));
                }
            }
            for (below, metadata) in found.iter().rev() {
                call(below, metadata)?;
            }
        }
        Ok(())
    }

    /// Calls `call` for each part of a file that is inside a range of the contents.
    pub fn pieces(
        &self,
        range: Range<u64>,
        mut call: impl FnMut(&Piece<'_>) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let page = self.last_page(|(_, offset)| offset <= range.start)?;
        self.each(page..self.header.pages(), |item| {
            if item.offset >= range.end {
                return Ok(ControlFlow::Break(()));
            }
            let What::File { metadata, size } = &item.entry.what else {
                return Ok(ControlFlow::Continue(()));
            };
            let begins = item.offset.max(range.start);
            let ends = item.offset.saturating_add(*size).min(range.end);
            if begins < ends {
                call(&Piece {
                    number: item.number,
                    below: item.below,
                    metadata,
                    size: *size,
                    at: begins - item.offset,
                    within: (begins - range.start) as usize..(ends - range.start) as usize,
                })?;
            }
            Ok(ControlFlow::Continue(()))
        })
    }

    /// Returns the path of a regular file below the root.
    /// Returns `None` if the entry with this number is not a regular file.
    pub fn file(&self, number: u64) -> Result<Option<Vec<u8>>, Error> {
        let page = self.last_page(|(first, _)| first <= number)?;
        let mut found = None;
        self.each(page..self.header.pages(), |item| {
            if item.number < number {
                return Ok(ControlFlow::Continue(()));
            }
            if item.number == number && matches!(item.entry.what, What::File { .. }) {
                found = Some(item.below.to_owned());
            }
            Ok(ControlFlow::Break(()))
        })?;
        Ok(found)
    }
}

/// Path of the current entry below the root.
struct Trail {
    path: Vec<u8>,
    /// Length of the path up to and including each level.
    ends: Vec<usize>,
}

impl Trail {
    fn of(page: &Page<'_>) -> Result<Self, Error> {
        let mut trail = Self {
            path: Vec::new(),
            ends: Vec::new(),
        };
        for (level, name) in page.open().enumerate() {
            trail.step(page.first(), level, name)?;
        }
        Ok(trail)
    }

    fn step(&mut self, number: u64, level: usize, name: &[u8]) -> Result<&[u8], Error> {
        let wrong = || {
            let why = "its directory is missing";
            Error::Manifest(ManifestError::new(Location::Entry(number), why))
        };
        if level > self.ends.len() {
            return Err(wrong());
        }
        self.ends.truncate(level);
        self.path.truncate(self.ends.last().copied().unwrap_or(0));
        // A path below the root does not contain the name of the root.
        if level > 0 {
            if !self.path.is_empty() {
                self.path.push(b'/');
            }
            self.path.extend(name);
        }
        if self.path.len() > LONGEST_PATH {
            return Err(wrong());
        }
        self.ends.push(self.path.len());
        Ok(&self.path)
    }
}

/// Joins a path and a path below it, for error messages.
pub fn shown(root: &Path, below: &[u8]) -> PathBuf {
    use std::os::unix::ffi::OsStrExt;
    if below.is_empty() {
        return root.to_owned();
    }
    root.join(std::ffi::OsStr::from_bytes(below))
}

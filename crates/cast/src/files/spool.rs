//! A manifest on disk: read by pages, searched without an index in memory.

use super::error::Error;
use super::hash::Hash;
use super::manifest::{
    Entry, FRONT, Header, LONGEST_PATH, ManifestError, Metadata, Page, Place, What,
};
use std::fs::File;
use std::ops::{ControlFlow, Range};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

/// A manifest on disk, its header in front.
#[derive(Debug)]
pub struct Spool {
    file: File,
    header: Header,
    /// What errors call the file.
    path: PathBuf,
}

/// An entry with what comes from those before it.
#[derive(Debug)]
pub struct Item<'a> {
    /// The entry's number.
    pub number: u64,
    /// Where its contents begin.
    pub offset: u64,
    /// Its path below the root, whose own is empty.
    pub below: &'a [u8],
    /// The entry.
    pub entry: &'a Entry<'a>,
}

/// A part of a file's contents within a range of all contents.
#[derive(Debug)]
pub struct Piece<'a> {
    /// The number of the file's entry.
    pub number: u64,
    /// The file's path below the root, whose own is empty.
    pub below: &'a [u8],
    /// Its mode, times and so on.
    pub metadata: &'a Metadata<'a>,
    /// Bytes of the whole file.
    pub size: u64,
    /// Where the piece begins in the file.
    pub at: u64,
    /// Where it lies in the range.
    pub within: Range<usize>,
}

impl Spool {
    /// The manifest in a file, which begins with its header.
    pub fn new(file: File, header: Header, path: PathBuf) -> Self {
        Self { file, header, path }
    }

    /// The manifest's header.
    pub const fn header(&self) -> &Header {
        &self.header
    }

    fn error(&self, error: std::io::Error) -> Error {
        Error::system("read", &self.path, error)
    }

    /// Fills a buffer with bytes of the manifest.
    pub fn read(&self, begins: u64, buffer: &mut [u8]) -> Result<(), Error> {
        let read = self.file.read_exact_at(buffer, begins);
        read.map_err(|error| self.error(error))
    }

    /// Puts bytes of the manifest in their place.
    pub fn write(&self, begins: u64, bytes: &[u8]) -> Result<(), Error> {
        let written = self.file.write_all_at(bytes, begins);
        written.map_err(|error| Error::system("write", &self.path, error))
    }

    /// Whether all pages are there, with the hash that the header tells.
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

    /// Puts a page into a buffer.
    pub fn page(&self, number: u64, buffer: &mut Vec<u8>) -> Result<(), Error> {
        let place = self.header.page(number).ok_or_else(|| {
            Error::Manifest(ManifestError::new(Place::Page(number), "it is not there"))
        });
        let (begins, length) = place?;
        buffer.resize(length, 0);
        self.read(begins, buffer)
    }

    /// The last page of those whose front is not above a bound. Fronts ascend.
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

    /// Calls for each entry, in order, from the first of a page on, until it is told to stop.
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
                offset = offset.saturating_add(entry.size());
            }
        }
        Ok(())
    }

    /// Calls for each entry, in order.
    pub fn all(&self, mut call: impl FnMut(&Item<'_>) -> Result<(), Error>) -> Result<(), Error> {
        self.each(0..self.header.pages(), |item| {
            call(item).map(ControlFlow::Continue)
        })
    }

    /// Calls for each directory, those that are inside of others first.
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

    /// Calls for each piece of a file in a range of all contents.
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

    /// The path below the root of a regular file, by its number; `None` if the entry is something else.
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

/// The path of the entry that is looked at, below the root.
struct Trail {
    path: Vec<u8>,
    /// By level, how much of the path is that level's.
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
            let why = "no directories above it";
            Error::Manifest(ManifestError::new(Place::Entry(number), why))
        };
        if level > self.ends.len() {
            return Err(wrong());
        }
        self.ends.truncate(level);
        self.path.truncate(self.ends.last().copied().unwrap_or(0));
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

/// A path below another, as errors show it.
pub fn shown(root: &Path, below: &[u8]) -> PathBuf {
    use std::os::unix::ffi::OsStrExt;
    if below.is_empty() {
        return root.to_owned();
    }
    root.join(std::ffi::OsStr::from_bytes(below))
}

//! Page of a manifest. A page can be decoded without the other pages.

use super::bytes::{Bytes, Short};
use super::entry::{Entry, What};
use super::header::{Content, Header};
use super::order::{LONGEST_PATH, Order};
use super::refusal::{Location, ManifestError};

/// Size of a page in bytes. The last page may be shorter, because it ends with its last entry.
pub const PAGE: usize = 1 << 16;

/// Size of the header of a page in bytes. The header contains the position of the page.
pub const FRONT: usize = 24;

/// Size of the largest entry in bytes. One page is large enough for this entry and the longest path.
pub const LARGEST_ENTRY: usize = 1 << 15;

/// Decoded page of a manifest: its position and its entries.
#[derive(Clone, Copy, Debug)]
pub struct Page<'a> {
    number: u64,
    /// Number of the first entry of the page.
    first: u64,
    /// Position of the first entry's contents in the contents of all files.
    offset: u64,
    count: u16,
    /// Encoded names of the directories that contain the first entry.
    open: Bytes<'a>,
    /// Number of directories in `open`.
    depth: u16,
    /// Encoded entries of the page, without padding.
    entries: Bytes<'a>,
}

impl<'a> Page<'a> {
    /// Decodes the header of a page. Returns the number of its first entry, and the position of this entry's contents.
    pub fn front(bytes: &[u8; FRONT]) -> (u64, u64) {
        let mut rest = Bytes(&bytes[8..]);
        (rest.u64().unwrap_or(0), rest.u64().unwrap_or(0))
    }

    /// Decodes a page except its entries. [`Self::entries`] decodes the entries.
    ///
    /// # Errors
    /// The page violates the format.
    pub fn parse(number: u64, bytes: &'a [u8]) -> Result<Self, ManifestError> {
        let wrong = |why: String| ManifestError::new(Location::Page(number), why);
        let short = |Short| wrong(format!("it ends too early, after {} bytes", bytes.len()));
        let mut rest = Bytes(bytes);
        let used = rest.u32().map_err(short)? as usize;
        let count = rest.u16().map_err(short)?;
        let depth = rest.u16().map_err(short)?;
        let first = rest.u64().map_err(short)?;
        let offset = rest.u64().map_err(short)?;
        let Some((inside, padding)) = bytes.split_at_checked(used) else {
            return Err(wrong(format!(
                "it claims {used} bytes, but has {}",
                bytes.len()
            )));
        };
        if bytes.len() > PAGE || (bytes.len() < PAGE && !padding.is_empty()) {
            return Err(wrong(format!(
                "it has {} bytes, of which {used} are used; allowed: a full page, or no padding",
                bytes.len()
            )));
        }
        if padding.iter().any(|&byte| byte != 0) {
            return Err(wrong("its padding contains bytes other than 0".into()));
        }
        if count == 0 {
            return Err(wrong("it has no entry".into()));
        }
        let mut rest = Bytes(inside.get(FRONT..).ok_or_else(|| short(Short))?);
        let open = rest;
        let mut length = 0;
        for _ in 0..depth {
            let name = rest.u8().map_err(short)?;
            rest.take(name.into()).map_err(short)?;
            // A separator follows each name. The separator after the last name is not part of the path.
            // So the limit is one byte higher.
            length += usize::from(name) + 1;
            if length > LONGEST_PATH + 1 {
                return Err(wrong(format!(
                    "the path of its open directories is longer than {LONGEST_PATH} bytes"
                )));
            }
        }
        Ok(Self {
            number,
            first,
            offset,
            count,
            open,
            depth,
            entries: rest,
        })
    }

    /// Returns the names of the directories that contain the first entry, starting at the root.
    pub fn open(&self) -> impl Iterator<Item = &'a [u8]> + use<'a> {
        let mut rest = self.open;
        (0..self.depth).map_while(move |_| {
            let length = rest.u8().ok()?;
            rest.take(length.into()).ok()
        })
    }

    /// Returns the number of the first entry of the page.
    pub const fn first(&self) -> u64 {
        self.first
    }

    /// Returns the position of the first entry's contents.
    pub const fn offset(&self) -> u64 {
        self.offset
    }

    /// Returns the entries of the page with their numbers. The iterator ends after the first error.
    pub fn entries(
        &self,
    ) -> impl Iterator<Item = Result<(u64, Entry<'a>), ManifestError>> + use<'a> {
        let (mut rest, count, first, page) = (self.entries, self.count, self.first, self.number);
        let mut index = 0;
        std::iter::from_fn(move || {
            // The entries must fill all used bytes of the page.
            if index == count {
                let left = std::mem::take(&mut rest.0);
                let why = format!("{} bytes after its last entry; allowed: none", left.len());
                return (!left.is_empty())
                    .then(|| Err(ManifestError::new(Location::Page(page), why)));
            }
            let number = first.saturating_add(index.into());
            let before = rest.0.len();
            let read = Entry::decode(&mut rest).and_then(|entry| {
                let length = before - rest.0.len();
                if length > LARGEST_ENTRY {
                    return Err(format!(
                        "an entry of {length} bytes; allowed: at most {LARGEST_ENTRY}"
                    ));
                }
                Ok((number, entry))
            });
            index += 1;
            Some(read.map_err(|why| {
                (index, rest) = (count, Bytes(&[]));
                ManifestError::new(Location::Entry(number), why)
            }))
        })
    }
}

/// Checks a whole manifest, page by page, in order. It needs memory for one path.
#[derive(Clone, Debug)]
pub struct Reader {
    header: Header,
    order: Order,
    pages: u64,
    entries: u64,
    data: u64,
}

impl Reader {
    /// Creates a check of the manifest that has this header.
    pub fn new(header: Header) -> Self {
        Self {
            header,
            order: Order::default(),
            pages: 0,
            entries: 0,
            data: 0,
        }
    }

    /// Checks the next page. Calls `each` with each entry, its number, and the position of its contents.
    ///
    /// # Errors
    /// The first violation of the format.
    pub fn page(
        &mut self,
        bytes: &[u8],
        mut each: impl FnMut(u64, u64, &Entry<'_>),
    ) -> Result<(), ManifestError> {
        let number = self.pages;
        let page = Page::parse(number, bytes)?;
        let wrong = |why: String| Err(ManifestError::new(Location::Page(number), why));
        if (page.first, page.offset) != (self.entries, self.data) {
            return wrong(format!(
                "it begins at entry {} and byte {}; expected: entry {} and byte {}",
                page.first, page.offset, self.entries, self.data
            ));
        }
        if !page.open().eq(self.order.open().iter().map(Vec::as_slice)) {
            return wrong("its open directories differ from the end of the previous page".into());
        }
        for read in page.entries() {
            let (number, entry) = read?;
            self.admit(number, &entry)
                .map_err(|why| ManifestError::new(Location::Entry(number), why))?;
            each(number, self.data, &entry);
            self.entries += 1;
            self.data += entry.size();
        }
        self.pages += 1;
        Ok(())
    }

    fn admit(&mut self, number: u64, entry: &Entry<'_>) -> Result<(), String> {
        let (level, directory) = (usize::from(entry.level), entry.is_directory());
        self.order.admit(level, entry.name, directory)?;
        let header = &self.header;
        match (header.content, &entry.what) {
            (Content::Tree, What::Directory(_)) => {}
            (Content::Tree, _) if number > 0 => {}
            (Content::File, What::File { .. }) => {}
            (Content::Stream, What::File { size: 0, .. }) => {}
            (content, _) => return Err(format!("it cannot be the root of {content:?}")),
        }
        if let What::HardLink { of } = entry.what
            && of >= number
        {
            return Err(format!(
                "another name of entry {of}, which is not before it"
            ));
        }
        if let Some(metadata) = entry.metadata() {
            if metadata.owner.is_some() != header.owners {
                return Err("its owner is missing, or is not announced in the header".into());
            }
            if metadata.xattrs != Default::default() && !header.xattrs {
                return Err("it has attributes, which are not announced in the header".into());
            }
        }
        let data = self.data.checked_add(entry.size());
        if data.is_none_or(|data| data > header.data.unwrap_or(0)) {
            return Err(format!(
                "{} bytes after {} bytes of contents; the header announces a total of {}",
                entry.size(),
                self.data,
                header.data.unwrap_or(0)
            ));
        }
        Ok(())
    }

    /// Checks that no page, entry or content is missing.
    ///
    /// # Errors
    /// The number of pages, entries or content bytes is not the number in the header.
    pub fn finish(self) -> Result<(), ManifestError> {
        let header = &self.header;
        let found = (self.pages, self.entries, self.data);
        let expected = (header.pages(), header.entries, header.data.unwrap_or(0));
        if found != expected {
            return Err(ManifestError::new(
                Location::Header,
                format!("pages, entries and bytes: {expected:?} in the header, {found:?} found"),
            ));
        }
        Ok(())
    }
}

//! Page of a manifest.

use super::bytes::{Bytes, Short};
use super::entry::{Entry, What};
use super::header::{Content, Header};
use super::order::{LONGEST_PATH, Order};
use super::refusal::{ManifestError, Place};

/// Bytes of a page. The last page ends with its last entry.
pub const PAGE: usize = 1 << 16;

/// Bytes of the header of a page, which contains the page's position.
pub const FRONT: usize = 24;

/// Bytes of an entry, at most. An entry of this size fits into a page after any path.
pub const LARGEST_ENTRY: usize = 1 << 15;

/// Page of a manifest: its position and its entries.
#[derive(Clone, Copy, Debug)]
pub struct Page<'a> {
    number: u64,
    /// Number of the first entry.
    first: u64,
    /// Position of the contents of the first entry.
    offset: u64,
    count: u16,
    /// Encoded directories and entries, without padding.
    open: Bytes<'a>,
    depth: u16,
    entries: Bytes<'a>,
}

impl<'a> Page<'a> {
    /// Decodes the header of a page: the number of its first entry, and the position of the
    /// contents of this entry.
    pub fn front(bytes: &[u8; FRONT]) -> (u64, u64) {
        let mut rest = Bytes(&bytes[8..]);
        (rest.u64().unwrap_or(0), rest.u64().unwrap_or(0))
    }

    /// Decodes a page up to its entries.
    ///
    /// # Errors
    /// The page is malformed.
    pub fn parse(number: u64, bytes: &'a [u8]) -> Result<Self, ManifestError> {
        let wrong = |why: String| ManifestError::new(Place::Page(number), why);
        let short = |Short| wrong(format!("it ends too early, behind {} bytes", bytes.len()));
        let mut rest = Bytes(bytes);
        let used = rest.u32().map_err(short)? as usize;
        let count = rest.u16().map_err(short)?;
        let depth = rest.u16().map_err(short)?;
        let first = rest.u64().map_err(short)?;
        let offset = rest.u64().map_err(short)?;
        let Some((inside, padding)) = bytes.split_at_checked(used) else {
            return Err(wrong(format!(
                "{used} bytes in use, where {} are there",
                bytes.len()
            )));
        };
        if bytes.len() > PAGE || (bytes.len() < PAGE && !padding.is_empty()) {
            return Err(wrong(format!("{} bytes, {used} in use", bytes.len())));
        }
        if padding.iter().any(|&byte| byte != 0) {
            return Err(wrong("padding that is not 0".into()));
        }
        if count == 0 {
            return Err(wrong("no entry".into()));
        }
        let mut rest = Bytes(inside.get(FRONT..).ok_or_else(|| short(Short))?);
        let open = rest;
        let mut length = 0;
        for _ in 0..depth {
            let name = rest.u8().map_err(short)?;
            rest.take(name.into()).map_err(short)?;
            length += usize::from(name) + 1;
            if length > LONGEST_PATH + 1 {
                return Err(wrong(format!(
                    "a path of more than {LONGEST_PATH} bytes above it"
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

    /// Returns the directories that are open before the first entry.
    pub fn open(&self) -> impl Iterator<Item = &'a [u8]> + use<'a> {
        let mut rest = self.open;
        (0..self.depth).map_while(move |_| {
            let length = rest.u8().ok()?;
            rest.take(length.into()).ok()
        })
    }

    /// Returns the number of the first entry.
    pub const fn first(&self) -> u64 {
        self.first
    }

    /// Returns the position of the contents of the first entry.
    pub const fn offset(&self) -> u64 {
        self.offset
    }

    /// Returns the entries with their numbers. The iterator ends after the first error.
    pub fn entries(
        &self,
    ) -> impl Iterator<Item = Result<(u64, Entry<'a>), ManifestError>> + use<'a> {
        let (mut rest, count, first, page) = (self.entries, self.count, self.first, self.number);
        let mut index = 0;
        std::iter::from_fn(move || {
            if index == count {
                let left = std::mem::take(&mut rest.0);
                let why = format!("{} bytes behind its last entry", left.len());
                return (!left.is_empty()).then(|| Err(ManifestError::new(Place::Page(page), why)));
            }
            let number = first.saturating_add(index.into());
            let before = rest.0.len();
            let read = Entry::decode(&mut rest).and_then(|entry| {
                let length = before - rest.0.len();
                if length > LARGEST_ENTRY {
                    return Err(format!(
                        "an entry of {length} bytes, where {LARGEST_ENTRY} are allowed"
                    ));
                }
                Ok((number, entry))
            });
            index += 1;
            Some(read.map_err(|why| {
                (index, rest) = (count, Bytes(&[]));
                ManifestError::new(Place::Entry(number), why)
            }))
        })
    }
}

/// Check of a whole manifest, page by page, in order. It keeps one path in memory.
#[derive(Clone, Debug)]
pub struct Reader {
    header: Header,
    order: Order,
    pages: u64,
    entries: u64,
    data: u64,
}

impl Reader {
    /// Creates a check of the manifest with this header.
    pub fn new(header: Header) -> Self {
        Self {
            header,
            order: Order::default(),
            pages: 0,
            entries: 0,
            data: 0,
        }
    }

    /// Checks the next page. Calls `each` for each entry with its number and the position of its
    /// contents.
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
        let wrong = |why: String| Err(ManifestError::new(Place::Page(number), why));
        if (page.first, page.offset) != (self.entries, self.data) {
            return wrong(format!(
                "it begins at entry {} and byte {}, where {} and {} follow",
                page.first, page.offset, self.entries, self.data
            ));
        }
        if !page.open().eq(self.order.open().iter().map(Vec::as_slice)) {
            return wrong("other directories are open than before".into());
        }
        for read in page.entries() {
            let (number, entry) = read?;
            self.admit(number, &entry)
                .map_err(|why| ManifestError::new(Place::Entry(number), why))?;
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
                return Err("an owner and the header do not agree".into());
            }
            if metadata.xattrs != Default::default() && !header.xattrs {
                return Err("attributes, where the header has none".into());
            }
        }
        let data = self.data.checked_add(entry.size());
        if data.is_none_or(|data| data > header.data.unwrap_or(0)) {
            return Err(format!(
                "{} bytes behind {}, where there are {} in all",
                entry.size(),
                self.data,
                header.data.unwrap_or(0)
            ));
        }
        Ok(())
    }

    /// Checks that nothing is missing.
    ///
    /// # Errors
    /// The number of pages, entries or bytes of contents differs from the header's.
    pub fn finish(self) -> Result<(), ManifestError> {
        let header = &self.header;
        let found = (self.pages, self.entries, self.data);
        let told = (header.pages(), header.entries, header.data.unwrap_or(0));
        if found != told {
            return Err(ManifestError::new(
                Place::Header,
                format!("pages, entries and bytes: {told:?} in the header, {found:?} found"),
            ));
        }
        Ok(())
    }
}

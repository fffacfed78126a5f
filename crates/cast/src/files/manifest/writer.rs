//! Writer of manifests. The caller adds the entries one by one.

use super::entry::Entry;
use super::header::{Content, Header};
use super::order::Order;
use super::page::{FRONT, LARGEST_ENTRY, PAGE};
use crate::files::hash::Hash;
use std::io::{self, Write};

/// Writer of the pages of a manifest.
/// The header contains the hash of all pages, so the writer returns it only at the end.
/// The caller leaves space for the header at the start of the output.
#[derive(Debug)]
pub struct Writer<W> {
    out: W,
    header: Header,
    hasher: blake3::Hasher,
    order: Order,
    /// Encoded page to which entries are added, without padding.
    page: Vec<u8>,
    /// Number of entries of the current page.
    in_page: u16,
    /// Buffer for one encoded entry.
    entry: Vec<u8>,
}

impl<W: Write> Writer<W> {
    /// Creates a writer. `slab_log2` is the base-2 logarithm of the size of a slab of contents in bytes.
    /// `owners` and `xattrs` select whether entries have owners and extended attributes.
    pub fn new(out: W, content: Content, slab_log2: u8, owners: bool, xattrs: bool) -> Self {
        let header = Header {
            content,
            slab_log2,
            owners,
            xattrs,
            length: Header::LENGTH as u64,
            entries: 0,
            data: (content != Content::Stream).then_some(0),
            hash: Hash::default(),
        };
        Self {
            out,
            header,
            hasher: blake3::Hasher::new(),
            order: Order::default(),
            page: Vec::with_capacity(PAGE),
            in_page: 0,
            entry: Vec::new(),
        }
    }

    /// Adds an entry after the earlier entries.
    ///
    /// # Errors
    /// An error of the output, or `InvalidInput` for an entry that is not allowed.
    /// An entry that is not allowed is not added.
    pub fn add(&mut self, entry: &Entry<'_>) -> io::Result<()> {
        let invalid = |why: String| io::Error::new(io::ErrorKind::InvalidInput, why);
        self.entry.clear();
        entry.encode(&mut self.entry);
        if self.entry.len() > LARGEST_ENTRY {
            return Err(invalid(format!(
                "an entry of {} bytes; allowed: at most {LARGEST_ENTRY}",
                self.entry.len()
            )));
        }
        if self.page.len() + self.entry.len() > PAGE {
            self.flush(true)?;
        }
        let begin = self.page.is_empty();
        if begin {
            self.begin();
        }
        let (level, directory) = (usize::from(entry.level), entry.is_directory());
        if let Err(why) = self.order.admit(level, entry.name, directory) {
            // Each page must have at least one entry.
            if begin {
                self.page.clear();
            }
            return Err(invalid(why));
        }
        self.page.extend(&self.entry);
        self.in_page += 1;
        self.header.entries += 1;
        if let Some(data) = &mut self.header.data {
            *data += entry.size();
        }
        Ok(())
    }

    /// Starts a new page.
    fn begin(&mut self) {
        let open = self.order.open();
        // The number of used bytes and the number of entries. `flush` sets both.
        self.page.extend([0; 6]);
        self.page.extend((open.len() as u16).to_be_bytes());
        self.page.extend(self.header.entries.to_be_bytes());
        self.page
            .extend(self.header.data.unwrap_or(0).to_be_bytes());
        for name in open {
            self.page.push(name.len() as u8);
            self.page.extend(name);
        }
        debug_assert!(self.page.len() >= FRONT);
    }

    /// Writes the current page. All pages except the last are padded to their full size.
    fn flush(&mut self, fill: bool) -> io::Result<()> {
        let used = (self.page.len() as u32).to_be_bytes();
        self.page[..4].copy_from_slice(&used);
        self.page[4..6].copy_from_slice(&self.in_page.to_be_bytes());
        if fill {
            self.page.resize(PAGE, 0);
        }
        self.out.write_all(&self.page)?;
        self.hasher.update(&self.page);
        self.header.length += self.page.len() as u64;
        self.page.clear();
        self.in_page = 0;
        Ok(())
    }

    /// Returns the number that the next entry will get.
    pub const fn entries(&self) -> u64 {
        self.header.entries
    }

    /// Writes the last page. Returns the header and the output.
    ///
    /// # Errors
    /// An error of the output.
    pub fn finish(mut self) -> io::Result<(Header, W)> {
        if !self.page.is_empty() {
            self.flush(false)?;
        }
        self.out.flush()?;
        self.header.hash = Hash(*self.hasher.finalize().as_bytes());
        Ok((self.header, self.out))
    }
}

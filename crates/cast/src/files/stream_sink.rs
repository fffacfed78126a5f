//! Sink that writes a file or a stream to a pipe. The slabs are written in order.

use super::error::Error;
use super::hash::{self, Hash, Root, SlabHash};
use super::manifest::{Content, Header, Location, ManifestError, Reader, SlabLocation};
use super::pool::Buffer;
use super::stream_end::StreamEnd;
use super::transfer::{Amount, Delivered, Label, Next, Sink};
use std::collections::{BTreeMap, VecDeque};
use std::io::Write;
use std::path::Path;

/// Sink that writes a file or a stream to a pipe.
/// A slab that arrives too early is kept until all slabs before it have arrived.
pub struct StreamSink<W> {
    output: W,
    /// Largest number of slabs that are requested or kept at the same time.
    ahead: u32,
    max_size: u64,
    header: Option<Header>,
    /// Slabs that must be sent again, because their hash was wrong.
    again: VecDeque<u32>,
    /// Number of the next slab to request.
    next: u32,
    /// Number of the next slab to write.
    written: u32,
    /// Slabs that have arrived before an earlier slab, by number.
    early: BTreeMap<u32, (SlabHash, Buffer)>,
    root: Root,
    /// Number of all slabs. `None` until it is known.
    slabs: Option<u32>,
    /// Slabs of a stream that have arrived.
    stream: StreamEnd,
    amount: Amount,
}

impl<W: Write + Send> StreamSink<W> {
    /// Creates a sink. At most `ahead` slabs are requested or kept at the same time.
    /// At most `max_size` bytes are accepted.
    pub fn new(output: W, ahead: u32, max_size: u64) -> Self {
        Self {
            output,
            ahead: ahead.max(1),
            max_size,
            header: None,
            again: VecDeque::new(),
            next: 0,
            written: 0,
            early: BTreeMap::new(),
            root: Root::default(),
            slabs: None,
            stream: StreamEnd::default(),
            amount: Amount::default(),
        }
    }

    fn check_size(&self, bytes: u64) -> Result<(), Error> {
        let allowed = self.max_size;
        match bytes > allowed {
            true => Err(Error::TooLarge { bytes, allowed }),
            false => Ok(()),
        }
    }

    /// Decodes the manifest, which must be a single page.
    fn open(&mut self, bytes: &[u8]) -> Result<(), Error> {
        let header = Header::decode(bytes)?;
        if header.content == Content::Tree {
            return Err(Error::Unfit {
                path: "-".into(),
                why: "a directory cannot be written to a pipe; allowed: a directory as the destination",
            });
        }
        let wrong = |why: &str| ManifestError::new(Location::Header, why);
        // The manifest of a file or a stream needs only one slab. So a longer manifest is wrong.
        if bytes.len() as u64 != header.length {
            return Err(wrong("its length differs from the length of its slab").into());
        }
        let page = &bytes[Header::LENGTH..];
        if Hash::of(page) != header.hash {
            return Err(wrong("its hash does not agree with its header").into());
        }
        let mut reader = Reader::new(header);
        reader.page(page, |_, _, _| ())?;
        reader.finish()?;
        self.check_size(header.layout().bytes().unwrap_or(0))?;
        self.slabs = header.layout().slabs();
        self.amount.total = header.layout().bytes();
        self.header = Some(header);
        Ok(())
    }

    fn error(error: std::io::Error) -> Error {
        Error::system("write", Path::new("-"), error)
    }
}

impl<W: Write + Send> Sink for StreamSink<W> {
    fn next(&mut self) -> Result<Next, Error> {
        if let Some(slab) = self.again.pop_front() {
            return Ok(Next::Fetch(slab));
        }
        let slab = self.next;
        let Some(header) = &self.header else {
            return Ok(match slab {
                0 => {
                    self.next = 1;
                    Next::Fetch(0)
                }
                _ => Next::Wait,
            });
        };
        let ended = self.slabs.is_some_and(|slabs| slab >= slabs);
        if ended || header.layout().location(slab).is_none() {
            return Ok(Next::End);
        }
        if slab - self.written >= self.ahead {
            return Ok(Next::Wait);
        }
        self.next += 1;
        Ok(Next::Fetch(slab))
    }

    fn deliver(&mut self, label: Label, buffer: Buffer) -> Result<Delivered, Error> {
        let slab = label.slab;
        let wrong = |why: String| Err(Error::Slab { slab, why });
        if label.length as usize != buffer.len() {
            return wrong(format!(
                "{} bytes, but its label says {}",
                buffer.len(),
                label.length
            ));
        }
        let location = self.header.map(|header| header.layout().location(slab));
        let begins = match location {
            None if slab == 0 => 0,
            Some(Some(SlabLocation::Data { begins, length })) if label.length == length => begins,
            Some(Some(SlabLocation::Stream { begins, full })) if label.length <= full => begins,
            // The manifest of a file or a stream is a single slab. So this slab has arrived before.
            Some(Some(SlabLocation::Manifest { .. })) => return Ok(Delivered::Verified),
            _ => {
                return wrong(format!(
                    "a length of {} bytes does not match the manifest",
                    label.length
                ));
            }
        };
        if slab < self.written || self.early.contains_key(&slab) {
            return Ok(Delivered::Verified);
        }
        if slab >= self.next {
            return wrong("it was not requested".to_owned());
        }
        if let Some(Some(SlabLocation::Stream { full, .. })) = location
            && let Err(why) = self.stream.check(&label, full)
        {
            return wrong(why);
        }
        let hash = hash::slab(begins, &buffer);
        if hash.part != label.hash {
            self.again.push_back(slab);
            return Ok(Delivered::Mismatch);
        }
        let length = u64::from(label.length);
        if slab == 0 {
            self.open(&buffer)?;
            self.written = 1;
        } else {
            self.check_size(begins + length)?;
            self.stream.arrived(&label);
            if label.last && self.slabs.is_none() {
                self.slabs = Some(slab + 1);
                let manifest = self.header.map_or(0, |header| header.length);
                self.amount.total = Some(manifest + begins + length);
            }
            self.early.insert(slab, (hash, buffer));
        }
        self.amount.verified += length;
        while let Some((hash, buffer)) = self.early.remove(&self.written) {
            self.output.write_all(&buffer).map_err(Self::error)?;
            // The last slab may be empty. It then only reports the end of the stream.
            if !buffer.is_empty() {
                self.root.push(&hash);
            }
            self.written += 1;
        }
        Ok(Delivered::Verified)
    }

    fn amount(&self) -> Amount {
        self.amount
    }

    fn finish(&mut self, expected: &Hash) -> Result<(), Error> {
        if self.slabs.is_none_or(|slabs| self.written < slabs) {
            return Err(Error::Incomplete { slab: self.written });
        }
        let found = std::mem::take(&mut self.root).finish();
        // The bytes are already in the pipe. So the sink can only report a wrong root.
        if found != *expected {
            let (expected, found) = (expected.to_string(), found.to_string());
            return Err(Error::Root { expected, found });
        }
        self.output.flush().map_err(Self::error)
    }
}

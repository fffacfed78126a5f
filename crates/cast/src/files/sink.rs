//! Sink that writes received slabs into a directory.

use super::attributes::Keep;
use super::destination::Destination;
use super::error::Error;
use super::hash::{self, Hash, tree_root};
use super::manifest::{
    Content, Header, LARGEST_SLAB, Layout, Location, ManifestError, Page, Reader, SlabLocation,
    is_reserved,
};
use super::part::{Of, Part, RECORDS_BEGIN};
use super::pool::Buffer;
use super::records::{Record, Records};
use super::spool::{Spool, shown};
use super::stream_end::StreamEnd;
use super::there::There;
use super::transfer::{Amount, Delivered, Label, Next, Sink};
use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;
use std::collections::VecDeque;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Time for which a transfer waits for another one of the same data under the same name.
/// A sender that starts again after a crash needs this time: its earlier transfer ends only after 12 s of silence.
const PATIENCE: Duration = Duration::from_secs(20);

/// Options for receiving files.
#[derive(Clone, Debug)]
pub struct SinkOptions {
    /// Name of the data in the directory. `None`: the sender's name.
    pub name: Option<Vec<u8>>,
    /// Whether the files of an earlier, unfinished transfer are used again.
    pub resume: bool,
    /// Whether an existing entry with this name is replaced.
    /// A file can replace a file, and a directory can replace a whole directory.
    pub overwrite: bool,
    /// Largest total size of manifest and contents that is accepted, in bytes.
    pub max_size: u64,
    /// Metadata that is applied in addition to modes and times.
    pub keep: Keep,
}

impl Default for SinkOptions {
    fn default() -> Self {
        Self {
            name: None,
            resume: true,
            overwrite: false,
            max_size: u64::MAX,
            keep: Keep::default(),
        }
    }
}

/// Sink that writes a file, a tree or a stream into a directory.
#[derive(Debug)]
pub struct FileSink {
    directory: OwnedFd,
    path: PathBuf,
    options: SinkOptions,
    /// Slabs that must be sent again, because their hash was wrong.
    again: VecDeque<u32>,
    /// Number of the next slab to request.
    next: u32,
    amount: Amount,
    state: State,
    /// Final path of the data. `None` until the first slab has arrived.
    destination: Option<PathBuf>,
    /// Time at which another transfer was first found to use the files.
    in_use_since: Option<Instant>,
}

#[derive(Debug)]
enum State {
    /// No slab has arrived.
    New,
    /// The manifest is being received, slab by slab.
    Manifest(Box<Open>),
    /// The manifest is complete, and the contents are being received.
    Contents(Box<Open>),
    /// The data may exist already under its final name. It is compared with the root at the end.
    There(Box<There>),
    Finished,
}

/// Transfer after its first slab has arrived.
#[derive(Debug)]
struct Open {
    part: Part,
    spool: Spool,
    /// Number of manifest slabs that have not arrived.
    missing: u32,
    /// Manifest slabs that have arrived.
    manifest: Verified,
    records: Records,
    destination: Destination,
    /// Content slabs that are verified.
    verified: Verified,
    /// Number of content slabs. `None` until it is known.
    data_slabs: Option<u32>,
    /// Slabs of a stream that have arrived.
    stream: StreamEnd,
    /// Number of bytes of a stream that have arrived.
    streamed: u64,
}

/// Set of verified slabs, with one bit for each slab.
#[derive(Default, Debug)]
struct Verified(Vec<u64>);

impl Verified {
    fn contains(&self, index: u32) -> bool {
        let word = self.0.get(index as usize / 64).copied().unwrap_or(0);
        word >> (index % 64) & 1 == 1
    }

    fn insert(&mut self, index: u32) {
        let at = index as usize / 64;
        if self.0.len() <= at {
            self.0.resize(at + 1, 0);
        }
        self.0[at] |= 1 << (index % 64);
    }

    fn first_missing(&self, slabs: u32) -> Option<u32> {
        (0..slabs).find(|&index| !self.contains(index))
    }
}

impl FileSink {
    /// Creates a sink for an existing directory.
    ///
    /// # Errors
    /// The directory cannot be opened.
    pub fn new(path: &Path, options: SinkOptions) -> Result<Self, Error> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let directory = rustix::fs::open(path, flags, Mode::empty());
        Ok(Self {
            directory: directory.map_err(|error| Error::system("open", path, error))?,
            path: path.to_owned(),
            options,
            again: VecDeque::new(),
            next: 0,
            amount: Amount::default(),
            state: State::New,
            destination: None,
            in_use_since: None,
        })
    }

    /// Returns the existing entry with the final name, if it may have the same data. `bytes` is the first slab.
    /// Returns `None` if the name is free or the entry may be replaced.
    fn find(&self, bytes: &[u8]) -> Result<Option<There>, Error> {
        let header = Header::decode(bytes)?;
        check_length(0, bytes.len(), &header.layout())?;
        let name = match &self.options.name {
            Some(name) => name.clone(),
            None => root_name(&header, bytes)?,
        };
        match self.options.overwrite {
            true => Ok(None),
            false => There::find(&self.directory, shown(&self.path, &name), &name, &header),
        }
    }

    /// Refuses a transfer that is larger than the free space of the file system.
    fn check_room(&self, header: &Header) -> Result<(), Error> {
        let error = |error: Errno| Error::system("look at", &self.path, error);
        let stat = rustix::fs::fstatvfs(&self.directory).map_err(error)?;
        let free = stat.f_bavail.saturating_mul(stat.f_frsize);
        let needed = header.layout().bytes().unwrap_or(0);
        // Some file systems do not know their size.
        match stat.f_blocks > 0 && needed > free {
            true => Err(Error::NoRoom {
                path: self.path.clone(),
                needed,
                free,
            }),
            false => Ok(()),
        }
    }

    /// Returns whether the transfer should wait longer for another transfer that uses the files.
    fn is_patient(&mut self) -> bool {
        let since = *self.in_use_since.get_or_insert_with(Instant::now);
        since.elapsed() < PATIENCE
    }

    /// Starts the transfer with its first slab. Returns the next state.
    fn begin(&mut self, bytes: &[u8]) -> Result<State, Error> {
        let open = Box::new(self.open(bytes)?);
        self.destination = Some(open.part.path(Of::Final));
        let layout = open.layout();
        self.amount.total = layout.bytes();
        self.amount.verified = bytes.len() as u64;
        if open.missing == 0 {
            // The manifest is complete.
            // The other slabs of the manifest were kept from an earlier transfer, or there are none.
            let rest = open.spool.header().length - bytes.len() as u64;
            self.amount.verified += rest;
            self.amount.kept += rest;
            self.next = layout.manifest_slabs();
            open.check_manifest()?;
            Ok(State::Contents(open))
        } else {
            Ok(State::Manifest(open))
        }
    }

    /// Opens the files of the transfer. `bytes` is the first slab.
    /// The first slab contains the name and the header, which show whether an earlier transfer can be continued.
    fn open(&self, bytes: &[u8]) -> Result<Open, Error> {
        let header = Header::decode(bytes)?;
        // The first slab is checked completely before a file is created.
        check_length(0, bytes.len(), &header.layout())?;
        check_size(header.layout().bytes().unwrap_or(0), self.options.max_size)?;
        let sent_name = root_name(&header, bytes)?;
        let name = self.options.name.clone().unwrap_or(sent_name);
        if is_reserved(&name) {
            return Err(Error::Unfit {
                path: shown(&self.path, &name),
                why: "this name is reserved for unfinished transfers",
            });
        }
        let directory = self.directory.try_clone();
        let part = Part::open(
            directory.map_err(|error| Error::system("open", &self.path, error))?,
            self.path.clone(),
            name,
            &header,
            self.options.resume,
            self.options.overwrite,
        )?;
        // The space of an earlier transfer of this data is already taken.
        if !part.resumed()
            && let Err(error) = self.check_room(&header)
        {
            part.discard()?;
            return Err(error);
        }
        let (path, keep) = (part.path(Of::Data), self.options.keep);
        let destination = match header.content {
            Content::Tree => Destination::tree(part.tree()?, path, keep),
            Content::File | Content::Stream => Destination::file(part.contents()?, path, keep),
        };
        let records = Records::new(part.slabs()?, RECORDS_BEGIN);
        let manifest = part.manifest()?;
        let layout = header.layout();
        let all = layout.slabs();
        let mut open = Open {
            spool: Spool::new(manifest, header, part.path(Of::Manifest)),
            missing: layout.manifest_slabs(),
            manifest: Verified::default(),
            records,
            destination,
            verified: Verified::default(),
            data_slabs: all.map(|all| all - layout.manifest_slabs()),
            stream: StreamEnd::default(),
            streamed: 0,
            part,
        };
        if open.part.resumed() && open.spool.is_whole()? {
            open.missing = 0;
        } else {
            open.write_manifest(0, 0, bytes)?;
        }
        Ok(open)
    }
}

/// Returns the name of the root, which is in the first page.
fn root_name(header: &Header, bytes: &[u8]) -> Result<Vec<u8>, Error> {
    let none = || ManifestError::new(Location::Page(0), "the page is not in the first slab");
    let (begins, length) = header.page(0).ok_or_else(none)?;
    let first = bytes.get(begins as usize..begins as usize + length);
    let page = Page::parse(0, first.ok_or_else(none)?)?;
    let entry = page.entries().next().transpose()?;
    let (_, entry) = entry.ok_or_else(none)?;
    // The name comes from the sender. It must not lead out of the directory.
    let checked = super::manifest::Order::default().admit(0, entry.name, entry.is_directory());
    checked.map_err(|why| ManifestError::new(Location::Entry(0), why))?;
    Ok(entry.name.to_owned())
}

fn check_size(bytes: u64, allowed: u64) -> Result<(), Error> {
    match bytes > allowed {
        true => Err(Error::TooLarge { bytes, allowed }),
        false => Ok(()),
    }
}

fn check_length(slab: u32, found: usize, layout: &Layout) -> Result<(), Error> {
    let place = layout.location(slab);
    let fits = match place {
        Some(SlabLocation::Manifest { length, .. } | SlabLocation::Data { length, .. }) => {
            found == length as usize
        }
        Some(SlabLocation::Stream { full, .. }) => found <= full as usize,
        None => false,
    };
    match fits {
        true => Ok(()),
        false => Err(Error::Slab {
            slab,
            why: format!("{found} bytes, where the manifest has {place:?}"),
        }),
    }
}

impl Open {
    fn layout(&self) -> Layout {
        self.spool.header().layout()
    }

    fn write_manifest(&mut self, slab: u32, begins: u64, bytes: &[u8]) -> Result<(), Error> {
        self.spool.write(begins, bytes)?;
        self.manifest.insert(slab);
        self.missing -= 1;
        Ok(())
    }

    /// Checks the whole manifest. Call it after all slabs of the manifest have arrived.
    /// A refused manifest leaves no files.
    fn check_manifest(&self) -> Result<(), Error> {
        let checked = self.verify_manifest();
        if matches!(checked, Err(Error::Manifest(_))) {
            self.part.discard()?;
        }
        checked
    }

    fn verify_manifest(&self) -> Result<(), Error> {
        if !self.spool.is_whole()? {
            let why = "its hash does not agree with its header";
            return Err(ManifestError::new(Location::Header, why).into());
        }
        let mut reader = Reader::new(*self.spool.header());
        let mut buffer = Vec::new();
        for page in 0..self.spool.header().pages() {
            self.spool.page(page, &mut buffer)?;
            reader.page(&buffer, |_, _, _| ())?;
        }
        Ok(reader.finish()?)
    }

    /// Returns whether a slab has arrived before.
    fn has(&self, slab: u32) -> bool {
        // The manifest is complete in this state. So all its slabs have arrived.
        match slab.checked_sub(self.layout().manifest_slabs()) {
            Some(index) => self.verified.contains(index),
            None => true,
        }
    }

    fn records_error(&self, error: std::io::Error) -> Error {
        Error::system("write", &self.part.path(Of::Slabs), error)
    }

    /// Returns the length of a content slab that was kept from an earlier transfer.
    /// Returns `None` if the slab has no record, or if its data on the disk does not match the record.
    fn keeps(&mut self, index: u32, slab: u32) -> Result<Option<u32>, Error> {
        let record = self.records.read(index);
        let record = record.map_err(|error| self.records_error(error))?;
        let place = self.layout().location(slab);
        let (Some(record), Some(SlabLocation::Data { begins, length })) = (record, place) else {
            return Ok(None);
        };
        let range = begins..begins + u64::from(length);
        // The data may have changed after the record was written. So the slab is hashed again.
        let found = self.destination.hash(&self.spool, range)?;
        let kept = record.length == length && found == Some(record.hash);
        Ok(kept.then_some(length))
    }
}

impl Sink for FileSink {
    fn next(&mut self) -> Result<Next, Error> {
        if let Some(slab) = self.again.pop_front() {
            return Ok(Next::Fetch(slab));
        }
        let slab = self.next;
        let open = match &mut self.state {
            // The first slab is already requested. It contains the number of slabs.
            State::New if slab > 0 => return Ok(Next::Wait),
            State::New => {
                self.next += 1;
                return Ok(Next::Fetch(slab));
            }
            State::Finished => return Ok(Next::End),
            State::There(there) => {
                if there.step()? {
                    self.next += 1;
                    return Ok(Next::Kept { slab, bytes: 0 });
                }
                return Ok(Next::End);
            }
            // The whole manifest must be checked before contents are requested.
            State::Manifest(open) if slab == open.layout().manifest_slabs() => {
                return Ok(Next::Wait);
            }
            State::Manifest(_) => {
                self.next += 1;
                return Ok(Next::Fetch(slab));
            }
            State::Contents(open) => open,
        };
        let index = slab - open.layout().manifest_slabs();
        if open.data_slabs.is_some_and(|slabs| index >= slabs) {
            return Ok(Next::End);
        }
        if open.layout().location(slab).is_none() {
            return Ok(Next::End);
        }
        self.next += 1;
        if open.part.resumed()
            && let Some(bytes) = open.keeps(index, slab)?
        {
            open.verified.insert(index);
            self.amount.verified += u64::from(bytes);
            self.amount.kept += u64::from(bytes);
            return Ok(Next::Kept { slab, bytes });
        }
        Ok(Next::Fetch(slab))
    }

    fn deliver(&mut self, label: Label, buffer: Buffer) -> Result<Delivered, Error> {
        let slab = label.slab;
        let wrong = |why: String| Err(Error::Slab { slab, why });
        if label.length > LARGEST_SLAB || label.length as usize != buffer.len() {
            return wrong(format!(
                "{} bytes, but its label says {}",
                buffer.len(),
                label.length
            ));
        }
        let layout = match &self.state {
            State::New => None,
            State::Manifest(open) | State::Contents(open) => Some(open.layout()),
            // The data is there already, so no slab is needed.
            State::There(_) => return Ok(Delivered::Verified),
            State::Finished => return wrong("all slabs have arrived already".to_owned()),
        };
        let begins = match layout {
            None if slab == 0 => 0,
            None => return wrong("the first slab has not arrived yet".to_owned()),
            Some(layout) => {
                check_length(slab, buffer.len(), &layout)?;
                match layout.location(slab) {
                    Some(
                        SlabLocation::Manifest { begins, .. }
                        | SlabLocation::Data { begins, .. }
                        | SlabLocation::Stream { begins, .. },
                    ) => begins,
                    None => return wrong("the transfer has no such slab".to_owned()),
                }
            }
        };
        match &self.state {
            State::Manifest(open) if slab >= open.layout().manifest_slabs() => {
                return wrong("the manifest is not complete yet".to_owned());
            }
            State::Manifest(open) if open.manifest.contains(slab) => {
                return Ok(Delivered::Verified);
            }
            State::Manifest(_) | State::Contents(_) if slab >= self.next => {
                return wrong("it was not requested".to_owned());
            }
            State::Contents(open) => {
                if open.has(slab) {
                    return Ok(Delivered::Verified);
                }
                if let Some(SlabLocation::Stream { full, .. }) = open.layout().location(slab)
                    && let Err(why) = open.stream.check(&label, full)
                {
                    return wrong(why);
                }
            }
            _ => {}
        }
        let hash = hash::slab(begins, &buffer);
        if hash.part != label.hash {
            self.again.push_back(slab);
            return Ok(Delivered::Mismatch);
        }
        let length = u64::from(label.length);
        // If an error occurs, the state remains `Finished`. So no further slab is accepted.
        self.state = match std::mem::replace(&mut self.state, State::Finished) {
            State::New => match self.find(&buffer)? {
                Some(there) => {
                    self.destination = Some(there.path().to_owned());
                    self.amount.total = there.total();
                    self.amount.verified = self.amount.total.unwrap_or(0);
                    self.amount.kept = self.amount.verified;
                    State::There(Box::new(there))
                }
                None => match self.begin(&buffer) {
                    Err(Error::Busy(_)) if self.is_patient() => {
                        self.state = State::New;
                        self.again.push_back(slab);
                        return Ok(Delivered::InUse);
                    }
                    begun => begun?,
                },
            },
            State::Manifest(mut open) => {
                open.write_manifest(slab, begins, &buffer)?;
                self.amount.verified += length;
                if open.missing == 0 {
                    open.check_manifest()?;
                    State::Contents(open)
                } else {
                    State::Manifest(open)
                }
            }
            State::Contents(mut open) => {
                let index = slab - open.layout().manifest_slabs();
                if open.data_slabs.is_none() {
                    open.streamed = open.streamed.max(begins + length);
                    if let Err(error) = check_size(begins + length, self.options.max_size) {
                        open.part.discard()?;
                        return Err(error);
                    }
                    if label.last {
                        // The last slab of a stream may be empty.
                        // An empty slab only reports the end of the stream, and has no record.
                        open.data_slabs = Some(index + u32::from(length > 0));
                        self.amount.total = Some(open.spool.header().length + begins + length);
                    }
                }
                // The record is written after the contents. So a record never describes bytes that were not written.
                open.destination.write(&open.spool, begins, &buffer)?;
                let length = label.length;
                let written = open.records.write(index, &Record { length, hash });
                written.map_err(|error| open.records_error(error))?;
                open.verified.insert(index);
                open.stream.arrived(&label);
                self.amount.verified += u64::from(length);
                State::Contents(open)
            }
            State::There(there) => State::There(there),
            State::Finished => State::Finished,
        };
        Ok(Delivered::Verified)
    }

    fn amount(&self) -> Amount {
        self.amount
    }

    fn destination(&self) -> Option<PathBuf> {
        self.destination.clone()
    }

    fn finish(&mut self, expected: &Hash) -> Result<(), Error> {
        let open = match std::mem::replace(&mut self.state, State::Finished) {
            State::Contents(open) => open,
            State::There(there) => return there.finish(expected),
            _ => return Err(Error::Incomplete { slab: self.next }),
        };
        let mut open = *open;
        let first = open.layout().manifest_slabs();
        let incomplete = |index: u32| Error::Incomplete {
            slab: first + index,
        };
        let Some(slabs) = open.data_slabs else {
            let index = open.verified.first_missing(u32::MAX - first);
            return Err(incomplete(index.unwrap_or(0)));
        };
        if let Some(index) = open.verified.first_missing(slabs) {
            return Err(incomplete(index));
        }
        let contents = open.records.root(slabs);
        let contents = contents
            .map_err(|error| open.records_error(error))?
            .map_err(incomplete)?;
        let header = *open.spool.header();
        let found = match header.content {
            Content::Tree => tree_root(&header.hash, &contents),
            Content::File | Content::Stream => contents,
        };
        if found != *expected {
            // It is not known which slabs are wrong. So none of them may be used again.
            let cleared = open.records.clear();
            cleared.map_err(|error| open.records_error(error))?;
            let (expected, found) = (expected.to_string(), found.to_string());
            return Err(Error::Root { expected, found });
        }
        open.destination
            .end_at(header.data.unwrap_or(open.streamed))?;
        let written = open.destination.finish(&open.spool);
        // Some rules of a manifest are checked only here.
        if matches!(written, Err(Error::Manifest(_))) {
            open.part.discard()?;
        }
        written?;
        open.part.finish()
    }
}

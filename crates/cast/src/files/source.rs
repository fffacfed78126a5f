//! Sources of slabs: files and trees on disk, and streams.

use super::below::Below;
use super::error::Error;
use super::hash::{self, Hash, Root, SlabHash, SlabHasher, SlabHashes, tree_root};
use super::manifest::{Content, Entry, Header, MOST_SLABS, Metadata, SlabLocation, What, Writer};
use super::records::{Record, Records};
use super::scan::{Inodes, Note, ScanOptions, scan};
use super::spool::{Item, Piece, Spool, shown};
use super::transfer::{Label, Source};
use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;
use std::fs::File;
use std::io::{self, Read};
use std::os::fd::OwnedFd;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

/// Number of bytes that one step reads and hashes.
/// These bytes fit into the processor's cache, so the hash does not read them from memory again.
const STEP: usize = 1 << 18;

/// Source for one file, or for a directory with its contents.
/// A slab cannot be read if one of its files has changed since the source was opened.
#[derive(Debug)]
pub struct FileSource {
    spool: Spool,
    files: Files,
    /// Hashes of the slabs of contents that were already read.
    records: Records,
    /// Number of the first slab of contents that may have no hash yet.
    unhashed: u32,
    missing: u64,
}

/// Files whose contents are sent.
#[derive(Debug)]
struct Files {
    path: PathBuf,
    root: Opened,
    inodes: Inodes,
    /// File that was read last, and the number of its entry.
    last: Option<(u64, File)>,
}

#[derive(Debug)]
enum Opened {
    File(File),
    Tree(Below),
}

impl FileSource {
    /// Opens a file or a directory. `note` receives each entry that is skipped or sent with a change.
    ///
    /// # Errors
    /// The disk reports an error, or the path is neither a file nor a directory.
    pub fn open(
        path: &Path,
        options: &ScanOptions,
        note: &mut dyn FnMut(Note),
    ) -> Result<Self, Error> {
        let scanned = scan(path, options, note)?;
        let temporary = tempfile::tempfile()
            .map_err(|error| Error::system("write hashes", &std::env::temp_dir(), error))?;
        let root = match scanned.spool.header().content {
            Content::Tree => Opened::Tree(Below::new(scanned.root)),
            _ => Opened::File(File::from(scanned.root)),
        };
        Ok(Self {
            spool: scanned.spool,
            files: Files {
                path: path.to_owned(),
                root,
                inodes: scanned.inodes,
                last: None,
            },
            records: Records::new(temporary, 0),
            unhashed: 0,
            missing: scanned.missing,
        })
    }

    /// Returns the number of entries that are skipped, although a receiver should have them.
    /// This process may not read them, or their paths are too long.
    pub const fn missing(&self) -> u64 {
        self.missing
    }

    /// Calls `call` for each entry of the manifest, in order.
    ///
    /// # Errors
    /// The manifest cannot be read, or `call` returned an error.
    pub fn each(&self, call: impl FnMut(&Item<'_>) -> Result<(), Error>) -> Result<(), Error> {
        self.spool.all(call)
    }

    /// Returns the number of slabs of contents.
    fn data_slabs(&self) -> u32 {
        let layout = self.spool.header().layout();
        layout.slabs().unwrap_or(0) - layout.manifest_slabs()
    }

    fn temporary(error: io::Error) -> Error {
        Error::system("keep hashes", &std::env::temp_dir(), error)
    }

    fn read_data(&mut self, index: u32, begins: u64, buffer: &mut [u8]) -> Result<SlabHash, Error> {
        let range = begins..begins + buffer.len() as u64;
        let files = &mut self.files;
        let mut hasher = SlabHasher::new(begins);
        let mut hashed = 0;
        self.spool.pieces(range, |piece| {
            files.read(piece, buffer, |buffer, filled| {
                // Bytes are hashed while they are in the processor's cache.
                // Small pieces are collected first, because the hash can then use vector instructions.
                if filled - hashed >= STEP {
                    hasher.update(&buffer[hashed..filled]);
                    hashed = filled;
                }
            })
        })?;
        hasher.update(&buffer[hashed..]);
        let hash = hasher.finish();
        let length = buffer.len() as u32;
        let record = Record { length, hash };
        self.records
            .write(index, &record)
            .map_err(Self::temporary)?;
        Ok(hash)
    }
}

impl Source for FileSource {
    fn header(&self) -> &Header {
        self.spool.header()
    }

    fn total(&self) -> Option<u64> {
        self.spool.header().layout().bytes()
    }

    fn read(&mut self, slab: u32, buffer: &mut Vec<u8>) -> Result<Label, Error> {
        let layout = self.spool.header().layout();
        let hash = match layout.location(slab) {
            Some(SlabLocation::Manifest { begins, length }) => {
                buffer.resize(length as usize, 0);
                self.spool.read(begins, buffer)?;
                hash::slab(begins, buffer)
            }
            Some(SlabLocation::Data { begins, length }) => {
                buffer.resize(length as usize, 0);
                self.read_data(slab - layout.manifest_slabs(), begins, buffer)?
            }
            Some(SlabLocation::Stream { .. }) | None => {
                let why = "the transfer has no such slab".to_owned();
                return Err(Error::Slab { slab, why });
            }
        };
        Ok(Label {
            slab,
            length: buffer.len() as u32,
            last: layout.slabs() == Some(slab + 1),
            hash: hash.part,
        })
    }

    fn hash_ahead(&mut self, buffer: &mut Vec<u8>) -> Result<bool, Error> {
        let first = self.spool.header().layout().manifest_slabs();
        while self.unhashed < self.data_slabs() {
            let index = self.unhashed;
            self.unhashed += 1;
            if self.records.read(index).map_err(Self::temporary)?.is_none() {
                self.read(first + index, buffer)?;
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn root(&mut self) -> Result<Hash, Error> {
        let mut buffer = Vec::new();
        while self.hash_ahead(&mut buffer)? {}
        let root = self.records.root(self.data_slabs());
        let contents = root.map_err(Self::temporary)?.map_err(|slab| Error::Slab {
            slab,
            why: "its hash is lost".to_owned(),
        })?;
        let header = self.spool.header();
        Ok(match header.content {
            Content::Tree => tree_root(&header.hash, &contents),
            _ => contents,
        })
    }

    fn slab_hashes(&mut self) -> Result<SlabHashes, Error> {
        let mut hashes = SlabHashes {
            manifest: self.spool.header().hash,
            alone: Hash::of(&[]),
            parts: Vec::new(),
        };
        for index in 0..self.data_slabs() {
            let record = self.records.read(index).map_err(Self::temporary)?;
            let record = record.ok_or_else(|| Error::Slab {
                slab: index,
                why: "its hash is lost".to_owned(),
            })?;
            hashes.alone = record.hash.alone.unwrap_or(hashes.alone);
            hashes.parts.push(record.hash.part);
        }
        Ok(hashes)
    }
}

impl Files {
    /// Reads a part of a file to its position in a slab.
    /// Checks before and after the read that the file has not changed.
    /// Calls `note` with the slab and the number of its bytes that are read so far.
    fn read(
        &mut self,
        piece: &Piece<'_>,
        slab: &mut [u8],
        mut note: impl FnMut(&[u8], usize),
    ) -> Result<(), Error> {
        let path = shown(&self.path, piece.below);
        if self
            .last
            .as_ref()
            .is_none_or(|(last, _)| *last != piece.number)
        {
            self.last = None;
            let file = self.open(piece.below, &path)?;
            let stat = file.metadata();
            let stat = stat.map_err(|error| Error::system("look at", &path, error))?;
            self.same(piece, &FileVersion::from(&stat), &path)?;
            self.last = Some((piece.number, file));
        }
        let Some((_, file)) = &self.last else {
            return Ok(());
        };
        // A change of the file may cause an error of the read. So the file is checked before this error is returned.
        let mut read = Ok(());
        for from in piece.within.clone().step_by(STEP) {
            let to = piece.within.end.min(from + STEP);
            let at = piece.at + (from - piece.within.start) as u64;
            read = file.read_exact_at(&mut slab[from..to], at);
            if read.is_err() {
                break;
            }
            note(slab, to);
        }
        // The file's state is read by its path. So the check also detects that another file has the same path now.
        let again = self.version_of(piece.below, &path)?;
        self.same(piece, &again, &path)?;
        read.map_err(|error| Error::system("read", &path, error))?;
        // All bytes of the file are read, so it can be closed.
        if piece.at + piece.within.len() as u64 == piece.size {
            self.last = None;
        }
        Ok(())
    }

    fn open(&mut self, below: &[u8], path: &Path) -> Result<File, Error> {
        let opened = match &mut self.root {
            Opened::File(file) => {
                return file
                    .try_clone()
                    .map_err(|error| Error::system("open", path, error));
            }
            // With NONBLOCK, the call does not block if another process has replaced the file by a pipe.
            Opened::Tree(tree) => {
                tree.open(below, OFlags::RDONLY | OFlags::NONBLOCK, Mode::empty())
            }
        };
        match opened {
            Err(error @ (Errno::NOENT | Errno::LOOP | Errno::NOTDIR)) => Err(Error::Changed {
                path: path.to_owned(),
                what: format!("it is no file any more ({error})"),
            }),
            result => {
                let file: OwnedFd = result.map_err(|error| Error::system("open", path, error))?;
                Ok(File::from(file))
            }
        }
    }

    /// Returns the current state of a file, by its path below the root.
    fn version_of(&mut self, below: &[u8], path: &Path) -> Result<FileVersion, Error> {
        let seen = match &mut self.root {
            // The path may be a symbolic link. The walk has followed it, so this call follows it too.
            Opened::File(_) => std::fs::metadata(path).map(|stat| FileVersion::from(&stat)),
            Opened::Tree(tree) => match tree.stat(below) {
                Ok(stat) => Ok(FileVersion::from(&stat)),
                Err(error) => Err(error.into()),
            },
        };
        seen.map_err(|error| match error.kind() {
            io::ErrorKind::NotFound => Error::Changed {
                path: path.to_owned(),
                what: "it is gone".to_owned(),
            },
            _ => Error::system("look at", path, error),
        })
    }

    /// Checks that a file is still the file that the walk has found.
    fn same(&self, piece: &Piece<'_>, seen: &FileVersion, path: &Path) -> Result<(), Error> {
        let inode = self.inodes.of(piece.number);
        let inode = inode.map_err(FileSource::temporary)?;
        let Metadata { seconds, nanos, .. } = *piece.metadata;
        let changed = |what: String| {
            let path = path.to_owned();
            Err(Error::Changed { path, what })
        };
        if seen.size != piece.size {
            return changed(format!(
                "it has {} bytes, and had {} before",
                seen.size, piece.size
            ));
        }
        if seen.modified != (seconds, i64::from(nanos)) {
            return changed("its time of modification has changed".to_owned());
        }
        if seen.inode != inode {
            return changed("another file is in its place".to_owned());
        }
        Ok(())
    }
}

/// Properties of a file that show whether the file has changed.
struct FileVersion {
    size: u64,
    modified: (i64, i64),
    inode: u64,
}

impl From<&std::fs::Metadata> for FileVersion {
    fn from(stat: &std::fs::Metadata) -> Self {
        Self {
            size: stat.len(),
            modified: (stat.mtime(), stat.mtime_nsec()),
            inode: stat.ino(),
        }
    }
}

impl From<&rustix::fs::Stat> for FileVersion {
    fn from(stat: &rustix::fs::Stat) -> Self {
        Self {
            size: stat.st_size as u64,
            modified: (stat.st_mtime, stat.st_mtime_nsec as i64),
            inode: stat.st_ino,
        }
    }
}

/// Source that reads a pipe. Its slabs have 1 MiB. A slab is sent when it is full or when the stream ends.
pub struct StreamSource<R> {
    input: R,
    manifest: Vec<u8>,
    header: Header,
    /// Number of the next slab. Slab 0 is the manifest.
    next: u32,
    ended: bool,
    root: Root,
}

impl<R: Read + Send> StreamSource<R> {
    /// Creates a source. A receiver that writes the stream to a file uses `name` for this file.
    ///
    /// # Errors
    /// `name` is not allowed as the name of a file.
    pub fn new(input: R, name: &[u8]) -> Result<Self, Error> {
        let now = SystemTime::now().duration_since(UNIX_EPOCH);
        // If the clock is set before 1970, the time is 0.
        let now = now.unwrap_or_default();
        let metadata = Metadata {
            // A pipe has no useful mode. So the received file gets the usual mode of a new file.
            mode: 0o644,
            seconds: now.as_secs() as i64,
            nanos: now.subsec_nanos(),
            ..Metadata::default()
        };
        let what = What::File { metadata, size: 0 };
        let entry = Entry {
            level: 0,
            name,
            what,
        };
        let named = |error| Error::system("name a stream", Path::new("-"), error);
        // A slab is sent only when it is full. So slabs of more than 1 MiB would delay the bytes of a slow stream.
        let mut writer = Writer::new(Vec::new(), Content::Stream, 20, false, false);
        writer.add(&entry).map_err(named)?;
        let (header, pages) = writer.finish().map_err(named)?;
        let mut manifest = header.encode().to_vec();
        manifest.extend(pages);
        Ok(Self {
            input,
            manifest,
            header,
            next: 1,
            ended: false,
            root: Root::default(),
        })
    }
}

impl<R: Read + Send> Source for StreamSource<R> {
    fn header(&self) -> &Header {
        &self.header
    }

    fn total(&self) -> Option<u64> {
        None
    }

    fn read(&mut self, slab: u32, buffer: &mut Vec<u8>) -> Result<Label, Error> {
        if slab == 0 {
            buffer.clear();
            buffer.extend(&self.manifest);
            return Ok(Label {
                slab,
                length: buffer.len() as u32,
                last: false,
                hash: hash::slab(0, buffer).part,
            });
        }
        if slab != self.next || self.ended {
            // A pipe cannot be read a second time. So an earlier slab is not available any more.
            return Err(Error::Gone(slab));
        }
        let Some(SlabLocation::Stream { begins, full }) = self.header.layout().location(slab)
        else {
            let why = format!("a stream has {MOST_SLABS} slabs at most");
            return Err(Error::Slab { slab, why });
        };
        buffer.clear();
        let read = (&mut self.input).take(full.into()).read_to_end(buffer);
        read.map_err(|error| Error::system("read", Path::new("-"), error))?;
        let hash = hash::slab(begins, buffer);
        // An empty last slab only reports the end of the stream. Its hash must not change the root.
        if !buffer.is_empty() {
            self.root.push(&hash);
        }
        self.next += 1;
        // `read_to_end` reads fewer bytes only at the end of the stream.
        self.ended = buffer.len() < full as usize;
        Ok(Label {
            slab,
            length: buffer.len() as u32,
            last: self.ended,
            hash: hash.part,
        })
    }

    fn hash_ahead(&mut self, _: &mut Vec<u8>) -> Result<bool, Error> {
        Ok(false)
    }

    fn root(&mut self) -> Result<Hash, Error> {
        if !self.ended {
            return Err(Error::Incomplete { slab: self.next });
        }
        Ok(self.root.clone().finish())
    }

    fn slab_hashes(&mut self) -> Result<SlabHashes, Error> {
        Err(Error::Gone(0))
    }
}

//! Destination of received contents: one file, or the files of a tree.

use super::attributes::{Keep, apply, apply_to_link};
use super::below::Below;
use super::error::Error;
use super::hash::{SlabHash, SlabHasher};
use super::manifest::{Location, ManifestError, Metadata, What};
use super::spool::{Item, Piece, Spool, shown};
use rustix::fs::{AtFlags, FileType, Mode, OFlags};
use rustix::io::Errno;
use std::fs::File;
use std::io;
use std::ops::Range;
use std::os::fd::OwnedFd;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

/// Number of bytes that one step reads, when a slab of an earlier transfer is verified.
const STEP: usize = 1 << 18;

/// Destination of received contents.
#[derive(Debug)]
pub struct Destination {
    target: Target,
    path: PathBuf,
    keep: Keep,
    /// File that was written last, and the number of its entry. `None` if this file is complete.
    last: Option<(u64, File)>,
}

#[derive(Debug)]
enum Target {
    File(File),
    Tree(Below),
}

impl Destination {
    /// Creates a destination that is one file.
    pub fn file(file: File, path: PathBuf, keep: Keep) -> Self {
        Self::new(Target::File(file), path, keep)
    }

    /// Creates a destination that is a directory.
    pub fn tree(root: OwnedFd, path: PathBuf, keep: Keep) -> Self {
        Self::new(Target::Tree(Below::new(root)), path, keep)
    }

    fn new(target: Target, path: PathBuf, keep: Keep) -> Self {
        Self {
            target,
            path,
            keep,
            last: None,
        }
    }

    /// Writes a slab of contents, which starts at position `begins`.
    pub fn write(&mut self, spool: &Spool, begins: u64, bytes: &[u8]) -> Result<(), Error> {
        if let (Target::File(file), path) = (&self.target, &self.path) {
            let written = file.write_all_at(bytes, begins);
            return written.map_err(|error| Error::system("write", path, error));
        }
        let range = begins..begins + bytes.len() as u64;
        spool.pieces(range, |piece| {
            self.write_piece(piece, &bytes[piece.within.clone()])
        })
    }

    fn write_piece(&mut self, piece: &Piece<'_>, bytes: &[u8]) -> Result<(), Error> {
        let Target::Tree(tree) = &mut self.target else {
            return Ok(());
        };
        let error =
            |tried, error: io::Error| Error::system(tried, &shown(&self.path, piece.below), error);
        let file = match self.last.take() {
            Some((number, file)) if number == piece.number => file,
            _ => create(tree, piece.below).map_err(|errno| error("make", errno.into()))?,
        };
        let written = file.write_all_at(bytes, piece.at);
        written.map_err(|failed| error("write", failed))?;
        // A file that is a single piece is complete now. `complete` sets the mode and the times of all other files.
        if bytes.len() as u64 == piece.size {
            let applied = apply(&file, piece.metadata, self.keep);
            applied.map_err(|errno| error("set modes and times of", errno.into()))?;
        } else {
            self.last = Some((piece.number, file));
        }
        Ok(())
    }

    /// Returns the hash of a slab of contents on the disk. Returns `None` if a part of the slab is missing.
    pub fn hash(&mut self, spool: &Spool, range: Range<u64>) -> Result<Option<SlabHash>, Error> {
        let mut hasher = SlabHasher::new(range.start);
        let mut buffer = vec![0; STEP];
        if let Target::File(file) = &self.target {
            let whole = read(file, range, &mut buffer, &mut hasher);
            let whole = whole.map_err(|error| Error::system("read", &self.path, error))?;
            return Ok(whole.then(|| hasher.finish()));
        }
        let mut whole = true;
        spool.pieces(range, |piece| {
            let Target::Tree(tree) = &mut self.target else {
                return Ok(());
            };
            // If a piece is missing, the slab is not complete. So the other pieces are not read.
            if !whole {
                return Ok(());
            }
            let flags = OFlags::RDONLY | OFlags::NONBLOCK;
            let read = match tree.open(piece.below, flags, Mode::empty()) {
                // The piece does not exist, or another process has replaced its file.
                Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => Ok(false),
                Err(error) => Err(error.into()),
                Ok(file) => {
                    let range = piece.at..piece.at + piece.within.len() as u64;
                    read(&File::from(file), range, &mut buffer, &mut hasher)
                }
            };
            let path = || shown(&self.path, piece.below);
            whole = read.map_err(|error| Error::system("read", &path(), error))?;
            Ok(())
        })?;
        Ok(whole.then(|| hasher.finish()))
    }

    /// Creates the entries without contents and checks that all files exist.
    /// Then sets all modes and times, and syncs everything to the disk.
    pub fn finish(&mut self, spool: &Spool) -> Result<(), Error> {
        self.last = None;
        let (keep, path) = (self.keep, self.path.clone());
        match &mut self.target {
            Target::File(file) => {
                let sync = |item: &Item<'_>| {
                    if let Some(metadata) = item.entry.metadata() {
                        apply(&*file, metadata, keep)?;
                    }
                    rustix::fs::fsync(&*file)
                };
                spool.all(|item| sync(item).map_err(|error| Error::system("finish", &path, error)))
            }
            Target::Tree(tree) => {
                spool.all(|item| complete(tree, spool, item, keep, &path))?;
                // The modes and times of directories come last.
                // New entries would change the times of a directory. The mode of a directory may forbid new entries.
                spool.directories_from_within(|below, metadata| {
                    let flags = OFlags::RDONLY | OFlags::DIRECTORY;
                    let opened = tree.open(below, flags, Mode::empty());
                    let applied = opened.and_then(|opened| apply(opened, metadata, keep));
                    let path = || shown(&path, below);
                    applied.map_err(|error| Error::system("set modes and times of", &path(), error))
                })?;
                // For many small files, one `syncfs` call is much faster than an `fsync` call for each file.
                let synced = rustix::fs::syncfs(tree.root());
                synced.map_err(|error| Error::system("sync", &path, error))
            }
        }
    }

    /// Truncates a file to its final length. For a stream, this length is known only at the end.
    pub fn end_at(&self, length: u64) -> Result<(), Error> {
        match &self.target {
            Target::File(file) => file
                .set_len(length)
                .map_err(|error| Error::system("write", &self.path, error)),
            Target::Tree(_) => Ok(()),
        }
    }
}

/// Adds a range of a file to a hash. Returns whether the whole range exists.
fn read(
    file: &File,
    range: Range<u64>,
    buffer: &mut [u8],
    hasher: &mut SlabHasher,
) -> io::Result<bool> {
    let mut at = range.start;
    while at < range.end {
        let step = (range.end - at).min(buffer.len() as u64) as usize;
        match file.read_exact_at(&mut buffer[..step], at) {
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(false),
            result => result?,
        }
        hasher.update(&buffer[..step]);
        at += step as u64;
    }
    Ok(true)
}

/// Opens a file for writing. Creates the file and its parent directories if they do not exist.
fn create(tree: &mut Below, below: &[u8]) -> rustix::io::Result<File> {
    let parent = below.iter().rposition(|&byte| byte == b'/').unwrap_or(0);
    tree.make_directory(&below[..parent])?;
    // With NONBLOCK, the call does not block if another process has replaced the file by a pipe.
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::NONBLOCK;
    let file = tree.open(below, flags, Mode::RUSR | Mode::WUSR)?;
    let stat = rustix::fs::fstat(&file)?;
    if FileType::from_raw_mode(stat.st_mode) != FileType::RegularFile {
        return Err(Errno::EXIST);
    }
    Ok(File::from(file))
}

/// Completes an entry of a tree, after all contents are written.
fn complete(
    tree: &mut Below,
    spool: &Spool,
    item: &Item<'_>,
    keep: Keep,
    path: &Path,
) -> Result<(), Error> {
    let error = |tried, error: Errno| Error::system(tried, &shown(path, item.below), error);
    match &item.entry.what {
        What::Directory(_) => tree
            .make_directory(item.below)
            .map_err(|errno| error("make", errno)),
        What::File { metadata, size: 0 } => create(tree, item.below)
            .and_then(|file| apply(file, metadata, keep))
            .map_err(|errno| error("make", errno)),
        What::File { metadata, size } => {
            let flags = OFlags::WRONLY | OFlags::NONBLOCK;
            let stat = tree
                .stat(item.below)
                .map_err(|errno| error("look at", errno))?;
            let is_file = FileType::from_raw_mode(stat.st_mode) == FileType::RegularFile;
            if !is_file || stat.st_size as u64 != *size {
                let path = shown(path, item.below);
                let why = "another process changed it while it was received";
                return Err(Error::Unfit { path, why });
            }
            let log2 = spool.header().slab_log2;
            // `size` is above 0 in this case. So the subtraction cannot fail.
            let (first, last) = (item.offset, item.offset + size - 1);
            // A file inside one slab got its mode and times together with its contents.
            if first >> log2 != last >> log2 {
                let opened = tree.open(item.below, flags, Mode::empty());
                let applied = opened.and_then(|file| apply(file, metadata, keep));
                applied.map_err(|errno| error("set modes and times of", errno))?;
            }
            Ok(())
        }
        What::Symlink { metadata, target } => {
            symlink(tree, item.below, target, metadata, keep).map_err(|errno| error("make", errno))
        }
        What::HardLink { of } => {
            let Some(file) = spool.file(*of)? else {
                let why = format!("another name of entry {of}, which is no file");
                return Err(ManifestError::new(Location::Entry(item.number), why).into());
            };
            link(tree, &file, item.below).map_err(|errno| error("link", errno))
        }
    }
}

fn symlink(
    tree: &mut Below,
    below: &[u8],
    target: &[u8],
    metadata: &Metadata<'_>,
    keep: Keep,
) -> rustix::io::Result<()> {
    let (parent, name) = tree.parent(below)?;
    match rustix::fs::symlinkat(target, parent, name) {
        // An earlier transfer may have created this link.
        Err(Errno::EXIST) => {
            rustix::fs::unlinkat(parent, name, AtFlags::empty())?;
            rustix::fs::symlinkat(target, parent, name)?;
        }
        result => result?,
    }
    apply_to_link(parent, name, metadata, keep)
}

fn link(tree: &mut Below, file: &[u8], below: &[u8]) -> rustix::io::Result<()> {
    let (from, file) = tree.parent(file)?;
    // The next call of `parent` may close this directory. So a second descriptor keeps it open.
    let from = rustix::io::fcntl_dupfd_cloexec(from, 0)?;
    let (parent, name) = tree.parent(below)?;
    match rustix::fs::linkat(&from, file, parent, name, AtFlags::empty()) {
        // An earlier transfer may have created this link, possibly to another file.
        Err(Errno::EXIST) => {
            rustix::fs::unlinkat(parent, name, AtFlags::empty())?;
            rustix::fs::linkat(&from, file, parent, name, AtFlags::empty())
        }
        result => result,
    }
}

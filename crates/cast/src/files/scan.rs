//! Walk over the files that will be sent. It writes a manifest of them to disk.

use super::below::Below;
use super::error::Error;
use super::exclude::Exclude;
use super::listing::Listing;
use super::manifest::{
    Content, Entry, Header, LONGEST_PATH, Metadata, Owner, What, Writer, Xattrs, is_reserved,
};
use super::spool::{Spool, shown};
use rustix::fs::{Access, AtFlags, Dir, FileType, Mode, OFlags, Stat};
use rustix::io::Errno;
use std::collections::HashMap;
use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, BufWriter, Seek, SeekFrom, Write};
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

/// Memory for the names of one directory, in bytes. If the names need more memory, they are sorted on disk.
const NAMES_OF_ONE: usize = 4 << 20;
/// Memory for the names of all directories that are open during the walk, in bytes.
const NAMES_OF_ALL: usize = 16 << 20;

/// Largest number of files with several names that the walk remembers.
/// The walk remembers a file until it has visited all names of the file. 200,000 files need about 12 MB.
const MOST_LINKED: usize = 200_000;

/// Largest size of the extended attributes of one file in bytes.
/// An entry with these attributes, the longest name and the longest target fits into the limit of 32 KiB.
const MOST_XATTRS: usize = 16 << 10;

/// Options of a walk.
#[derive(Clone, Default, Debug)]
pub struct ScanOptions {
    /// Patterns of entries that are not sent.
    pub exclude: Exclude,
    /// Whether the owners of files are sent, as user and group numbers.
    pub owners: bool,
    /// Whether extended attributes are sent. Only names that begin with `user.` are sent.
    pub xattrs: bool,
    /// Base-2 logarithm of the size of a slab of contents in bytes. 0: the largest size.
    pub slab_log2: u8,
}

/// Note about an entry that is skipped, or is sent with a change.
#[derive(Debug)]
pub struct Note {
    /// Path of the entry.
    pub path: PathBuf,
    /// Reason why the entry is skipped, or how it is changed.
    pub why: &'static str,
}

/// Result of a walk over the files.
#[derive(Debug)]
pub struct Scanned {
    /// Manifest of all entries, on disk.
    pub spool: Spool,
    /// Open file or directory that will be sent.
    pub root: OwnedFd,
    /// Number of entries that are missing in the manifest, although a receiver should have them.
    pub missing: u64,
    /// Inode number of each entry. With it, a source detects that another file has replaced the file.
    pub inodes: Inodes,
}

/// File with the inode number of each entry.
#[derive(Debug)]
pub struct Inodes(File);

impl Inodes {
    /// Returns the inode number of an entry, by the number of the entry.
    pub fn of(&self, entry: u64) -> io::Result<u64> {
        let mut bytes = [0; 8];
        self.0.read_exact_at(&mut bytes, entry * 8)?;
        Ok(u64::from_ne_bytes(bytes))
    }
}

/// Walks over a file or a directory. A symbolic link is followed only if `path` itself is a link.
/// `note` receives each entry that is skipped or sent with a change.
pub fn scan(
    path: &Path,
    options: &ScanOptions,
    note: &mut dyn FnMut(Note),
) -> Result<Scanned, Error> {
    let opened = rustix::fs::open(
        path,
        // With NONBLOCK, the call does not block if the path is a pipe without a writer.
        OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NONBLOCK,
        Mode::empty(),
    );
    let root = opened.map_err(|error| Error::system("open", path, error))?;
    let stat = rustix::fs::fstat(&root).map_err(|error| Error::system("look at", path, error))?;
    let content = match FileType::from_raw_mode(stat.st_mode) {
        FileType::RegularFile => Content::File,
        FileType::Directory => Content::Tree,
        _ => {
            let why = "neither a file nor a directory (a pipe is sent as `-`)";
            let path = path.to_owned();
            return Err(Error::Unfit { path, why });
        }
    };
    let name = root_name(path)?;
    if is_reserved(&name) {
        let path = path.to_owned();
        let why = "this name is reserved for unfinished transfers of a receiver";
        return Err(Error::Unfit { path, why });
    }
    let spooled =
        |error: io::Error| Error::system("write the manifest", &std::env::temp_dir(), error);
    let mut file = tempfile::tempfile().map_err(spooled)?;
    // The header contains the hash of the pages. So it is written after the pages.
    file.seek(SeekFrom::Start(Header::LENGTH as u64))
        .map_err(spooled)?;
    let slab_log2 = match options.slab_log2 {
        0 => *super::manifest::SLAB_LOG2.end(),
        log2 => log2,
    };
    let (owners, xattrs) = (options.owners, options.xattrs);
    let out = BufWriter::with_capacity(1 << 16, file);
    let again = root
        .try_clone()
        .map_err(|error| Error::system("open", path, error))?;
    let mut scan = Scan {
        path,
        options,
        note,
        below: Below::new(again),
        writer: Writer::new(out, content, slab_log2, owners, xattrs),
        inodes: BufWriter::new(tempfile::tempfile().map_err(spooled)?),
        linked: HashMap::new(),
        missing: 0,
    };
    scan.root(&name, &stat)?;
    let missing = scan.missing;
    let (header, out) = scan.writer.finish().map_err(spooled)?;
    let file = out
        .into_inner()
        .map_err(|error| spooled(error.into_error()))?;
    file.write_all_at(&header.encode(), 0).map_err(spooled)?;
    let inodes = scan.inodes.into_inner();
    let inodes = inodes.map_err(|error| spooled(error.into_error()))?;
    // A receiver would refuse a manifest that exceeds a limit. So the walk fails here.
    if let Err(error) = Header::decode(&header.encode()) {
        return Err(Error::Manifest(error));
    }
    Ok(Scanned {
        spool: Spool::new(file, header, "the manifest".into()),
        root,
        missing,
        inodes: Inodes(inodes),
    })
}

/// Returns the name that the file or directory will have at the receiver.
fn root_name(path: &Path) -> Result<Vec<u8>, Error> {
    if let Some(name) = path.file_name() {
        return Ok(name.as_bytes().to_owned());
    }
    // A path such as `.` or `..` has no name. So the full path is needed.
    let whole = path.canonicalize();
    let whole = whole.map_err(|error| Error::system("open", path, error))?;
    match whole.file_name() {
        Some(name) => Ok(name.as_bytes().to_owned()),
        None => Err(Error::Unfit {
            path: path.to_owned(),
            why: "it has no name; allowed: a directory in it",
        }),
    }
}

struct Scan<'a> {
    path: &'a Path,
    options: &'a ScanOptions,
    note: &'a mut dyn FnMut(Note),
    below: Below,
    writer: Writer<BufWriter<File>>,
    inodes: BufWriter<File>,
    /// Files with several names, by device and inode.
    /// The values are the number of the first entry, and the number of names that were not visited yet.
    linked: HashMap<(u64, u64), (u64, u64)>,
    /// Number of entries that are skipped, although a receiver should have them.
    missing: u64,
}

impl Scan<'_> {
    fn error(&self, tried: &'static str, below: &[u8], error: impl Into<io::Error>) -> Error {
        Error::system(tried, &shown(self.path, below), error)
    }

    fn note(&mut self, below: &[u8], why: &'static str) {
        let path = shown(self.path, below);
        (self.note)(Note { path, why });
    }

    /// Skips an entry that a receiver should have.
    fn miss(&mut self, below: &[u8], why: &'static str) {
        self.missing += 1;
        self.note(below, why);
    }

    /// Returns whether this process may read an entry.
    fn is_readable(&mut self, below: &[u8], directory: bool) -> bool {
        let access = match directory {
            true => Access::READ_OK | Access::EXEC_OK,
            false => Access::READ_OK,
        };
        let parent = self.below.parent(below);
        let found = parent.and_then(|(parent, name)| {
            rustix::fs::accessat(parent, name, access, AtFlags::EACCESS)
        });
        // Other errors occur again when the entry is read, and are reported there.
        !matches!(found, Err(Errno::ACCESS | Errno::PERM))
    }

    fn root(&mut self, name: &[u8], stat: &Stat) -> Result<(), Error> {
        self.add(0, name, b"", stat)?;
        if FileType::from_raw_mode(stat.st_mode) != FileType::Directory {
            return Ok(());
        }
        // Stack of the open directories. Each element has a path, and the names that were not visited yet.
        let mut stack = vec![(Vec::new(), self.list(b"", 0)?)];
        while let Some((path, listing)) = stack.last_mut() {
            let next = listing.next();
            let Some(name) = next.map_err(|error| self.error("list", path, error))? else {
                stack.pop();
                continue;
            };
            let mut below = path.clone();
            if !below.is_empty() {
                below.push(b'/');
            }
            below.extend(&name);
            let level = stack.len();
            if self.visit(level, &name, &below)? {
                let held: usize = stack.iter().map(|(_, listing)| listing.bytes()).sum();
                let listing = self.list(&below, held)?;
                stack.push((below, listing));
            }
        }
        Ok(())
    }

    /// Adds the entry with this path to the manifest. Returns whether the walk must enter the entry.
    fn visit(&mut self, level: usize, name: &[u8], below: &[u8]) -> Result<bool, Error> {
        let stat = match self.below.stat(below) {
            // Another process has removed the entry after its directory was listed.
            Err(Errno::NOENT) => return Ok(false),
            result => result.map_err(|error| self.error("look at", below, error))?,
        };
        let kind = FileType::from_raw_mode(stat.st_mode);
        let directory = kind == FileType::Directory;
        if self.options.exclude.matches(below, directory) {
            return Ok(false);
        }
        if is_reserved(name) {
            self.note(
                below,
                "skipped: this name is reserved for unfinished transfers of a receiver",
            );
            return Ok(false);
        }
        let known = [
            FileType::Directory,
            FileType::RegularFile,
            FileType::Symlink,
        ];
        if !known.contains(&kind) {
            self.note(
                below,
                "skipped: neither a file, a directory nor a symbolic link",
            );
            return Ok(false);
        }
        // The root may have another name at the receiver: up to 255 bytes and a separator.
        if below.len() + 256 > LONGEST_PATH {
            self.miss(below, "skipped: its path is too long");
            return Ok(false);
        }
        if kind != FileType::Symlink && !self.is_readable(below, directory) {
            self.miss(below, "skipped: this user may not read it");
            return Ok(false);
        }
        self.add(level, name, below, &stat)?;
        Ok(directory)
    }

    fn list(&mut self, below: &[u8], held: usize) -> Result<Listing, Error> {
        let directory = self
            .below
            .directory(below)
            .and_then(Dir::read_from)
            .map_err(|error| self.error("list", below, error))?;
        // The kernel returns names in any order. The manifest needs them in byte order.
        let names = directory.filter_map(|read| match read {
            Ok(entry) => match entry.file_name().to_bytes() {
                b"." | b".." => None,
                name => Some(Ok(name.into())),
            },
            Err(error) => Some(Err(error.into())),
        });
        let most = NAMES_OF_ONE.min(NAMES_OF_ALL.saturating_sub(held));
        Listing::sort(names, most).map_err(|error| self.error("list", below, error))
    }

    fn add(&mut self, level: usize, name: &[u8], below: &[u8], stat: &Stat) -> Result<(), Error> {
        let kind = FileType::from_raw_mode(stat.st_mode);
        let mut bytes = Vec::new();
        if self.options.xattrs && kind != FileType::Symlink {
            self.xattrs(below, &mut bytes)?;
        }
        let owner = Owner {
            user: stat.st_uid,
            group: stat.st_gid,
        };
        let metadata = Metadata {
            mode: match kind {
                FileType::Symlink => 0,
                _ => (stat.st_mode & 0o7777) as u16,
            },
            seconds: stat.st_mtime,
            nanos: stat.st_mtime_nsec as u32,
            owner: self.options.owners.then_some(owner),
            // The attributes were sorted and encoded above. So this cannot fail.
            xattrs: Xattrs::parse(&bytes).unwrap_or_default(),
        };
        let target;
        let what = match kind {
            FileType::Directory => What::Directory(metadata),
            FileType::Symlink => {
                let read = self
                    .below
                    .parent(below)
                    .and_then(|(parent, name)| rustix::fs::readlinkat(parent, name, Vec::new()));
                target = read.map_err(|error| self.error("read", below, error))?;
                let target = target.as_bytes();
                if target.is_empty() || target.len() > LONGEST_PATH {
                    self.miss(below, "skipped: its target is empty or too long");
                    return Ok(());
                }
                What::Symlink { metadata, target }
            }
            _ => match self.first_name(below, stat) {
                Some(of) => What::HardLink { of },
                None => What::File {
                    metadata,
                    size: stat.st_size as u64,
                },
            },
        };
        let level = level as u16;
        let added = self.writer.add(&Entry { level, name, what });
        added.map_err(|error| self.error("write the manifest of", below, error))?;
        let inode = self.inodes.write_all(&stat.st_ino.to_ne_bytes());
        inode.map_err(|error| self.error("write the manifest of", below, error))
    }

    /// Returns the number of a file's first entry, if the walk has already visited the file under another name.
    fn first_name(&mut self, below: &[u8], stat: &Stat) -> Option<u64> {
        // If a single file is sent, the manifest has no other entry of this file.
        if stat.st_nlink < 2 || below.is_empty() {
            return None;
        }
        let key = (stat.st_dev, stat.st_ino);
        if let Some((entry, left)) = self.linked.get_mut(&key) {
            let entry = *entry;
            *left -= 1;
            if *left == 0 {
                self.linked.remove(&key);
            }
            return Some(entry);
        }
        if self.linked.len() >= MOST_LINKED {
            self.note(
                below,
                "sent as a separate file: too many files have several names",
            );
            return None;
        }
        let left = stat.st_nlink - 1;
        self.linked.insert(key, (self.writer.entries(), left));
        None
    }

    fn xattrs(&mut self, below: &[u8], bytes: &mut Vec<u8>) -> Result<(), Error> {
        let opened = self
            .below
            .open(below, OFlags::RDONLY | OFlags::NONBLOCK, Mode::empty());
        let file = match opened {
            // If a single file is sent, the root itself is a file.
            Err(Errno::NOTDIR) if below.is_empty() => None,
            result => Some(result.map_err(|error| self.error("open", below, error))?),
        };
        let file = match &file {
            Some(file) => std::os::fd::AsFd::as_fd(file),
            None => self.below.root(),
        };
        let (attributes, all) = read_xattrs(file).map_err(|error| {
            Error::system("read attributes of", &shown(self.path, below), error)
        })?;
        for (name, value) in attributes {
            Xattrs::push(bytes, &name, &value);
        }
        if !all {
            self.note(below, "sent without attributes that are too long");
        }
        Ok(())
    }
}

/// Names and values of extended attributes.
type Attributes = Vec<(Vec<u8>, Vec<u8>)>;

/// Returns the `user.` attributes of a file, sorted by name.
/// The flag is `false` if some attributes are left out because they are too large.
fn read_xattrs(file: std::os::fd::BorrowedFd<'_>) -> rustix::io::Result<(Attributes, bool)> {
    let mut buffer = vec![0; 1 << 16];
    let length = match rustix::fs::flistxattr(file, &mut buffer[..]) {
        Err(Errno::NOTSUP) => return Ok((Vec::new(), true)),
        result => result?,
    };
    let mut names: Vec<Vec<u8>> = buffer[..length]
        .split(|&byte| byte == 0)
        .filter(|name| name.starts_with(b"user."))
        .map(<[u8]>::to_vec)
        .collect();
    names.sort_unstable();
    names.dedup();
    let (mut found, mut bytes, mut all) = (Vec::new(), 0, true);
    for name in names {
        let name_of = OsStr::from_bytes(&name);
        let length = match rustix::fs::fgetxattr(file, name_of, &mut buffer[..]) {
            // The attribute was removed after its name was listed.
            Err(Errno::NODATA) => continue,
            result => result?,
        };
        // The encoding needs one more byte for the length of the name, and two for the length of the value.
        bytes += name.len() + length + 3;
        if bytes > MOST_XATTRS {
            all = false;
            break;
        }
        found.push((name, buffer[..length].to_vec()));
    }
    Ok((found, all))
}

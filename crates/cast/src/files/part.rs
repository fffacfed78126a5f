//! Files of an unfinished transfer. `NAME.part` has the contents, and gets its final name when all slabs are verified.
//! `NAME.part.manifest` has the manifest. `NAME.part.slabs` has a record for each verified slab.
//!
//! `NAME.part.slabs` begins with the header of the manifest. So only a transfer of the same data can continue with
//! these files. The receiving process locks this file.

use super::error::Error;
use super::hash::Hash;
use super::manifest::{Content, Header};
use super::spool::shown;
use rustix::fs::{AtFlags, FileType, FlockOperation, Mode, OFlags, RenameFlags, Stat};
use rustix::io::Errno;
use std::fs::File;
use std::io::{self, Read};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::FileExt;
use std::path::PathBuf;

/// Number of bytes before the records: magic bytes with version, header of the manifest, checksum.
pub const RECORDS_BEGIN: u64 = 96;
const MAGIC: [u8; 8] = *b"tcslabs1";
/// Number of bytes that the checksum covers.
const CHECKED: usize = MAGIC.len() + Header::LENGTH;

/// Largest length of a name in bytes. A name with the longest suffix must not exceed 255 bytes, the limit of Linux.
const LONGEST: usize = 255 - ".part.manifest".len();

/// Files of an unfinished transfer in a directory.
#[derive(Debug)]
pub struct Part {
    directory: OwnedFd,
    /// Path of the directory, for error messages.
    shown: PathBuf,
    name: Vec<u8>,
    /// First part of the names of all files of the transfer.
    base: Vec<u8>,
    /// Whether the transfer continues an earlier transfer.
    resumed: bool,
    /// File with the records, which is locked.
    slabs: File,
    overwrite: bool,
    content: Content,
}

impl Part {
    /// Locks the files of a transfer in a directory. If `resume` is set, files of a transfer of the same data are kept.
    /// Files of other transfers are removed.
    pub fn open(
        directory: OwnedFd,
        path: PathBuf,
        name: Vec<u8>,
        header: &Header,
        resume: bool,
        overwrite: bool,
    ) -> Result<Self, Error> {
        let base = base(&name);
        // The lock is taken first. Otherwise two processes could both find that the final name is free.
        let slabs = lock(&directory, &base, &path)?;
        let part = Self {
            directory,
            shown: path,
            name,
            base,
            resumed: false,
            slabs,
            overwrite,
            content: header.content,
        };
        part.check_free()?;
        part.begin(header, resume)
    }

    /// Checks that no entry has the final name, or that the entry may be replaced.
    fn check_free(&self) -> Result<(), Error> {
        let Some(stat) = self.stat(b"")? else {
            return Ok(());
        };
        let is_directory = FileType::from_raw_mode(stat.st_mode) == FileType::Directory;
        if !self.overwrite {
            return Err(Error::Exists(self.path(b"")));
        }
        match (self.content, is_directory) {
            (Content::Tree, false) => Err(Error::Unfit {
                path: self.path(b""),
                why: "the transfer is a directory, and a directory cannot replace this file",
            }),
            (Content::File | Content::Stream, true) => Err(Error::Unfit {
                path: self.path(b""),
                why: "the transfer is a file, and it is a directory",
            }),
            _ => Ok(()),
        }
    }

    /// Keeps the existing files, or creates new ones.
    fn begin(mut self, header: &Header, resume: bool) -> Result<Self, Error> {
        let mut expected = [0; RECORDS_BEGIN as usize];
        expected[..MAGIC.len()].copy_from_slice(&MAGIC);
        expected[MAGIC.len()..CHECKED].copy_from_slice(&header.encode());
        let check = Hash::of(&expected[..CHECKED]);
        let room = expected.len() - CHECKED;
        expected[CHECKED..].copy_from_slice(&check.0[..room]);

        let mut found = Vec::new();
        let front = (&self.slabs).take(RECORDS_BEGIN).read_to_end(&mut found);
        front.map_err(|error| self.error("read", b".part.slabs", error))?;
        let there = self.stat(b".part")?.is_some();
        // A stream cannot be read again. So a transfer of a stream cannot continue.
        self.resumed = resume && there && found == expected && self.content != Content::Stream;
        if self.resumed {
            return Ok(self);
        }
        // A file without the magic bytes does not belong to a transfer. So it must not be removed.
        let ours = found.starts_with(&MAGIC);
        if !ours && !found.is_empty() {
            return Err(Error::NotAPart(self.path(b".part.slabs")));
        }
        // `lock` has just created the empty file of the records. It is removed again.
        if there && !ours {
            self.remove(b".part.slabs")?;
            return Err(Error::NotAPart(self.path(b".part")));
        }
        if there {
            self.remove_all(b".part")?;
        }
        self.remove(b".part.manifest")?;
        let written = self
            .slabs
            .set_len(0)
            .and_then(|()| self.slabs.write_all_at(&expected, 0));
        written.map_err(|error| self.error("write", b".part.slabs", error))?;
        Ok(self)
    }

    /// Returns whether the transfer continues an earlier transfer.
    pub const fn resumed(&self) -> bool {
        self.resumed
    }

    /// Returns the file with the records.
    pub fn slabs(&self) -> Result<File, Error> {
        let again = self.slabs.try_clone();
        again.map_err(|error| self.error("open", b".part.slabs", error))
    }

    /// Opens the file with the manifest.
    pub fn manifest(&self) -> Result<File, Error> {
        self.file(b".part.manifest", OFlags::empty())
    }

    /// Opens the contents, if they are one file.
    pub fn contents(&self) -> Result<File, Error> {
        self.file(b".part", self.new_only())
    }

    /// Opens the contents, if they are a directory.
    pub fn tree(&self) -> Result<OwnedFd, Error> {
        let name = self.named(b".part");
        match rustix::fs::mkdirat(&self.directory, &name, Mode::RWXU) {
            Err(Errno::EXIST) if self.resumed => {}
            result => result.map_err(|error| self.error("make", b".part", error))?,
        }
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let opened = rustix::fs::openat(&self.directory, &name, flags, Mode::empty());
        opened.map_err(|error| self.error("open", b".part", error))
    }

    fn new_only(&self) -> OFlags {
        match self.resumed {
            true => OFlags::empty(),
            false => OFlags::EXCL,
        }
    }

    fn file(&self, end: &[u8], flags: OFlags) -> Result<File, Error> {
        let opened = open(&self.directory, &self.named(end), flags);
        let file = File::from(opened.map_err(|error| self.error("open", end, error))?);
        Ok(file)
    }

    /// Gives the contents their final name, and removes the other files. All contents must already be on the disk.
    pub fn finish(&self) -> Result<(), Error> {
        let part = self.named(b".part");
        let rename = |flags| {
            rustix::fs::renameat_with(&self.directory, &part, &self.directory, &self.name, flags)
        };
        let there = self.stat(b"")?.is_some();
        let renamed = match (there && self.overwrite, self.content) {
            // A directory cannot replace a directory that is not empty. But two directories can be exchanged.
            (true, Content::Tree) => rename(RenameFlags::EXCHANGE),
            (true, _) => rename(RenameFlags::empty()),
            (false, _) => match rename(RenameFlags::NOREPLACE) {
                // The file system does not support the flag. The name was free when it was checked above. So a plain
                // rename is nearly as safe.
                Err(Errno::INVAL | Errno::NOSYS) if !there => rename(RenameFlags::empty()),
                result => result,
            },
        };
        match renamed {
            Err(Errno::EXIST) => return Err(Error::Exists(self.path(b""))),
            result => result.map_err(|error| self.error("rename to", b"", error))?,
        }
        // After a power failure, the new name must exist if the records are gone. So the directory is synced first.
        let synced = rustix::fs::fsync(&self.directory);
        synced.map_err(|error| Error::system("sync", &self.shown, error))?;
        if there && self.overwrite && self.content == Content::Tree {
            // After the exchange, `.part` is the old directory.
            self.remove_all(b".part")?;
        }
        // The locked file is removed last.
        self.remove(b".part.manifest")?;
        self.remove(b".part.slabs")
    }

    fn named(&self, end: &[u8]) -> Vec<u8> {
        match end {
            b"" => self.name.clone(),
            end => [&self.base, end].concat(),
        }
    }

    /// Returns the path of the file with a suffix, for error messages.
    pub fn path(&self, end: &[u8]) -> PathBuf {
        shown(&self.shown, &self.named(end))
    }

    fn error(&self, tried: &'static str, end: &[u8], error: impl Into<io::Error>) -> Error {
        Error::system(tried, &self.path(end), error)
    }

    fn stat(&self, end: &[u8]) -> Result<Option<Stat>, Error> {
        let name = self.named(end);
        match rustix::fs::statat(&self.directory, &name, AtFlags::SYMLINK_NOFOLLOW) {
            Err(Errno::NOENT) => Ok(None),
            result => result
                .map(Some)
                .map_err(|error| self.error("look at", end, error)),
        }
    }

    fn remove(&self, end: &[u8]) -> Result<(), Error> {
        match rustix::fs::unlinkat(&self.directory, self.named(end), AtFlags::empty()) {
            Err(Errno::NOENT) => Ok(()),
            result => result.map_err(|error| self.error("remove", end, error)),
        }
    }

    /// Removes a file, or a directory with its contents. Symbolic links are not followed.
    fn remove_all(&self, end: &[u8]) -> Result<(), Error> {
        match self.remove(end) {
            // If the entry is a directory, Linux returns EISDIR. POSIX requires EPERM.
            Err(Error::System { error, .. })
                if matches!(
                    Errno::from_io_error(&error),
                    Some(Errno::ISDIR | Errno::PERM)
                ) => {}
            result => return result,
        }
        let removed = std::fs::remove_dir_all(self.path(end));
        removed.map_err(|error| self.error("remove", end, error))
    }
}

/// Returns the first part of the names of a transfer's files. It is the transfer's name. A name that is too long is
/// cut, and a hash is appended.
fn base(name: &[u8]) -> Vec<u8> {
    if name.len() <= LONGEST {
        return name.to_owned();
    }
    let hash = Hash::of(name).to_string();
    // The separator and eight digits of the hash need 9 bytes in total.
    let (kept, distinct) = (&name[..LONGEST - 9], &hash.as_bytes()[..8]);
    [kept, b"~", distinct].concat()
}

fn open(directory: &OwnedFd, name: &[u8], flags: OFlags) -> rustix::io::Result<OwnedFd> {
    let flags = flags | OFlags::RDWR | OFlags::CREATE | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    rustix::fs::openat(directory, name, flags, Mode::RUSR | Mode::WUSR)
}

/// Opens the file with the records and locks it.
fn lock(directory: &OwnedFd, base: &[u8], path: &std::path::Path) -> Result<File, Error> {
    let name = [base, b".part.slabs"].concat();
    let whole = shown(path, &name);
    let error = |tried, error: Errno| Error::system(tried, &whole, error);
    loop {
        let file = open(directory, &name, OFlags::empty());
        let file = file.map_err(|errno| error("open", errno))?;
        match rustix::fs::flock(file.as_fd(), FlockOperation::NonBlockingLockExclusive) {
            Err(Errno::WOULDBLOCK) => return Err(Error::Busy(whole)),
            result => result.map_err(|errno| error("lock", errno))?,
        }
        // Before the lock, another process may have removed the file. Then the open file has no name any more, and the
        // loop creates a new one.
        let stat = rustix::fs::fstat(&file).map_err(|errno| error("look at", errno))?;
        if stat.st_nlink > 0 {
            return Ok(File::from(file));
        }
    }
}

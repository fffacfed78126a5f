//! Files of an unfinished transfer.
//! The files are in the folder `.tailcut` of the target directory. So the names of a sender never collide with them:
//!
//! - `KEY.slabs` has the random number of the transfer and a record for each verified slab.
//!   KEY consists of the hashes of the final name and of the manifest's header.
//!   So only a transfer of the same data can continue with these files. The receiving process locks this file.
//! - `ID.manifest` has the manifest. ID is the random number.
//! - `ID.data` has the contents, and gets its final name when all slabs are verified.
//!
//! A file is changed or removed only if a valid `KEY.slabs` shows that a transfer has made it.

use super::error::Error;
use super::hash::Hash;
use super::manifest::{Content, Header, STATE_FOLDER};
use super::spool::shown;
use crate::seal::random;
use rustix::fs::{AtFlags, Dir, FileType, FlockOperation, Mode, OFlags, RenameFlags, Stat};
use rustix::io::Errno;
use std::fs::File;
use std::io::{self, Read};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

/// Number of bytes before the records: magic bytes with version, header of the manifest, random number, checksum.
pub const RECORDS_BEGIN: u64 = 112;
const MAGIC: [u8; 8] = *b"tcslabs2";
/// Size of the random number of a transfer in bytes.
const ID: usize = 16;
/// Position of the random number.
const ID_BEGINS: usize = MAGIC.len() + Header::LENGTH;
/// Number of bytes that the checksum covers.
const CHECKED: usize = ID_BEGINS + ID;
/// Largest number of other unfinished transfers that stay under the name of a new transfer.
/// Without a limit, interrupted senders could fill the disk.
/// With 0, a sender could remove the data of another one by a transfer of the same name.
const MOST_EARLIER: usize = 3;
/// Largest number of attempts to create the folder. An attempt fails if another process removes the empty folder.
const ATTEMPTS: usize = 100;

/// One of the files of a transfer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Of {
    /// The data under its final name, in the target directory.
    Final,
    /// The contents, until they get their final name.
    Data,
    /// The manifest.
    Manifest,
    /// The records of the verified slabs.
    Slabs,
}

/// Files of an unfinished transfer in a directory.
#[derive(Debug)]
pub struct Part {
    directory: OwnedFd,
    /// Path of the directory, for error messages.
    shown: PathBuf,
    /// Folder with the files of all unfinished transfers.
    folder: OwnedFd,
    /// Final name.
    name: Vec<u8>,
    /// Random number of the transfer, as hexadecimal digits.
    id: String,
    /// Name of the file with the records.
    records: String,
    /// Whether the transfer continues an earlier transfer.
    resumed: bool,
    /// File with the records, which is locked.
    slabs: File,
    overwrite: bool,
    content: Content,
}

impl Part {
    /// Locks the files of a transfer in a directory.
    /// If `resume` is set, the files of a transfer of the same data under the same name are used.
    /// A refused transfer leaves no files.
    pub fn open(
        directory: OwnedFd,
        path: PathBuf,
        name: Vec<u8>,
        header: &Header,
        resume: bool,
        overwrite: bool,
    ) -> Result<Self, Error> {
        let target = Target {
            directory: &directory,
            shown: &path,
        };
        target.check_free(&name, header.content, overwrite)?;
        let records = format!("{}-{}.slabs", short(&name), short(&header.encode()));
        let (folder, slabs) = target.lock(&records)?;
        let mut part = Self {
            directory,
            shown: path,
            folder,
            name,
            id: String::new(),
            records,
            resumed: false,
            slabs,
            overwrite,
            content: header.content,
        };
        part.begin(header, resume)?;
        part.remove_earlier(MOST_EARLIER)?;
        Ok(part)
    }

    /// Keeps the existing files, or creates new ones.
    fn begin(&mut self, header: &Header, resume: bool) -> Result<(), Error> {
        let mut found = Vec::new();
        let front = (&self.slabs).take(RECORDS_BEGIN).read_to_end(&mut found);
        front.map_err(|error| self.error("read", Of::Slabs, error))?;
        if !found.is_empty() {
            let known = id_of(&found).filter(|(of, _)| *of == header.encode());
            // If the bytes before the records are not valid, no transfer has made this file. So it must not be changed.
            let (_, id) = known.ok_or_else(|| Error::NotAPart(self.path(Of::Slabs)))?;
            self.id = id;
            let there = self.stat(Of::Data)?.is_some();
            // A stream cannot be read again. So a transfer of a stream cannot continue.
            self.resumed = resume && there && self.content != Content::Stream;
            if self.resumed {
                return Ok(());
            }
            self.remove_all(Of::Data)?;
            self.remove(Of::Manifest)?;
        }
        let id: [u8; ID] = random().map_err(|error| {
            let error = io::Error::other(error);
            self.error("draw a number for", Of::Slabs, error)
        })?;
        self.id = digits(&id);
        let written = self
            .slabs
            .set_len(0)
            .and_then(|()| self.slabs.write_all_at(&front_of(header, &id), 0));
        written.map_err(|error| self.error("write", Of::Slabs, error))
    }

    /// Returns whether the transfer continues an earlier transfer.
    pub const fn resumed(&self) -> bool {
        self.resumed
    }

    /// Returns the file with the records.
    pub fn slabs(&self) -> Result<File, Error> {
        let again = self.slabs.try_clone();
        again.map_err(|error| self.error("open", Of::Slabs, error))
    }

    /// Opens the file with the manifest.
    pub fn manifest(&self) -> Result<File, Error> {
        self.file(Of::Manifest, OFlags::empty())
    }

    /// Opens the contents, if they are one file.
    pub fn contents(&self) -> Result<File, Error> {
        self.file(Of::Data, self.new_only())
    }

    /// Opens the contents, if they are a directory.
    pub fn tree(&self) -> Result<OwnedFd, Error> {
        let name = self.named(Of::Data);
        match rustix::fs::mkdirat(&self.folder, &name, Mode::RWXU) {
            Err(Errno::EXIST) if self.resumed => {}
            result => result.map_err(|error| self.error("make", Of::Data, error))?,
        }
        let opened = open_directory(&self.folder, &name);
        opened.map_err(|error| self.error("open", Of::Data, error))
    }

    fn new_only(&self) -> OFlags {
        match self.resumed {
            true => OFlags::empty(),
            false => OFlags::EXCL,
        }
    }

    fn file(&self, of: Of, flags: OFlags) -> Result<File, Error> {
        let opened = open(&self.folder, &self.named(of), flags);
        let file = File::from(opened.map_err(|error| self.error("open", of, error))?);
        Ok(file)
    }

    /// Gives the contents their final name, and removes the other files. All contents must already be on the disk.
    pub fn finish(&self) -> Result<(), Error> {
        let data = self.named(Of::Data);
        let rename = |flags| {
            rustix::fs::renameat_with(&self.folder, &data, &self.directory, &self.name, flags)
        };
        let there = self.stat(Of::Final)?.is_some();
        let renamed = match (there && self.overwrite, self.content) {
            // A directory cannot replace a directory that is not empty. But two directories can be exchanged.
            (true, Content::Tree) => rename(RenameFlags::EXCHANGE),
            (true, _) => rename(RenameFlags::empty()),
            (false, _) => match rename(RenameFlags::NOREPLACE) {
                // The file system does not support the flag. The name was free when it was checked above.
                // So a rename without the flag is nearly as safe.
                Err(Errno::INVAL | Errno::NOSYS) if !there => rename(RenameFlags::empty()),
                result => result,
            },
        };
        match renamed {
            Err(Errno::EXIST) => return Err(Error::Exists(self.path(Of::Final))),
            result => result.map_err(|error| self.error("rename to", Of::Final, error))?,
        }
        // After a power failure, the new name must exist if the records are gone. So the directory is synced first.
        let synced = rustix::fs::fsync(&self.directory);
        synced.map_err(|error| Error::system("sync", &self.shown, error))?;
        if there && self.overwrite && self.content == Content::Tree {
            // After the exchange, `Of::Data` names the old directory.
            self.remove_all(Of::Data)?;
        }
        self.remove_earlier(0)?;
        self.remove_rest()
    }

    /// Removes the files of a transfer that is refused. The files of an earlier transfer of this data stay.
    pub fn discard(&self) -> Result<(), Error> {
        if self.resumed {
            return Ok(());
        }
        self.remove_all(Of::Data)?;
        self.remove_rest()
    }

    /// Removes the manifest and the records, and then the folder if it is empty.
    fn remove_rest(&self) -> Result<(), Error> {
        self.remove(Of::Manifest)?;
        // The locked file is removed last.
        self.remove(Of::Slabs)?;
        // The call fails if other transfers have files there.
        let _ = rustix::fs::unlinkat(&self.directory, STATE_FOLDER, AtFlags::REMOVEDIR);
        Ok(())
    }

    /// Removes the files of unfinished transfers of other data under the same name. The newest `keep` of them stay.
    /// After a transfer of this name has finished, no other one can finish, because the name is taken.
    fn remove_earlier(&self, keep: usize) -> Result<(), Error> {
        let error = |error: Errno| Error::system("list", &self.shown.join(STATE_FOLDER), error);
        let begin = short(&self.name);
        let mut earlier = Vec::new();
        for entry in Dir::read_from(&self.folder).map_err(error)? {
            let entry = entry.map_err(error)?;
            let name = entry.file_name().to_string_lossy().into_owned();
            if name.starts_with(&begin) && name.ends_with(".slabs") && name != self.records {
                earlier.push(name);
            }
        }
        let mut unused: Vec<_> = earlier
            .into_iter()
            .filter_map(|records| self.unused(records))
            .collect();
        // The records change with each slab. So this is the order of the last progress, newest first.
        unused.sort_by_key(|unused| std::cmp::Reverse(unused.changed));
        for Unused { records, id, .. } in unused.into_iter().skip(keep) {
            self.remove_path(format!("{id}.data").as_bytes(), Of::Data)?;
            self.remove_named(format!("{id}.manifest").as_bytes(), Of::Manifest)?;
            self.remove_named(records.as_bytes(), Of::Slabs)?;
        }
        Ok(())
    }

    /// Locks the records of an unfinished transfer.
    /// Returns `None` if another process uses or removes them at this moment, or if they are not valid.
    fn unused(&self, records: String) -> Option<Unused> {
        let flags = OFlags::RDWR | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let opened = rustix::fs::openat(&self.folder, &records, flags, Mode::empty());
        let mut file = File::from(opened.ok()?);
        rustix::fs::flock(&file, FlockOperation::NonBlockingLockExclusive).ok()?;
        let mut front = Vec::new();
        (&mut file)
            .take(RECORDS_BEGIN)
            .read_to_end(&mut front)
            .ok()?;
        let (_, id) = id_of(&front)?;
        let changed = file.metadata().ok()?.modified().ok()?;
        Some(Unused {
            records,
            id,
            changed,
            _lock: file,
        })
    }

    fn named(&self, of: Of) -> Vec<u8> {
        match of {
            Of::Final => self.name.clone(),
            Of::Data => format!("{}.data", self.id).into_bytes(),
            Of::Manifest => format!("{}.manifest", self.id).into_bytes(),
            Of::Slabs => self.records.clone().into_bytes(),
        }
    }

    /// Returns the path of a file, for error messages.
    pub fn path(&self, of: Of) -> PathBuf {
        match of {
            Of::Final => shown(&self.shown, &self.name),
            of => shown(&self.shown.join(STATE_FOLDER), &self.named(of)),
        }
    }

    fn error(&self, tried: &'static str, of: Of, error: impl Into<io::Error>) -> Error {
        Error::system(tried, &self.path(of), error)
    }

    fn stat(&self, of: Of) -> Result<Option<Stat>, Error> {
        let directory = match of {
            Of::Final => &self.directory,
            _ => &self.folder,
        };
        let found = stat(directory, &self.named(of));
        found.map_err(|error| self.error("look at", of, error))
    }

    fn remove(&self, of: Of) -> Result<(), Error> {
        self.remove_named(&self.named(of), of)
    }

    fn remove_named(&self, name: &[u8], of: Of) -> Result<(), Error> {
        match rustix::fs::unlinkat(&self.folder, name, AtFlags::empty()) {
            Err(Errno::NOENT) => Ok(()),
            result => result.map_err(|error| self.error("remove", of, error)),
        }
    }

    /// Removes a file, or a directory with its contents. Symbolic links are not followed.
    fn remove_all(&self, of: Of) -> Result<(), Error> {
        self.remove_path(&self.named(of), of)
    }

    fn remove_path(&self, name: &[u8], of: Of) -> Result<(), Error> {
        match self.remove_named(name, of) {
            // If the entry is a directory, Linux returns EISDIR. POSIX requires EPERM.
            Err(Error::System { error, .. })
                if matches!(
                    Errno::from_io_error(&error),
                    Some(Errno::ISDIR | Errno::PERM)
                ) => {}
            result => return result,
        }
        let path = shown(&self.shown.join(STATE_FOLDER), name);
        let removed = std::fs::remove_dir_all(path);
        removed.map_err(|error| self.error("remove", of, error))
    }
}

/// Unfinished transfer that no process uses.
struct Unused {
    records: String,
    id: String,
    /// Time of the last progress.
    changed: SystemTime,
    /// File with the records. It stays locked until the files are removed.
    _lock: File,
}

/// Directory that receives the data.
struct Target<'a> {
    directory: &'a OwnedFd,
    shown: &'a Path,
}

impl Target<'_> {
    /// Checks that no entry has the final name, or that the entry may be replaced.
    fn check_free(&self, name: &[u8], content: Content, overwrite: bool) -> Result<(), Error> {
        let path = || shown(self.shown, name);
        let found = stat(self.directory, name);
        let Some(stat) = found.map_err(|error| Error::system("look at", &path(), error))? else {
            return Ok(());
        };
        let is_directory = FileType::from_raw_mode(stat.st_mode) == FileType::Directory;
        if !overwrite {
            return Err(Error::Exists(path()));
        }
        match (content, is_directory) {
            (Content::Tree, false) => Err(Error::Unfit {
                path: path(),
                why: "the transfer is a directory, and a directory cannot replace this file",
            }),
            (Content::File | Content::Stream, true) => Err(Error::Unfit {
                path: path(),
                why: "the transfer is a file, and it is a directory",
            }),
            _ => Ok(()),
        }
    }

    /// Opens the folder for unfinished transfers. Creates it if it does not exist.
    fn folder(&self) -> Result<OwnedFd, Error> {
        let path = self.shown.join(STATE_FOLDER);
        match rustix::fs::mkdirat(self.directory, STATE_FOLDER, Mode::RWXU) {
            Ok(()) | Err(Errno::EXIST) => {}
            Err(error) => return Err(Error::system("make", &path, error)),
        }
        match open_directory(self.directory, STATE_FOLDER.as_bytes()) {
            Err(Errno::NOTDIR | Errno::LOOP) => Err(Error::NotAPart(path)),
            result => result.map_err(|error| Error::system("open", &path, error)),
        }
    }

    /// Opens the folder and the file with the records, and locks this file.
    fn lock(&self, records: &str) -> Result<(OwnedFd, File), Error> {
        let path = self.shown.join(STATE_FOLDER).join(records);
        let error = |tried, error: Errno| Error::system(tried, &path, error);
        for _ in 0..ATTEMPTS {
            let folder = match self.folder() {
                // Another process has removed the empty folder.
                Err(Error::System { error, .. }) if error.kind() == io::ErrorKind::NotFound => {
                    continue;
                }
                folder => folder?,
            };
            let file = match open(&folder, records.as_bytes(), OFlags::empty()) {
                Err(Errno::NOENT) => continue,
                Err(Errno::LOOP | Errno::ISDIR) => return Err(Error::NotAPart(path)),
                file => file.map_err(|errno| error("open", errno))?,
            };
            match rustix::fs::flock(file.as_fd(), FlockOperation::NonBlockingLockExclusive) {
                Err(Errno::WOULDBLOCK) => return Err(Error::Busy(path)),
                result => result.map_err(|errno| error("lock", errno))?,
            }
            // Before the lock, another process may have removed the file.
            // Then the open file has no name any more, and the loop creates a new one.
            let stat = rustix::fs::fstat(&file).map_err(|errno| error("look at", errno))?;
            if stat.st_nlink > 0 {
                return Ok((folder, File::from(file)));
            }
        }
        Err(Error::Busy(path))
    }
}

fn stat(directory: &OwnedFd, name: &[u8]) -> rustix::io::Result<Option<Stat>> {
    match rustix::fs::statat(directory, name, AtFlags::SYMLINK_NOFOLLOW) {
        Err(Errno::NOENT) => Ok(None),
        result => result.map(Some),
    }
}

fn open(directory: &OwnedFd, name: &[u8], flags: OFlags) -> rustix::io::Result<OwnedFd> {
    let flags = flags | OFlags::RDWR | OFlags::CREATE | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    rustix::fs::openat(directory, name, flags, Mode::RUSR | Mode::WUSR)
}

fn open_directory(directory: &OwnedFd, name: &[u8]) -> rustix::io::Result<OwnedFd> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    rustix::fs::openat(directory, name, flags, Mode::empty())
}

/// Returns 16 hexadecimal digits of a hash.
fn short(bytes: &[u8]) -> String {
    digits(&Hash::of(bytes).0[..8])
}

fn digits(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Returns the bytes before the records.
fn front_of(header: &Header, id: &[u8; ID]) -> [u8; RECORDS_BEGIN as usize] {
    let mut front = [0; RECORDS_BEGIN as usize];
    front[..MAGIC.len()].copy_from_slice(&MAGIC);
    front[MAGIC.len()..ID_BEGINS].copy_from_slice(&header.encode());
    front[ID_BEGINS..CHECKED].copy_from_slice(id);
    let check = Hash::of(&front[..CHECKED]);
    let room = front.len() - CHECKED;
    front[CHECKED..].copy_from_slice(&check.0[..room]);
    front
}

/// Returns the encoded header and the random number in the bytes before the records, if these bytes are valid.
fn id_of(front: &[u8]) -> Option<([u8; Header::LENGTH], String)> {
    let front: &[u8; RECORDS_BEGIN as usize] = front.first_chunk()?;
    let check = Hash::of(&front[..CHECKED]);
    let is_valid = front.starts_with(&MAGIC) && check.0.starts_with(&front[CHECKED..]);
    let header = front[MAGIC.len()..].first_chunk()?;
    is_valid.then(|| (*header, digits(&front[ID_BEGINS..CHECKED])))
}

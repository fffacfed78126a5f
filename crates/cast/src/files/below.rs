//! Access to the entries below a directory.
//! No path can lead out of the directory: `..` is refused, and symbolic links are not followed.

use rustix::fs::{AtFlags, Mode, OFlags, ResolveFlags, Stat};
use rustix::io::Errno;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

/// Directory with all entries below it. Paths are relative to the directory. The empty path is the directory itself.
#[derive(Debug)]
pub struct Below {
    root: OwnedFd,
    /// Directory that was used last: its path and its open descriptor.
    last: Option<(Vec<u8>, OwnedFd)>,
    /// Whether the kernel can resolve paths inside a directory (`openat2`, Linux 5.6).
    /// If not, this module opens the components of a path one by one. This is as safe, but slower.
    openat2: bool,
}

/// Splits a path into the path of its directory and its name.
fn split(path: &[u8]) -> (&[u8], &[u8]) {
    match path.iter().rposition(|&byte| byte == b'/') {
        Some(at) => (&path[..at], &path[at + 1..]),
        None => (&[], path),
    }
}

impl Below {
    /// Creates access to the entries below a directory.
    pub fn new(root: OwnedFd) -> Self {
        Self {
            root,
            last: None,
            openat2: true,
        }
    }

    /// Creates access that does not use `openat2`, for tests.
    #[cfg(test)]
    pub fn without_openat2(root: OwnedFd) -> Self {
        Self {
            openat2: false,
            ..Self::new(root)
        }
    }

    /// Returns the directory itself.
    pub fn root(&self) -> BorrowedFd<'_> {
        self.root.as_fd()
    }

    /// Opens a directory or a file.
    pub fn open(&mut self, path: &[u8], flags: OFlags, mode: Mode) -> rustix::io::Result<OwnedFd> {
        let flags = flags | OFlags::CLOEXEC | OFlags::NOFOLLOW;
        if path.is_empty() {
            return rustix::fs::openat(&self.root, ".", flags, mode);
        }
        let (parent, name) = split(path);
        check(name)?;
        let parent = self.directory(parent)?;
        rustix::fs::openat(parent, name, flags, mode)
    }

    /// Opens a directory, and returns it. It stays open until another directory is requested.
    pub fn directory(&mut self, path: &[u8]) -> rustix::io::Result<BorrowedFd<'_>> {
        if path.is_empty() {
            return Ok(self.root.as_fd());
        }
        // Consecutive entries are usually in the same directory. So its descriptor is kept.
        if self.last.as_ref().is_none_or(|(last, _)| last != path) {
            let opened = self.open_directory(path)?;
            self.last = Some((path.to_owned(), opened));
        }
        match &self.last {
            Some((_, opened)) => Ok(opened.as_fd()),
            None => Ok(self.root.as_fd()),
        }
    }

    fn open_directory(&mut self, path: &[u8]) -> rustix::io::Result<OwnedFd> {
        let flags = OFlags::DIRECTORY | OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NOFOLLOW;
        if self.openat2 {
            let within =
                ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
            match rustix::fs::openat2(&self.root, path, flags, Mode::empty(), within) {
                Err(Errno::NOSYS) => self.openat2 = false,
                // The call may be blocked by a sandbox, or an entry was renamed during the call.
                // In both cases, the components are opened one by one.
                Err(Errno::PERM | Errno::AGAIN) => {}
                result => return result,
            }
        }
        let mut opened: Option<OwnedFd> = None;
        for name in path.split(|&byte| byte == b'/') {
            check(name)?;
            let above = opened.as_ref().unwrap_or(&self.root);
            opened = Some(rustix::fs::openat(above, name, flags, Mode::empty())?);
        }
        opened.ok_or(Errno::INVAL)
    }

    /// Creates a directory and its parents if they do not exist. Only the owner may access new directories.
    pub fn make_directory(&mut self, path: &[u8]) -> rustix::io::Result<()> {
        match self.directory(path) {
            Err(Errno::NOENT) => {}
            result => return result.map(drop),
        }
        let (above, name) = split(path);
        check(name)?;
        self.make_directory(above)?;
        let above = self.directory(above)?;
        match rustix::fs::mkdirat(above, name, Mode::RWXU) {
            // Another process may have created the directory in the meantime.
            Err(Errno::EXIST) => {}
            result => result?,
        }
        self.directory(path).map(drop)
    }

    /// Returns the metadata of an entry. A symbolic link is not followed.
    pub fn stat(&mut self, path: &[u8]) -> rustix::io::Result<Stat> {
        if path.is_empty() {
            return rustix::fs::fstat(&self.root);
        }
        let (parent, name) = self.parent(path)?;
        rustix::fs::statat(parent, name, AtFlags::SYMLINK_NOFOLLOW)
    }

    /// Opens the directory of an entry. Returns the directory and the entry's name.
    pub fn parent<'n>(&mut self, path: &'n [u8]) -> rustix::io::Result<(BorrowedFd<'_>, &'n [u8])> {
        let (parent, name) = split(path);
        check(name)?;
        Ok((self.directory(parent)?, name))
    }
}

/// Checks that a name belongs to an entry of the directory itself, and does not lead to another directory.
fn check(name: &[u8]) -> rustix::io::Result<()> {
    match name {
        b"" | b"." | b".." => Err(Errno::INVAL),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::symlink;

    fn both(folder: &std::path::Path) -> [Below; 2] {
        let open = || OwnedFd::from(fs::File::open(folder).expect("a folder"));
        [Below::new(open()), Below::without_openat2(open())]
    }

    #[test]
    fn no_path_leads_out_of_the_directory() {
        let folder = tempfile::tempdir().expect("a folder");
        let (inside, outside) = (folder.path().join("in"), folder.path().join("out"));
        fs::create_dir_all(inside.join("real")).expect("a folder");
        fs::create_dir(&outside).expect("a folder");
        fs::write(outside.join("secret"), "x").expect("a file");
        symlink(&outside, inside.join("link")).expect("a link");
        symlink("../../out", inside.join("real/up")).expect("a link");
        symlink(outside.join("secret"), inside.join("real/file")).expect("a link");
        for mut below in both(&inside) {
            for path in [
                "link/secret",
                "real/up/secret",
                "../out/secret",
                "real/../../out/secret",
                "..",
                "real/file",
                "/etc/passwd",
                "real//file",
            ] {
                let opened = below.open(path.as_bytes(), OFlags::RDONLY, Mode::empty());
                assert!(opened.is_err(), "{path}");
            }
            assert!(below.make_directory(b"link/new").is_err());
            assert!(below.make_directory(b"real/../../out/new").is_err());
            assert!(!outside.join("new").exists());
        }
    }

    #[test]
    fn directories_are_made_with_those_above_them() {
        let folder = tempfile::tempdir().expect("a folder");
        for (mut below, name) in both(folder.path()).into_iter().zip(["a", "b"]) {
            let path = format!("{name}/x/y/z");
            below.make_directory(path.as_bytes()).expect("made");
            below.make_directory(path.as_bytes()).expect("there");
            assert!(folder.path().join(path).is_dir());
        }
    }
}

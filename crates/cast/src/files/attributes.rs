//! Modes, times, owners and extended attributes of what was received.

use super::manifest::Metadata;
use rustix::fs::{AtFlags, Gid, Mode, Timespec, Timestamps, UTIME_OMIT, Uid, XattrFlags};
use std::ffi::OsStr;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::ffi::OsStrExt;

/// What of a manifest is taken over, beside modes and times.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Keep {
    /// Owners, and with them setuid, setgid and sticky bits.
    pub owners: bool,
    /// Extended attributes.
    pub xattrs: bool,
}

/// Gives an open file or directory what is known about it.
pub fn apply(file: impl AsFd, metadata: &Metadata<'_>, keep: Keep) -> rustix::io::Result<()> {
    let file = file.as_fd();
    if keep.xattrs {
        for (name, value) in metadata.xattrs.iter() {
            rustix::fs::fsetxattr(file, OsStr::from_bytes(name), value, XattrFlags::empty())?;
        }
    }
    let mut modes = 0o777;
    if let Some(owner) = metadata.owner.filter(|_| keep.owners) {
        // Before the mode: a new owner takes setuid and setgid away.
        let (user, group) = (Uid::from_raw(owner.user), Gid::from_raw(owner.group));
        rustix::fs::fchown(file, Some(user), Some(group))?;
        modes = 0o7777;
    }
    let mode = u32::from(metadata.mode) & modes;
    rustix::fs::fchmod(file, Mode::from_raw_mode(mode))?;
    rustix::fs::futimens(file, &times(metadata))
}

/// The same for a symbolic link, by its name.
pub fn apply_to_link(
    parent: BorrowedFd<'_>,
    name: &[u8],
    metadata: &Metadata<'_>,
    keep: Keep,
) -> rustix::io::Result<()> {
    if let Some(owner) = metadata.owner.filter(|_| keep.owners) {
        let (user, group) = (Uid::from_raw(owner.user), Gid::from_raw(owner.group));
        let flags = AtFlags::SYMLINK_NOFOLLOW;
        rustix::fs::chownat(parent, name, Some(user), Some(group), flags)?;
    }
    rustix::fs::utimensat(parent, name, &times(metadata), AtFlags::SYMLINK_NOFOLLOW)
}

/// The time of modification; that of the last access stays.
fn times(metadata: &Metadata<'_>) -> Timestamps {
    Timestamps {
        last_access: Timespec {
            tv_sec: 0,
            tv_nsec: UTIME_OMIT,
        },
        last_modification: Timespec {
            tv_sec: metadata.seconds,
            tv_nsec: metadata.nanos.into(),
        },
    }
}

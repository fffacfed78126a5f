//! Metadata of received files: modes, times, owners and extended attributes.

use super::manifest::Metadata;
use rustix::fs::{AtFlags, Gid, Mode, Timespec, Timestamps, UTIME_OMIT, Uid, XattrFlags};
use std::ffi::OsStr;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::ffi::OsStrExt;

/// Selection of metadata that is applied in addition to modes and times.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Keep {
    /// Whether owners are applied. The setuid, setgid and sticky bits are applied only together with owners.
    pub owners: bool,
    /// Whether extended attributes are applied.
    pub xattrs: bool,
}

/// Applies metadata to an open file or directory.
pub fn apply(file: impl AsFd, metadata: &Metadata<'_>, keep: Keep) -> rustix::io::Result<()> {
    let file = file.as_fd();
    if keep.xattrs {
        for (name, value) in metadata.xattrs.iter() {
            rustix::fs::fsetxattr(file, OsStr::from_bytes(name), value, XattrFlags::empty())?;
        }
    }
    // Without the sender's owner, the setuid, setgid and sticky bits would belong to another owner.
    let mut modes = 0o777;
    if let Some(owner) = metadata.owner.filter(|_| keep.owners) {
        // The owner is set before the mode, because a change of the owner clears setuid and setgid.
        let (user, group) = (Uid::from_raw(owner.user), Gid::from_raw(owner.group));
        rustix::fs::fchown(file, Some(user), Some(group))?;
        modes = 0o7777;
    }
    let mode = u32::from(metadata.mode) & modes;
    rustix::fs::fchmod(file, Mode::from_raw_mode(mode))?;
    rustix::fs::futimens(file, &times(metadata))
}

/// Applies metadata to a symbolic link. The link is not opened, because that would open its target.
pub fn apply_to_link(
    parent: BorrowedFd<'_>,
    name: &[u8],
    metadata: &Metadata<'_>,
    keep: Keep,
) -> rustix::io::Result<()> {
    // Linux ignores the mode of a symbolic link, so only the owner and the times are set.
    if let Some(owner) = metadata.owner.filter(|_| keep.owners) {
        let (user, group) = (Uid::from_raw(owner.user), Gid::from_raw(owner.group));
        let flags = AtFlags::SYMLINK_NOFOLLOW;
        rustix::fs::chownat(parent, name, Some(user), Some(group), flags)?;
    }
    rustix::fs::utimensat(parent, name, &times(metadata), AtFlags::SYMLINK_NOFOLLOW)
}

/// Returns the times to set. The time of the last modification is set. The time of the last access does not change.
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

//! Entry of a manifest: one directory, file or link.

use super::bytes::{Bytes, Short};
use super::order::LONGEST_PATH;

/// Flag: the entry has an owner.
const OWNER: u8 = 1;
/// Flag: the entry has extended attributes.
const XATTRS: u8 = 2;

/// Mask of the permission bits, including setuid, setgid and sticky.
const MODES: u16 = 0o7777;

/// Entry of a manifest: a directory, a file, a symbolic link or a hard link.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Entry<'a> {
    /// Number of directories above the entry. 0 for the root.
    pub level: u16,
    /// Name of the entry in its directory.
    pub name: &'a [u8],
    /// Kind of the entry, with its data.
    pub what: What<'a>,
}

/// Kind of an entry, with its data.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum What<'a> {
    /// Directory.
    Directory(Metadata<'a>),
    /// Regular file.
    File {
        /// Mode, times and further metadata.
        metadata: Metadata<'a>,
        /// Size of the file in bytes.
        size: u64,
    },
    /// Symbolic link, which has no mode.
    Symlink {
        /// Times and further metadata.
        metadata: Metadata<'a>,
        /// Target of the link, exactly as on the sender's disk.
        target: &'a [u8],
    },
    /// Hard link: another name of a file that has an earlier entry.
    HardLink {
        /// Number of the first entry of the file.
        of: u64,
    },
}

/// Metadata of a file.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Metadata<'a> {
    /// Permissions: the lower 12 bits of the mode.
    pub mode: u16,
    /// Time of the last modification, in seconds since 1970.
    pub seconds: i64,
    /// Nanoseconds of the time of the last modification, in addition to `seconds`.
    pub nanos: u32,
    /// Owner of the file. `None`: owners are not sent.
    pub owner: Option<Owner>,
    /// Extended attributes.
    pub xattrs: Xattrs<'a>,
}

/// Owner of a file, as numbers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Owner {
    /// User ID.
    pub user: u32,
    /// Group ID.
    pub group: u32,
}

/// Extended attributes in the encoding of a manifest.
/// The attributes are sorted by name, no name occurs twice, and all names begin with `user.`.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Xattrs<'a>(&'a [u8]);

impl<'a> Xattrs<'a> {
    /// Appends an attribute to encoded attributes. Its name must come after all earlier names.
    pub fn push(bytes: &mut Vec<u8>, name: &[u8], value: &[u8]) {
        bytes.push(name.len() as u8);
        bytes.extend(name);
        bytes.extend((value.len() as u16).to_be_bytes());
        bytes.extend(value);
    }

    /// Decodes attributes.
    ///
    /// # Errors
    /// A name is not allowed, or the names are not sorted.
    pub fn parse(bytes: &'a [u8]) -> Result<Self, String> {
        let mut last: &[u8] = b"";
        let mut rest = Bytes(bytes);
        while !rest.0.is_empty() {
            let (name, _) = attribute(&mut rest).map_err(|Short| "attributes end too early")?;
            if !name.starts_with(b"user.") || name.contains(&0) {
                return Err(format!(
                    "attribute `{}`; allowed: names that begin with `user.`",
                    name.escape_ascii()
                ));
            }
            if name <= last {
                return Err(format!(
                    "attribute `{}` after `{}`; allowed: each name once, in the order of their bytes",
                    name.escape_ascii(),
                    last.escape_ascii()
                ));
            }
            last = name;
        }
        Ok(Self(bytes))
    }

    /// Returns the name and the value of each attribute.
    pub fn iter(self) -> impl Iterator<Item = (&'a [u8], &'a [u8])> {
        let mut rest = Bytes(self.0);
        std::iter::from_fn(move || attribute(&mut rest).ok())
    }
}

fn attribute<'a>(rest: &mut Bytes<'a>) -> Result<(&'a [u8], &'a [u8]), Short> {
    let length = rest.u8()?;
    let name = rest.take(length.into())?;
    let length = rest.u16()?;
    Ok((name, rest.take(length.into())?))
}

impl<'a> Entry<'a> {
    /// Returns whether the entry is a directory.
    pub const fn is_directory(&self) -> bool {
        matches!(self.what, What::Directory(_))
    }

    /// Returns the size of the entry's contents in bytes.
    pub const fn size(&self) -> u64 {
        match self.what {
            What::File { size, .. } => size,
            _ => 0,
        }
    }

    /// Returns the metadata. Returns `None` for a hard link, because the first entry of the file has the metadata.
    pub const fn metadata(&self) -> Option<&Metadata<'a>> {
        match &self.what {
            What::Directory(metadata)
            | What::File { metadata, .. }
            | What::Symlink { metadata, .. } => Some(metadata),
            What::HardLink { .. } => None,
        }
    }

    /// Appends the encoded entry to `bytes`.
    pub(super) fn encode(&self, bytes: &mut Vec<u8>) {
        let metadata = self.metadata();
        let owner = metadata.and_then(|metadata| metadata.owner);
        let xattrs = metadata.map_or(&[][..], |metadata| metadata.xattrs.0);
        bytes.push(match self.what {
            What::Directory(_) => 1,
            What::File { .. } => 2,
            What::Symlink { .. } => 3,
            What::HardLink { .. } => 4,
        });
        let has_xattrs = u8::from(!xattrs.is_empty()) * XATTRS;
        bytes.push(u8::from(owner.is_some()) * OWNER + has_xattrs);
        bytes.extend(self.level.to_be_bytes());
        bytes.push(self.name.len() as u8);
        bytes.extend(self.name);
        if let Some(metadata) = metadata {
            bytes.extend(metadata.mode.to_be_bytes());
            bytes.extend(metadata.seconds.to_be_bytes());
            bytes.extend(metadata.nanos.to_be_bytes());
        }
        if let Some(Owner { user, group }) = owner {
            bytes.extend(user.to_be_bytes());
            bytes.extend(group.to_be_bytes());
        }
        if !xattrs.is_empty() {
            bytes.extend((xattrs.len() as u16).to_be_bytes());
            bytes.extend(xattrs);
        }
        match self.what {
            What::Directory(_) => {}
            What::File { size, .. } => bytes.extend(size.to_be_bytes()),
            What::Symlink { target, .. } => {
                bytes.extend((target.len() as u16).to_be_bytes());
                bytes.extend(target);
            }
            What::HardLink { of } => bytes.extend(of.to_be_bytes()),
        }
    }

    /// Decodes the entry at the start of `rest`.
    pub(super) fn decode(rest: &mut Bytes<'a>) -> Result<Self, String> {
        let short = |Short| "it ends too early".to_owned();
        let kind = rest.u8().map_err(short)?;
        if !(1..=4).contains(&kind) {
            return Err(format!("unknown kind {kind}; allowed: 1 to 4"));
        }
        let flags = rest.u8().map_err(short)?;
        let known = if kind == 4 { 0 } else { OWNER | XATTRS };
        if flags & !known != 0 {
            return Err(format!(
                "unknown flags in {flags:#04x}; allowed: {known:#04x}"
            ));
        }
        let level = rest.u16().map_err(short)?;
        let length = rest.u8().map_err(short)?;
        let name = rest.take(length.into()).map_err(short)?;
        if kind == 4 {
            let of = rest.u64().map_err(short)?;
            let what = What::HardLink { of };
            return Ok(Self { level, name, what });
        }
        let mode = rest.u16().map_err(short)?;
        let modes = if kind == 3 { 0 } else { MODES };
        if mode & !modes != 0 {
            return Err(format!("mode {mode:o}; allowed: bits of {modes:o}"));
        }
        let seconds = rest.i64().map_err(short)?;
        let nanos = rest.u32().map_err(short)?;
        if nanos >= 1_000_000_000 {
            return Err(format!(
                "{nanos} nanoseconds; allowed: less than 1000000000"
            ));
        }
        let owner = if flags & OWNER != 0 {
            let user = rest.u32().map_err(short)?;
            let group = rest.u32().map_err(short)?;
            Some(Owner { user, group })
        } else {
            None
        };
        let xattrs = if flags & XATTRS != 0 {
            let length = rest.u16().map_err(short)?;
            // Each entry must have exactly one encoding, so that equal trees have equal roots.
            // A set without attributes is encoded without the flag.
            if length == 0 {
                return Err("no attributes, although the flag of attributes is set".into());
            }
            Xattrs::parse(rest.take(length.into()).map_err(short)?)?
        } else {
            Xattrs::default()
        };
        let metadata = Metadata {
            mode,
            seconds,
            nanos,
            owner,
            xattrs,
        };
        let what = match kind {
            1 => What::Directory(metadata),
            2 => What::File {
                metadata,
                size: rest.u64().map_err(short)?,
            },
            _ => {
                let length: usize = rest.u16().map_err(short)?.into();
                if !(1..=LONGEST_PATH).contains(&length) {
                    return Err(format!(
                        "a target of {length} bytes; allowed: 1 to {LONGEST_PATH}"
                    ));
                }
                let target = rest.take(length).map_err(short)?;
                if target.contains(&0) {
                    return Err("a target contains byte 0x00".into());
                }
                What::Symlink { metadata, target }
            }
        };
        Ok(Self { level, name, what })
    }
}

//! Order of the entries in a manifest. A directory comes before its contents.
//! The names in a directory are in byte order, and no name occurs twice.

/// Largest length of a name in bytes: the limit of Linux (NAME_MAX).
pub const LONGEST_NAME: usize = 255;

/// Largest length of a path with its separators, in bytes.
/// The value is the limit of Linux (PATH_MAX) without the zero byte at the end.
pub const LONGEST_PATH: usize = 4095;

/// Name of the folder for the files of unfinished transfers, in a receiver's directory. No entry may have this name.
pub const STATE_FOLDER: &str = ".tailcut";

/// Returns whether a name may mean [`STATE_FOLDER`] on some file system.
/// Some file systems ignore the case of letters. Some ignore invisible characters, or dots and spaces at the end.
pub fn is_reserved(name: &[u8]) -> bool {
    let mut plain: Vec<u8> = name.iter().copied().filter(u8::is_ascii).collect();
    while plain.last().is_some_and(|last| b". ".contains(last)) {
        plain.pop();
    }
    plain.eq_ignore_ascii_case(STATE_FOLDER.as_bytes())
}

/// Checks the order of entries. It needs memory for one path.
#[derive(Clone, Default, Debug)]
pub struct Order {
    /// Path of the last entry. The elements are names, starting at the root.
    path: Vec<Vec<u8>>,
    /// Length of the path in bytes, with a separator after each name.
    length: usize,
    /// Whether the last entry is a directory.
    ends_in_directory: bool,
}

impl Order {
    /// Checks the next entry. `level` is the number of directories above the entry.
    ///
    /// # Errors
    /// The name or the position of the entry is not allowed.
    pub fn admit(&mut self, level: usize, name: &[u8], directory: bool) -> Result<(), String> {
        check_name(name)?;
        if level == 0 && !self.path.is_empty() {
            return Err("a second root; allowed: one root".into());
        }
        if level > self.open().len() {
            return Err(format!(
                "{level} directories above it; allowed: at most {}",
                self.open().len()
            ));
        }
        if let Some(last) = self.path.get(level)
            && name <= last.as_slice()
        {
            return Err(format!(
                "`{}` after `{}`; allowed: each name once, in the order of their bytes",
                name.escape_ascii(),
                last.escape_ascii()
            ));
        }
        for left in self.path.drain(level..) {
            self.length -= left.len() + 1;
        }
        let length = self.length + name.len();
        if length > LONGEST_PATH {
            return Err(format!(
                "a path of {length} bytes; allowed: at most {LONGEST_PATH}"
            ));
        }
        self.length = length + 1;
        self.path.push(name.to_owned());
        self.ends_in_directory = directory;
        Ok(())
    }

    /// Returns the directories that may contain the next entry. Each directory contains the next one in the list.
    pub fn open(&self) -> &[Vec<u8>] {
        let closed = usize::from(!self.ends_in_directory && !self.path.is_empty());
        &self.path[..self.path.len() - closed]
    }

    /// Returns the path of the last entry. The elements are names, starting at the root.
    pub fn path(&self) -> &[Vec<u8>] {
        &self.path
    }
}

/// Checks that a name belongs to an entry of the directory itself, and does not lead to another directory.
fn check_name(name: &[u8]) -> Result<(), String> {
    let length = name.len();
    if !(1..=LONGEST_NAME).contains(&length) {
        return Err(format!(
            "a name of {length} bytes; allowed: 1 to {LONGEST_NAME}"
        ));
    }
    if name == b"." || name == b".." {
        return Err(format!("the name `{}` is not allowed", name.escape_ascii()));
    }
    if is_reserved(name) {
        return Err(format!(
            "the name `{}` is reserved for unfinished transfers of a receiver",
            name.escape_ascii()
        ));
    }
    match name.iter().find(|&&byte| byte == b'/' || byte == 0) {
        Some(byte) => Err(format!("byte {byte:#04x} is not allowed in a name")),
        None => Ok(()),
    }
}

//! The order of entries: each directory before what is in it, names by their bytes, no name twice.

/// The most bytes of a name.
pub const LONGEST_NAME: usize = 255;

/// The most bytes of a path, with its separators.
pub const LONGEST_PATH: usize = 4095;

/// Checks the order of entries. Its memory is one path.
#[derive(Clone, Default, Debug)]
pub struct Order {
    /// The last entry's path: the last name on each level.
    path: Vec<Vec<u8>>,
    /// Their bytes, with a separator behind each.
    length: usize,
    ends_in_directory: bool,
}

impl Order {
    /// Takes the next entry, which has a number of directories above it.
    ///
    /// # Errors
    /// Says what is wrong with the name or the place.
    pub fn admit(&mut self, level: usize, name: &[u8], directory: bool) -> Result<(), String> {
        check_name(name)?;
        if level == 0 && !self.path.is_empty() {
            return Err("a second root".into());
        }
        if level > self.open().len() {
            return Err(format!(
                "{level} directories above it, where {} are open",
                self.open().len()
            ));
        }
        if let Some(last) = self.path.get(level)
            && name <= last.as_slice()
        {
            return Err(format!(
                "`{}` behind `{}`, where names come in the order of their bytes, each once",
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
                "a path of {length} bytes, where {LONGEST_PATH} are allowed"
            ));
        }
        self.length = length + 1;
        self.path.push(name.to_owned());
        self.ends_in_directory = directory;
        Ok(())
    }

    /// The directories that the next entry may be in: each is in the one before.
    pub fn open(&self) -> &[Vec<u8>] {
        let closed = usize::from(!self.ends_in_directory && !self.path.is_empty());
        &self.path[..self.path.len() - closed]
    }

    /// The last entry's path: names from the root on.
    pub fn path(&self) -> &[Vec<u8>] {
        &self.path
    }
}

/// A name that names something in its directory and nothing else.
fn check_name(name: &[u8]) -> Result<(), String> {
    let length = name.len();
    if !(1..=LONGEST_NAME).contains(&length) {
        return Err(format!(
            "a name of {length} bytes, where 1 to {LONGEST_NAME} are allowed"
        ));
    }
    if name == b"." || name == b".." {
        return Err(format!("the name `{}`", name.escape_ascii()));
    }
    match name.iter().find(|&&byte| byte == b'/' || byte == 0) {
        Some(byte) => Err(format!("byte {byte:#04x} in a name")),
        None => Ok(()),
    }
}

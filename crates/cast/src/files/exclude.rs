//! Patterns of entries that are excluded from a transfer.

use globset::{GlobBuilder, GlobSet, GlobSetBuilder};
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;

/// Patterns of entries that are excluded. If a directory is excluded, its contents are excluded too.
///
/// A pattern without `/` applies to the names of all entries: `*.o`, `target`.
/// A pattern with `/` applies to the path below the root of the transfer: `/build`, `docs/*.pdf`, `**/cache/tmp`.
/// A pattern that ends in `/` applies to directories only. `*` and `?` do not match `/`.
/// `**` matches any number of directories.
#[derive(Clone, Default, Debug)]
pub struct Exclude {
    /// Patterns for the names of all entries.
    names: GlobSet,
    /// Patterns for the paths of all entries.
    paths: GlobSet,
    /// Patterns for the names of directories.
    directory_names: GlobSet,
    /// Patterns for the paths of directories.
    directory_paths: GlobSet,
}

impl Exclude {
    /// Parses the patterns of a command.
    ///
    /// # Errors
    /// A pattern cannot be parsed. The error contains the pattern and the reason.
    pub fn new<S: AsRef<str>>(patterns: impl IntoIterator<Item = S>) -> Result<Self, String> {
        let mut sets = [(); 4].map(|()| GlobSetBuilder::new());
        for pattern in patterns {
            let pattern = pattern.as_ref();
            let wrong = |why: &dyn std::fmt::Display| format!("pattern `{pattern}`: {why}");
            let body = pattern.strip_suffix('/').unwrap_or(pattern);
            let directories = body.len() < pattern.len();
            // Patterns such as `/build` apply to paths. So this test comes before the first `/` is removed.
            let paths = body.contains('/');
            let body = body.strip_prefix('/').unwrap_or(body);
            if body.is_empty() {
                return Err(wrong(&"the pattern is empty"));
            }
            let mut builder = GlobBuilder::new(body);
            let glob = builder.literal_separator(true).backslash_escape(true);
            let glob = glob.build().map_err(|error| wrong(&error.kind()))?;
            sets[usize::from(directories) * 2 + usize::from(paths)].add(glob);
        }
        let build = |builder: &GlobSetBuilder| builder.build().map_err(|error| error.to_string());
        Ok(Self {
            names: build(&sets[0])?,
            paths: build(&sets[1])?,
            directory_names: build(&sets[2])?,
            directory_paths: build(&sets[3])?,
        })
    }

    /// Returns whether an entry is excluded. `below` is the entry's path below the root.
    pub fn matches(&self, below: &[u8], directory: bool) -> bool {
        let name = below.rsplit(|&byte| byte == b'/').next().unwrap_or(below);
        let (path, name) = (OsStr::from_bytes(below), OsStr::from_bytes(name));
        self.names.is_match(name)
            || self.paths.is_match(path)
            || directory
                && (self.directory_names.is_match(name) || self.directory_paths.is_match(path))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pattern_is_of_names_anywhere_of_paths_or_of_directories() {
        let exclude = Exclude::new(["*.o", "/build", "docs/*.pdf", "cache/"]).expect("patterns");
        for (path, directory, expected) in [
            ("a.o", false, true),
            ("deep/down/a.o", false, true),
            ("a.os", false, false),
            ("build", true, true),
            ("src/build", true, false),
            ("docs/a.pdf", false, true),
            ("docs/old/a.pdf", false, false),
            ("deep/cache", true, true),
            ("deep/cache", false, false),
        ] {
            let found = exclude.matches(path.as_bytes(), directory);
            assert_eq!(found, expected, "{path}");
        }
        assert!(exclude.matches(b"\xff\xfe.o", false));
    }

    #[test]
    fn a_pattern_that_cannot_be_read_is_named() {
        let error = Exclude::new(["fine", "a[b"]).expect_err("no pattern");
        assert!(error.starts_with("pattern `a[b`: "), "{error}");
        assert!(Exclude::new(["/"]).is_err());
    }
}

//! What can be wrong with a workload.

use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;

/// A place in a text, what was found there and what is allowed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TextError {
    /// The line, from one.
    pub line: usize,
    /// The column of the table, by name; empty when the error is about the whole line.
    pub column: String,
    /// What was found, cut to a readable length.
    pub found: String,
    /// What is allowed there.
    pub allowed: String,
}

impl fmt::Display for TextError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}", self.line)?;
        if !self.column.is_empty() {
            write!(f, ", column `{}`", self.column)?;
        }
        write!(f, ": found {}; allowed: {}", self.found, self.allowed)
    }
}

/// What can be wrong with a workload that a user describes.
#[derive(Clone, PartialEq, Debug)]
pub enum Error {
    /// No flow-size distribution has this name.
    UnknownSizes {
        /// The name that was asked for, in back quotes.
        found: String,
        /// Names that are spelled alike, the nearest first; may be empty.
        alike: Vec<&'static str>,
    },
    /// A parameter of `fixed:` or `uniform:` is malformed or out of range.
    SizesParameter {
        /// The whole name that was asked for, in back quotes.
        found: String,
        /// What is allowed.
        allowed: &'static str,
    },
    /// A table or a trace is malformed.
    Text(TextError),
    /// The traffic matrix cannot be built from these hosts.
    Matrix {
        /// What was found.
        found: String,
        /// What is allowed.
        allowed: &'static str,
    },
    /// A number is out of its range.
    OutOfRange {
        /// The name of the parameter.
        parameter: &'static str,
        /// What was found.
        found: String,
        /// What is allowed.
        allowed: &'static str,
    },
}

impl From<TextError> for Error {
    fn from(error: TextError) -> Self {
        Self::Text(error)
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::UnknownSizes { found, alike } => {
                write!(f, "no flow-size distribution is called {found}")?;
                if let Some(nearest) = alike.first() {
                    write!(f, "; did you mean `{nearest}`?")?;
                }
                f.write_str(" Allowed: ")?;
                for named in crate::sizes::NAMES {
                    write!(f, "{}, ", named.name)?;
                }
                f.write_str("fixed:BYTES, uniform:MIN:MAX")
            }
            Self::SizesParameter { found, allowed } => {
                write!(f, "flow sizes {found}: allowed: {allowed}")
            }
            Self::Text(error) => error.fmt(f),
            Self::Matrix { found, allowed } => {
                write!(f, "traffic matrix: found {found}; allowed: {allowed}")
            }
            Self::OutOfRange {
                parameter,
                found,
                allowed,
            } => write!(f, "{parameter}: found {found}; allowed: {allowed}"),
        }
    }
}

impl core::error::Error for Error {}
impl core::error::Error for TextError {}

/// `text` in back quotes, cut so that an error stays one readable line.
pub(crate) fn quoted(text: &str) -> String {
    const LONGEST: usize = 40;
    let mut shown: String = text.chars().take(LONGEST).collect();
    if text.chars().nth(LONGEST).is_some() {
        shown.push_str("...");
    }
    alloc::format!("`{}`", shown.escape_debug())
}

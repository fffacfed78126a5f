//! Errors of workloads.

use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;

/// Error in a text: the position, the text that was found there, and the allowed text.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TextError {
    /// Line number, from 1.
    pub line: usize,
    /// Name of the table's column. The text is empty if the error is about the whole line.
    pub column: String,
    /// Text that was found, cut to a readable length.
    pub found: String,
    /// Allowed text.
    pub allowed: String,
}

impl TextError {
    /// Creates an error at line `line`. The first line has the number 1. `column` can be empty.
    pub(crate) fn new(
        line: usize,
        column: &str,
        found: String,
        allowed: impl Into<String>,
    ) -> Self {
        Self {
            line,
            column: column.into(),
            found,
            allowed: allowed.into(),
        }
    }
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

/// Error in a workload that a user has described.
#[derive(Clone, PartialEq, Debug)]
pub enum Error {
    /// No flow-size distribution has this name.
    UnknownSizes {
        /// Name that the user gave, in back quotes.
        found: String,
        /// Similar names, the nearest first. The list may be empty.
        alike: Vec<&'static str>,
    },
    /// A parameter of `fixed:` or `uniform:` is malformed or out of range.
    SizesParameter {
        /// Whole name that the user gave, in back quotes.
        found: String,
        /// Allowed values.
        allowed: &'static str,
    },
    /// A table or a trace is malformed.
    Text(TextError),
    /// The traffic matrix cannot be built from the given hosts.
    Matrix {
        /// Description of the hosts that were given.
        found: String,
        /// Description of the allowed values.
        allowed: &'static str,
    },
    /// A number is out of its range.
    OutOfRange {
        /// Name of the parameter.
        parameter: &'static str,
        /// Value that was found, as text.
        found: String,
        /// Description of the allowed values.
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

/// Returns `text` in back quotes. A long text is cut, so that the error stays one readable line.
pub(crate) fn quoted(text: &str) -> String {
    const LONGEST: usize = 40;
    let mut shown: String = text.chars().take(LONGEST).collect();
    if text.chars().nth(LONGEST).is_some() {
        shown.push_str("...");
    }
    alloc::format!("`{}`", shown.escape_debug())
}

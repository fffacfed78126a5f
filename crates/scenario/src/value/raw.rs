//! A value as it was written, before it is read.

use std::fmt;
use tailcut_units::{Bytes, Duration, Rate};

/// A value as it was written, before it is read.
#[derive(Clone, PartialEq, Debug)]
pub enum Raw {
    /// A string of a file.
    Text(String),
    /// A number of a file.
    Number(String),
    /// A boolean of a file.
    Flag(bool),
    /// An array of a file.
    Array(Vec<Raw>),
    /// Something of a file that no key takes, by name.
    Other(&'static str),
    /// The text of a flag, which may stand for any of these.
    Argument(String),
}

impl fmt::Display for Raw {
    /// The value as an error shows it, cut to a readable length.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Text(text) => write!(f, "\"{}\"", shortened(text)),
            Self::Number(text) => f.write_str(&shortened(text)),
            Self::Argument(text) => write!(f, "'{}'", shortened(text)),
            Self::Flag(value) => write!(f, "{value}"),
            Self::Array(items) if items.iter().all(Self::is_single) => {
                let items: Vec<String> = items.iter().map(Self::to_string).collect();
                write!(f, "[{}]", shortened(&items.join(", ")))
            }
            Self::Array(items) => write!(f, "an array of {}", items.len()),
            Self::Other(name) => f.write_str(name),
        }
    }
}

impl Raw {
    const fn is_single(&self) -> bool {
        !matches!(self, Self::Array(_) | Self::Other(_))
    }

    /// The items of a list: of a file's array, or of a flag's text with commas between them.
    pub(super) fn items(&self) -> Vec<Self> {
        match self {
            Self::Array(items) => items.clone(),
            Self::Argument(text) => text
                .split(',')
                .map(|item| Self::Argument(item.trim().to_owned()))
                .collect(),
            _ => Vec::new(),
        }
    }
}

impl From<&str> for Raw {
    fn from(text: &str) -> Self {
        Self::Argument(text.to_owned())
    }
}

impl From<String> for Raw {
    fn from(text: String) -> Self {
        Self::Argument(text)
    }
}

impl From<bool> for Raw {
    fn from(value: bool) -> Self {
        Self::Flag(value)
    }
}

impl<T: Into<Raw>> From<Vec<T>> for Raw {
    fn from(items: Vec<T>) -> Self {
        Self::Array(items.into_iter().map(Into::into).collect())
    }
}

impl<T: Into<Raw>, const N: usize> From<[T; N]> for Raw {
    fn from(items: [T; N]) -> Self {
        Self::Array(items.into_iter().map(Into::into).collect())
    }
}

impl From<Duration> for Raw {
    fn from(span: Duration) -> Self {
        Self::Argument(format!("{}ps", span.as_ps()))
    }
}

impl From<Rate> for Raw {
    fn from(rate: Rate) -> Self {
        Self::Argument(format!("{}bps", rate.as_bps()))
    }
}

impl From<Bytes> for Raw {
    fn from(bytes: Bytes) -> Self {
        Self::Argument(format!("{}B", bytes.0))
    }
}

macro_rules! numbers {
    ($($number:ty),*) => {
        $(impl From<$number> for Raw {
            fn from(number: $number) -> Self {
                Self::Number(number.to_string())
            }
        })*
    };
}

numbers!(u32, u64, usize, i32, f64);

/// `text` on one line of bounded length.
pub fn shortened(text: &str) -> String {
    const LONGEST: usize = 60;
    let mut shown: String = text.chars().take(LONGEST).collect();
    if text.chars().nth(LONGEST).is_some() {
        shown.push_str("...");
    }
    shown.escape_debug().to_string()
}

//! Value as the user wrote it, before it is parsed.

use std::fmt;
use tailcut_units::{Bytes, Duration, Rate};

/// Value as the user wrote it, before it is parsed.
#[derive(Clone, PartialEq, Debug)]
pub enum Raw {
    /// String in a file.
    Text(String),
    /// Number in a file.
    Number(String),
    /// Boolean in a file.
    Flag(bool),
    /// Array in a file.
    Array(Vec<Raw>),
    /// Value in a file that no key accepts. The field is the name of the value's type.
    Other(&'static str),
    /// Text of a flag. A flag's text can stand for any other variant.
    Argument(String),
}

impl fmt::Display for Raw {
    /// Formats the value for an error, cut to a readable length.
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

    /// Returns the items of a list: an array in a file, or the text of a flag with commas between the items.
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

/// Returns `text` on one line, cut to 60 characters.
pub fn shortened(text: &str) -> String {
    const LONGEST: usize = 60;
    let mut shown: String = text.chars().take(LONGEST).collect();
    if text.chars().nth(LONGEST).is_some() {
        shown.push_str("...");
    }
    shown.escape_debug().to_string()
}

//! Values of keys: kinds, parsers, and descriptions of the allowed values.

mod kind;
mod raw;
mod read;
mod written;

pub use kind::Kind;
pub use raw::{Raw, shortened};

use serde_json::json;
use tailcut_units::{Bytes, Duration, Rate};

/// Parsed value of a key.
#[derive(Clone, PartialEq, Debug)]
pub enum Value {
    /// Word of the key, such as `off`.
    Word(&'static str),
    /// Text.
    Text(String),
    /// Boolean.
    Flag(bool),
    /// Whole number.
    Count(u64),
    /// Number.
    Number(f64),
    /// Duration.
    Duration(Duration),
    /// Rate.
    Rate(Rate),
    /// Rates by size.
    Rates(Vec<(u32, Rate)>),
    /// Number of bytes.
    Bytes(Bytes),
    /// List of texts.
    Texts(Vec<String>),
    /// List of numbers of bytes.
    Sizes(Vec<Bytes>),
    /// List of numbers.
    Numbers(Vec<f64>),
    /// List of pairs.
    Pairs(Vec<(u32, u32)>),
}

impl Value {
    /// Returns the value for a manifest. Quantities have their units.
    pub fn to_json(&self) -> serde_json::Value {
        match self {
            Self::Word(word) => json!(word),
            Self::Text(text) => json!(text),
            Self::Flag(value) => json!(value),
            Self::Count(count) => json!(count),
            Self::Number(number) => json!(number),
            Self::Duration(span) => json!(span.to_string()),
            Self::Rate(rate) => json!(rate.to_string()),
            Self::Rates(points) => {
                let point = |(size, rate): &(u32, Rate)| format!("{size}:{rate}");
                json!(points.iter().map(point).collect::<Vec<_>>())
            }
            Self::Bytes(bytes) => json!(bytes.0),
            Self::Texts(texts) => json!(texts),
            Self::Sizes(sizes) => json!(sizes.iter().map(|size| size.0).collect::<Vec<_>>()),
            Self::Numbers(numbers) => json!(numbers),
            Self::Pairs(pairs) => json!(pairs),
        }
    }
}

//! What a key may hold: its kind, how it is read, and how what is allowed is told.

mod kind;
mod raw;
mod read;
mod written;

pub use kind::Kind;
pub use raw::{Raw, shortened};

use serde_json::json;
use tailcut_units::{Bytes, Duration, Rate};

/// A value that was read.
#[derive(Clone, PartialEq, Debug)]
pub enum Value {
    /// One of the key's own words, such as `off`.
    Word(&'static str),
    /// Text.
    Text(String),
    /// True or false.
    Flag(bool),
    /// A whole number.
    Count(u64),
    /// A number.
    Number(f64),
    /// A span.
    Duration(Duration),
    /// A rate.
    Rate(Rate),
    /// Rates by size.
    Rates(Vec<(u32, Rate)>),
    /// A number of bytes.
    Bytes(Bytes),
    /// A list of text.
    Texts(Vec<String>),
    /// A list of numbers of bytes.
    Sizes(Vec<Bytes>),
    /// A list of numbers.
    Numbers(Vec<f64>),
    /// A list of pairs.
    Pairs(Vec<(u32, u32)>),
}

impl Value {
    /// The value for a manifest, quantities with their units.
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

//! Helpers for the parsers of a scenario's text: line numbers, the order of keys, and values as they were written.

use crate::error::Location;
use crate::value::Raw;
use std::sync::Arc;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// File name and start of each line, to convert a byte offset to a line number.
pub(super) struct Lines {
    file: Arc<str>,
    starts: Vec<usize>,
}

impl Lines {
    pub(super) fn new(file: &str, text: &str) -> Self {
        let newlines = text.match_indices('\n').map(|(at, _)| at + 1);
        Self {
            file: file.into(),
            starts: std::iter::once(0).chain(newlines).collect(),
        }
    }

    pub(super) fn place(&self, byte: usize) -> Location {
        Location::Line {
            file: self.file.clone(),
            line: self.starts.partition_point(|&start| start <= byte).max(1),
        }
    }
}

/// Returns keys and values in the order of the text, so that the first error of the text is reported.
pub(super) fn in_order<'t, 'i>(
    table: &'t DeTable<'i>,
) -> Vec<(
    &'t Spanned<std::borrow::Cow<'i, str>>,
    &'t Spanned<DeValue<'i>>,
)> {
    let mut entries: Vec<_> = table.iter().collect();
    entries.sort_by_key(|(name, value)| (value.span().start, name.span().start));
    entries
}

/// Converts a TOML value to the form in which the user wrote it.
pub(super) fn raw(value: &DeValue<'_>) -> Raw {
    match value {
        DeValue::String(text) => Raw::Text(text.to_string()),
        DeValue::Integer(integer) if integer.radix() == 10 => {
            Raw::Number(integer.as_str().trim_start_matches('+').to_owned())
        }
        // Errors describe the allowed numbers in decimal, so hexadecimal, octal and binary numbers are rejected.
        DeValue::Integer(_) => Raw::Other("a number that is not decimal"),
        DeValue::Float(float) => Raw::Number(float.as_str().to_owned()),
        DeValue::Boolean(value) => Raw::Flag(*value),
        DeValue::Datetime(_) => Raw::Other("a date"),
        DeValue::Array(items) => Raw::Array(items.iter().map(|item| raw(item.get_ref())).collect()),
        DeValue::Table(_) => Raw::Other("a table"),
    }
}

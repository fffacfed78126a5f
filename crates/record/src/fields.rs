//! Fields of rows as the hash of a run covers them.

use crate::cell::{Cell, Value};
use twox_hash::XxHash3_128;

/// A row that the hash of a run covers.
pub(crate) trait Hashed {
    /// Gives the fields to `hash`, exact to the picosecond, in the order of the hash's definition.
    fn hash(&self, hash: &mut Fields);
}

/// The hash of fields. Every field enters as eight little-endian bytes, so that no two sequences of fields look
/// alike.
pub(crate) struct Fields(XxHash3_128);

impl Fields {
    pub fn new() -> Self {
        Self(XxHash3_128::with_seed(0))
    }

    pub fn number(&mut self, value: u64) {
        self.bytes(&value.to_le_bytes());
    }

    pub fn bytes(&mut self, bytes: &[u8]) {
        self.0.write(bytes);
    }

    /// Adds a field of a row, exact to the picosecond. In front of an optional field stands whether it is there.
    pub fn field<T: Cell>(&mut self, field: &T) {
        let number = match T::value(field, 1) {
            Value::Integer(number) => Some(number),
            _ => None,
        };
        if T::IS_OPTIONAL {
            self.number(number.is_some().into());
        }
        self.number(number.unwrap_or(0));
    }

    /// Returns 32 hexadecimal digits.
    pub fn digits(&self) -> String {
        format!("{:032x}", self.0.finish_128())
    }
}

//! Hash of the fields of rows, in sequence. The hash of a run is a hash of this kind.

use crate::cell::{Cell, Value};
use twox_hash::XxHash3_128;

/// Row that the hash of a run includes.
pub(crate) trait Hashed {
    /// Adds the fields of the row to `hash`, in the order of the hash's definition. Times are exact to the picosecond.
    fn hash(&self, hash: &mut Fields);
}

/// Hash of a sequence of fields. Every field is added as eight little-endian bytes.
/// Two different sequences of fields therefore never have the same bytes.
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

    /// Adds a field of a row, exact to the picosecond.
    /// Before an optional field, a 1 (present) or a 0 (absent) is added.
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

//! Error of a text that is not a valid quantity.

use super::kind::Quantity;
use alloc::format;
use alloc::string::String;
use core::fmt;
use core::ops::RangeInclusive;

/// Error of a text that is not a quantity of the required kind and range.
/// The caller adds the text and its location (file and line, or flag).
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct QuantityError {
    /// Text with the allowed kind, range and spellings.
    pub allowed: String,
}

impl QuantityError {
    pub(super) fn new<Q: Quantity>(range: &RangeInclusive<Q>) -> Self {
        let (kind, least) = (Q::KIND, range.start().written());
        let to = match range.end() {
            most if *most == Q::MOST => String::new(),
            most => format!(" to {}", most.written()),
        };
        let allowed = format!("{kind} from {least}{to}{}", Q::SUCH_AS);
        Self { allowed }
    }
}

impl fmt::Display for QuantityError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "allowed: {}", self.allowed)
    }
}

impl core::error::Error for QuantityError {}

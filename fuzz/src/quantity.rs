//! Target for sizes, rates, times, shares and counts as text.

use std::fmt::Debug;
use std::str::from_utf8;
use tailcut_units::quantity::{Quantity, within};
use tailcut_units::{Bytes, Duration, Rate};

/// Reads the text as a quantity of each kind.
///
/// # Panics
/// If a quantity changes when it is written and read again, or an error has several lines.
pub fn quantity(bytes: &[u8]) {
    let Ok(text) = from_utf8(bytes) else { return };
    reads(text, Bytes(0));
    reads(text, Rate::LEAST);
    reads(text, Duration::ZERO);
    reads(text, 0_u64);
    reads(text, 0_u16);
    reads(text, 0.0);
}

fn reads<Q: Quantity + Debug>(text: &str, least: Q) {
    match within(text, least..=Q::MOST) {
        Ok(value) => assert_eq!(Q::read(&value.written()), Some(value), "{text}"),
        Err(error) => assert!(!error.to_string().contains('\n')),
    }
}

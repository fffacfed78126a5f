//! Promises of every kind of quantity.

use alloc::string::String;

/// A kind of quantity.
pub trait Quantity: Copy + PartialOrd {
    /// Largest value; a range that ends there has no end in words.
    const MOST: Self;
    /// Noun with the units.
    const KIND: &'static str;
    /// Examples, with a comma in front.
    const SUCH_AS: &'static str;
    /// Returns the quantity that a text is.
    fn read(text: &str) -> Option<Self>;
    /// Returns the shortest text of the quantity.
    fn written(self) -> String;
}

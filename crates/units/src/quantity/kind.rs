//! Trait that all kinds of quantities implement.

use alloc::string::String;

/// Kind of quantities, such as times or rates.
pub trait Quantity: Copy + PartialOrd {
    /// Largest value. An error text does not mention an upper bound that equals this value.
    const MOST: Self;
    /// Noun for error texts, with the units.
    const KIND: &'static str;
    /// Examples for error texts. The text begins with a comma.
    const SUCH_AS: &'static str;
    /// Returns the quantity that a text contains, or `None` if the text is not a quantity of this kind.
    fn read(text: &str) -> Option<Self>;
    /// Returns the shortest text of the quantity.
    fn written(self) -> String;
}

//! Decisions that a target takes from the bytes of its input.

use arbitrary::Unstructured;

/// Source of decisions. An input that has ended gives zeros, so each input is valid.
pub struct Choices<'a>(Unstructured<'a>);

impl<'a> Choices<'a> {
    /// Creates a source from an input.
    pub fn new(bytes: &'a [u8]) -> Self {
        Self(Unstructured::new(bytes))
    }

    /// Returns whether the input has ended.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the next byte.
    pub fn byte(&mut self) -> u8 {
        self.0.arbitrary().unwrap_or(0)
    }

    /// Returns a number of four bytes.
    pub fn number(&mut self) -> u32 {
        self.0.arbitrary().unwrap_or(0)
    }

    /// Returns a number below a limit.
    pub fn below(&mut self, limit: u32) -> u32 {
        self.0.int_in_range(0..=limit - 1).unwrap_or(0)
    }

    /// Returns a yes or no.
    pub fn bool(&mut self) -> bool {
        self.byte() & 1 != 0
    }

    /// Returns one of several values.
    pub fn one_of<'v, T>(&mut self, values: &'v [T]) -> &'v T {
        &values[self.below(values.len() as u32) as usize]
    }

    /// Returns the next bytes. The byte before them is their number.
    pub fn bytes(&mut self) -> &'a [u8] {
        let length = usize::from(self.byte()).min(self.0.len());
        self.0.bytes(length).unwrap_or_default()
    }
}

//! The choice of one equal-cost path.

/// The equal-cost path that a trace pins a flow to, or "as the switches choose".
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PathPin(u16);

impl PathPin {
    /// Not pinned: the switches choose.
    pub const NONE: Self = Self(u16::MAX);

    /// Pinned to equal-cost path `index` (0 to 65,534), counted as the topology documents.
    pub const fn to(index: u16) -> Self {
        Self(index)
    }
    /// The pinned path, if any.
    pub const fn index(self) -> Option<u16> {
        if self.0 == u16::MAX {
            None
        } else {
            Some(self.0)
        }
    }
}

impl Default for PathPin {
    fn default() -> Self {
        Self::NONE
    }
}

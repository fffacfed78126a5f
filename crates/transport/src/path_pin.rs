//! Choice of one equal-cost path.

/// Equal-cost path to which a flow is pinned, or no pin.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PathPin(u16);

impl PathPin {
    /// No pin: the switches choose.
    pub const NONE: Self = Self(u16::MAX);

    /// Pins to the equal-cost path `index`, 0 to 65,534. The topology defines the order of paths.
    pub const fn to(index: u16) -> Self {
        Self(index)
    }
    /// Returns the pinned path, if any.
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

//! The parameters of SCDP in credit mode.

use crate::config::{ConfigError, positive, within};
use crate::scdp::common::limits::MAX_WINDOW;
use tailcut_units::Duration;

/// Symbols in flight at least: so many that a loss shows by those behind it.
pub(super) const LEAST: u32 = 4;

/// Parameters of [`Mode::Credit`](crate::scdp::Mode::Credit).
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct CreditConfig {
    /// Symbols in flight from one sender at most, 4 to 4,096. Default 4,096.
    pub max_window: u32,
    /// The share of symbols up to which losses without a queue are taken for chance, 0 to 1, before the
    /// least window has shown that a path loses more. Default 0.1.
    pub loss_by_chance: f64,
    /// A receiver waits at least as long for a symbol before it asks whether more will come.
    /// Default 200 us.
    pub min_timeout: Duration,
    /// Whether symbols are ECN-capable. Default true.
    pub ecn: bool,
}

impl Default for CreditConfig {
    fn default() -> Self {
        Self {
            max_window: MAX_WINDOW,
            loss_by_chance: 0.1,
            min_timeout: Duration::from_us(200),
            ecn: true,
        }
    }
}

impl CreditConfig {
    /// Returns the first parameter outside its range, if there is one.
    pub(crate) fn validate(&self) -> Result<(), ConfigError> {
        within(
            "max_window",
            self.max_window,
            LEAST..=MAX_WINDOW,
            " symbols",
        )?;
        within("loss_by_chance", self.loss_by_chance, 0.0..=1.0, "")?;
        positive("min_timeout", self.min_timeout)
    }
}

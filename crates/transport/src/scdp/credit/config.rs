//! Parameters of SCDP in credit mode.

use crate::config::{ConfigError, positive, within};
use crate::scdp::common::limits::MAX_WINDOW;
use tailcut_units::Duration;

/// Smallest window in symbols. The three symbols after a lost symbol are enough to detect the loss.
pub(super) const LEAST: u32 = 4;

/// Parameters of [`Mode::Credit`](crate::scdp::Mode::Credit).
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct CreditConfig {
    /// Largest number of symbols in flight from one sender, 4 to 4,096. Default 4,096.
    pub max_window: u32,
    /// Largest fraction of lost symbols, 0 to 1, that counts as chance if there is no queue.
    /// The limit rises if a path loses more symbols even with the smallest window. Default 0.1.
    pub loss_by_chance: f64,
    /// Shortest time for which a receiver waits for a symbol before it sends a probe. Default 200 us.
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
    /// Returns an error with the first parameter that is outside its range, if there is one.
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

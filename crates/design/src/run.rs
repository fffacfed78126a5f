//! Facts of one run that hosts are configured from, and lists of keys.

use crate::settings::Settings;
use tailcut_units::Duration;
use tailcut_units::parameter::Values;

/// Facts of one run, for the functions that configure its hosts.
pub struct Run<'a> {
    /// Parameters of all parts.
    pub settings: &'a Settings,
    /// Values of the design's own parameters.
    pub values: &'a Values,
    /// Whether the sender chooses the path of each packet (`@permute`).
    pub permutes: bool,
    /// Longest time from the first bit of a full packet to the last bit of its ACK in the empty network.
    pub longest_round_trip: &'a dyn Fn() -> Duration,
}

/// Returns whether a key is on a list of keys, whose last character may be `*` for any ending.
pub(crate) fn lists(patterns: &[&str], key: &str) -> bool {
    patterns
        .iter()
        .any(|pattern| match pattern.strip_suffix('*') {
            Some(prefix) => key.starts_with(prefix),
            None => *pattern == key,
        })
}

//! Values of one run, from which its hosts are configured.

use crate::settings::Settings;
use tailcut_units::Duration;
use tailcut_units::parameter::Values;

/// Values of one run, for the functions that configure the run's hosts.
pub struct Run<'a> {
    /// Parameters of all parts.
    pub settings: &'a Settings,
    /// Values of the design's parameters.
    pub values: &'a Values,
    /// Whether the sender chooses the path of each packet, as in the load balancer `permute`.
    pub permutes: bool,
    /// Function that returns the longest round trip of a full packet and its ACK in the empty network.
    /// The time is from the first bit of the packet to the last bit of the ACK.
    pub longest_round_trip: &'a dyn Fn() -> Duration,
}

/// Returns whether a list of keys contains a key.
/// If the last character of a list entry is `*`, the entry stands for all keys with this beginning.
pub(crate) fn lists(patterns: &[&str], key: &str) -> bool {
    patterns
        .iter()
        .any(|pattern| match pattern.strip_suffix('*') {
            Some(prefix) => key.starts_with(prefix),
            None => *pattern == key,
        })
}

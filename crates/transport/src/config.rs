//! Checks of parameters that all transports share.

use alloc::borrow::Cow;
use alloc::format;
use alloc::string::String;
use core::fmt;
use core::ops::RangeInclusive;
use tailcut_units::Duration;

/// Default port on which hosts accept flows and connections.
pub const SERVICE_PORT: u16 = 80;

/// Error for a parameter outside its range.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{key} is {found}; allowed: {allowed}")]
pub struct ConfigError {
    /// Name of the field in the configuration.
    pub key: &'static str,
    /// Value of the field that is outside its range.
    pub found: String,
    /// Allowed values.
    pub allowed: Cow<'static, str>,
}

/// Result of the check of one parameter.
pub(crate) type Checked = Result<(), ConfigError>;

/// Returns an error with the `allowed` values, unless the condition `holds`.
pub(crate) fn check(
    key: &'static str,
    found: impl fmt::Debug,
    holds: bool,
    allowed: impl Into<Cow<'static, str>>,
) -> Checked {
    match holds {
        true => Ok(()),
        false => Err(ConfigError {
            key,
            found: format!("{found:?}"),
            allowed: allowed.into(),
        }),
    }
}

/// Returns an error unless `found` is within `range`. The bounds of the range are in `unit`.
pub(crate) fn within<T: PartialOrd + fmt::Debug + fmt::Display>(
    key: &'static str,
    found: T,
    range: RangeInclusive<T>,
    unit: &str,
) -> Checked {
    let allowed = format!("{} to {}{unit}", range.start(), range.end());
    check(key, &found, range.contains(&found), allowed)
}

/// Returns an error unless `found` is at least 1.
pub(crate) fn some<T: PartialOrd + From<u8> + fmt::Debug>(
    key: &'static str,
    found: T,
    allowed: &'static str,
) -> Checked {
    let holds = found >= T::from(1);
    check(key, found, holds, allowed)
}

/// Returns an error unless `found` is more than 0.
pub(crate) fn positive(key: &'static str, found: Duration) -> Checked {
    check(key, found, found > Duration::ZERO, "more than 0")
}

/// Returns an error if `found` is below `least`, which is the value of the parameter `other`.
pub(crate) fn no_shorter(
    key: &'static str,
    found: Duration,
    (other, least): (&str, Duration),
) -> Checked {
    check(key, found, found >= least, format!("at least {other}"))
}

/// Returns an error unless `port` is valid as the port of a host.
/// The host may also use the next two ports. All three must be below the ports of `outgoing` traffic.
pub(crate) fn service_port(port: u16, outgoing: &str) -> Checked {
    let below = format!(", below the ports of outgoing {outgoing}");
    within("port", port, 1..=32_765, &below)
}

/// Returns an error unless a payload of `bytes` fits into a packet.
pub(crate) fn payload(key: &'static str, bytes: u32) -> Checked {
    within(key, bytes, 1..=65_535, " bytes")
}

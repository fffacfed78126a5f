//! Settings with their meanings, defaults, units and ranges. The npm package uses the same names.

use crate::clock::span;
use crate::liveness::Liveness;
#[cfg(feature = "proxy")]
use crate::values::{ANY, count, mode, port, share, size, size_or_endless, time, time_or_endless};
use std::fmt;
use std::time::Duration;
use tailcut_transport::repnet::{FlowLimits, Mode};

/// Pairing: the way in which a server finds out that two connections belong to the same flow.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
#[cfg_attr(
    feature = "proxy",
    derive(serde::Deserialize),
    serde(rename_all = "kebab-case")
)]
pub enum Pairing {
    /// Pairing by a hello of 32 bytes on the replica port. The service's port stays plain TCP.
    #[default]
    Hello,
    /// Pairing by the source port, as in the paper, without additional bytes.
    /// Use this pairing only in flat networks. Flat networks do not rewrite addresses.
    /// In other networks requests can run twice.
    Port,
}

/// Addresses from which a server accepts the second connection of a flow.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
#[cfg_attr(
    feature = "proxy",
    derive(serde::Deserialize),
    serde(rename_all = "kebab-case")
)]
pub enum SecondLegFrom {
    /// The second connection must have the address of the first connection.
    #[default]
    SameAddress,
    /// The second connection may have any address, if its hello contains the flow's identifier.
    Anywhere,
}

/// Settings of a replicated flow.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[cfg_attr(feature = "proxy", derive(serde::Deserialize), serde(default))]
pub struct FlowSettings {
    /// Part of a flow that is replicated. `None`: each flow is one plain connection.
    #[cfg_attr(feature = "proxy", serde(deserialize_with = "mode"))]
    pub mode: Option<Mode>,
    /// Way in which the server pairs the two connections of a flow.
    pub pairing: Pairing,
    /// Port of the second listener. `None`: the port after the service's port.
    #[cfg_attr(feature = "proxy", serde(deserialize_with = "port"))]
    pub replica_port: Option<u16>,
    /// Number of bytes after which a flow continues on one connection only. `u64::MAX`: no limit.
    /// Sent and received bytes are counted, since the flow was last idle.
    #[cfg_attr(feature = "proxy", serde(deserialize_with = "size_or_endless"))]
    pub max_bytes: u64,
    /// Largest number of bytes that are kept for a connection that has not arrived, at most 2^30.
    #[cfg_attr(feature = "proxy", serde(deserialize_with = "size::<0, ANY, _, _>"))]
    pub archive_cap: u64,
    /// Largest number of bytes that wait for the slower connection, 65,536 to 2^30.
    #[cfg_attr(feature = "proxy", serde(deserialize_with = "size::<0, ANY, _, _>"))]
    pub lag_cap: u64,
    /// Longest time until a connection is established and its hello is complete, 1 ms to 2^31 - 1 ms.
    #[cfg_attr(feature = "proxy", serde(deserialize_with = "time::<0, ANY, _>"))]
    pub leg_deadline: Duration,
    /// Longest time that a finished flow waits for its slower connection, 1 ms to 60 s.
    #[cfg_attr(feature = "proxy", serde(deserialize_with = "time::<0, ANY, _>"))]
    pub confirm_timeout: Duration,
    /// Whether to open both connections to a target that has not been probed yet.
    pub assume_capable: bool,
    /// Time without an answer from the replica port after which a flow uses the service's port. `None`: no limit.
    #[cfg_attr(feature = "proxy", serde(deserialize_with = "time_or_endless"))]
    pub fallback_delay: Option<Duration>,
    /// Time without a byte in either direction after which a kept-alive connection is replicated again. `None`: never.
    #[cfg_attr(feature = "proxy", serde(deserialize_with = "time_or_endless"))]
    pub idle_time: Option<Duration>,
    /// Whether a target whose connections often fail gets fewer second connections.
    pub adaptive: bool,
    /// Addresses from which a server accepts the second connection of a flow.
    pub second_leg_from: SecondLegFrom,
}

impl Default for FlowSettings {
    fn default() -> Self {
        Self {
            mode: Some(Mode::RepFlow),
            pairing: Pairing::Hello,
            replica_port: None,
            max_bytes: 100_000,
            archive_cap: 100_000,
            lag_cap: 8 << 20,
            leg_deadline: Duration::from_millis(3_000),
            confirm_timeout: Duration::from_millis(250),
            assume_capable: false,
            fallback_delay: Some(Duration::from_millis(500)),
            idle_time: Some(Duration::from_millis(5)),
            adaptive: true,
            second_leg_from: SecondLegFrom::SameAddress,
        }
    }
}

/// Settings of all flows of a connector or a listener.
#[derive(Clone, Copy, PartialEq, Debug)]
#[cfg_attr(feature = "proxy", derive(serde::Deserialize), serde(default))]
pub struct Settings {
    /// Settings of each replicated flow.
    #[cfg_attr(feature = "proxy", serde(skip))]
    pub flow: FlowSettings,
    /// Detection of dead peers.
    #[cfg_attr(feature = "proxy", serde(skip))]
    pub liveness: Liveness,
    /// Longest time that a server waits for the second connection of a flow.
    #[cfg_attr(feature = "proxy", serde(deserialize_with = "time::<0, ANY, _>"))]
    pub waiting_list_timeout: Duration,
    /// Longest time until a server has received a complete hello.
    #[cfg_attr(feature = "proxy", serde(deserialize_with = "time::<0, ANY, _>"))]
    pub hello_timeout: Duration,
    /// Time for which a server remembers an ended flow. Keep it well above the `leg_deadline` of every client.
    #[cfg_attr(feature = "proxy", serde(deserialize_with = "time::<0, ANY, _>"))]
    pub tombstone_time: Duration,
    /// Largest number of flows that a server remembers, open flows included, 1 to 2^24. Further flows are plain.
    #[cfg_attr(feature = "proxy", serde(deserialize_with = "count::<0, ANY, _, _>"))]
    pub tombstone_limit: usize,
    /// Largest number of open connections whose hello is incomplete or was refused, 1 to 2^20.
    #[cfg_attr(feature = "proxy", serde(deserialize_with = "count::<0, ANY, _, _>"))]
    pub pending_hellos: usize,
    /// Largest number of flows that wait for the server's `accept`, plain flows included, 1 to 2^20.
    /// Further replicated flows become plain, and further plain flows wait in the kernel.
    #[cfg_attr(feature = "proxy", serde(deserialize_with = "count::<0, ANY, _, _>"))]
    pub accept_backlog: usize,
    /// Time after which a target without RepNet is probed again.
    #[cfg_attr(feature = "proxy", serde(deserialize_with = "time::<0, ANY, _>"))]
    pub capability_ttl: Duration,
    /// Largest share of the flows to each target that get a second connection, 0 to 1.
    #[cfg_attr(feature = "proxy", serde(deserialize_with = "share"))]
    pub budget: f64,
    /// Number of open RepFlow flows at which new flows use RepSYN. `u64::MAX`: no limit.
    #[cfg_attr(feature = "proxy", serde(deserialize_with = "size_or_endless"))]
    pub incast_limit: u64,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            flow: FlowSettings::default(),
            liveness: Liveness::default(),
            waiting_list_timeout: Duration::from_millis(1_000),
            hello_timeout: Duration::from_millis(1_000),
            tombstone_time: Duration::from_millis(30_000),
            tombstone_limit: 65_536,
            pending_hellos: 4_096,
            accept_backlog: 1_024,
            capability_ttl: Duration::from_millis(60_000),
            budget: 1.0,
            incast_limit: 256,
        }
    }
}

/// Error: a setting is outside its range.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{key} is {found}; allowed: {allowed}")]
pub struct SettingError {
    /// Name of the setting.
    pub key: &'static str,
    /// Value that was found.
    pub found: String,
    /// Allowed values.
    pub allowed: &'static str,
}

impl From<SettingError> for std::io::Error {
    fn from(error: SettingError) -> Self {
        Self::new(std::io::ErrorKind::InvalidInput, error)
    }
}

const LONGEST: Duration = Duration::from_millis((1 << 31) - 1);
const TIMER: &str = "1 ms to 2147483647 ms";

/// Checks a time that a timer waits for.
pub(crate) fn timer(key: &'static str, found: Duration) -> Result<(), SettingError> {
    check(key, found, Duration::from_millis(1)..=LONGEST, TIMER)
}

pub(crate) fn check<T: PartialOrd + fmt::Debug>(
    key: &'static str,
    found: T,
    range: std::ops::RangeInclusive<T>,
    allowed: &'static str,
) -> Result<(), SettingError> {
    match range.contains(&found) {
        true => Ok(()),
        false => Err(SettingError {
            key,
            found: format!("{found:?}"),
            allowed,
        }),
    }
}

impl FlowSettings {
    /// Checks every setting.
    ///
    /// # Errors
    /// The first setting that is outside its range.
    pub fn validate(&self) -> Result<(), SettingError> {
        let millisecond = Duration::from_millis(1);
        if let Some(port) = self.replica_port {
            check("replica_port", port, 1..=u16::MAX, "1 to 65535")?;
        }
        check(
            "archive_cap",
            self.archive_cap,
            0..=1 << 30,
            "0 to 1073741824",
        )?;
        check(
            "lag_cap",
            self.lag_cap,
            65_536..=1 << 30,
            "65536 to 1073741824",
        )?;
        timer("leg_deadline", self.leg_deadline)?;
        let minute = Duration::from_secs(60);
        let confirm = self.confirm_timeout;
        check(
            "confirm_timeout",
            confirm,
            millisecond..=minute,
            "1 ms to 60000 ms",
        )?;
        let fallback = self.fallback_delay.unwrap_or(millisecond);
        timer("fallback_delay", fallback)?;
        let idle = self.idle_time.unwrap_or(millisecond);
        timer("idle_time", idle)
    }
}

impl Settings {
    /// Checks every setting.
    ///
    /// # Errors
    /// The first setting that is outside its range.
    pub fn validate(&self) -> Result<(), SettingError> {
        self.flow.validate()?;
        self.liveness.validate()?;
        let timers = [
            ("waiting_list_timeout", self.waiting_list_timeout),
            ("hello_timeout", self.hello_timeout),
            ("tombstone_time", self.tombstone_time),
            ("capability_ttl", self.capability_ttl),
        ];
        for (key, found) in timers {
            timer(key, found)?;
        }
        check(
            "tombstone_limit",
            self.tombstone_limit,
            1..=1 << 24,
            "1 to 16777216",
        )?;
        check(
            "pending_hellos",
            self.pending_hellos,
            1..=1 << 20,
            "1 to 1048576",
        )?;
        check(
            "accept_backlog",
            self.accept_backlog,
            1..=1 << 20,
            "1 to 1048576",
        )?;
        check("budget", self.budget, 0.0..=1.0, "0 to 1")
    }

    pub(crate) fn limits(&self) -> FlowLimits {
        FlowLimits {
            max_bytes: self.flow.max_bytes,
            archive_cap: self.flow.archive_cap,
            lag_cap: self.flow.lag_cap,
            leg_deadline: span(self.flow.leg_deadline),
            confirm_timeout: span(self.flow.confirm_timeout),
            waiting_list_timeout: span(self.waiting_list_timeout),
            idle_time: self.flow.idle_time.map(span),
        }
    }
}

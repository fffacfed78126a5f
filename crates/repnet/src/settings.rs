//! Settings: their meanings, defaults, units and ranges. The names are the same as in the npm
//! package.

use crate::clock::span;
#[cfg(feature = "proxy")]
use crate::values::{ANY, count, mode, port, share, size, size_or_endless, time, time_or_endless};
use std::fmt;
use std::time::Duration;
use tailcut_transport::repnet::{FlowLimits, Mode};

/// How a server knows that two connections belong together.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
#[cfg_attr(
    feature = "proxy",
    derive(serde::Deserialize),
    serde(rename_all = "kebab-case")
)]
pub enum Pairing {
    /// By a hello of 32 bytes on the replica port; the service's own port stays plain TCP.
    #[default]
    Hello,
    /// The paper's scheme: by the source port, not a byte added. For flat networks only, in which
    /// nothing rewrites addresses: elsewhere requests can run twice.
    Port,
}

/// Where a server takes the second leg of a flow from.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
#[cfg_attr(
    feature = "proxy",
    derive(serde::Deserialize),
    serde(rename_all = "kebab-case")
)]
pub enum SecondLegFrom {
    /// The first one's address.
    #[default]
    SameAddress,
    /// Any address that knows the flow's id.
    Anywhere,
}

/// How a flow is replicated.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[cfg_attr(feature = "proxy", derive(serde::Deserialize), serde(default))]
pub struct FlowSettings {
    /// What is replicated; `None`: nothing, every flow is one plain connection.
    #[cfg_attr(feature = "proxy", serde(deserialize_with = "mode"))]
    pub mode: Option<Mode>,
    /// How the legs find each other.
    pub pairing: Pairing,
    /// The port of the second listener; `None`: the one after the service's.
    #[cfg_attr(feature = "proxy", serde(deserialize_with = "port"))]
    pub replica_port: Option<u16>,
    /// Bytes, sent plus received since the connection was idle, beyond which a flow settles on one
    /// leg; `u64::MAX`: never.
    #[cfg_attr(feature = "proxy", serde(deserialize_with = "size_or_endless"))]
    pub max_bytes: u64,
    /// Bytes that are kept for a leg that has not come yet; at most 2^30.
    #[cfg_attr(feature = "proxy", serde(deserialize_with = "size::<0, ANY, _, _>"))]
    pub archive_cap: u64,
    /// Bytes that may wait for a slow leg; 65,536 to 2^30.
    #[cfg_attr(feature = "proxy", serde(deserialize_with = "size::<0, ANY, _, _>"))]
    pub lag_cap: u64,
    /// In which a leg has to be established, hello included; 1 ms to 2^31 - 1 ms.
    #[cfg_attr(feature = "proxy", serde(deserialize_with = "time::<0, ANY, _>"))]
    pub leg_deadline: Duration,
    /// For which a finished flow waits for its other leg; 1 ms to 60 s.
    #[cfg_attr(feature = "proxy", serde(deserialize_with = "time::<0, ANY, _>"))]
    pub confirm_timeout: Duration,
    /// Open both legs to a target that has not been probed yet.
    pub assume_capable: bool,
    /// After which a flow goes to the service's own port, when nothing has answered on the replica
    /// port; `None`: never.
    #[cfg_attr(feature = "proxy", serde(deserialize_with = "time_or_endless"))]
    pub fallback_delay: Option<Duration>,
    /// Without a byte in either direction, after which a kept-alive connection is replicated
    /// again; `None`: never.
    #[cfg_attr(feature = "proxy", serde(deserialize_with = "time_or_endless"))]
    pub idle_time: Option<Duration>,
    /// Fewer second legs to a target whose legs fail often.
    pub adaptive: bool,
    /// Where a server takes the second leg of a flow from.
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

/// What holds for all flows of a connector or a listener.
#[derive(Clone, Copy, PartialEq, Debug)]
#[cfg_attr(feature = "proxy", derive(serde::Deserialize), serde(default))]
pub struct Settings {
    /// How a flow is replicated.
    #[cfg_attr(feature = "proxy", serde(skip))]
    pub flow: FlowSettings,
    /// For which a server waits for the second leg.
    #[cfg_attr(feature = "proxy", serde(deserialize_with = "time::<0, ANY, _>"))]
    pub waiting_list_timeout: Duration,
    /// In which a hello to a server has to be complete.
    #[cfg_attr(feature = "proxy", serde(deserialize_with = "time::<0, ANY, _>"))]
    pub hello_timeout: Duration,
    /// For which a server remembers an ended flow; keep it well above every client's
    /// `leg_deadline`.
    #[cfg_attr(feature = "proxy", serde(deserialize_with = "time::<0, ANY, _>"))]
    pub tombstone_time: Duration,
    /// How many flows a server remembers, open ones included; beyond it new flows run plain. 1 to
    /// 2^24.
    #[cfg_attr(feature = "proxy", serde(deserialize_with = "count::<0, ANY, _, _>"))]
    pub tombstone_limit: usize,
    /// Connections that may be in the middle of their hello, or were answered and have not hung
    /// up; 1 to 2^20.
    #[cfg_attr(feature = "proxy", serde(deserialize_with = "count::<0, ANY, _, _>"))]
    pub pending_hellos: usize,
    /// Flows that may wait for the server's `accept`, plain ones included; 1 to 2^20. Beyond it
    /// new flows run plain, and plain ones wait in the kernel.
    #[cfg_attr(feature = "proxy", serde(deserialize_with = "count::<0, ANY, _, _>"))]
    pub accept_backlog: usize,
    /// Time after which an incapable target is probed again.
    #[cfg_attr(feature = "proxy", serde(deserialize_with = "time::<0, ANY, _>"))]
    pub capability_ttl: Duration,
    /// Ceiling on the share of flows, for each target, that get a second leg; 0 to 1.
    #[cfg_attr(feature = "proxy", serde(deserialize_with = "share"))]
    pub budget: f64,
    /// Live RepFlow flows beyond which new ones are RepSYN; `u64::MAX`: never.
    #[cfg_attr(feature = "proxy", serde(deserialize_with = "size_or_endless"))]
    pub incast_limit: u64,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            flow: FlowSettings::default(),
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

/// A setting outside its range.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{key} is {found}; allowed: {allowed}")]
pub struct SettingError {
    /// The setting.
    pub key: &'static str,
    /// What was found.
    pub found: String,
    /// What is allowed.
    pub allowed: &'static str,
}

impl From<SettingError> for std::io::Error {
    fn from(error: SettingError) -> Self {
        Self::new(std::io::ErrorKind::InvalidInput, error)
    }
}

const LONGEST: Duration = Duration::from_millis((1 << 31) - 1);
const TIMER: &str = "1 ms to 2147483647 ms";

fn check<T: PartialOrd + fmt::Debug>(
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
    /// The first one outside its range.
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
        check(
            "leg_deadline",
            self.leg_deadline,
            millisecond..=LONGEST,
            TIMER,
        )?;
        let minute = Duration::from_secs(60);
        let confirm = self.confirm_timeout;
        check(
            "confirm_timeout",
            confirm,
            millisecond..=minute,
            "1 ms to 60000 ms",
        )?;
        let fallback = self.fallback_delay.unwrap_or(millisecond);
        check("fallback_delay", fallback, millisecond..=LONGEST, TIMER)?;
        let idle = self.idle_time.unwrap_or(millisecond);
        check("idle_time", idle, millisecond..=LONGEST, TIMER)
    }
}

impl Settings {
    /// Checks every setting.
    ///
    /// # Errors
    /// The first one outside its range.
    pub fn validate(&self) -> Result<(), SettingError> {
        self.flow.validate()?;
        let timers = [
            ("waiting_list_timeout", self.waiting_list_timeout),
            ("hello_timeout", self.hello_timeout),
            ("tombstone_time", self.tombstone_time),
            ("capability_ttl", self.capability_ttl),
        ];
        for (key, found) in timers {
            check(key, found, Duration::from_millis(1)..=LONGEST, TIMER)?;
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

//! How a guard works.

use std::time::Duration;
#[cfg(feature = "guard")]
use tailcut_proxy::config::{count, time};

/// What happens to a request that runs when its client leaves.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[cfg_attr(
    feature = "guard",
    derive(serde::Deserialize),
    serde(rename_all = "kebab-case")
)]
pub enum OnCancel {
    /// It is dropped, and its worker takes the next request. For services that stop when they are
    /// dropped.
    #[default]
    Kill,
    /// It goes on to its end, unseen, and keeps its worker until then. For services that work on after
    /// their client has left: a worker that is given to another request too early would have two.
    HoldSlot,
}

/// How a guard works.
#[derive(Clone, Copy, PartialEq, Debug)]
#[cfg_attr(feature = "guard", derive(serde::Deserialize), serde(default))]
pub struct GuardConfig {
    /// Requests that run at once, 1 to 100,000.
    #[cfg_attr(
        feature = "guard",
        serde(deserialize_with = "count::<1, 100_000, _, _>")
    )]
    pub workers: u32,
    /// Requests that wait, of all classes, at most. Beyond it the latest of the lowest class is refused.
    #[cfg_attr(
        feature = "guard",
        serde(deserialize_with = "count::<0, 4_294_967_295, _, _>")
    )]
    pub queue: u32,
    /// What happens to a request that runs when its client leaves.
    pub on_cancel: OnCancel,
    /// How long a request whose client has left keeps its worker with [`OnCancel::HoldSlot`], 1 s to 24 h. After that
    /// it is dropped as with [`OnCancel::Kill`], so that a service that never ends does not take all workers.
    #[cfg_attr(
        feature = "guard",
        serde(
            rename = "hold_timeout",
            deserialize_with = "time::<1_000, 86_400_000, _>"
        )
    )]
    pub hold: Duration,
    /// Time in the field `Retry-After` of a refusal, 1 s to 24 h; it is sent in whole seconds.
    #[cfg_attr(
        feature = "guard",
        serde(deserialize_with = "time::<1_000, 86_400_000, _>")
    )]
    pub retry_after: Duration,
}

impl Default for GuardConfig {
    fn default() -> Self {
        Self {
            workers: 1,
            queue: 1_024,
            on_cancel: OnCancel::Kill,
            hold: Duration::from_secs(300),
            retry_after: Duration::from_secs(1),
        }
    }
}

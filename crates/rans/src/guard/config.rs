//! Configuration of a guard.

use std::time::Duration;
#[cfg(feature = "guard")]
use tailcut_proxy::config::{count, time};

/// Action on a running request that its client cancels.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[cfg_attr(
    feature = "guard",
    derive(serde::Deserialize),
    serde(rename_all = "kebab-case")
)]
pub enum OnCancel {
    /// The request is dropped, and its worker runs the next request.
    /// Use it for services that stop when their request is dropped.
    #[default]
    Kill,
    /// The request runs to its end without a client, and occupies its worker until then.
    /// Use it for services that do not stop when their client cancels a request.
    /// With [`OnCancel::Kill`], a worker of such a service would get two requests.
    HoldSlot,
}

/// Configuration of a guard.
#[derive(Clone, Copy, PartialEq, Debug)]
#[cfg_attr(feature = "guard", derive(serde::Deserialize), serde(default))]
pub struct GuardConfig {
    /// Largest number of requests that run at the same time, 1 to 100,000.
    #[cfg_attr(
        feature = "guard",
        serde(deserialize_with = "count::<1, 100_000, _, _>")
    )]
    pub workers: u32,
    /// Largest number of requests that wait, over all classes.
    /// If there are more, a request of the lowest class is refused: the newest one of the client with the most of them.
    #[cfg_attr(
        feature = "guard",
        serde(deserialize_with = "count::<0, 4_294_967_295, _, _>")
    )]
    pub queue: u32,
    /// Longest time that a request waits for a worker, 1 ms to 24 h. After that it is refused.
    #[cfg_attr(
        feature = "guard",
        serde(
            rename = "queue_timeout",
            deserialize_with = "time::<1, 86_400_000, _>"
        )
    )]
    pub queue_time: Duration,
    /// Time after which a running request that waits for its own client gives its worker to another client, 1 ms to 24 h.
    /// Such a request waits for a part of its body, or until its client takes a part of the answer.
    /// It is ended only if a client with fewer workers waits.
    #[cfg_attr(
        feature = "guard",
        serde(
            rename = "yield_timeout",
            deserialize_with = "time::<1, 86_400_000, _>"
        )
    )]
    pub yield_time: Duration,
    /// Action for a running request whose client leaves.
    pub on_cancel: OnCancel,
    /// Longest time for which a request without a client occupies its worker, 1 s to 24 h.
    /// Only [`OnCancel::HoldSlot`] uses this time. After this time the request is dropped as with [`OnCancel::Kill`].
    /// Without this limit, a service that never ends would occupy all workers.
    #[cfg_attr(
        feature = "guard",
        serde(
            rename = "hold_timeout",
            deserialize_with = "time::<1_000, 86_400_000, _>"
        )
    )]
    pub hold: Duration,
    /// Time in the field `Retry-After` of a refusal, 1 s to 24 h. It is sent in whole seconds.
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
            // A longer queue would need more memory, and its last requests would wait longer than their clients.
            queue: 1_024,
            // The guard does not know how long the work takes. A day is no limit in practice.
            queue_time: Duration::from_secs(86_400),
            // A lost packet stops a slow network for about one second. With a longer time, other clients wait longer.
            yield_time: Duration::from_secs(2),
            on_cancel: OnCancel::Kill,
            // With a shorter time, a worker may get a second request while its service still runs the first one.
            // With a longer time, a service that hangs occupies its worker for longer.
            hold: Duration::from_secs(300),
            retry_after: Duration::from_secs(1),
        }
    }
}

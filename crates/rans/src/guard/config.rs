//! How a guard works.

use std::time::Duration;

/// What happens to a request that runs when its client leaves.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
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
pub struct GuardConfig {
    /// Requests that run at once, at least 1.
    pub workers: u32,
    /// Requests that wait, of all classes, at most. Beyond it the latest of the lowest class is refused.
    pub queue: u32,
    /// What happens to a request that runs when its client leaves.
    pub on_cancel: OnCancel,
    /// How long a request whose client has left keeps its worker with [`OnCancel::HoldSlot`]. After that it
    /// is dropped as with [`OnCancel::Kill`], so that a service that never ends does not take all workers.
    pub hold: Duration,
    /// Time in the field `Retry-After` of a refusal, in whole seconds.
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

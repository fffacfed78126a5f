//! Queues of a design's switch ports.

use crate::run::lists;
use crate::settings::Settings;
use std::sync::Arc;
use tailcut_fabric::queue::{Limit, Phantom, PortBuffer, QueueConfig, Sharing};
use tailcut_units::parameter::Values;

/// Function that configures the queue of a port.
pub(crate) type MakeQueue = Arc<dyn Fn(&PortBuffer) -> QueueConfig + Send + Sync>;
/// Function that is called once a run, with the settings and the design's own values.
type QueuePerRun = Arc<dyn Fn(&Settings, &Values) -> MakeQueue + Send + Sync>;

/// Queues of a design's switch ports, their keys, and the marks that they set.
#[derive(Clone)]
pub struct Ports {
    /// The design's own queue; `None`: the network's.
    queue: Option<QueuePerRun>,
    keys: &'static [&'static str],
    /// Reason why `queue.discipline` is refused.
    fixed: Option<&'static str>,
    marks: fn(&Settings) -> bool,
    /// Whether a class for copies of requests fits below the classes of the queue.
    pub(crate) takes_copies: bool,
    phantom: fn(&Settings, &PortBuffer) -> Option<Phantom>,
}

impl Ports {
    /// Returns ports with the network's queue, which mark at `queue.mark_above` if `marks` says so.
    pub fn network(marks: fn(&Settings) -> bool) -> Self {
        Self {
            queue: None,
            keys: &["queue.limit", "shared_buffer.*"],
            fixed: None,
            marks,
            takes_copies: true,
            phantom: |_, _| None,
        }
    }

    /// Returns ports with the design's own queue. `why` is the reason why no other discipline can take its place.
    /// `make` is called once a run, and gives the function that configures each port.
    pub fn own<M>(
        why: &'static str,
        make: impl Fn(&Settings, &Values) -> M + Send + Sync + 'static,
    ) -> Self
    where
        M: Fn(&PortBuffer) -> QueueConfig + Send + Sync + 'static,
    {
        Self {
            queue: Some(Arc::new(move |settings, values| {
                Arc::new(make(settings, values))
            })),
            keys: &[],
            fixed: Some(why),
            takes_copies: false,
            ..Self::network(|_| false)
        }
    }

    /// Sets the keys that the ports read. The last character of a key may be `*`, for any ending.
    #[must_use]
    pub fn reading(self, keys: &'static [&'static str]) -> Self {
        Self { keys, ..self }
    }

    /// Sets whether ports mark at `queue.mark_above`.
    #[must_use]
    pub fn marking(self, marks: fn(&Settings) -> bool) -> Self {
        Self { marks, ..self }
    }

    /// Allows copies of requests, in a class below the classes of the queue.
    #[must_use]
    pub fn with_copies(self) -> Self {
        Self {
            takes_copies: true,
            ..self
        }
    }

    /// Adds a phantom queue, which marks in place of the queue. `why` is the reason why no other discipline can take
    /// the queue's place.
    #[must_use]
    pub fn with_phantom(
        self,
        why: &'static str,
        phantom: fn(&Settings, &PortBuffer) -> Option<Phantom>,
    ) -> Self {
        Self {
            phantom,
            fixed: Some(why),
            ..self
        }
    }

    /// Returns the reason why `queue.discipline` is refused, or `None` if the ports take any discipline.
    pub const fn fixed(&self) -> Option<&'static str> {
        self.fixed
    }

    /// Returns whether ports mark at `queue.mark_above`.
    pub fn marks(&self, settings: &Settings) -> bool {
        (self.marks)(settings)
    }

    /// Returns the function that configures the design's own queues, or `None` for ports with the network's.
    pub(crate) fn queue(&self, settings: &Settings, values: &Values) -> Option<MakeQueue> {
        self.queue.as_ref().map(|make| make(settings, values))
    }

    pub(crate) fn phantom(&self, settings: &Settings, port: &PortBuffer) -> Option<Phantom> {
        (self.phantom)(settings, port)
    }

    pub(crate) fn reads(&self, key: &str) -> bool {
        match key {
            "queue.discipline" => self.fixed.is_none(),
            _ => lists(self.keys, key),
        }
    }
}

/// Returns the limit of each class, or of all that share a port's buffer. Split evenly, it is at least a packet or a
/// byte for each class.
pub(crate) fn room(buffer: Limit, sharing: Sharing, classes: u8) -> Limit {
    match (sharing, buffer) {
        (Sharing::Shared | Sharing::LastApart, _) => buffer,
        (Sharing::PerClass, Limit::Packets(packets)) => {
            Limit::Packets((packets / u32::from(classes)).max(1))
        }
        (Sharing::PerClass, Limit::Bytes(bytes)) => {
            Limit::Bytes((bytes / u64::from(classes)).max(1))
        }
    }
}

//! Queues of a design's switch ports.

use crate::run::lists;
use crate::settings::Settings;
use std::sync::Arc;
use tailcut_fabric::queue::{Limit, Phantom, PortBuffer, QueueConfig, Sharing};
use tailcut_units::parameter::Values;

/// Function that configures the queue of a port.
pub(crate) type MakeQueue = Arc<dyn Fn(&PortBuffer) -> QueueConfig + Send + Sync>;
/// Function that is called once per run, with the settings and the values of the design's parameters.
type QueuePerRun = Arc<dyn Fn(&Settings, &Values) -> MakeQueue + Send + Sync>;

/// Queues of a design's switch ports, the keys that the ports read, and whether the ports mark.
#[derive(Clone)]
pub struct Ports {
    /// The design's own queue. `None` keeps the network's queue.
    queue: Option<QueuePerRun>,
    keys: &'static [&'static str],
    room_key: &'static str,
    /// Reason why the user cannot set `queue.discipline`. `None`: the user can set it.
    fixed: Option<&'static str>,
    marks: fn(&Settings) -> bool,
    /// Whether the queue can have one more class, below its other classes, for copies of requests.
    pub(crate) takes_copies: bool,
    phantom: fn(&Settings) -> Option<Phantom>,
}

impl Ports {
    /// Returns ports with the network's queue. The ports mark at `queue.mark_above` if `marks` returns true.
    pub fn network(marks: fn(&Settings) -> bool) -> Self {
        Self {
            queue: None,
            keys: &["queue.limit", "shared_buffer.*"],
            room_key: "queue.limit",
            fixed: None,
            marks,
            takes_copies: true,
            phantom: |_| None,
        }
    }

    /// Returns ports with the design's own queue. `why` is the reason why no other discipline can replace this queue.
    /// `make` is called once per run and returns the function that configures each port.
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

    /// Sets the key that limits the queues. Errors contain this key. The default is `queue.limit`.
    #[must_use]
    pub fn with_room(self, key: &'static str) -> Self {
        Self {
            room_key: key,
            ..self
        }
    }

    /// Sets the keys that the ports read.
    /// If the last character of a key is `*`, the key stands for all keys with this beginning.
    #[must_use]
    pub fn reading(self, keys: &'static [&'static str]) -> Self {
        Self { keys, ..self }
    }

    /// Sets whether ports mark at `queue.mark_above`.
    #[must_use]
    pub fn marking(self, marks: fn(&Settings) -> bool) -> Self {
        Self { marks, ..self }
    }

    /// Allows copies of requests, in a class below all other classes of the queue.
    #[must_use]
    pub fn with_copies(self) -> Self {
        Self {
            takes_copies: true,
            ..self
        }
    }

    /// Adds a phantom queue, which marks instead of the real queue.
    /// `why` is the reason why no other discipline can replace the real queue.
    #[must_use]
    pub fn with_phantom(
        self,
        why: &'static str,
        phantom: fn(&Settings) -> Option<Phantom>,
    ) -> Self {
        Self {
            phantom,
            fixed: Some(why),
            ..self
        }
    }

    /// Returns the reason why the user cannot set `queue.discipline`. `None`: any discipline is allowed.
    pub const fn fixed(&self) -> Option<&'static str> {
        self.fixed
    }

    /// Returns the key that limits the queues.
    pub(crate) const fn room_key(&self) -> &'static str {
        self.room_key
    }

    /// Returns whether ports mark at `queue.mark_above`.
    pub fn marks(&self, settings: &Settings) -> bool {
        (self.marks)(settings)
    }

    /// Returns the function that configures the design's own queues. `None`: the ports keep the network's queue.
    pub(crate) fn queue(&self, settings: &Settings, values: &Values) -> Option<MakeQueue> {
        self.queue.as_ref().map(|make| make(settings, values))
    }

    pub(crate) fn phantom(&self, settings: &Settings) -> Option<Phantom> {
        (self.phantom)(settings)
    }

    pub(crate) fn reads(&self, key: &str) -> bool {
        match key {
            "queue.discipline" => self.fixed.is_none(),
            _ => lists(self.keys, key),
        }
    }
}

/// Returns the limit of each class. If all classes share a port's buffer, returns the limit of all classes together.
/// If the buffer is split evenly, the limit of a class is at least one packet or one byte.
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

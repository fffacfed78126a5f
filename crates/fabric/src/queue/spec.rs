//! Queue disciplines by name: the values of `queue.discipline`.

use super::discipline::Limit;
use super::drop_tail::DropTail;
use super::kind::QueueConfig;
use alloc::sync::Arc;
use core::fmt;
use tailcut_units::Rate;
use tailcut_units::parameter::{Parameter, Values};

/// Properties of a switch port for which a queue is configured.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PortBuffer {
    /// Rate of the port's link.
    pub rate: Rate,
    /// Bytes of a full packet on the wire.
    pub full_packet: u32,
    /// Room of the network's queue (`queue.limit`).
    pub limit: Limit,
    /// ECN threshold of the network's queue (`queue.mark_above`); `None` if packets are not marked.
    pub mark_above: Option<Limit>,
}

impl PortBuffer {
    /// Returns the network's queue: FIFO, drop-tail, with an ECN threshold.
    pub const fn fifo(&self) -> DropTail {
        DropTail {
            limit: self.limit,
            mark_above: self.mark_above,
        }
    }

    /// Returns the room in bytes; a packet counts as a full one.
    pub fn limit_bytes(&self) -> u64 {
        match self.limit {
            Limit::Packets(packets) => u64::from(packets) * u64::from(self.full_packet),
            Limit::Bytes(bytes) => bytes,
        }
    }
}

/// Function that configures the queue of a port from the values of the parameters.
pub type BuildQueue = Arc<dyn Fn(&PortBuffer, &Values) -> QueueConfig + Send + Sync>;

/// A queue discipline that `queue.discipline` can name.
#[derive(Clone)]
pub struct NamedQueue {
    /// Name: a lowercase letter, then lowercase letters, digits and `-`.
    pub name: &'static str,
    /// One line for `tailcut list disciplines`.
    pub summary: &'static str,
    /// Paper or RFC; empty if there is none.
    pub source: &'static str,
    /// Keys of the section of its name.
    pub parameters: &'static [Parameter],
    /// Configuration of a port's queue.
    pub build: BuildQueue,
}

impl fmt::Debug for NamedQueue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("NamedQueue").field(&self.name).finish()
    }
}

impl NamedQueue {
    /// Returns a queue discipline without parameters.
    pub fn new(
        name: &'static str,
        summary: &'static str,
        build: impl Fn(&PortBuffer, &Values) -> QueueConfig + Send + Sync + 'static,
    ) -> Self {
        Self {
            name,
            summary,
            source: "",
            parameters: &[],
            build: Arc::new(build),
        }
    }
}

//! Queue disciplines by name. The names are the values of the key `queue.discipline`.

use super::discipline::Limit;
use super::drop_tail::DropTail;
use super::kind::QueueConfig;
use alloc::sync::Arc;
use core::fmt;
use tailcut_units::Rate;
use tailcut_units::parameter::{Parameter, Values};

/// Properties of a switch port, from which its queue is configured.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PortBuffer {
    /// Rate of the port's link.
    pub rate: Rate,
    /// Size of a full packet on the wire, in bytes.
    pub full_packet: u32,
    /// Limit of the queue, from the key `queue.limit` of the network.
    pub limit: Limit,
    /// ECN threshold of the queue, from the key `queue.mark_above` of the network. `None` if packets are not marked.
    pub mark_above: Option<Limit>,
}

impl PortBuffer {
    /// Returns the queue that a network has by default: a FIFO with drop-tail and an ECN threshold.
    pub const fn fifo(&self) -> DropTail {
        DropTail {
            limit: self.limit,
            mark_above: self.mark_above,
        }
    }

    /// Returns the limit in bytes. A limit in packets is converted with the size of a full packet.
    pub fn limit_bytes(&self) -> u64 {
        match self.limit {
            Limit::Packets(packets) => u64::from(packets) * u64::from(self.full_packet),
            Limit::Bytes(bytes) => bytes,
        }
    }
}

/// Function that returns the configuration of a port's queue. Its arguments are the port and the parameters.
pub type BuildQueue = Arc<dyn Fn(&PortBuffer, &Values) -> QueueConfig + Send + Sync>;

/// Queue discipline that the key `queue.discipline` can name.
#[derive(Clone)]
pub struct NamedQueue {
    /// Name: a lowercase letter, then lowercase letters, digits and `-`.
    pub name: &'static str,
    /// Description for `tailcut list disciplines`, in one line.
    pub summary: &'static str,
    /// Paper or RFC that describes the discipline. Empty if there is none.
    pub source: &'static str,
    /// Keys that the discipline adds to scenarios, in the section with its name.
    pub parameters: &'static [Parameter],
    /// Function that returns the configuration of a port's queue.
    pub build: BuildQueue,
}

impl fmt::Debug for NamedQueue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("NamedQueue").field(&self.name).finish()
    }
}

impl NamedQueue {
    /// Returns a queue discipline that has no parameters.
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

//! Network of hosts at one switch.

use super::builder::{Builder, within};
use super::error::TopologyError;
use super::graph::{Topology, Wire};
use crate::forwarding::{Clos, Forwarding};
use crate::queue::QueueConfig;
use crate::shared_buffer::SharedBuffer;

/// Network of `hosts` hosts at one switch. Exactly one path exists between any two hosts.
#[derive(Clone, Debug)]
pub struct SingleSwitch {
    /// Number of hosts, 1 to 65,535.
    pub hosts: u32,
    /// Rate and delay of the link between a host and the switch.
    pub host_wire: Wire,
    /// Queue of every switch port.
    pub queue: QueueConfig,
    /// Shared packet memory of the switch, or `None` if its ports do not share memory.
    pub shared_buffer: Option<SharedBuffer>,
}

impl SingleSwitch {
    /// Builds the network. Returns an error if a parameter is wrong.
    pub fn build(&self) -> Result<Topology, TopologyError> {
        within("hosts", self.hosts, 65_535)?;
        let mut builder = Builder::new(&self.queue, self.shared_buffer);
        let forwarding = Forwarding::Clos(Clos::new(0, self.hosts, 1, 0, 1));
        let switch = builder.switch(0, forwarding);
        for _ in 0..self.hosts {
            builder.host(switch, self.host_wire);
        }
        Ok(builder.finish(1))
    }
}

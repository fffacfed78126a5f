//! Hosts at one switch.

use super::builder::{Builder, within};
use super::error::TopologyError;
use super::graph::{Topology, Wire};
use crate::forwarding::{Clos, Forwarding};
use crate::queue::QueueConfig;
use crate::shared_buffer::SharedBuffer;

/// `hosts` hosts at one switch. Every pair shares exactly one path.
#[derive(Clone, Debug)]
pub struct SingleSwitch {
    /// Number of hosts, 1 to 65,535.
    pub hosts: u32,
    /// Link of each host.
    pub host_wire: Wire,
    /// Queue of every switch port.
    pub queue: QueueConfig,
    /// Shared memory of the switch, if its ports share one.
    pub shared_buffer: Option<SharedBuffer>,
}

impl SingleSwitch {
    /// Builds the network, or returns the error in its parameters.
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

//! Collects links by node, so that a switch's ports are contiguous whatever the order of insertion.

use super::{Link, Node, NodeNames, SwitchSpec, Topology, TopologyError, Wire};
use crate::forwarding::Forwarding;
use crate::port::LinkConfig;
use crate::queue::{DropTail, Limit, QueueConfig};
use crate::shared_buffer::SharedBuffer;
use alloc::vec::Vec;
use tailcut_units::HostId;

/// The queue of a host's uplink: the host feeds it as it empties, so it never needs a limit.
const UPLINK_QUEUE: QueueConfig = QueueConfig::DropTail(DropTail {
    limit: Limit::Packets(u32::MAX),
    mark_above: None,
});

pub(super) struct Builder {
    uplinks: Vec<Link>,
    /// Each host's first uplink.
    first_uplinks: Vec<u32>,
    racks: Vec<u32>,
    down_and_up: Vec<Vec<Link>>,
    forwarding: Vec<(Forwarding, u8)>,
    queue: QueueConfig,
    shared_buffer: Option<SharedBuffer>,
}

impl Builder {
    pub fn new(queue: &QueueConfig, shared_buffer: Option<SharedBuffer>) -> Self {
        Self {
            uplinks: Vec::new(),
            first_uplinks: Vec::new(),
            racks: Vec::new(),
            down_and_up: Vec::new(),
            forwarding: Vec::new(),
            queue: queue.clone(),
            shared_buffer,
        }
    }

    /// Adds a switch and gives its number.
    pub fn switch(&mut self, tier: u8, forwarding: Forwarding) -> u32 {
        self.forwarding.push((forwarding, tier));
        self.down_and_up.push(Vec::new());
        (self.forwarding.len() - 1) as u32
    }

    /// Adds a host on a switch, with both directions of its link.
    pub fn host(&mut self, switch: u32, wire: Wire) {
        self.first_uplinks.push(self.uplinks.len() as u32);
        self.racks.push(switch);
        self.further_link(switch, wire);
    }

    /// Links the host that was added last to a switch once more, in both directions.
    pub fn further_link(&mut self, switch: u32, wire: Wire) {
        let host = Node::Host(HostId((self.first_uplinks.len() - 1) as u32));
        self.uplinks.push(Link {
            from: host,
            to: Node::Switch(switch),
            config: LinkConfig {
                rate: wire.rate,
                delay: wire.delay,
                queue: UPLINK_QUEUE,
                phantom: None,
            },
        });
        self.port(switch, host, wire);
    }

    /// Adds a switch's port towards a node: its next one in order.
    pub fn port(&mut self, from: u32, to: Node, wire: Wire) {
        let link = Link {
            from: Node::Switch(from),
            to,
            config: LinkConfig {
                rate: wire.rate,
                delay: wire.delay,
                queue: self.queue.clone(),
                phantom: None,
            },
        };
        self.down_and_up[from as usize].push(link);
    }

    pub fn set_forwarding(&mut self, switch: u32, forwarding: Forwarding) {
        self.forwarding[switch as usize].0 = forwarding;
    }

    pub fn finish(self, paths: u32) -> Topology {
        let uplink_count = self.uplinks.len() as u32;
        let mut links = self.uplinks;
        let mut switches = Vec::with_capacity(self.forwarding.len());
        for (ports, (forwarding, tier)) in self.down_and_up.into_iter().zip(self.forwarding) {
            switches.push(SwitchSpec {
                first_port: links.len() as u32,
                forwarding,
                shared_buffer: self.shared_buffer,
                tier,
            });
            links.extend(ports);
        }
        Topology {
            links,
            switches,
            uplinks: self.first_uplinks,
            uplink_count,
            racks: self.racks,
            paths,
            faults: Vec::new(),
            names: NodeNames::default(),
        }
    }
}

/// Refuses a parameter outside `1..=most`.
pub(super) fn within(parameter: &'static str, found: u32, most: u32) -> Result<(), TopologyError> {
    if (1..=most).contains(&found) {
        return Ok(());
    }
    Err(TopologyError {
        parameter,
        problem: alloc::format!("found {found}; allowed are 1 to {most}"),
    })
}

//! Plan for the switches of a run: the queues of their ports, and their choice among equal-cost paths.

use crate::parameters::EcmpHash;
use crate::settings::{Settings, Traffic};
use crate::stack::Stack;
use std::fmt;
use std::sync::Arc;
use tailcut_fabric::load_balancer::LoadBalancerConfig;
use tailcut_fabric::queue::{DropTail, Limit, Phantom, PortBuffer, QueueConfig};
use tailcut_fabric::topology::{Node, Topology};
use tailcut_fabric::{Bonding, LinkConfig};
use tailcut_transport::ConfigError;

/// Setup of one switch port.
#[derive(Clone, Default, Debug)]
pub struct PortSetup {
    /// Queue that replaces the network's queue. `None` keeps the network's queue.
    pub queue: Option<QueueConfig>,
    /// Phantom queue, which marks in place of the real queue. `None`: the port has no phantom queue.
    pub phantom: Option<Phantom>,
}

/// Function that sets up a switch port. The function contains the parameters.
pub type PortPlan = Arc<dyn Fn(&PortBuffer) -> PortSetup + Send + Sync>;

/// Plan for the switches of a design.
/// The plan uses only types of the fabric, so it works with packets of any transport.
#[derive(Clone)]
pub struct SwitchPlan {
    /// Setup of switch ports.
    pub port: PortPlan,
    /// Whether ports with the network's queue mark at the queue's threshold.
    /// False if the design has no ECN, because in a lab the packets of other programs may be ECN-capable.
    pub marks: bool,
    /// Choice among equal-cost paths.
    pub load_balancer: LoadBalancerConfig,
    /// Rule by which a host with several links chooses the link of a packet.
    pub bonding: Bonding,
    /// Bytes of a full packet on the wire.
    pub full_packet: u32,
    /// Bytes of a packet without payload on the wire.
    pub header: u32,
    /// Key that limits the queues. Errors contain this key.
    pub room_key: &'static str,
    /// Error if the queue discipline of the settings cannot be installed.
    refused: Option<ConfigError>,
}

impl SwitchPlan {
    /// Returns the plan for a design whose hosts carry `traffic`.
    pub fn new(stack: Stack, settings: &Settings, traffic: Traffic) -> Self {
        let (design, balancer) = (stack.design, stack.balancer);
        let (queue, refused) = match design.queues(settings, traffic) {
            Ok(queue) => (Some(queue), None),
            Err(refused) => (None, Some(refused)),
        };
        let kept = settings.clone();
        let values = settings.values_of(balancer.name, balancer.parameters);
        Self {
            port: Arc::new(move |port| PortSetup {
                queue: queue.as_ref().and_then(|queue| queue(port)),
                phantom: design.ports.phantom(&kept),
            }),
            marks: design.ports.marks(settings),
            load_balancer: match ((balancer.build)(&values), settings.designs.ecmp_hash) {
                // With weak hashes (CRC-32 or XOR), every switch computes the same hash.
                // The remainder of the hash selects the path.
                (LoadBalancerConfig::Ecmp, EcmpHash::Crc32 | EcmpHash::Xor) => {
                    LoadBalancerConfig::Remainder
                }
                (other, _) => other,
            },
            bonding: balancer.bonding(),
            full_packet: settings.framing.wire_bytes(settings.framing.payload),
            header: settings.framing.wire_bytes(0),
            room_key: design.ports.room_key(),
            refused,
        }
    }

    /// Sets up all switch ports of a network.
    /// A port whose queue replaces the network's queue does not use the shared buffer.
    ///
    /// # Errors
    /// The design does not allow the queue discipline of the settings, or replaces a queue that is not a FIFO.
    /// A queue can also be too small for a packet ([`SwitchPlan::check_room`]).
    pub fn install(&self, topology: &mut Topology) -> Result<(), ConfigError> {
        if let Some(refused) = &self.refused {
            return Err(refused.clone());
        }
        self.check_room(topology)?;
        for link in &mut topology.links {
            let Node::Switch(switch) = link.from else {
                continue;
            };
            let fifo = fifo(&link.config);
            let setup = (self.port)(&self.buffer(&link.config));
            // A design's own queue sets its own marks. A phantom queue marks instead of the real queue.
            let marks = setup.phantom.is_none() && (self.marks || setup.queue.is_some());
            if let Some(queue) = setup.queue {
                if fifo.is_none() {
                    return Err(ConfigError {
                        key: "queue",
                        found: format!("{:?} at a port of switch {switch}", link.config.queue),
                        allowed: "a FIFO, because the design has its own queue".into(),
                    });
                }
                link.config.queue = queue;
                topology.switches[switch as usize].shared_buffer = None;
            }
            if let QueueConfig::DropTail(queue) = &mut link.config.queue
                && !marks
            {
                queue.mark_above = None;
            }
            link.config.phantom = setup.phantom.or(link.config.phantom);
        }
        Ok(())
    }
}

impl SwitchPlan {
    /// Returns the properties of a port for the setup of its queue.
    pub(crate) fn buffer(&self, port: &LinkConfig) -> PortBuffer {
        let fifo = fifo(port).unwrap_or(DropTail {
            limit: Limit::Packets(u32::MAX),
            mark_above: None,
        });
        PortBuffer {
            rate: port.rate,
            full_packet: self.full_packet,
            limit: fifo.limit,
            mark_above: fifo.mark_above,
        }
    }
}

/// Returns the network's queue of a port, if it is a FIFO.
const fn fifo(port: &LinkConfig) -> Option<DropTail> {
    match &port.queue {
        QueueConfig::DropTail(fifo) => Some(*fifo),
        _ => None,
    }
}

impl fmt::Debug for SwitchPlan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SwitchPlan")
            .field("load_balancer", &self.load_balancer)
            .field("bonding", &self.bonding)
            .finish_non_exhaustive()
    }
}

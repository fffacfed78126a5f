//! Switches of a run: the queues of their ports, and how they choose among equal-cost paths.

use crate::parameters::EcmpHash;
use crate::settings::{Settings, Traffic};
use crate::stack::Stack;
use std::fmt;
use std::sync::Arc;
use tailcut_fabric::Bonding;
use tailcut_fabric::load_balancer::LoadBalancerConfig;
use tailcut_fabric::queue::{DropTail, Limit, Phantom, PortBuffer, QueueConfig};
use tailcut_fabric::topology::{Node, Topology};
use tailcut_transport::ConfigError;

/// Setup of one switch port.
#[derive(Clone, Default, Debug)]
pub struct PortSetup {
    /// Queue in place of the network's; `None` keeps that.
    pub queue: Option<QueueConfig>,
    /// Phantom queue, which then does the marking.
    pub phantom: Option<Phantom>,
}

/// Function that sets up a switch port. A closure, which carries the parameters.
pub type PortPlan = Arc<dyn Fn(&PortBuffer) -> PortSetup + Send + Sync>;

/// Switches of a design. The plan uses the fabric's types only, so that it holds for packets of any transport.
#[derive(Clone)]
pub struct SwitchPlan {
    /// Setup of switch ports.
    pub port: PortPlan,
    /// Whether ports with the network's queue mark at its threshold. Not if the design has no ECN: in a lab, packets
    /// of other programs may have.
    pub marks: bool,
    /// Choice among equal-cost paths.
    pub load_balancer: LoadBalancerConfig,
    /// Use of several links by a host.
    pub bonding: Bonding,
    /// Bytes of a full packet on the wire.
    pub full_packet: u32,
    /// Reason why the queue discipline of the settings cannot be installed.
    refused: Option<ConfigError>,
}

impl SwitchPlan {
    /// Returns the plan of a design whose hosts carry `traffic`.
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
                phantom: design.ports.phantom(&kept, port),
            }),
            marks: design.ports.marks(settings),
            load_balancer: match ((balancer.build)(&values), settings.designs.ecmp_hash) {
                // The path is the remainder of a weak hash, the same at every switch.
                (LoadBalancerConfig::Ecmp, EcmpHash::Crc32 | EcmpHash::Xor) => {
                    LoadBalancerConfig::Remainder
                }
                (other, _) => other,
            },
            bonding: balancer.bonding(),
            full_packet: settings.framing.wire_bytes(settings.framing.payload),
            refused,
        }
    }

    /// Sets up every switch port of a network. A port with another queue than the network's has its buffer to itself.
    ///
    /// # Errors
    /// The queue discipline of the settings does not exist or does not go with the design, or a port has another queue
    /// than a FIFO and the design replaces it.
    pub fn install(&self, topology: &mut Topology) -> Result<(), ConfigError> {
        if let Some(refused) = &self.refused {
            return Err(refused.clone());
        }
        for link in &mut topology.links {
            let Node::Switch(switch) = link.from else {
                continue;
            };
            let fifo = match &link.config.queue {
                QueueConfig::DropTail(fifo) => Some(*fifo),
                _ => None,
            };
            let buffer = fifo.unwrap_or(DropTail {
                limit: Limit::Packets(u32::MAX),
                mark_above: None,
            });
            let setup = (self.port)(&PortBuffer {
                rate: link.config.rate,
                full_packet: self.full_packet,
                limit: buffer.limit,
                mark_above: buffer.mark_above,
            });
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

impl fmt::Debug for SwitchPlan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SwitchPlan")
            .field("load_balancer", &self.load_balancer)
            .field("bonding", &self.bonding)
            .finish_non_exhaustive()
    }
}

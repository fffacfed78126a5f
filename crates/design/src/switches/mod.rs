//! What a design asks of the network between NICs.

mod paths;
mod priorities;
mod queues;

use crate::kinds::TransportKind;
use crate::own::PortSeat;
use crate::parameters::PhantomParameters;
use crate::settings::{Settings, Traffic};
use crate::stack::Stack;
use std::fmt;
use std::sync::Arc;
use tailcut_fabric::Bonding;
use tailcut_fabric::load_balancer::LoadBalancerConfig;
use tailcut_fabric::queue::{Phantom, QueueConfig};
use tailcut_fabric::topology::{Node, Topology};
use tailcut_units::Rate;

/// What a design asks of one switch port.
#[derive(Clone, Default, Debug)]
pub struct PortSetup {
    /// Its queue in place of the network's own; `None` keeps that.
    pub queue: Option<QueueConfig>,
    /// Its phantom queue, which then does the marking.
    pub phantom: Option<Phantom>,
}

/// What says of a switch port how it is set up. A closure, which carries what parameters there are.
pub type PortPlan = Arc<dyn Fn(&PortSeat<'_>) -> PortSetup + Send + Sync>;

/// What a design asks of the network. It speaks of the fabric only, so that it holds for packets of any
/// transport.
#[derive(Clone)]
pub struct SwitchPlan {
    /// How switch ports are set up.
    pub port: PortPlan,
    /// Whether ports with the network's queue mark as that says. Not where the design has no ECN: in a lab,
    /// packets of other programs may have.
    pub marks: bool,
    /// How switches choose among equal-cost paths.
    pub load_balancer: LoadBalancerConfig,
    /// How hosts with several links use them.
    pub bonding: Bonding,
}

impl SwitchPlan {
    /// The plan of a design, where hosts carry `traffic`.
    pub fn new(design: Stack, settings: &Settings, traffic: Traffic) -> Self {
        let queue = queues::queue(design, settings, traffic);
        let phantoms = match design.transport {
            TransportKind::Hull => settings.designs.hull.phantom,
            _ => None,
        };
        Self {
            port: Arc::new(move |seat| PortSetup {
                queue: queue(seat),
                phantom: phantoms.and_then(|parameters| phantom(&parameters, seat.rate)),
            }),
            marks: match design.transport {
                TransportKind::Tcp | TransportKind::Cubic => settings.tcp.classic_ecn,
                TransportKind::ScdpPlain => settings.designs.scdp_plain.ecn,
                _ => true,
            },
            load_balancer: paths::load_balancer(design, &settings.designs.paths),
            bonding: paths::bonding(design.routing),
        }
    }

    /// Sets every switch port of a network up. A port with its design's own queue has its buffer to
    /// itself.
    pub fn install(&self, topology: &mut Topology) {
        for link in &mut topology.links {
            let Node::Switch(switch) = link.from else {
                continue;
            };
            let setup = (self.port)(&PortSeat {
                rate: link.config.rate,
                usual: &link.config.queue,
            });
            let marks = setup.phantom.is_none() && (self.marks || setup.queue.is_some());
            if let Some(queue) = setup.queue {
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

/// The phantom queue of a port whose link has `rate`.
fn phantom(parameters: &PhantomParameters, rate: Rate) -> Option<Phantom> {
    Some(Phantom {
        drain: Rate::from_bps((rate.as_bps() as f64 * parameters.drain) as u64)?,
        mark_above_bytes: parameters.mark_above.0,
        compare: parameters.compare,
        placement: parameters.placement,
    })
}

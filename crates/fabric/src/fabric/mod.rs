//! The whole network between the hosts' transports.

mod advance;
mod branch;
mod choosing;
mod groups;
mod inject;
mod links;
mod port;
mod purge;
mod report;

use crate::books::Books;
use crate::edge::Edge;
use crate::engine::{Engine, EngineKind, Event};
use crate::general::General;
use crate::links::Links;
use crate::load_balancer::balancer::Balancer;
use crate::load_balancer::chooser::PathChooser;
use crate::load_balancer::config::LoadBalancerConfig;
use crate::multicast::Multicast;
use crate::network::{HOST, Network, Switch};
use crate::observer::Observer;
use crate::packet::{PacketId, Packets};
use crate::port::{Port, PortClass, PortEvents};
use crate::purge_keys::PurgeKeys;
use crate::queue::{PhantomState, Queue, QueueConfig};
use crate::shared_buffer::Pool;
use crate::topology::{Node, Topology};
use crate::uplinks::{Bonding, Bonds, Uplinks};
use alloc::boxed::Box;
use alloc::vec::Vec;
use tailcut_units::{HostId, Time};

/// How a fabric is built on a topology.
#[derive(Clone, Default, Debug)]
pub struct FabricConfig {
    /// How switches choose among equal-cost ports.
    pub load_balancer: LoadBalancerConfig,
    /// The event queue.
    pub engine: EngineKind,
    /// Events a packet at FIFO ports.
    pub port_events: PortEvents,
    /// Seed of every random stream of the fabric.
    pub seed: u64,
    /// How hosts use several uplinks.
    pub bonding: Bonding,
}

/// Entities of events: a port whose link is free, or with this bit a link that delivers. At one
/// instant, links become free before packets arrive.
const ARRIVAL: u32 = 1 << 31;
/// Behind the last link: what was dropped leaves the network.
const OUTLET: u32 = 0;
/// Behind that: a packet that was injected before its time enters.
const ENTRY: u32 = 1;

/// The network: ports, links and switches, and the packets in them.
///
/// It owns its time, which never goes back. Use: call `advance` until `None`, `inject` packets at hosts
/// whose `uplink_free_at` has come, and look at `next_timeout` for when to come back. What is injected for
/// a time that has gone by enters now, and is counted as late; what is injected ahead of time enters when
/// its time comes.
///
/// Bodies are opaque. Switches that copy a packet to several members of a group clone its body; every body
/// comes out of `advance` once.
#[derive(Debug)]
pub struct Fabric<B, O = ()> {
    now: Time,
    engine: Engine,
    packets: Packets<B>,
    network: Network,
    uplinks: Vec<Uplinks>,
    bonds: Bonds,
    books: Books,
    multicast: Multicast,
    /// What chooses paths by more than one switch knows; `None` where nothing does.
    chooser: Option<Box<PathChooser>>,
    purge_keys: PurgeKeys,
    /// Whether packets may need more than forwarding: there is a chooser, there are groups, some purge, or
    /// some have a hop limit. One look spares the others every hop.
    is_special: bool,
    /// Links that are, or have been, other than they were built.
    links: Links,
    edge: Edge,
    observer: O,
}

impl<B: Clone> Fabric<B> {
    /// An empty network.
    pub fn new(topology: &Topology, config: &FabricConfig) -> Self {
        Self::observed(topology, config, ())
    }
}

impl<B: Clone, O: Observer<B>> Fabric<B, O> {
    /// An empty network that tells `observer` what happens in it.
    pub fn observed(topology: &Topology, config: &FabricConfig, observer: O) -> Self {
        let links = topology.links.len();
        let uplinks = 0..topology.hosts();
        let uplinks = uplinks.map(|host| Uplinks::of(topology.uplinks_of(HostId(host))));
        let chooser = PathChooser::new(&config.load_balancer, topology, config.seed).map(Box::new);
        let mut fabric = Self {
            now: Time::ZERO,
            engine: Engine::new(config.engine),
            packets: Packets::new(),
            network: Network {
                ports: Vec::with_capacity(links),
                far_ends: Vec::with_capacity(links),
                dropped: alloc::vec![0; links],
                ..Network::default()
            },
            uplinks: uplinks.collect(),
            bonds: Bonds::new(config.bonding, config.seed),
            books: Books::default(),
            multicast: Multicast::default(),
            purge_keys: PurgeKeys::default(),
            is_special: chooser.is_some(),
            chooser,
            links: Links::new(config.seed),
            edge: Edge::default(),
            observer,
        };
        fabric.build(topology, config);
        fabric
    }

    /// Makes the switches and ports of a topology.
    fn build(&mut self, topology: &Topology, config: &FabricConfig) {
        let network = &mut self.network;
        let mut pool_of_switch = Vec::with_capacity(topology.switches.len());
        for (number, switch) in topology.switches.iter().enumerate() {
            pool_of_switch.push(switch.shared_buffer.map(|shared| {
                network.pools.push(Pool::new(shared));
                (network.pools.len() - 1) as u32
            }));
            network.switches.push(Switch {
                forwarding: switch.forwarding.clone(),
                balancer: Balancer::new(&config.load_balancer, config.seed, number as u32),
                first_port: switch.first_port,
            });
        }
        for (number, link) in topology.links.iter().enumerate() {
            let (pool, owner) = match link.from {
                Node::Switch(switch) => (pool_of_switch[switch as usize], switch),
                Node::Host(host) => (None, host.0 | HOST),
            };
            let one_event = match &link.config.queue {
                // A phantom queue marks when a packet leaves, which must not count before it has.
                QueueConfig::DropTail(drop_tail)
                    if pool.is_none()
                        && link.config.phantom.is_none()
                        && !topology.changes_rate(number)
                        && config.port_events == PortEvents::OneWherePossible =>
                {
                    Some(*drop_tail)
                }
                _ => None,
            };
            let (place, ring_bits) = if one_event.is_some() {
                network.rings.allocate()
            } else {
                let port = network.ports.len() as u32;
                network.generals.push(General {
                    queue: Queue::new(&link.config.queue, config.seed, port),
                    pool,
                    owner,
                    trimmed: 0,
                    wakes: false,
                    held_until_ps: 0,
                });
                ((network.generals.len() - 1) as u32, 0)
            };
            let class = network.class_number(PortClass::new(&link.config, one_event));
            network.ports.push(Port::new(class, place, ring_bits));
            network.far_ends.push(match link.to {
                Node::Switch(switch) => switch,
                Node::Host(host) => host.0 | HOST,
            });
        }
        // Behind the links: what was dropped leaves, and what came too early enters.
        let links = network.far_ends.len();
        network.far_ends.resize(links + 2, crate::network::NOWHERE);
        if network.classes.iter().any(|class| class.phantom.is_some()) {
            network.phantoms = alloc::vec![PhantomState::default(); network.ports.len()];
        }
    }

    /// The fabric's time: no earlier than that of anything it has done.
    pub const fn now(&self) -> Time {
        self.now
    }

    /// What looks on.
    pub const fn observer(&self) -> &O {
        &self.observer
    }

    /// What looks on.
    pub const fn observer_mut(&mut self) -> &mut O {
        &mut self.observer
    }

    /// Ends the fabric and gives back what looked on.
    pub fn into_observer(self) -> O {
        self.observer
    }

    /// An event that happens behind the last link.
    fn behind_links(&self, at: Time, what: u32, id: PacketId) -> Event {
        let entity = self.network.ports.len() as u32 + what;
        Event::new(at, entity | ARRIVAL, id.0)
    }
}

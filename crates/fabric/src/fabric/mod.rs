//! Fabric: the whole network between the transports of hosts.

mod advance;
mod branch;
mod choosing;
mod groups;
mod inject;
mod links;
mod lookahead;
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
use lookahead::LARGE;
pub use lookahead::PrefetchHosts;
use tailcut_units::{HostId, Time};

/// Parameters of a fabric, in addition to its topology.
#[derive(Clone, Default, Debug)]
pub struct FabricConfig {
    /// Load balancer of the switches. The load balancer chooses among equal-cost ports.
    pub load_balancer: LoadBalancerConfig,
    /// Kind of event queue.
    pub engine: EngineKind,
    /// Number of events per packet at ports with a FIFO queue.
    pub port_events: PortEvents,
    /// Seed of all random streams of the fabric.
    pub seed: u64,
    /// Rule by which a host with several uplinks chooses among them.
    pub bonding: Bonding,
}

/// First entity of the second class of events: a link delivers a packet.
/// Entities of the first class are ports whose link becomes free.
/// At equal times, links therefore become free before packets arrive.
const ARRIVAL: u32 = 1 << (32 - Event::CLASS_BITS);
/// Virtual link through which dropped packets leave the network.
/// The number of this virtual link follows the numbers of real links. Its events come after arrivals at the same time.
const OUTLET: u32 = 0;
/// Virtual link through which early packets enter the network.
/// The number of this virtual link follows the number of the outlet.
/// Its events come last among events at the same time.
const ENTRY: u32 = 1;

/// Network of ports, links and switches, with the packets in it.
///
/// The fabric has its own time, which never decreases. The caller repeats three steps:
///
/// 1. Call `advance` until it returns `None`.
/// 2. `inject` packets at hosts whose `uplink_free_at` has passed.
/// 3. Use `next_timeout` as the time of the next call.
///
/// A packet that is injected for a past time enters immediately and is counted as late.
/// A packet that is injected for a future time enters at that time.
///
/// The fabric never reads the body of a packet.
/// A switch that copies a packet to several members of a group clones the body. `advance` returns every body once.
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
    /// Load balancer that chooses paths across several switches, with its state. `None` for other load balancers.
    chooser: Option<Box<PathChooser>>,
    purge_keys: PurgeKeys,
    /// Whether packets may need more than simple forwarding.
    /// The value is true with a chooser, a group, a purging packet, or a packet with a hop limit.
    /// All other networks need only this one check, so they stay fast.
    is_special: bool,
    /// Links whose state has ever changed.
    links: Links,
    edge: Edge,
    /// Whether the network exceeds the cache, so that more prefetches pay.
    is_large: bool,
    observer: O,
}

impl<B: Clone> Fabric<B> {
    /// Creates an empty network.
    pub fn new(topology: &Topology, config: &FabricConfig) -> Self {
        Self::observed(topology, config, ())
    }
}

impl<B: Clone, O: Observer<B>> Fabric<B, O> {
    /// Creates an empty network that reports its events to `observer`.
    pub fn observed(topology: &Topology, config: &FabricConfig, observer: O) -> Self {
        let links = topology.links.len();
        let uplinks = 0..topology.hosts();
        let uplinks = uplinks.map(|host| Uplinks::of(topology.uplinks_of(HostId(host))));
        let chooser = PathChooser::new(&config.load_balancer, topology, config.seed).map(Box::new);
        let mut fabric = Self {
            now: Time::ZERO,
            // Two virtual links follow the real links: `OUTLET` and `ENTRY`.
            engine: Engine::new(config.engine, config.seed, links as u32 + 2),
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
            is_large: links >= LARGE,
            observer,
        };
        fabric.build(topology, config);
        fabric
    }

    /// Creates the switches and ports of a topology.
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
                // A phantom queue marks a packet when it leaves.
                // A port with one event per packet would add packets to the phantom queue while they still wait.
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
        // Two virtual links follow the real links.
        // Dropped packets leave through the first, and early packets enter through the second.
        let links = network.far_ends.len();
        network.far_ends.resize(links + 2, crate::network::NOWHERE);
        if network.classes.iter().any(|class| class.phantom.is_some()) {
            network.phantoms = alloc::vec![PhantomState::default(); network.ports.len()];
        }
    }

    /// Returns the fabric's time. It is never before an event that has happened.
    pub const fn now(&self) -> Time {
        self.now
    }

    /// Returns the observer.
    pub const fn observer(&self) -> &O {
        &self.observer
    }

    /// Returns the observer, so that the caller can change it.
    pub const fn observer_mut(&mut self) -> &mut O {
        &mut self.observer
    }

    /// Consumes the fabric and returns its observer.
    pub fn into_observer(self) -> O {
        self.observer
    }

    /// Creates an event at one of the two virtual links.
    fn behind_links(&self, at: Time, what: u32, id: PacketId) -> Event {
        let number = self.network.ports.len() as u32 + what;
        // The outlet has class 2, and the entry has class 3.
        Event::new(at, number | (ARRIVAL * (what + 2)), id.0)
    }
}

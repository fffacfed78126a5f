//! The whole network between the hosts' transports.

use crate::books::{Books, Wait, backlog_of};
use crate::engine::{Engine, EngineKind, Event};
use crate::faults::{self, Faults, NOWHERE};
use crate::fifo::{self, Outcome, Rings};
use crate::forwarding::Forwarding;
use crate::general::General;
use crate::load_balancer::{Balancer, LoadBalancerConfig, PathChooser, PortView};
use crate::multicast::Multicast;
use crate::packet::{Packet, PacketId, Packets, prefetch};
use crate::port::{Port, PortClass, PortEvents};
use crate::queue::{DropReason, PhantomState, Queue, QueueConfig};
use crate::shared_buffer::Pool;
use crate::topology::{Node, Topology};
use crate::uplinks::{Bonding, Bonds, Uplinks};
use alloc::boxed::Box;
use alloc::vec::Vec;
use tailcut_units::{Duration, HostId, Time};

/// How a fabric is built on a topology.
#[derive(Clone, Copy, Default, Debug)]
pub struct FabricConfig {
    /// How switches choose among equal-cost ports.
    pub load_balancer: LoadBalancerConfig,
    /// The event queue.
    pub engine: EngineKind,
    /// Events a packet at FIFO ports.
    pub port_events: PortEvents,
    /// Seed of every random stream of the fabric.
    pub seed: u64,
    /// Whether the time that each packet waits at each switch port is noted, for
    /// [`Fabric::take_waits`].
    pub record_waits: bool,
    /// How hosts use several uplinks.
    pub bonding: Bonding,
}

/// A packet that has reached its host.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Delivery<B> {
    /// When its last bit arrived.
    pub time: Time,
    /// Where.
    pub host: HostId,
    /// The packet.
    pub packet: Packet,
    /// What it carries.
    pub body: B,
}

#[derive(Debug)]
pub(crate) struct Switch {
    pub forwarding: Forwarding,
    pub balancer: Balancer,
    pub first_port: u32,
}

/// Where a link ends: a switch, or with the high bit a host.
pub(crate) const HOST: u32 = 1 << 31;
/// Entities of events: a port whose link is free, or with this bit a link that delivers. At one
/// instant, links become free before packets arrive.
pub(crate) const ARRIVAL: u32 = 1 << 31;

/// The network: ports, links and switches, and the packets in them.
///
/// Use: `inject` packets at hosts whose `uplink_free_at` has come, call `advance` until `None`, and
/// look at `next_timeout` for when to come back. Time never goes back.
#[derive(Debug)]
pub struct Fabric<B> {
    pub(crate) engine: Engine,
    pub(crate) packets: Packets<B>,
    pub(crate) ports: Vec<Port>,
    /// The node at the other end of each port's link.
    pub(crate) far_ends: Vec<u32>,
    pub(crate) classes: Vec<PortClass>,
    pub(crate) rings: Rings,
    pub(crate) generals: Vec<General>,
    /// A phantom queue a port, where any port has one.
    pub(crate) phantoms: Vec<PhantomState>,
    pub(crate) switches: Vec<Switch>,
    pub(crate) pools: Vec<Pool>,
    pub(crate) uplinks: Vec<Uplinks>,
    pub(crate) bonds: Bonds,
    pub(crate) books: Books,
    /// Waits noted since they were last taken, and when each packet in the network reached its
    /// port; `None` when nobody asks.
    pub(crate) waits: Option<Waits>,
    pub(crate) multicast: Multicast,
    /// What chooses paths by more than one switch knows; `None` where nothing does.
    pub(crate) chooser: Option<Box<PathChooser>>,
    /// Which packets one that purges takes with it; `None` where none does.
    pub(crate) purge_takes: Option<fn(&B, &B) -> bool>,
    /// Whether packets may need more than forwarding: there is a chooser, there are groups, or some
    /// purge. One look spares the others every hop.
    pub(crate) is_special: bool,
    /// Links that fail or slow down; `None` where none does.
    pub(crate) faults: Option<Box<Faults>>,
}

/// See [`FabricConfig::record_waits`].
#[derive(Debug, Default)]
pub(crate) struct Waits {
    noted: Vec<Wait>,
    /// When each packet arrived at the port where it is, by its place in the pool.
    arrived_ps: Vec<u64>,
}

impl Waits {
    pub fn arrive(&mut self, id: PacketId, now_ps: u64) {
        let slot = id.0 as usize;
        if self.arrived_ps.len() <= slot {
            self.arrived_ps.resize(slot + 1, 0);
        }
        self.arrived_ps[slot] = now_ps;
    }

    pub fn start(&mut self, id: PacketId, port: u32, now_ps: u64) {
        let arrived_ps = self.arrived_ps.get(id.0 as usize).copied();
        self.note(port, now_ps - arrived_ps.unwrap_or(now_ps));
    }

    pub fn note(&mut self, port: u32, ps: u64) {
        self.noted.push(Wait {
            port,
            wait: Duration::from_ps(ps),
        });
    }
}

impl<B: Copy> Fabric<B> {
    /// An empty network.
    pub fn new(topology: &Topology, config: FabricConfig) -> Self {
        let mut fabric = Self {
            engine: Engine::new(config.engine),
            packets: Packets::new(),
            ports: Vec::with_capacity(topology.links.len()),
            far_ends: Vec::with_capacity(topology.links.len()),
            classes: Vec::new(),
            rings: Rings::default(),
            generals: Vec::new(),
            phantoms: Vec::new(),
            switches: Vec::with_capacity(topology.switches.len()),
            pools: Vec::new(),
            uplinks: (0..topology.hosts())
                .map(|host| Uplinks::of(topology.uplinks_of(HostId(host))))
                .collect(),
            bonds: Bonds::new(config.bonding, config.seed),
            books: Books::default(),
            waits: config.record_waits.then(Waits::default),
            multicast: Multicast::default(),
            chooser: PathChooser::new(config.load_balancer, topology, config.seed).map(Box::new),
            purge_takes: None,
            is_special: false,
            faults: None,
        };
        fabric.is_special = fabric.chooser.is_some();
        let mut pool_of_switch = Vec::with_capacity(topology.switches.len());
        for (number, switch) in topology.switches.iter().enumerate() {
            pool_of_switch.push(switch.shared_buffer.map(|shared| {
                fabric.pools.push(Pool::new(shared));
                (fabric.pools.len() - 1) as u32
            }));
            fabric.switches.push(Switch {
                forwarding: switch.forwarding.clone(),
                balancer: Balancer::new(config.load_balancer, config.seed, number as u32),
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
                        && !faults::changes_rate(topology, number)
                        && config.port_events == PortEvents::OneWherePossible =>
                {
                    Some(*drop_tail)
                }
                _ => None,
            };
            let (place, ring_bits) = if one_event.is_some() {
                fabric.rings.allocate()
            } else {
                let port = fabric.ports.len() as u32;
                fabric.generals.push(General {
                    queue: Queue::new(&link.config.queue, config.seed, port),
                    pool,
                    owner,
                    trimmed: 0,
                    wakes: false,
                });
                ((fabric.generals.len() - 1) as u32, 0)
            };
            let class = fabric.class(PortClass::new(&link.config, one_event));
            fabric.ports.push(Port::new(class, place, ring_bits));
            fabric.far_ends.push(match link.to {
                Node::Switch(switch) => switch,
                Node::Host(host) => host.0 | HOST,
            });
        }
        if fabric.classes.iter().any(|class| class.phantom.is_some()) {
            fabric.phantoms = alloc::vec![PhantomState::default(); fabric.ports.len()];
        }
        fabric.schedule_faults(topology);
        fabric
    }

    /// The number of a class of ports, new or known.
    pub(crate) fn class(&mut self, class: PortClass) -> u16 {
        let known = self.classes.iter().position(|other| *other == class);
        let number = known.unwrap_or_else(|| {
            self.classes.push(class);
            self.classes.len() - 1
        });
        u16::try_from(number).expect("fewer than 65,536 kinds of ports")
    }

    /// Puts a packet on a host's uplink at `now`, behind others if the uplink is not free; of several
    /// uplinks on the one that [`Bonding`] says. Gives the time at which that uplink has sent everything.
    #[inline]
    pub fn inject(&mut self, now: Time, from: HostId, packet: Packet, body: B) -> Time {
        self.enter(now, from, packet, 0, body)
    }

    /// See [`Fabric::inject`] and [`Fabric::inject_handshake`].
    #[inline]
    pub(crate) fn enter(
        &mut self,
        now: Time,
        from: HostId,
        packet: Packet,
        reverse_hash: u32,
        body: B,
    ) -> Time {
        self.books.injected.add(packet.size);
        let port = self.uplink_for(from, &packet);
        let id = self.packets.insert(packet, body);
        if self.is_special {
            self.enter_specially(packet.dst, reverse_hash, id);
        }
        self.arrive_at_port(now, port, id);
        Time::from_ps(self.ports[port as usize].busy_until_ps)
    }

    /// Runs the network up to and including `until`, or until a packet reaches its host.
    #[inline]
    pub fn advance(&mut self, until: Time) -> Option<Delivery<B>> {
        while let Some(event) = self.engine.pop_until(until) {
            self.books.events += 1;
            self.prefetch_upcoming();
            let now = event.time();
            let entity = event.entity();
            if entity & ARRIVAL == 0 {
                self.link_free(now, entity);
                continue;
            }
            let far_end = self.far_ends[(entity ^ ARRIVAL) as usize];
            let id = PacketId(event.payload());
            if far_end & HOST == 0 {
                if self.is_special {
                    self.arrive_specially(now, entity ^ ARRIVAL, far_end, id);
                } else {
                    self.forward(now, far_end, id);
                }
            } else if far_end == NOWHERE {
                self.arrive_nowhere(now, &event);
            } else {
                let (packet, body) = self.packets.remove(id);
                self.books.delivered.add(packet.size);
                if self.is_special && packet.dst.is_group() {
                    self.multicast.leave_network(packet.dst);
                }
                return Some(Delivery {
                    time: now,
                    host: HostId(far_end ^ HOST),
                    packet,
                    body,
                });
            }
        }
        None
    }

    /// When `advance` next has something to do.
    #[inline]
    pub fn next_timeout(&mut self) -> Option<Time> {
        self.engine.peek()
    }

    /// Loads early what the next events will touch: large networks do not fit the cache.
    #[inline]
    fn prefetch_upcoming(&self) {
        if let Some(event) = self.engine.upcoming(3) {
            let entity = event.entity();
            if entity & ARRIVAL == 0 {
                let place = self.ports[entity as usize].place as usize;
                prefetch(&self.generals, place);
                return;
            }
            let id = PacketId(event.payload());
            self.packets.prefetch(id);
            let far_end = self.far_ends[(entity ^ ARRIVAL) as usize];
            if far_end & HOST == 0 {
                prefetch(&self.switches, far_end as usize);
            } else {
                self.packets.prefetch_body(id);
            }
        }
        if let Some(event) = self.engine.upcoming(6)
            && event.entity() & ARRIVAL == 0
        {
            prefetch(&self.ports, event.entity() as usize);
        }
    }

    #[inline]
    pub(crate) fn arrive_at_switch(&mut self, now: Time, switch: u32, id: PacketId) {
        if self.packets.header(id).dst.is_group() {
            return self.branch(now, switch, id);
        }
        self.forward(now, switch, id);
    }

    /// A packet to a single host leaves a switch.
    #[inline]
    fn forward(&mut self, now: Time, switch: u32, id: PacketId) {
        match self.egress(now, switch, id) {
            Some(port) => self.arrive_at_port(now, port, id),
            None => self.drop_packet(None, id, DropReason::NoRoute),
        }
    }

    /// The port through which a packet leaves a switch.
    #[inline]
    fn egress(&mut self, now: Time, switch: u32, id: PacketId) -> Option<u32> {
        let Self {
            switches,
            packets,
            ports,
            classes,
            rings,
            generals,
            ..
        } = self;
        let switch = &mut switches[switch as usize];
        let packet = packets.header(id);
        let backlog = |port: u32| {
            let port = &ports[(switch.first_port + port) as usize];
            let class = &classes[usize::from(port.class)];
            backlog_of(now, port, class, rings, generals).bytes
        };
        let within = match &switch.forwarding {
            Forwarding::Clos(clos) => {
                let group = clos.towards(packet.dst);
                let choice = match group.count {
                    0 => return None,
                    1 => 0,
                    n if packet.path != Packet::ANY_PATH => {
                        u32::from(packet.path) / clos.pin_divisor % n
                    }
                    n => switch.balancer.select(now, packet, n, |i| PortView {
                        port: group.first + i,
                        backlog_bytes: backlog(group.first + i),
                    }),
                };
                group.first + choice
            }
            Forwarding::Table(table) => {
                let group = table.towards(packet.dst);
                let n = group.len() as u32;
                let choice = match n {
                    0 => return None,
                    1 => 0,
                    _ if packet.path != Packet::ANY_PATH => {
                        u32::from(packet.path) / table.pin_divisor % n
                    }
                    _ => switch.balancer.select(now, packet, n, |i| PortView {
                        port: u32::from(group[i as usize]),
                        backlog_bytes: backlog(u32::from(group[i as usize])),
                    }),
                };
                u32::from(group[choice as usize])
            }
        };
        Some(switch.first_port + within)
    }

    #[inline]
    pub(crate) fn arrive_at_port(&mut self, now: Time, port_id: u32, id: PacketId) {
        let port = &mut self.ports[port_id as usize];
        let class = &self.classes[usize::from(port.class)];
        let Some(queue) = &class.drop_tail else {
            return self.arrive_at_general_port(now, port_id, id);
        };
        let packet = self.packets.header(id);
        match fifo::arrive(now.as_ps(), port, class, queue, &mut self.rings, packet) {
            Outcome::Arrives(at_ps) => {
                if let Some(waits) = &mut self.waits {
                    let service_ps = class.serialisation_ps(packet.size);
                    waits.note(port_id, port.busy_until_ps - service_ps - now.as_ps());
                }
                packet.hops += 1;
                self.books.hops += 1;
                let arrival = Event::new(Time::from_ps(at_ps), port_id | ARRIVAL, id.0);
                self.engine.push(arrival);
            }
            Outcome::Dropped(reason) => self.drop_packet(Some(port_id), id, reason),
        }
    }

    #[cold]
    pub(crate) fn drop_packet(&mut self, port: Option<u32>, id: PacketId, reason: DropReason) {
        self.strip(id);
        let (packet, _) = self.packets.remove(id);
        if packet.dst.is_group() {
            self.multicast.leave_network(packet.dst);
        }
        if let Some(port) = port {
            self.ports[port as usize].dropped += 1;
        }
        self.books.drops.count(reason).add(packet.size);
    }

    /// The waits at ports since the last call, in the order in which services began (one-event
    /// ports: in which packets arrived). Empty unless [`FabricConfig::record_waits`] asks for them.
    pub fn take_waits(&mut self) -> Vec<Wait> {
        let waits = self.waits.as_mut();
        waits.map_or_else(Vec::new, |waits| core::mem::take(&mut waits.noted))
    }
}

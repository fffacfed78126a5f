//! The whole network between the hosts' transports.

use crate::engine::{Engine, EngineKind, Event};
use crate::fifo::{self, Outcome, Rings};
use crate::forwarding::Forwarding;
use crate::load_balancer::{Balancer, LoadBalancerConfig, PortView};
use crate::packet::{Packet, PacketId, Packets, prefetch};
use crate::port::{Backlog, Port, PortClass, PortEvents, PortId};
use crate::queue::{DropReason, Queue, QueueConfig, Verdict};
use crate::shared_buffer::Pool;
use crate::topology::{Node, Topology};
use alloc::vec::Vec;
use tailcut_units::{Duration, HostId, Rate, Time};

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

/// A count of packets and of their bytes on the wire.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub struct Count {
    /// Packets.
    pub packets: u64,
    /// Bytes.
    pub bytes: u64,
}

impl Count {
    #[inline]
    fn add(&mut self, bytes: u32) {
        self.packets += 1;
        self.bytes += u64::from(bytes);
    }
}

/// Packets dropped, by reason.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub struct DropCounts {
    /// A port's own queue was full.
    pub queue_full: Count,
    /// A port was over its share of a shared buffer.
    pub shared_buffer: Count,
    /// No port led to the destination.
    pub no_route: Count,
}

/// What a port has done so far.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PortReport {
    /// Packets whose transmission has begun.
    pub sent_packets: u64,
    /// Bytes that have left, the part of the packet in service that has gone included.
    pub carried_bytes: u64,
    /// Packets that were ECN-marked here.
    pub marked: u64,
    /// Packets that were dropped here.
    pub dropped: u64,
    /// The most bytes that have waited here.
    pub longest_backlog_bytes: u64,
    /// Packets that wait now.
    pub backlog_packets: u32,
    /// Bytes that wait now.
    pub backlog_bytes: u64,
}

/// The general port's own state: a discipline and the packet in service.
#[derive(Debug)]
struct General {
    queue: Queue,
    /// Index of the switch's shared buffer, if it has one.
    pool: Option<u32>,
}

#[derive(Debug)]
struct Switch {
    forwarding: Forwarding,
    balancer: Balancer,
    first_port: u32,
}

/// Where a link ends: a switch, or with the high bit a host.
const HOST: u32 = 1 << 31;
/// Entities of events: a port whose link is free, or with this bit a link that delivers. At one
/// instant, links become free before packets arrive.
const ARRIVAL: u32 = 1 << 31;

/// The network: ports, links and switches, and the packets in them.
///
/// Use: `inject` packets at hosts whose `uplink_free_at` has come, call `advance` until `None`, and
/// look at `next_timeout` for when to come back. Time never goes back.
#[derive(Debug)]
pub struct Fabric<B> {
    engine: Engine,
    packets: Packets<B>,
    ports: Vec<Port>,
    /// The node at the other end of each port's link.
    far_ends: Vec<u32>,
    classes: Vec<PortClass>,
    rings: Rings,
    generals: Vec<General>,
    switches: Vec<Switch>,
    pools: Vec<Pool>,
    /// Each host's uplink.
    uplinks: Vec<u32>,
    injected: Count,
    delivered: Count,
    drops: DropCounts,
    hops: u64,
    events: u64,
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
            switches: Vec::with_capacity(topology.switches.len()),
            pools: Vec::new(),
            uplinks: topology.uplinks.clone(),
            injected: Count::default(),
            delivered: Count::default(),
            drops: DropCounts::default(),
            hops: 0,
            events: 0,
        };
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
        for link in &topology.links {
            let pool = match link.from {
                Node::Switch(switch) => pool_of_switch[switch as usize],
                Node::Host(_) => None,
            };
            let one_event = match &link.config.queue {
                QueueConfig::DropTail(drop_tail)
                    if pool.is_none() && config.port_events == PortEvents::OneWherePossible =>
                {
                    Some(*drop_tail)
                }
                _ => None,
            };
            let (place, ring_bits) = if one_event.is_some() {
                fabric.rings.allocate()
            } else {
                let queue = Queue::new(&link.config.queue);
                fabric.generals.push(General { queue, pool });
                ((fabric.generals.len() - 1) as u32, 0)
            };
            let class = fabric.class(PortClass::new(&link.config, one_event));
            fabric.ports.push(Port::new(class, place, ring_bits));
            fabric.far_ends.push(match link.to {
                Node::Switch(switch) => switch,
                Node::Host(host) => host.0 | HOST,
            });
        }
        fabric
    }

    /// The number of a class of ports, new or known.
    fn class(&mut self, class: PortClass) -> u16 {
        let known = self.classes.iter().position(|other| *other == class);
        let number = known.unwrap_or_else(|| {
            self.classes.push(class);
            self.classes.len() - 1
        });
        u16::try_from(number).expect("fewer than 65,536 kinds of ports")
    }

    /// Puts a packet on a host's uplink at `now`; behind others, if the uplink is not free.
    #[inline]
    pub fn inject(&mut self, now: Time, from: HostId, packet: Packet, body: B) {
        self.injected.add(packet.size);
        let id = self.packets.insert(packet, body);
        let port = self.uplinks[from.0 as usize];
        self.arrive_at_port(now, port, id);
    }

    /// When the host's uplink has sent everything that was injected.
    #[inline]
    pub fn uplink_free_at(&self, host: HostId) -> Time {
        Time::from_ps(self.ports[self.uplinks[host.0 as usize] as usize].busy_until_ps)
    }

    /// Runs the network up to and including `until`, or until a packet reaches its host.
    #[inline]
    pub fn advance(&mut self, until: Time) -> Option<Delivery<B>> {
        while let Some(event) = self.engine.pop_until(until) {
            self.events += 1;
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
                self.arrive_at_switch(now, far_end, id);
            } else {
                let (packet, body) = self.packets.remove(id);
                self.delivered.add(packet.size);
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
            let id = PacketId(event.payload());
            self.packets.prefetch(id);
            let entity = event.entity();
            if entity & ARRIVAL != 0 {
                let far_end = self.far_ends[(entity ^ ARRIVAL) as usize];
                if far_end & HOST == 0 {
                    prefetch(&self.switches, far_end as usize);
                } else {
                    self.packets.prefetch_body(id);
                }
            }
        }
    }

    #[inline]
    fn arrive_at_switch(&mut self, now: Time, switch: u32, id: PacketId) {
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
        let mut backlog = |port: u32| {
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
    fn arrive_at_port(&mut self, now: Time, port_id: u32, id: PacketId) {
        let port = &mut self.ports[port_id as usize];
        let class = &self.classes[usize::from(port.class)];
        let Some(queue) = &class.drop_tail else {
            return self.arrive_at_general_port(now, port_id, id);
        };
        let packet = self.packets.header(id);
        match fifo::arrive(now.as_ps(), port, class, queue, &mut self.rings, packet) {
            Outcome::Arrives(at_ps) => {
                packet.hops += 1;
                self.hops += 1;
                let arrival = Event::new(Time::from_ps(at_ps), port_id | ARRIVAL, id.0);
                self.engine.push(arrival);
            }
            Outcome::Dropped(reason) => self.drop_packet(Some(port_id), id, reason),
        }
    }

    fn arrive_at_general_port(&mut self, now: Time, port_id: u32, id: PacketId) {
        // A packet injected at the very instant at which the link becomes free comes after that.
        self.link_free(now, port_id);
        let port = &mut self.ports[port_id as usize];
        let general = &mut self.generals[port.place as usize];
        let size = self.packets.header(id).size;
        let idle = port.busy_until_ps <= now.as_ps();
        if let (Some(pool), false) = (general.pool, idle) {
            let backlog = general.queue.discipline().backlog_bytes();
            if !self.pools[pool as usize].admits(backlog, size) {
                return self.drop_packet(Some(port_id), id, DropReason::SharedBuffer);
            }
        }
        match general.queue.enqueue(now, id, self.packets.headers()) {
            Verdict::Dropped(reason) => return self.drop_packet(Some(port_id), id, reason),
            Verdict::Marked => port.marked += 1,
            Verdict::Queued => {}
        }
        if !idle {
            let backlog = general.queue.discipline().backlog_bytes();
            let backlog = u32::try_from(backlog).unwrap_or(u32::MAX);
            port.longest_backlog = port.longest_backlog.max(backlog);
        }
        if let Some(pool) = general.pool {
            self.pools[pool as usize].take(size);
        }
        if idle {
            self.start_next(now, port_id);
        }
    }

    /// If the link behind a general port is free, the next packet that waits starts.
    fn link_free(&mut self, now: Time, port_id: u32) {
        if self.ports[port_id as usize].busy_until_ps <= now.as_ps() {
            self.start_next(now, port_id);
        }
    }

    fn start_next(&mut self, now: Time, port_id: u32) {
        let port = &mut self.ports[port_id as usize];
        let general = &mut self.generals[port.place as usize];
        let Some(id) = general.queue.dequeue(now, self.packets.headers()) else {
            return;
        };
        let packet = self.packets.header(id);
        packet.hops += 1;
        if let Some(pool) = general.pool {
            self.pools[pool as usize].give_back(packet.size);
        }
        let class = &self.classes[usize::from(port.class)];
        let free_at = now.as_ps() + class.serialisation_ps(packet.size);
        port.busy_until_ps = free_at;
        port.transmitted_packets += 1;
        port.transmitted_bytes += u64::from(packet.size);
        self.hops += 1;
        let arrives_at = Time::from_ps(free_at + class.delay_ps);
        self.engine
            .push(Event::new(Time::from_ps(free_at), port_id, 0));
        self.engine
            .push(Event::new(arrives_at, port_id | ARRIVAL, id.0));
    }

    #[cold]
    fn drop_packet(&mut self, port: Option<u32>, id: PacketId, reason: DropReason) {
        let (packet, _) = self.packets.remove(id);
        if let Some(port) = port {
            self.ports[port as usize].dropped += 1;
        }
        let count = match reason {
            DropReason::QueueFull => &mut self.drops.queue_full,
            DropReason::SharedBuffer => &mut self.drops.shared_buffer,
            DropReason::NoRoute => &mut self.drops.no_route,
        };
        count.add(packet.size);
    }

    /// What a port has done so far and holds at `now`.
    pub fn port_report(&mut self, now: Time, port: PortId) -> PortReport {
        let port = &self.ports[port.0 as usize];
        let class = &self.classes[usize::from(port.class)];
        let backlog = backlog_of(now, port, class, &self.rings, &mut self.generals);
        // A one-event port has already counted what still waits.
        let (waiting, waiting_bytes) = match class.drop_tail {
            Some(_) => (backlog.packets, backlog.bytes),
            None => (0, 0),
        };
        let left = Duration::from_ps(backlog.service_ends_ps.saturating_sub(now.as_ps()));
        let begun_bytes = port.transmitted_bytes - waiting_bytes;
        PortReport {
            sent_packets: port.transmitted_packets - u64::from(waiting),
            carried_bytes: begun_bytes - bytes_left(class.rate, left).min(begun_bytes),
            marked: u64::from(port.marked),
            dropped: u64::from(port.dropped),
            longest_backlog_bytes: u64::from(port.longest_backlog),
            backlog_packets: backlog.packets,
            backlog_bytes: backlog.bytes,
        }
    }

    /// Ends the run: counts what is on links and in queues, one by one, so that the books can be
    /// balanced against what was injected, delivered and dropped.
    pub fn count_remaining(&mut self) -> Count {
        let mut count = Count::default();
        while let Some(event) = self.engine.pop_until(Time::MAX) {
            if event.entity() & ARRIVAL != 0 {
                count.add(self.packets.header(PacketId(event.payload())).size);
            }
        }
        for general in &mut self.generals {
            let queue = general.queue.discipline();
            count.packets += u64::from(queue.backlog_packets());
            count.bytes += queue.backlog_bytes();
        }
        count
    }

    /// Ports of the fabric, numbered from 0 in the order of the topology's links.
    pub fn port_count(&self) -> u32 {
        self.ports.len() as u32
    }
    /// Packets injected so far.
    pub const fn injected(&self) -> Count {
        self.injected
    }
    /// Packets delivered to hosts so far.
    pub const fn delivered(&self) -> Count {
        self.delivered
    }
    /// Packets dropped so far.
    pub const fn drops(&self) -> DropCounts {
        self.drops
    }
    /// Packets in queues and on links.
    pub fn in_network(&self) -> u64 {
        self.packets.live() as u64
    }
    /// Link transmissions so far, the hosts' own included.
    pub const fn packet_hops(&self) -> u64 {
        self.hops
    }
    /// Events handled so far.
    pub const fn events(&self) -> u64 {
        self.events
    }
}

/// The bytes that `left` more of service sends, rounded up, so that none counts before it has gone.
fn bytes_left(rate: Rate, left: Duration) -> u64 {
    let whole = rate.bytes_in(left);
    whole + u64::from(rate.serialisation(whole) < left)
}

/// What waits at a port at `now`.
fn backlog_of(
    now: Time,
    port: &Port,
    class: &PortClass,
    rings: &Rings,
    generals: &mut [General],
) -> Backlog {
    if class.drop_tail.is_some() {
        return fifo::backlog(now.as_ps(), port, class, rings);
    }
    let queue = generals[port.place as usize].queue.discipline();
    Backlog {
        packets: queue.backlog_packets(),
        bytes: queue.backlog_bytes(),
        service_ends_ps: port.busy_until_ps,
    }
}

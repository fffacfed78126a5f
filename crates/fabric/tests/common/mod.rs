//! Small networks and packets for the tests of the fabric.
#![allow(dead_code, reason = "each test file uses its own part")]

use std::ops::{Deref, DerefMut};
use tailcut_fabric::engine::EngineKind;
use tailcut_fabric::load_balancer::LoadBalancerConfig;
use tailcut_fabric::queue::{
    Dequeued, DropTail, Fate, Limit, QueueConfig, QueueDiscipline, Verdict,
};
use tailcut_fabric::topology::{CoreOversubscription, FatTree, LeafSpine, Topology, Wire};
use tailcut_fabric::{
    Delivery, Ecn, Fabric, FabricConfig, FaultPlan, Hints, Observer, Output, Packet, PacketId,
    PortEvents,
};
use tailcut_units::{Duration, FiveTuple, HostId, Protocol, Rate, Time};

pub fn wire(gbps: u64, delay_ns: u64) -> Wire {
    Wire {
        rate: Rate::from_gbps(gbps),
        delay: Duration::from_ns(delay_ns),
    }
}

pub fn drop_tail(limit: Limit, mark_above: Option<Limit>) -> QueueConfig {
    QueueConfig::DropTail(DropTail { limit, mark_above })
}

/// Returns all packets that an arrival displaced, each with the change of its state.
pub fn displaced<Q: QueueDiscipline + ?Sized>(
    queue: &mut Q,
    verdict: Verdict,
) -> Vec<(PacketId, Fate)> {
    let mut all: Vec<_> = verdict.displaced.into_iter().collect();
    if !all.is_empty() {
        all.extend(std::iter::from_fn(|| queue.also_displaced()));
    }
    assert_eq!(queue.also_displaced(), None);
    all
}

/// Returns a network with three leaves of four hosts each and two spines, oversubscribed 2:1.
pub fn leaf_spine(queue: QueueConfig) -> Topology {
    LeafSpine {
        leaves: 3,
        spines: 2,
        hosts_per_leaf: 4,
        host_links: 1,
        host_wire: wire(10, 500),
        spine_wire: wire(10, 1_000),
        queue,
        shared_buffer: None,
    }
    .build()
    .expect("a leaf-spine network")
}

/// Returns a fat-tree with k pods that is not oversubscribed.
/// Each pod has k/2 edge switches and k/2 aggregation switches, and each edge switch has k/2 hosts.
/// With k = 4, there are four cores.
pub fn fat_tree(k: u32, host_wire: Wire, fabric_wire: Wire, queue: QueueConfig) -> Topology {
    FatTree {
        k,
        tiers: 3,
        edge_downlinks: k / 2,
        host_links: 1,
        core_oversubscription: CoreOversubscription::None,
        host_wire,
        fabric_wire,
        core_wire: fabric_wire,
        queue,
        shared_buffer: None,
    }
    .build()
    .expect("a fat-tree")
}

pub fn tuple(src: u32, dst: u32, src_port: u16) -> FiveTuple {
    FiveTuple {
        src: HostId(src),
        dst: HostId(dst),
        src_port,
        dst_port: 80,
        protocol: Protocol::Tcp,
    }
}

pub fn packet(src: u32, dst: u32, size: u32, src_port: u16) -> Packet {
    let tuple = tuple(src, dst, src_port);
    Packet {
        src: tuple.src,
        dst: tuple.dst,
        flow_hash: tuple.hash(),
        size,
        ecn: Ecn::Capable,
        path: Packet::ANY_PATH,
        ..Packet::default()
    }
}

/// Returns the packet that a queue sends, or `None` if it sends no packet.
pub fn served(dequeued: Dequeued) -> Option<PacketId> {
    match dequeued {
        Dequeued::Packet(id) => Some(id),
        Dequeued::Empty => None,
        other => panic!("{other:?} from a queue that must not wait or drop"),
    }
}

/// Access to the packets that reach hosts.
pub trait Deliveries<B> {
    /// Returns the next packet that reaches its host at or before `until`. Dropped packets are ignored.
    fn delivery(&mut self, until: Time) -> Option<Delivery<B>>;
}

impl<B: Clone, O: Observer<B>> Deliveries<B> for Fabric<B, O> {
    fn delivery(&mut self, until: Time) -> Option<Delivery<B>> {
        loop {
            if let Output::Delivered(delivery) = self.advance(until)? {
                return Some(delivery);
            }
        }
    }
}

/// Fabric to which the faults of its topology are applied.
pub struct Faulty<B> {
    fabric: Fabric<B>,
    plan: Option<FaultPlan>,
}

impl<B: Clone> Faulty<B> {
    pub fn new(topology: &Topology, config: &FabricConfig) -> Self {
        Self {
            fabric: Fabric::new(topology, config),
            plan: FaultPlan::of(topology),
        }
    }

    /// Returns the next packet that reaches its host at or before `until`.
    /// Applies all faults that happen before this packet.
    pub fn delivery(&mut self, until: Time) -> Option<Delivery<B>> {
        loop {
            let next = self.plan.as_ref().and_then(FaultPlan::next);
            let next = next.filter(|&next| next <= until);
            if let Some(delivery) = self.fabric.delivery(next.unwrap_or(until)) {
                return Some(delivery);
            }
            let (Some(plan), Some(next)) = (&mut self.plan, next) else {
                return None;
            };
            plan.apply(next, &mut self.fabric)
                .expect("links that change");
        }
    }
}

impl<B> Deref for Faulty<B> {
    type Target = Fabric<B>;

    fn deref(&self) -> &Fabric<B> {
        &self.fabric
    }
}

impl<B> DerefMut for Faulty<B> {
    fn deref_mut(&mut self) -> &mut Fabric<B> {
        &mut self.fabric
    }
}

/// Returns the hints of a packet of a handshake. They contain the flow hash of the answer.
pub fn answers(reverse_hash: u32) -> Hints {
    Hints {
        reverse_hash,
        ..Hints::NONE
    }
}

/// Packet to inject, with its time in nanoseconds.
pub type Injection = (u64, Packet);

/// Returns all packets that leave the network after `injections`. The injections must be in order of time.
pub fn run(
    topology: &Topology,
    engine: EngineKind,
    port_events: PortEvents,
    load_balancer: LoadBalancerConfig,
    injections: &[Injection],
) -> (Vec<Delivery<u32>>, Fabric<u32>) {
    let mut fabric = Fabric::new(
        topology,
        &FabricConfig {
            load_balancer,
            engine,
            port_events,
            seed: 1,
            ..FabricConfig::default()
        },
    );
    let mut out = Vec::new();
    for (number, &(at, packet)) in injections.iter().enumerate() {
        let at = Time::from_ns(at);
        // The network stops one picosecond earlier, so that an injection precedes the events at the same time.
        while let Some(delivery) = fabric.delivery(Time::from_ps(at.as_ps().saturating_sub(1))) {
            out.push(delivery);
        }
        fabric.inject(at, packet.src, packet, number as u32);
    }
    while let Some(delivery) = fabric.delivery(Time::MAX) {
        out.push(delivery);
    }
    (out, fabric)
}

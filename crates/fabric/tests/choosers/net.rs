//! Network in which packets travel one at a time, so that a test can record the path of each packet.

use crate::common::{self, Deliveries, drop_tail, wire};
use proptest::prelude::*;
use tailcut_fabric::load_balancer::LoadBalancerConfig;
use tailcut_fabric::queue::Limit;
use tailcut_fabric::topology::{Node, Topology};
use tailcut_fabric::{Delivery, Fabric, FabricConfig, Handshake, Packet, PortId};
use tailcut_units::{Duration, FiveTuple, HostId, Time};

/// Returns a fat-tree with four pods and four cores.
/// Each pod has two edge switches with two hosts each, and two aggregation switches.
pub fn fat_tree() -> Topology {
    let queue = drop_tail(Limit::Packets(10_000), None);
    common::fat_tree(4, wire(1, 100), wire(1, 100), queue)
}

pub struct Net {
    pub topology: Topology,
    pub fabric: Fabric<()>,
    pub now: Time,
}

impl Net {
    pub fn new(topology: Topology, load_balancer: LoadBalancerConfig, seed: u64) -> Self {
        let config = FabricConfig {
            load_balancer,
            seed,
            ..FabricConfig::default()
        };
        Self {
            fabric: Fabric::new(&topology, &config),
            topology,
            now: Time::ZERO,
        }
    }

    /// Creates a network through which all packets of `traffic` have passed together.
    /// The state of its switches is arbitrary, and does not decay.
    pub fn congested(
        topology: Topology,
        load_balancer: LoadBalancerConfig,
        seed: u64,
        traffic: &Traffic,
    ) -> Self {
        let mut net = Self::new(topology, load_balancer, seed);
        for &(src, dst, path, size) in traffic.iter().filter(|(src, dst, ..)| src != dst) {
            let packet = Packet {
                src: HostId(src),
                dst: HostId(dst),
                size,
                path,
                ..Packet::default()
            };
            net.fabric.inject(net.now, packet.src, packet, ());
        }
        net.now = Time::from_ns(15_000_000);
        while net.fabric.delivery(net.now).is_some() {}
        assert_eq!(net.fabric.in_network(), 0);
        net
    }

    /// Sends a packet. Returns the ports on its path, beginning with the port of its host.
    fn send(&mut self, tuple: FiveTuple, size: u32, handshake: Handshake) -> Vec<u32> {
        let (taken, delivery) = self.try_to_send(tuple, size, handshake, Packet::ANY_PATH);
        let delivery = delivery.expect("it arrives");
        assert_eq!(delivery.host, tuple.dst);
        assert_eq!(
            delivery.packet.size, size,
            "hosts receive packets without vector and tunnel"
        );
        taken
    }

    /// Sends a packet like `send`. The packet may wait and arrive late.
    fn try_to_send(
        &mut self,
        tuple: FiveTuple,
        size: u32,
        handshake: Handshake,
        path: u16,
    ) -> (Vec<u32>, Option<Delivery<()>>) {
        let packet = Packet {
            src: tuple.src,
            dst: tuple.dst,
            flow_hash: tuple.hash(),
            size,
            path,
            handshake,
            ..Packet::default()
        };
        let taken = |net: &Self, port| {
            let report = net.fabric.port_report(net.now, PortId(port));
            report.sent_packets + u64::from(report.backlog_packets)
        };
        let ports = 0..self.fabric.port_count();
        let before: Vec<u64> = ports.clone().map(|port| taken(self, port)).collect();
        let answers = tuple.reversed().hash();
        self.fabric
            .inject_with(self.now, tuple.src, packet, common::answers(answers), ());
        self.now = self.now.saturating_add(Duration::from_us(200));
        let mut delivery = None;
        while let Some(delivered) = self.fabric.delivery(self.now) {
            delivery = Some(delivered);
        }
        let taken = ports.filter(|&port| taken(self, port) > before[port as usize]);
        let mut taken: Vec<u32> = taken.collect();
        taken.sort_by_key(|&port| self.place_on_the_way(port));
        (taken, delivery)
    }

    /// Returns a key that orders the ports of a path: first the ports that lead up, and then from tier to tier.
    fn place_on_the_way(&self, port: u32) -> (bool, i32) {
        let link = &self.topology.links[port as usize];
        let tier = |node| match node {
            Node::Host(_) => -1,
            Node::Switch(switch) => i32::from(self.topology.switches[switch as usize].tier),
        };
        let (from, to) = (tier(link.from), tier(link.to));
        (to < from, if to < from { -from } else { from })
    }

    pub fn open(&mut self, tuple: FiveTuple) -> Vec<u32> {
        self.send(tuple, 78, Handshake::Open)
    }

    pub fn answer(&mut self, tuple: FiveTuple) -> Vec<u32> {
        self.send(tuple.reversed(), 78, Handshake::Answer)
    }

    pub fn data(&mut self, tuple: FiveTuple) -> Vec<u32> {
        self.send(tuple, 1_538, Handshake::None)
    }

    /// Returns the ports of a pinned path.
    pub fn pinned(&mut self, tuple: FiveTuple, path: u16) -> Vec<u32> {
        self.try_to_send(tuple, 1_538, Handshake::None, path).0
    }

    /// Returns the uplink through which a packet of a flow leaves its edge switch, even if the packet waits there.
    pub fn uplink_of(&mut self, tuple: FiveTuple) -> u32 {
        let any = Packet::ANY_PATH;
        self.try_to_send(tuple, 1_538, Handshake::None, any).0[1]
    }

    pub fn levels(&self, port: u32) -> (u8, u8) {
        let levels = self.fabric.congestion_levels(self.now, PortId(port));
        levels.expect("an uplink")
    }

    /// Returns the ports of a switch that lead up, in the order of the switches at their ends.
    pub fn uplinks(&self, switch: u32) -> Vec<u32> {
        let links = self.topology.links.iter().enumerate();
        let tier = |switch: u32| self.topology.switches[switch as usize].tier;
        let up = links.filter(|(_, link)| match (link.from, link.to) {
            (Node::Switch(from), Node::Switch(to)) => from == switch && tier(to) > tier(from),
            _ => false,
        });
        up.map(|(port, _)| port as u32).collect()
    }

    /// Returns the worse of two levels. The first is the level of the uplink `up`.
    /// The second level is the level of `down` in the opposite direction.
    /// `down` is the uplink of another switch, on which the path comes down from the same higher switches.
    pub fn worse(&self, up: u32, down: u32) -> u8 {
        self.levels(up).0.max(self.levels(down).1)
    }

    pub fn far_end(&self, port: u32) -> u32 {
        match self.topology.links[port as usize].to {
            Node::Switch(switch) => switch,
            Node::Host(host) => panic!("{host}"),
        }
    }
}

/// Random packets: source, destination, path and size of each.
pub type Traffic = Vec<(u32, u32, u16, u32)>;

pub fn traffic(hosts: u32, paths: u16) -> impl Strategy<Value = Traffic> {
    proptest::collection::vec((0..hosts, 0..hosts, 0..paths, 0u32..30_000), 0..40)
}

//! Choice of a path in two stages during the handshake of a connection. Each switch only has the state of its links.
//! Both published forms of Expeditus use this mechanism.
//!
//! Between pods, the choice of a path has these steps:
//!
//! 1. The SYN transports the congestion of the source edge's uplinks to the destination edge.
//! 2. The destination edge chooses the aggregation switch with the best combination of first and last hop.
//!    The destination edge sends the SYN-ACK through this switch.
//! 3. The SYN-ACK transports the congestion of the links from the cores to the destination aggregation switch.
//!    The SYN-ACK passes the source aggregation switch.
//!    Because of the wiring of a fat-tree, both aggregation switches have the same number.
//! 4. The source aggregation switch chooses the core with the best combination of second and third hop.
//!
//! Within a pod, the SYN-ACK transports the state of the destination edge, and the source edge chooses.

use super::carried::{Carried, Passage};
use super::config::BalancerState;
use super::expeditus::{ExpeditusConfig, Levels};
use super::expeditus_deck::{Combination, ExpeditusDeckConfig, Occupancies};
use super::flow_table::{FlowKey, FlowTable};
use super::wiring::{NONE, Wiring};
use crate::forwarding::Choices;
use crate::network::Network;
use crate::packet::{Handshake, Packet, PacketId};
use alloc::boxed::Box;
use alloc::vec::Vec;
use rand_core::{RngCore, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use tailcut_units::{Rate, Time, reduce, stream_seed};

/// Level that marks an uplink which does not lead to the destination.
const UNUSABLE: u8 = u8::MAX;
/// Name of the random streams for ties, one stream per switch, for [`stream_seed`].
const TIES: u64 = 0x7469_6573;

/// Data that a packet transports between switches.
#[derive(Clone, Default, Debug)]
struct Tag {
    /// Hash of the five-tuple in the opposite direction. Only packets of a handshake have it.
    reverse_hash: u32,
    /// Number of bytes that the handshake data adds to the packet.
    attached: u16,
    /// Congestion levels of the uplinks of the switch that sent the packet, in the order of slots ([`Wiring`]).
    vector: Option<Box<[u8]>>,
    /// Ports for source routing. In a SYN-ACK, the port that the second stage has chosen.
    route: Option<Route>,
    /// Congestion level of the link on which the packet comes down.
    southbound: u8,
    /// Whether the size of the packet already includes the bytes of `southbound`.
    tells: bool,
}

/// Uplinks that a flow uses, as ports within their switches.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
struct Route {
    /// Uplink of the source edge.
    first: u32,
    /// Uplink of the source aggregation switch. [`NONE`] if the flow stays in its pod, or if ECMP chooses.
    second: u32,
}

/// Form of Expeditus. It defines how congestion is measured and where routes are stored.
#[derive(Debug)]
enum Form {
    /// Final form of Expeditus: loads in both directions, measured at each switch. Each switch stores routes.
    Final(Levels),
    /// First form of Expeditus: queue lengths, which packets report to the switch below. The source edge stores routes.
    Deck(Occupancies),
}

/// Path chooser for both forms of Expeditus.
#[derive(Debug)]
pub(crate) struct TwoStage {
    form: Form,
    combination: Combination,
    tags: Carried<Tag>,
    attached_bytes: u64,
    /// Stored routes of flows, one table per switch.
    tables: Vec<FlowTable<Route>>,
    draws: Vec<Xoshiro256PlusPlus>,
}

impl TwoStage {
    /// Creates the chooser of the final form.
    pub fn final_form(config: ExpeditusConfig, wiring: &Wiring, rates: &[Rate], seed: u64) -> Self {
        let form = Form::Final(Levels::new(config.dre, wiring, rates));
        let idle_ps = config.entry_timeout.as_ps();
        Self::new(form, Combination::Max, idle_ps, wiring, seed)
    }

    /// Creates the chooser of the first form, which the slides describe.
    pub fn deck_form(config: ExpeditusDeckConfig, wiring: &Wiring, seed: u64) -> Self {
        let idle_ps = config.entry_timeout.as_ps();
        let combination = config.combination;
        let form = Form::Deck(Occupancies::new(config, wiring));
        Self::new(form, combination, idle_ps, wiring, seed)
    }

    fn new(form: Form, combination: Combination, idle_ps: u64, wiring: &Wiring, seed: u64) -> Self {
        let draws =
            |switch| Xoshiro256PlusPlus::seed_from_u64(stream_seed(seed, TIES, switch as u64));
        Self {
            form,
            combination,
            tags: Carried::new(),
            attached_bytes: 0,
            tables: (0..wiring.switches())
                .map(|_| FlowTable::new(idle_ps))
                .collect(),
            draws: (0..wiring.switches()).map(draws).collect(),
        }
    }

    pub fn enters(&mut self, id: PacketId, reverse_hash: u32) {
        *self.tags.of(id) = Tag {
            reverse_hash,
            ..Tag::default()
        };
    }

    pub fn arrives(
        &mut self,
        wiring: &Wiring,
        passage: &mut Passage<'_>,
        link: u32,
        network: &Network,
    ) {
        let back = wiring.back(link);
        // Packets from hosts and lower switches have no effect here: they choose no path and report no congestion.
        if back == NONE || wiring.uplink(back) == NONE {
            return;
        }
        let switch = passage.switch;
        let at_edge = wiring.rack(passage.packet.dst) == switch;
        // The choice comes before the update of the loads, so that this packet does not affect the choice.
        match passage.packet.handshake {
            Handshake::None => {}
            Handshake::Open if at_edge => self.first_stage(wiring, passage, network),
            Handshake::Answer if at_edge => self.answered(wiring, passage, back, network),
            Handshake::Answer
                if wiring.tier(switch) == 1 && wiring.is_in_pod_of(switch, passage.packet.dst) =>
            {
                self.second_stage(wiring, passage, network);
            }
            Handshake::Open | Handshake::Answer => {}
        }
        let uplink = wiring.uplink(back);
        match &mut self.form {
            Form::Final(levels) => levels.came_down(passage.now, uplink, passage.packet.size),
            Form::Deck(occupancies) => {
                let level = self.tags.of(passage.id).southbound;
                occupancies.heard(passage.now, uplink, level);
            }
        }
    }

    /// First stage: the destination edge handles a SYN.
    /// The switch chooses the uplink with the best combination of first and last hop.
    fn first_stage(&mut self, wiring: &Wiring, passage: &mut Passage<'_>, network: &Network) {
        // Within a pod, a SYN has no vector of levels, because the source edge chooses when the SYN-ACK arrives.
        let Some(vector) = self.take_vector(passage) else {
            return;
        };
        let southbound = |chooser: &Self, uplink| chooser.southbound(passage.now, uplink);
        if let Some(first) = self.pick(wiring, passage, network, &vector, southbound) {
            let route = Route {
                first,
                second: NONE,
            };
            self.store(passage, route);
        }
    }

    /// Second stage: the aggregation switch of the source handles a SYN-ACK.
    /// The switch chooses the core with the best combination of second and third hop.
    fn second_stage(&mut self, wiring: &Wiring, passage: &mut Passage<'_>, network: &Network) {
        let Some(vector) = self.take_vector(passage) else {
            return;
        };
        let northbound =
            |chooser: &Self, uplink| chooser.northbound(wiring, passage.now, uplink, network);
        let Some(port) = self.pick(wiring, passage, network, &vector, northbound) else {
            return;
        };
        // In the final form, this switch stores the route. In the first form, the source edge stores the whole route.
        match self.form {
            Form::Final(_) => {
                let route = Route {
                    first: port,
                    second: NONE,
                };
                self.store(passage, route);
            }
            Form::Deck(_) => {
                self.tags.of(passage.id).route = Some(Route {
                    first: NONE,
                    second: port,
                });
            }
        }
    }

    /// Handles a SYN-ACK at the source edge.
    /// Between pods, the SYN-ACK arrives from the aggregation switch that the flow must use.
    /// Within a pod, the source edge chooses here.
    fn answered(
        &mut self,
        wiring: &Wiring,
        passage: &mut Passage<'_>,
        back: u32,
        network: &Network,
    ) {
        let between_pods = !wiring.is_in_pod_of(passage.switch, passage.packet.src);
        let first = if between_pods {
            Some(back - network.first_port(passage.switch))
        } else {
            let vector = self.take_vector(passage);
            let northbound =
                |chooser: &Self, uplink| chooser.northbound(wiring, passage.now, uplink, network);
            vector.and_then(|vector| self.pick(wiring, passage, network, &vector, northbound))
        };
        // In the first form, the aggregation switch has chosen the second port and written it into the SYN-ACK.
        let second = self
            .tags
            .of(passage.id)
            .route
            .map_or(NONE, |route| route.second);
        if let Some(first) = first {
            self.store(passage, Route { first, second });
        }
    }

    /// Stores a route at this switch for the flow in the opposite direction of a packet.
    fn store(&mut self, passage: &Passage<'_>, route: Route) {
        let reverse_hash = self.tags.of(passage.id).reverse_hash;
        let key = FlowKey::reverse_of(passage.packet, reverse_hash);
        self.tables[passage.switch as usize].insert(passage.now, key, route);
    }

    /// Returns the best of this switch's ports towards the sender of a packet.
    /// The levels in the packet are combined with the levels of this switch.
    /// Among equally good ports, the choice is random.
    fn pick(
        &mut self,
        wiring: &Wiring,
        passage: &Passage<'_>,
        network: &Network,
        brought: &[u8],
        own: impl Fn(&Self, u32) -> u8,
    ) -> Option<u32> {
        let first_port = network.first_port(passage.switch);
        let ports = network
            .forwarding(passage.switch)
            .towards(passage.packet.src);
        let mut best = u16::MAX;
        let mut ties: Vec<u32> = Vec::new();
        for port in ports.ports() {
            let uplink = wiring.uplink(first_port + port);
            if uplink == NONE {
                continue;
            }
            let theirs = brought.get(wiring.slot(uplink)).copied();
            let theirs = theirs.unwrap_or(UNUSABLE);
            // The switch at the other end has no path through this port.
            if theirs == UNUSABLE {
                continue;
            }
            let both = self.combination.of(theirs, own(self, uplink));
            if both < best {
                best = both;
                ties.clear();
            }
            if both == best {
                ties.push(port);
            }
        }
        let draw = match ties.len() {
            0 => return None,
            1 => 0,
            n => reduce(self.draws[passage.switch as usize].next_u32(), n as u32),
        };
        Some(ties[draw as usize])
    }

    fn northbound(&self, wiring: &Wiring, now: Time, uplink: u32, network: &Network) -> u8 {
        match &self.form {
            Form::Final(levels) => levels.northbound(now, uplink),
            // A switch reads the queues of its uplinks directly, so no packet needs to report them.
            Form::Deck(occupancies) => {
                occupancies.level(network.backlog_bytes(now, wiring.port(uplink)))
            }
        }
    }

    fn southbound(&self, now: Time, uplink: u32) -> u8 {
        match &self.form {
            Form::Final(levels) => levels.southbound(now, uplink),
            Form::Deck(occupancies) => occupancies.southbound(now, uplink),
        }
    }

    pub fn choose(
        &mut self,
        wiring: &Wiring,
        passage: &Passage<'_>,
        ports: &Choices<'_>,
    ) -> Option<u32> {
        // A SYN always uses ECMP. It ignores the stored route of an earlier connection with the same ports.
        if passage.packet.handshake == Handshake::Open {
            return None;
        }
        let prescribed = self.tags.of(passage.id).route;
        let at_edge = wiring.rack(passage.packet.src) == passage.switch;
        let port = match (&self.form, prescribed) {
            // If no second port is stored, the value is `NONE`. It matches no port below, so ECMP chooses.
            (Form::Deck(_), Some(route)) if !at_edge => route.second,
            _ => {
                let key = FlowKey::of(passage.packet);
                let route = *self.tables[passage.switch as usize].get(passage.now, key)?;
                if matches!(self.form, Form::Deck(_)) {
                    self.tags.of(passage.id).route = Some(route);
                }
                route.first
            }
        };
        // After a link failure, the port may no longer lead to the destination. ECMP then chooses.
        ports.position(port)
    }

    pub fn leaves(
        &mut self,
        wiring: &Wiring,
        passage: &mut Passage<'_>,
        port: u32,
        network: &Network,
    ) {
        let uplink = wiring.uplink(port);
        let switch = passage.switch;
        if uplink == NONE {
            if !wiring.is_between_switches(port) {
                // Data that switches exchange must not reach hosts.
                self.strips(passage.id, passage.packet);
            } else if let Form::Deck(occupancies) = &self.form {
                let bytes = occupancies.southbound_bytes();
                self.tags.of(passage.id).southbound =
                    occupancies.level(network.backlog_bytes(passage.now, port));
                if passage.packet.handshake == Handshake::None {
                    // A tunnel ends at the highest switch of the path.
                    self.detach(passage.id, passage.packet);
                }
                // The bytes of the level are added only once. On later links down, the level is replaced.
                if !self.tags.of(passage.id).tells {
                    self.attach(passage, bytes);
                    self.tags.of(passage.id).tells = true;
                }
            }
            return;
        }
        let packet = &passage.packet;
        let at_edge = wiring.rack(packet.src) == switch;
        let within_pod = wiring.is_in_pod_of(wiring.rack(packet.src), packet.dst);
        match packet.handshake {
            // Within a pod, the source edge chooses when the SYN-ACK arrives, so the SYN needs no levels.
            Handshake::Open if at_edge && !within_pod => {
                let northbound = |chooser: &Self, uplink| {
                    chooser.northbound(wiring, passage.now, uplink, network)
                };
                let vector = self.vector(wiring, passage, network, northbound);
                self.attach_vector(passage, vector);
            }
            // The SYN-ACK needs the levels of the links on which the flow may come down.
            // Within a pod, the destination edge adds the levels of the links to the SYN-ACK.
            // Between pods, the destination aggregation switch adds the levels to the SYN-ACK.
            Handshake::Answer
                if (within_pod && at_edge)
                    || (!within_pod
                        && wiring.tier(switch) == 1
                        && wiring.is_in_pod_of(switch, packet.src)) =>
            {
                let southbound = |chooser: &Self, uplink| chooser.southbound(passage.now, uplink);
                let vector = self.vector(wiring, passage, network, southbound);
                self.attach_vector(passage, vector);
            }
            Handshake::None | Handshake::Open | Handshake::Answer => {}
        }
        match &mut self.form {
            Form::Final(levels) => levels.went_up(passage.now, uplink, passage.packet.size),
            Form::Deck(occupancies) => {
                let encapsulation = occupancies.encapsulation();
                let is_data = passage.packet.handshake == Handshake::None;
                // Only data of a routed flow uses the tunnel.
                // Packets of a handshake use ECMP, or the return path that was chosen.
                if at_edge && is_data && self.tags.of(passage.id).route.is_some() {
                    self.attach(passage, encapsulation);
                }
            }
        }
    }

    /// Returns the level of each uplink of this switch that leads to a packet's destination, in the order of slots.
    fn vector(
        &self,
        wiring: &Wiring,
        passage: &Passage<'_>,
        network: &Network,
        level: impl Fn(&Self, u32) -> u8,
    ) -> Box<[u8]> {
        let first_port = network.first_port(passage.switch);
        let ports = network
            .forwarding(passage.switch)
            .towards(passage.packet.dst);
        let mut levels = alloc::vec![UNUSABLE; wiring.slot_count(passage.switch)];
        for port in ports.ports() {
            let uplink = wiring.uplink(first_port + port);
            if uplink != NONE {
                levels[wiring.slot(uplink)] = level(self, uplink);
            }
        }
        levels.into()
    }

    /// Adds a vector of levels to a packet. The packet grows by one byte for the count, and one byte per slot.
    fn attach_vector(&mut self, passage: &mut Passage<'_>, vector: Box<[u8]>) {
        self.attach(passage, vector.len() as u16 + 1);
        self.tags.of(passage.id).vector = Some(vector);
    }

    /// Adds bytes before a packet's own headers. The added bytes remain if the payload is cut off.
    fn attach(&mut self, passage: &mut Passage<'_>, bytes: u16) {
        self.tags.of(passage.id).attached += bytes;
        passage.packet.add_headers(bytes);
        self.attached_bytes += u64::from(bytes);
    }

    fn take_vector(&mut self, passage: &mut Passage<'_>) -> Option<Box<[u8]>> {
        let vector = self.tags.of(passage.id).vector.take()?;
        self.detach(passage.id, passage.packet);
        Some(vector)
    }

    fn detach(&mut self, id: PacketId, packet: &mut Packet) {
        let tag = self.tags.of(id);
        // The removed bytes include the bytes of the level. The next link down must add the level again.
        tag.tells = false;
        let bytes = core::mem::take(&mut tag.attached);
        packet.remove_headers(bytes);
        self.attached_bytes -= u64::from(bytes);
    }

    pub fn strips(&mut self, id: PacketId, packet: &mut Packet) {
        self.detach(id, packet);
        *self.tags.of(id) = Tag::default();
    }

    pub const fn attached_bytes(&self) -> u64 {
        self.attached_bytes
    }

    pub fn rate_changes(&mut self, wiring: &Wiring, port: u32, rate: Rate) {
        // The first form of Expeditus measures waiting bytes, which are independent of the rate.
        let Form::Final(levels) = &mut self.form else {
            return;
        };
        let (up, back) = (wiring.uplink(port), wiring.back(port));
        if up != NONE {
            levels.northbound_rate(up, rate);
        } else if back != NONE && wiring.uplink(back) != NONE {
            levels.southbound_rate(wiring.uplink(back), rate);
        }
    }

    pub fn state(&self, wiring: &Wiring, now: Time, switch: u32) -> BalancerState {
        let uplinks = wiring.uplinks(switch);
        BalancerState {
            congestion: match &self.form {
                Form::Final(levels) => levels.registers(uplinks),
                Form::Deck(occupancies) => occupancies.registers(uplinks),
            },
            flows: self.tables[switch as usize].live(now),
        }
    }

    pub fn levels(
        &self,
        wiring: &Wiring,
        now: Time,
        port: u32,
        network: &Network,
    ) -> Option<(u8, u8)> {
        let uplink = wiring.uplink(port);
        (uplink != NONE).then(|| {
            (
                self.northbound(wiring, now, uplink, network),
                self.southbound(now, uplink),
            )
        })
    }
}

//! Logical socket: one flow over one or two connections (RepNet paper, III-C).

use super::archive::Archive;
use super::delivery::Delivery;
use super::state::{self, Leg, Machine};
use super::waiting_list::EntryId;
use crate::FlowStats;
use crate::tcp::{ConnectionId, Role, Summary};
use alloc::vec::Vec;
use tailcut_units::FlowId;

/// Identifier of a socket of one endpoint.
/// An identifier stays invalid after the flow has ended, even when another flow uses the same slot.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct SocketId {
    slot: u32,
    generation: u32,
}

/// Event of a flow.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SocketEvent {
    /// A flow of a peer has arrived, with its first connection.
    Accepted {
        /// Identifier of the new socket.
        id: SocketId,
        /// Flow number in the peer's SYN.
        flow: FlowId,
    },
    /// The first connection of a flow that this host opened is established.
    Established {
        /// Identifier of the socket.
        id: SocketId,
    },
    /// More bytes have arrived in order over either connection.
    /// The endpoint reports this event only after [`Endpoint::report_delivered`](super::Endpoint::report_delivered).
    Delivered {
        /// Identifier of the socket.
        id: SocketId,
        /// Number of bytes delivered so far.
        total: u64,
    },
    /// One connection has delivered the end of the peer's stream and every byte before it.
    PeerFinished {
        /// Identifier of the socket.
        id: SocketId,
        /// Total number of delivered bytes.
        total: u64,
    },
    /// Every connection of the flow has ended. The identifier of the socket is no longer valid.
    Closed {
        /// Identifier of the socket.
        id: SocketId,
        /// Summary of the flow, with its cost over all its connections.
        summary: Summary,
    },
    /// The last connection failed, or the connections transferred different streams.
    /// The identifier of the socket is no longer valid.
    Failed {
        /// Identifier of the socket.
        id: SocketId,
        /// Summary of the flow, with its cost over all its connections.
        summary: Summary,
    },
}

#[derive(Debug)]
pub(super) struct Socket {
    pub machine: Machine,
    /// Connections that transfer the flow now or will transfer it later.
    pub connections: [Option<ConnectionId>; 2],
    pub archive: Archive,
    pub delivery: Delivery,
    pub flow: FlowId,
    /// Cost of the connections that have ended.
    pub stats: FlowStats,
    /// Connection that closed while the other connection was pending.
    /// [`Endpoint`](super::Endpoint) reports the close to the state machine later.
    pub closed: Option<Leg>,
    /// Entry of a server's flow in the waiting list.
    pub entry: Option<EntryId>,
    pub opened: bool,
    /// Whether an error of the flow was reported.
    pub failed: bool,
}

impl Socket {
    pub fn new(machine: Machine, flow: FlowId) -> Self {
        Self {
            machine,
            connections: [None; 2],
            archive: Archive::start(),
            delivery: Delivery::default(),
            flow,
            stats: FlowStats::default(),
            closed: None,
            entry: None,
            opened: false,
            failed: false,
        }
    }

    pub fn summary(&self) -> Summary {
        Summary {
            flow: self.flow,
            role: match self.machine.role() {
                super::state::Role::Client => Role::Opener,
                super::state::Role::Server => Role::Acceptor,
            },
            stats: self.stats,
        }
    }
}

/// Sockets of an endpoint, with a table from connections to sockets.
#[derive(Debug, Default)]
pub(super) struct Sockets {
    slots: Vec<Slot>,
    free: Vec<u32>,
    /// Owner of each connection, by the connection's slot in the TCP endpoint.
    owners: Vec<Option<Owner>>,
}

#[derive(Debug)]
struct Slot {
    generation: u32,
    socket: Option<Socket>,
}

#[derive(Clone, Copy, Debug)]
struct Owner {
    connection: ConnectionId,
    socket: SocketId,
    leg: Leg,
}

impl Sockets {
    pub fn insert(&mut self, socket: Socket) -> SocketId {
        let slot = self.free.pop().unwrap_or_else(|| {
            self.slots.push(Slot {
                generation: 0,
                socket: None,
            });
            (self.slots.len() - 1) as u32
        });
        let place = &mut self.slots[slot as usize];
        place.socket = Some(socket);
        SocketId {
            slot,
            generation: place.generation,
        }
    }

    pub fn remove(&mut self, id: SocketId) -> Option<Socket> {
        let place = self.slots.get_mut(id.slot as usize)?;
        if place.generation != id.generation {
            return None;
        }
        let socket = place.socket.take()?;
        // With a new generation, an old identifier of the slot finds no socket.
        place.generation = place.generation.wrapping_add(1);
        self.free.push(id.slot);
        Some(socket)
    }

    pub fn get(&self, id: SocketId) -> Option<&Socket> {
        let place = self.slots.get(id.slot as usize)?;
        let socket = place.socket.as_ref()?;
        (place.generation == id.generation).then_some(socket)
    }

    pub fn get_mut(&mut self, id: SocketId) -> Option<&mut Socket> {
        let place = self.slots.get_mut(id.slot as usize)?;
        let socket = place.socket.as_mut()?;
        (place.generation == id.generation).then_some(socket)
    }

    pub fn len(&self) -> usize {
        self.slots.len() - self.free.len()
    }

    /// Returns the socket that this host opened for a flow. Searches all sockets.
    pub fn opened(&self, flow: FlowId) -> Option<SocketId> {
        let is_it =
            |socket: &Socket| socket.flow == flow && socket.machine.role() == state::Role::Client;
        let slot = self
            .slots
            .iter()
            .position(|slot| slot.socket.as_ref().is_some_and(is_it))?;
        Some(SocketId {
            slot: slot as u32,
            generation: self.slots[slot].generation,
        })
    }

    pub fn iter(&self) -> impl Iterator<Item = &Socket> {
        self.slots.iter().filter_map(|slot| slot.socket.as_ref())
    }

    /// Assigns `connection` to a socket. `leg` is the index of the connection in the flow.
    pub fn attach(&mut self, socket: SocketId, leg: Leg, connection: ConnectionId) {
        let slot = connection.slot as usize;
        if self.owners.len() <= slot {
            self.owners.resize(slot + 1, None);
        }
        self.owners[slot] = Some(Owner {
            connection,
            socket,
            leg,
        });
        if let Some(socket) = self.get_mut(socket) {
            socket.connections[leg as usize] = Some(connection);
        }
    }

    /// Returns the socket of `connection`, and its index in the flow.
    pub fn owner(&self, connection: ConnectionId) -> Option<(SocketId, Leg)> {
        let owner = (*self.owners.get(connection.slot as usize)?)?;
        (owner.connection == connection).then_some((owner.socket, owner.leg))
    }

    /// Removes a connection from a socket and returns it.
    pub fn detach(&mut self, socket: SocketId, leg: Leg) -> Option<ConnectionId> {
        let connection = self.get_mut(socket)?.connections[leg as usize].take()?;
        self.owners[connection.slot as usize] = None;
        Some(connection)
    }
}

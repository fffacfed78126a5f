//! One logical socket: a flow over one or two connections (RepNet paper, III-C).

use super::archive::Archive;
use super::delivery::Delivery;
use super::state::{self, Leg, Machine};
use super::waiting_list::EntryId;
use crate::FlowStats;
use crate::tcp::{ConnectionId, Role, Summary};
use alloc::vec::Vec;
use tailcut_units::FlowId;

/// Names a socket of one endpoint. One whose flow has ended names nothing, even when its slot is in
/// use again.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct SocketId {
    slot: u32,
    generation: u32,
}

/// What happened to a flow.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SocketEvent {
    /// A peer's flow has come, with its first connection.
    Accepted {
        /// The new socket.
        id: SocketId,
        /// The flow that the peer named.
        flow: FlowId,
    },
    /// The first connection of a flow that this host opened is established.
    Established {
        /// The socket.
        id: SocketId,
    },
    /// More bytes have arrived in order over one connection or the other. Only with
    /// [`Endpoint::report_delivered`](super::Endpoint::report_delivered).
    Delivered {
        /// The socket.
        id: SocketId,
        /// Bytes delivered so far.
        total: u64,
    },
    /// The end of the peer's stream and every byte before it have arrived, on the first connection
    /// to bring them.
    PeerFinished {
        /// The socket.
        id: SocketId,
        /// Bytes delivered in all.
        total: u64,
    },
    /// Every connection of the flow has ended. The id names nothing any more.
    Closed {
        /// The socket.
        id: SocketId,
        /// What it was and what it cost, over all its connections.
        summary: Summary,
    },
    /// The last connection failed, or the connections carried different streams. The id names
    /// nothing any more.
    Failed {
        /// The socket.
        id: SocketId,
        /// What it was and what it cost, over all its connections.
        summary: Summary,
    },
}

#[derive(Debug)]
pub(super) struct Socket {
    pub machine: Machine,
    /// The connections that carry, or are to carry, the flow.
    pub connections: [Option<ConnectionId>; 2],
    pub archive: Archive,
    pub delivery: Delivery,
    pub flow: FlowId,
    /// Of the connections that have ended.
    pub stats: FlowStats,
    /// A leg whose connection has closed while the other leg was pending, see
    /// [`Endpoint`](super::Endpoint).
    pub closed: Option<Leg>,
    /// A server's place in the waiting list.
    pub entry: Option<EntryId>,
    pub opened: bool,
    /// An error surfaced.
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

/// The sockets of an endpoint, and the way from a connection to its socket.
#[derive(Debug, Default)]
pub(super) struct Sockets {
    slots: Vec<Slot>,
    free: Vec<u32>,
    /// By the connection's slot in the TCP endpoint.
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

    /// The socket that this end opened for a flow. Looks through all of them.
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

    /// `connection` is `leg` of a socket from now on.
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

    /// Whose leg `connection` is.
    pub fn owner(&self, connection: ConnectionId) -> Option<(SocketId, Leg)> {
        let owner = (*self.owners.get(connection.slot as usize)?)?;
        (owner.connection == connection).then_some((owner.socket, owner.leg))
    }

    /// A socket's leg is its no more. The connection that it was.
    pub fn detach(&mut self, socket: SocketId, leg: Leg) -> Option<ConnectionId> {
        let connection = self.get_mut(socket)?.connections[leg as usize].take()?;
        self.owners[connection.slot as usize] = None;
        Some(connection)
    }
}

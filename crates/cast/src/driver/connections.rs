//! Connections of a host. There is one connection for each remote end of each session.
//! The number of a connection is a host number in the transport.
//! So the transport does not depend on addresses, and the address of a connection may change.

use super::check_codec::GroupChecker;
use super::sealing::Seal;
use super::table::Table;
use crate::seal::Key;
use std::net::{IpAddr, SocketAddr};
use tailcut_units::{HostId, Time};
use tailcut_wire::scdp::credit::Offer;

/// State of a connection whose address is not validated.
#[derive(Clone, Copy, Debug)]
pub(super) struct Unvalidated {
    /// Number of bytes that may still be sent to the address.
    /// In total, the host never sends more bytes there than it has received from there.
    pub(super) budget: u64,
    /// Time at which the next token may be sent.
    pub(super) token_at: Time,
}

impl Unvalidated {
    /// Returns the state of an address from which `bytes` bytes have arrived.
    pub(super) const fn of(bytes: usize) -> Self {
        Self {
            budget: bytes as u64,
            token_at: Time::ZERO,
        }
    }
}

/// Connection to one remote end of a session.
#[derive(Debug)]
pub(super) struct Connection {
    /// Address of the remote end. Packets on this connection are sent to it.
    pub(super) address: SocketAddr,
    /// Local address at which packets of this connection arrive.
    pub(super) local: Option<IpAddr>,
    /// Identifier of the session.
    pub(super) session: u64,
    /// Share (index) of the sender of the object. The sender is the remote end or this host.
    pub(super) share: u16,
    /// State of the address validation. `None`: the address is validated.
    pub(super) unvalidated: Option<Unvalidated>,
    /// Highest credit number that the remote end has used. Only for a remote end that sends the object.
    pub(super) highest: u32,
    /// Last offer that was sent to the remote end. Only for a remote end that receives the object.
    pub(super) offer: Option<Offer>,
    /// Number of tokens from the remote end that this host has answered.
    /// Used only for a remote end that receives the object.
    pub(super) tokens: u32,
    /// Whether nothing more is sent to the remote end. Only for a remote end that receives the object.
    pub(super) is_over: bool,
    /// State of the encryption, if there is a key.
    pub(super) seal: Option<Box<Seal>>,
}

impl Connection {
    pub(super) fn new(address: SocketAddr, session: u64, share: u16) -> Self {
        Self {
            address,
            local: None,
            session,
            share,
            unvalidated: None,
            highest: 0,
            offer: None,
            tokens: 0,
            is_over: false,
            seal: None,
        }
    }
}

/// All connections of a host.
#[derive(Debug)]
pub(super) struct Connections {
    by_id: Table<HostId, Connection>,
    next: u32,
    me: HostId,
    /// Pre-shared key.
    pub(super) key: Option<Key>,
    /// Buffer for the bytes of a packet after its decryption.
    pub(super) plain: Vec<u8>,
    /// Sender of checks to multicast groups. It is created with the first check.
    pub(super) group_checker: Option<GroupChecker>,
}

impl Connections {
    pub(super) fn new(me: HostId, key: Option<Key>) -> Self {
        Self {
            key,
            plain: Vec::new(),
            group_checker: None,
            by_id: Table::default(),
            next: 0,
            me,
        }
    }

    /// Returns a number that no connection has.
    fn unused(&mut self) -> HostId {
        loop {
            // The upper half of the numbers belongs to groups of the transport.
            let id = HostId(self.next & (u32::MAX >> 1));
            self.next = self.next.wrapping_add(1);
            if id != self.me && !self.by_id.contains_key(&id) {
                return id;
            }
        }
    }

    /// Adds a connection and returns its number.
    pub(super) fn enter(&mut self, connection: Connection) -> HostId {
        let id = self.unused();
        self.by_id.insert(id, connection);
        id
    }

    pub(super) fn get(&self, id: HostId) -> Option<&Connection> {
        self.by_id.get(&id)
    }

    pub(super) fn get_mut(&mut self, id: HostId) -> Option<&mut Connection> {
        self.by_id.get_mut(&id)
    }

    pub(super) fn remove(&mut self, id: HostId) -> Option<Connection> {
        self.by_id.remove(&id)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_keeps_its_number_and_no_other_has_it() {
        let mut connections = Connections::new(HostId(1), None);
        let address = SocketAddr::from(([10, 0, 0, 1], 7));
        let ids: Vec<HostId> = (0..3)
            .map(|session| connections.enter(Connection::new(address, session, 0)))
            .collect();
        assert_eq!(ids, [0, 2, 3].map(HostId), "1 is taken");
        connections.next = u32::MAX;
        assert!(!connections.enter(Connection::new(address, 9, 0)).is_group());
        connections.next = 2;
        assert_eq!(connections.enter(Connection::new(address, 9, 0)), HostId(4));
        assert_eq!(
            connections
                .remove(ids[1])
                .map(|connection| connection.session),
            Some(1)
        );
        assert!(connections.get(ids[1]).is_none());
    }
}

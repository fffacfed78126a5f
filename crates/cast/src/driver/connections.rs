//! Connections of a host. Each remote end of each session has one connection. The transport uses the
//! number of a connection as a host number. So the transport does not depend on addresses, and the
//! address of a connection may change.

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
    /// Bytes that may still be sent to the address. The host never sends more bytes to the address than it
    /// has received from there.
    pub(super) budget: u64,
    /// Time at which the next token may be sent.
    pub(super) token_at: Time,
}

impl Unvalidated {
    /// Returns the state of an address from which `bytes` bytes have come.
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
    /// Address that packets on this connection are sent to.
    pub(super) address: SocketAddr,
    /// Local address at which the connection's packets arrive.
    pub(super) local: Option<IpAddr>,
    /// Identifier of the session.
    pub(super) session: u64,
    /// Share of the object's sender: the remote end's, or this host's if it is the sender.
    pub(super) share: u16,
    /// State of the address validation. `None`: the address is validated.
    pub(super) unvalidated: Option<Unvalidated>,
    /// Only for a sender of an object: the highest credit that it has used.
    pub(super) highest: u32,
    /// Only for a receiver of an object: the last offer that was sent.
    pub(super) offer: Option<Offer>,
    /// Only for a receiver of an object: number of its tokens that this host has answered.
    pub(super) tokens: u32,
    /// Only for a receiver of an object: whether nothing more is sent to it.
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
    /// Buffer for the packet that is being decrypted.
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

    /// Returns the next number that no connection has.
    fn unused(&mut self) -> HostId {
        loop {
            // The transport uses the upper half of the numbers for groups.
            let id = HostId(self.next & (u32::MAX >> 1));
            self.next = self.next.wrapping_add(1);
            if id != self.me && !self.by_id.contains_key(&id) {
                return id;
            }
        }
    }

    /// Adds a connection. Returns its number.
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

//! Lines: the remote ends of a host's sessions, one line for each end of each session. The
//! transport uses lines as host numbers. So the transport does not depend on addresses, and the
//! address of a line may change.

use super::sealing::Seal;
use super::table::Table;
use super::words::Asker;
use crate::seal::Key;
use std::net::{IpAddr, SocketAddr};
use tailcut_units::{HostId, Time};
use tailcut_wire::scdp::credit::Offer;

/// State of a line whose address is not validated.
#[derive(Clone, Copy, Debug)]
pub(super) struct Doubt {
    /// Bytes that may still be sent to the address. Never more bytes leave than came from the
    /// address.
    pub(super) budget: u64,
    /// Time at which the next token may be sent.
    pub(super) token_at: Time,
}

impl Doubt {
    /// Returns the state of an address from which `bytes` bytes have come.
    pub(super) const fn of(bytes: usize) -> Self {
        Self {
            budget: bytes as u64,
            token_at: Time::ZERO,
        }
    }
}

/// Remote end of a session.
#[derive(Debug)]
pub(super) struct Line {
    /// Address that packets on this line are sent to.
    pub(super) address: SocketAddr,
    /// Local address at which the line's packets arrive.
    pub(super) local: Option<IpAddr>,
    /// Identifier of the session.
    pub(super) session: u64,
    /// Share of the object's sender: the remote end's, or this host's if it is the sender.
    pub(super) share: u16,
    /// State of the address validation. `None`: the address is validated.
    pub(super) doubt: Option<Doubt>,
    /// Only for a sender of an object: the highest credit that it has used.
    pub(super) highest: u32,
    /// Only for a receiver of an object: the last offer that was sent.
    pub(super) offer: Option<Offer>,
    /// Only for a receiver of an object: number of its tokens that were answered.
    pub(super) tokens: u32,
    /// Only for a receiver of an object: whether nothing more is sent to it.
    pub(super) is_over: bool,
    /// State of the encryption, if there is a key.
    pub(super) seal: Option<Box<Seal>>,
}

impl Line {
    pub(super) fn new(address: SocketAddr, session: u64, share: u16) -> Self {
        Self {
            address,
            local: None,
            session,
            share,
            doubt: None,
            highest: 0,
            offer: None,
            tokens: 0,
            is_over: false,
            seal: None,
        }
    }
}

/// All lines of a host.
#[derive(Debug)]
pub(super) struct Lines {
    by_id: Table<HostId, Line>,
    next: u32,
    me: HostId,
    /// Pre-shared key.
    pub(super) key: Option<Key>,
    /// Buffer for the packet that is being decrypted.
    pub(super) plain: Vec<u8>,
    /// Sender of checks to multicast groups. It is created with the first check.
    pub(super) asker: Option<Asker>,
}

impl Lines {
    pub(super) fn new(me: HostId, key: Option<Key>) -> Self {
        Self {
            key,
            plain: Vec::new(),
            asker: None,
            by_id: Table::default(),
            next: 0,
            me,
        }
    }

    /// Returns the next number that no line has.
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

    /// Adds a line. Returns its number.
    pub(super) fn enter(&mut self, line: Line) -> HostId {
        let id = self.unused();
        self.by_id.insert(id, line);
        id
    }

    pub(super) fn get(&self, id: HostId) -> Option<&Line> {
        self.by_id.get(&id)
    }

    pub(super) fn get_mut(&mut self, id: HostId) -> Option<&mut Line> {
        self.by_id.get_mut(&id)
    }

    pub(super) fn remove(&mut self, id: HostId) -> Option<Line> {
        self.by_id.remove(&id)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_keeps_its_number_and_no_other_has_it() {
        let mut lines = Lines::new(HostId(1), None);
        let address = SocketAddr::from(([10, 0, 0, 1], 7));
        let ids: Vec<HostId> = (0..3)
            .map(|session| lines.enter(Line::new(address, session, 0)))
            .collect();
        assert_eq!(ids, [0, 2, 3].map(HostId), "1 is taken");
        lines.next = u32::MAX;
        assert!(!lines.enter(Line::new(address, 9, 0)).is_group());
        lines.next = 2;
        assert_eq!(lines.enter(Line::new(address, 9, 0)), HostId(4));
        assert_eq!(lines.remove(ids[1]).map(|line| line.session), Some(1));
        assert!(lines.get(ids[1]).is_none());
    }
}

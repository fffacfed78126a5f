//! Who a host talks to: one line for each end of each session. The transport knows lines as hosts, so
//! that it depends on no address: that of a line may change.

use super::sealing::Seal;
use super::table::Table;
use super::words::Asker;
use crate::seal::Key;
use std::net::{IpAddr, SocketAddr};
use tailcut_units::{HostId, Time};
use tailcut_wire::cast::Offer;

/// What is done about an address that may be forged.
#[derive(Clone, Copy, Debug)]
pub(super) struct Doubt {
    /// Bytes that may still be sent to it: as many as came from it.
    pub(super) budget: u64,
    /// When it is sent a token again.
    pub(super) token_at: Time,
}

impl Doubt {
    /// Of an address that `bytes` bytes came from.
    pub(super) const fn of(bytes: usize) -> Self {
        Self {
            budget: bytes as u64,
            token_at: Time::ZERO,
        }
    }
}

/// One end of a session.
#[derive(Debug)]
pub(super) struct Line {
    /// Where what is sent to it goes.
    pub(super) address: SocketAddr,
    /// The address of this machine that its packets came to.
    pub(super) local: Option<IpAddr>,
    /// The session's identifier.
    pub(super) session: u64,
    /// Which of the object's senders it is, or is sent to.
    pub(super) share: u16,
    /// Where its address may be forged.
    pub(super) doubt: Option<Doubt>,
    /// Of a sender of an object: the highest credit that it has used.
    pub(super) highest: u32,
    /// Of a receiver of an object: what it was offered.
    pub(super) offer: Option<Offer>,
    /// Of a receiver of an object: tokens that it has given.
    pub(super) tokens: u32,
    /// Of a receiver of an object: nothing more is sent to it.
    pub(super) is_over: bool,
    /// Under a key.
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
    /// The key that all have.
    pub(super) key: Option<Key>,
    /// The packet that is being taken, as it is without a key.
    pub(super) plain: Vec<u8>,
    /// Asks groups who hears them, once somebody has wanted to know.
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

    /// The next number that no line has.
    fn unused(&mut self) -> HostId {
        loop {
            let id = HostId(self.next & (u32::MAX >> 1));
            self.next = self.next.wrapping_add(1);
            if id != self.me && !self.by_id.contains_key(&id) {
                return id;
            }
        }
    }

    /// Enters a line.
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

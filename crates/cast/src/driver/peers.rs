//! Addresses of peers, and what the transport calls them.

use std::collections::HashMap;
use std::net::SocketAddr;
use tailcut_units::{Duration, HostId, Time};

/// Peers that are known at once, at most. Those without a session make room.
const MOST: usize = 4_096;

/// How long a peer is known after its last session has ended: what still comes for it is answered.
const REMEMBERED: Duration = Duration::from_ms(2_000);

#[derive(Clone, Copy, Debug)]
struct Peer {
    id: HostId,
    sessions: u32,
    /// When its last session began or ended.
    at: Time,
}

/// Those that a host talks to.
#[derive(Debug)]
pub(super) struct Peers {
    by_address: HashMap<SocketAddr, Peer>,
    by_id: HashMap<HostId, SocketAddr>,
    next: u32,
    me: HostId,
}

impl Peers {
    pub(super) fn new(me: HostId) -> Self {
        Self {
            by_address: HashMap::new(),
            by_id: HashMap::new(),
            next: 0,
            me,
        }
    }

    /// The peer at an address, if it is known.
    pub(super) fn find(&self, address: &SocketAddr) -> Option<HostId> {
        self.by_address.get(address).map(|peer| peer.id)
    }

    /// The address of a peer.
    pub(super) fn address(&self, id: HostId) -> Option<SocketAddr> {
        self.by_id.get(&id).copied()
    }

    /// What the peer at an address would be called, if it is not known.
    pub(super) fn next(&self) -> HostId {
        match self.next == self.me.0 {
            true => HostId(self.next + 1),
            false => HostId(self.next),
        }
    }

    /// A session with the peer at an address begins; `None` where there are too many peers.
    pub(super) fn enter(&mut self, now: Time, address: SocketAddr) -> Option<HostId> {
        if let Some(peer) = self.by_address.get_mut(&address) {
            peer.sessions += 1;
            peer.at = now;
            return Some(peer.id);
        }
        let id = self.next();
        if self.by_address.len() >= MOST {
            self.forget(now);
        }
        // An address with the highest bit is that of a group.
        if self.by_address.len() >= MOST || id.is_group() {
            return None;
        }
        self.next = id.0 + 1;
        let sessions = 1;
        self.by_address.insert(
            address,
            Peer {
                id,
                sessions,
                at: now,
            },
        );
        self.by_id.insert(id, address);
        Some(id)
    }

    /// A session with a peer has ended.
    pub(super) fn leave(&mut self, now: Time, id: HostId) {
        let address = self.by_id.get(&id);
        if let Some(peer) = address.and_then(|address| self.by_address.get_mut(address)) {
            peer.sessions = peer.sessions.saturating_sub(1);
            peer.at = now;
        }
    }

    /// The session that was begun last with a peer has not come about. One that was not known
    /// before is not known any more.
    pub(super) fn undo(&mut self, now: Time, id: HostId, is_new: bool) {
        self.leave(now, id);
        if is_new && let Some(address) = self.by_id.remove(&id) {
            self.by_address.remove(&address);
        }
    }

    fn forget(&mut self, now: Time) {
        let is_kept = |peer: &Peer| peer.sessions > 0 || now.since(peer.at) < REMEMBERED;
        self.by_address.retain(|_, peer| is_kept(peer));
        let by_address = &self.by_address;
        self.by_id
            .retain(|_, address| by_address.contains_key(address));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn address(number: usize) -> SocketAddr {
        SocketAddr::from(([10, 0, (number >> 8) as u8, number as u8], 7))
    }

    #[test]
    fn a_peer_keeps_its_name_while_it_has_sessions() {
        let mut peers = Peers::new(HostId(1));
        let now = Time::from_ns(5);
        let names = [7, 8, 7, 9].map(|number| peers.enter(now, address(number)));
        assert_eq!(names, [0, 2, 0, 3].map(|id| Some(HostId(id))), "1 is taken");
        peers.leave(now, HostId(0));
        assert_eq!(peers.find(&address(7)), Some(HostId(0)));
        assert_eq!(peers.address(HostId(2)), Some(address(8)));
        assert_eq!(peers.find(&address(3)), None);
    }

    #[test]
    fn peers_without_sessions_make_room_after_some_time() {
        let mut peers = Peers::new(HostId(0));
        let now = Time::from_ns(1);
        let ids: Vec<HostId> = (0..MOST)
            .filter_map(|number| peers.enter(now, address(number)))
            .collect();
        assert_eq!(ids.len(), MOST);
        assert_eq!(peers.enter(now, address(MOST)), None);
        ids[1..].iter().for_each(|id| peers.leave(now, *id));
        assert_eq!(peers.enter(now, address(MOST)), None, "too soon");
        let later = now + REMEMBERED;
        assert!(peers.enter(later, address(MOST)).is_some());
        assert_eq!(peers.find(&address(0)), Some(ids[0]), "it has a session");
        assert_eq!((peers.by_address.len(), peers.by_id.len()), (2, 2));
    }
}

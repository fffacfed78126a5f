//! Source ports: what makes a five-tuple of ours take its path.

use super::handshake::Socket;
use std::net::SocketAddr;

/// The first port unless the system's range begins later.
const FIRST: u16 = 33_000;
const LAST: u16 = 60_999;

/// Source ports by number: the same number is the same port for as long as the probe runs.
#[derive(Debug)]
pub struct Ports {
    to: SocketAddr,
    taken: Vec<u16>,
    next: u32,
}

impl Ports {
    /// Ports for connections to a target. `start` moves where they begin, so that two probes on one machine
    /// seldom meet.
    pub fn new(to: SocketAddr, start: u32) -> Self {
        Self {
            to,
            taken: Vec::new(),
            next: start,
        }
    }

    /// The port of this number; `None` where there is no free one.
    pub fn get(&mut self, number: usize) -> Option<u16> {
        while self.taken.len() <= number {
            let port = self.free()?;
            self.taken.push(port);
        }
        self.taken.get(number).copied()
    }

    /// The next port that can be bound.
    fn free(&mut self) -> Option<u16> {
        let all = u32::from(LAST - FIRST);
        for _ in 0..all {
            let port = FIRST + (self.next % all) as u16;
            self.next = self.next.wrapping_add(1);
            if self.taken.len() < all as usize && Socket::bound(self.to, port).is_ok() {
                return Some(port);
            }
        }
        None
    }
}

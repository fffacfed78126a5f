//! Source ports of a probe. With several paths, the source port determines which path a connection takes.

use super::handshake::Socket;
use std::net::SocketAddr;

/// First port of the range.
const FIRST: u16 = 33_000;
const LAST: u16 = 60_999;

/// Source ports by number. A number stands for the same port during the whole probe.
#[derive(Debug)]
pub struct Ports {
    to: SocketAddr,
    taken: Vec<u16>,
    next: u32,
}

impl Ports {
    /// Creates ports for connections to a target. `start` determines the first port.
    /// With different values, two probes on one machine rarely use the same ports.
    pub fn new(to: SocketAddr, start: u32) -> Self {
        Self {
            to,
            taken: Vec::new(),
            next: start,
        }
    }

    /// Returns the port with this number, or `None` if no port is free.
    pub fn get(&mut self, number: usize) -> Option<u16> {
        while self.taken.len() <= number {
            let port = self.free()?;
            self.taken.push(port);
        }
        self.taken.get(number).copied()
    }

    /// Returns the next port that can be bound.
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

//! Progress of a host's TCP connections. The host's network card computes the progress from the host's segments.

use crate::emulator::frames::TcpSegment;
use std::collections::HashMap;
use tailcut_transport::tcp::TcpFlags;
use tailcut_units::HostId;

/// Maximum number of connections in a generation (see [`Connections`]).
const GENERATION: usize = 4_096;

/// Identity of a connection at its sender: receiver, IPv6 or IPv4, source port and destination port.
type Key = (HostId, bool, [u16; 2]);

/// Progress of a connection immediately before a segment is sent.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub struct Progress {
    /// Position of the segment's first byte in the stream of payload.
    pub offset: u64,
    /// Payload bytes that the connection has sent before the segment, including retransmissions.
    pub sent: u64,
}

#[derive(Clone, Copy, Debug)]
struct Connection {
    /// Sequence number of the stream's first byte.
    first: u32,
    /// Position in the stream after the last byte that was sent.
    next: u64,
    sent: u64,
}

/// Connections of a host, in two generations of at most 4,096 connections each.
/// A connection that sends a segment enters the young generation.
/// When the young generation is full, the old generation is discarded, and the young generation becomes the old one.
/// A connection therefore stays known until at least 4,096 other connections have sent a segment.
#[derive(Default, Debug)]
pub struct Connections {
    young: HashMap<Key, Connection>,
    old: HashMap<Key, Connection>,
}

impl Connections {
    /// Records a segment to `dst`. Returns the progress of its connection before the segment.
    /// A stream starts after the SYN of its connection.
    /// If the card has not seen the SYN, the stream starts with the first segment that the card sees.
    pub fn send(&mut self, dst: HostId, tcp: &TcpSegment) -> Progress {
        let key = (dst, tcp.is_ipv6, tcp.ports);
        let is_syn = tcp.flags.has(TcpFlags::SYN);
        // A reset of an unknown connection creates no entry, because the connection ends with this reset.
        if !is_syn && !self.recall(&key) && tcp.flags.has(TcpFlags::RST) {
            return Progress::default();
        }
        let connection = self.young.entry(key).or_insert(Connection {
            first: tcp.sequence,
            next: 0,
            sent: 0,
        });
        if is_syn {
            // The SYN itself uses one sequence number.
            *connection = Connection {
                first: tcp.sequence.wrapping_add(1),
                next: 0,
                sent: 0,
            };
        }
        let progress = Progress {
            // The sequence number of a reset is arbitrary.
            offset: match tcp.flags.overlaps(TcpFlags::RST.with(TcpFlags::SYN)) {
                true => connection.next,
                false => connection.offset(tcp.sequence),
            },
            sent: connection.sent,
        };
        let payload = u64::from(tcp.payload);
        connection.next = connection.next.max(progress.offset + payload);
        connection.sent += payload;
        self.age();
        progress
    }

    /// Moves a connection to the young generation. Returns whether the connection is known.
    fn recall(&mut self, key: &Key) -> bool {
        if self.young.contains_key(key) {
            return true;
        }
        let known = self.old.remove(key);
        known.is_some_and(|connection| self.young.insert(*key, connection).is_none())
    }

    fn age(&mut self) {
        if self.young.len() >= GENERATION {
            std::mem::swap(&mut self.young, &mut self.old);
            self.young.clear();
        }
    }
}

impl Connection {
    /// Returns the position of a sequence number in the stream.
    /// Sequence numbers repeat every 4 GiB, so a sequence number fits several positions.
    /// The function returns the position that is nearest to the last byte that was sent.
    const fn offset(&self, sequence: u32) -> u64 {
        let furthest = self.first.wrapping_add(self.next as u32);
        let beyond = sequence.wrapping_sub(furthest) as i32;
        self.next.saturating_add_signed(beyond as i64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PEER: HostId = HostId(1);

    fn segment(port: u16, flags: TcpFlags, sequence: u32, payload: u32) -> TcpSegment {
        TcpSegment {
            ports: [port, 80],
            is_ipv6: false,
            flags,
            sequence,
            acknowledged: 0,
            payload,
        }
    }

    fn syn(port: u16, sequence: u32) -> TcpSegment {
        segment(port, TcpFlags::SYN, sequence, 0)
    }

    fn data(port: u16, sequence: u32, payload: u32) -> TcpSegment {
        segment(port, TcpFlags::ACK, sequence, payload)
    }

    #[test]
    fn offsets_go_on_where_sequence_numbers_wrap() {
        const STEP: u32 = 1 << 20;
        let first = u32::MAX - 2_000;
        let mut connections = Connections::default();
        connections.send(PEER, &syn(7, first));
        // The sequence numbers wrap around twice.
        for nth in 0..(1 << 13) {
            let sequence = (first + 1).wrapping_add(STEP.wrapping_mul(nth));
            let progress = connections.send(PEER, &data(7, sequence, STEP));
            assert_eq!(progress.offset, u64::from(nth) * u64::from(STEP));
        }
    }

    #[test]
    fn what_is_sent_again_has_its_place_and_counts_twice_among_what_was_sent() {
        let mut connections = Connections::default();
        connections.send(PEER, &syn(7, 99));
        let progress = [100, 1_100, 100, 2_100].map(|sequence| {
            let progress = connections.send(PEER, &data(7, sequence, 1_000));
            (progress.offset, progress.sent)
        });
        assert_eq!(
            progress,
            [(0, 0), (1_000, 1_000), (0, 2_000), (2_000, 3_000)]
        );
    }

    #[test]
    fn a_connection_begins_anew_with_a_syn_and_one_not_known_with_what_is_seen_first() {
        let mut connections = Connections::default();
        connections.send(PEER, &data(7, 5_000, 1_000));
        assert_eq!(connections.send(PEER, &data(7, 6_000, 1)).offset, 1_000);
        connections.send(PEER, &syn(7, 70_000));
        let progress = connections.send(PEER, &data(7, 70_001, 1_000));
        assert_eq!(progress, Progress::default());
        let over_ipv6 = TcpSegment {
            is_ipv6: true,
            ..data(7, 70_001, 1_000)
        };
        assert_eq!(connections.send(PEER, &over_ipv6), Progress::default());
    }

    #[test]
    fn a_reset_has_the_place_that_its_connection_had_come_to() {
        let mut connections = Connections::default();
        let reset = segment(7, TcpFlags::RST, 0xdead_beef, 0);
        assert_eq!(connections.send(PEER, &reset), Progress::default());
        assert!(connections.young.is_empty(), "a reset starts no connection");
        connections.send(PEER, &syn(7, 0));
        connections.send(PEER, &data(7, 1, 5_000));
        assert_eq!(connections.send(PEER, &reset).offset, 5_000);
    }

    #[test]
    fn connections_are_forgotten_when_many_others_have_sent_since() {
        let mut connections = Connections::default();
        let others = |connections: &mut Connections, from: u16, count: usize| {
            for port in (from..).take(count) {
                connections.send(PEER, &syn(port, 0));
            }
        };
        connections.send(PEER, &syn(1, 0));
        connections.send(PEER, &data(1, 1, 1_000));
        others(&mut connections, 10_000, GENERATION);
        assert_eq!(connections.send(PEER, &data(1, 1_001, 10)).offset, 1_000);
        others(&mut connections, 20_000, 2 * GENERATION);
        assert_eq!(connections.send(PEER, &data(1, 1_011, 10)).offset, 0);
        others(&mut connections, 1_000, 60_000);
        let known = connections.young.len() + connections.old.len();
        assert!(known <= 2 * GENERATION, "{known}");
    }
}

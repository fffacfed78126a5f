//! How far a host's TCP connections are, by what the host sends.

use crate::emulator::frames::TcpSegment;
use std::collections::HashMap;
use tailcut_transport::tcp::TcpFlags;
use tailcut_units::HostId;

/// Connections of a generation.
const GENERATION: usize = 4_096;

/// A connection as its host sends it: to whom, over which version of IP, from which port to which.
type Key = (HostId, bool, [u16; 2]);

/// How far a connection is before a segment.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub struct Progress {
    /// The place of the segment's first byte in the stream of payload.
    pub offset: u64,
    /// Bytes of payload that were sent before, those sent again included.
    pub sent: u64,
}

#[derive(Clone, Copy, Debug)]
struct Connection {
    /// The sequence number of the stream's first byte.
    first: u32,
    /// One past the furthest byte that was sent.
    next: u64,
    sent: u64,
}

/// The connections of a host, in two generations of 4,096 at most. One that sends enters the young
/// generation; when that is full the old one is forgotten, and the young one is old. So a connection is
/// known until 4,096 others at least have sent since it did.
#[derive(Default, Debug)]
pub struct Connections {
    young: HashMap<Key, Connection>,
    old: HashMap<Key, Connection>,
}

impl Connections {
    /// The host sends a segment to `dst`: how far its connection was. A connection begins with its SYN; one
    /// that is not known with the first segment that is seen of it.
    pub fn send(&mut self, dst: HostId, tcp: &TcpSegment) -> Progress {
        let key = (dst, tcp.is_ipv6, tcp.ports);
        let is_syn = tcp.flags.has(TcpFlags::SYN);
        if !is_syn && !self.recall(&key) && tcp.flags.has(TcpFlags::RST) {
            return Progress::default();
        }
        let connection = self.young.entry(key).or_insert(Connection {
            first: tcp.sequence,
            next: 0,
            sent: 0,
        });
        if is_syn {
            // A SYN takes a sequence number itself.
            *connection = Connection {
                first: tcp.sequence.wrapping_add(1),
                next: 0,
                sent: 0,
            };
        }
        let progress = Progress {
            // Resets may have any number.
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

    /// Makes a connection young; false where it is not known.
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
    /// The place of a sequence number in the stream: the one that is nearest to the furthest byte so far.
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
        // Twice around.
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
        assert!(connections.young.is_empty(), "it begins no connection");
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

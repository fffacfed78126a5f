//! The flows of programs that know nothing of tailcut, told from their SYNs, FINs and acknowledgements.
//!
//! A TCP connection is up to two flows: what its opener sends, and what comes back. A flow's bytes are
//! those of the stream, each counted once. The opener's flow starts with the first SYN, the other with its
//! first byte of payload; a flow is complete when its receiver acknowledges the FIN behind it. All times
//! are those at which packets enter the network, so that a completion time has the receiver's own delay in
//! it, and not the ACK's way back.
//!
//! A connection that is reset leaves flows without a completion time, as one that is still open does. Bytes
//! that TCP sends before its SYN is answered (Fast Open) count from the answer on.

use crate::emulator::frames::TcpSegment;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, HashMap, VecDeque};
use tailcut_transport::tcp::TcpFlags;
use tailcut_units::{Duration, HostId, Time};

/// Connections that are known at a time, at most.
const MOST_OPEN: usize = 65_536;
/// Flows that have ended and are known, at most.
const MOST_ENDED: usize = 262_144;

/// A connection: its ends, smaller host and port first, and whether it goes over IPv6.
type Key = ([(HostId, u16); 2], bool);

/// A flow that a program has sent.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct TrackedFlow {
    /// The sending host.
    pub src: u32,
    /// The receiving host.
    pub dst: u32,
    /// The sender's port.
    pub src_port: u16,
    /// The receiver's port.
    pub dst_port: u16,
    /// Bytes of the stream.
    pub bytes: u64,
    /// When it started, in picoseconds of the network's clock.
    pub start_ps: u64,
    /// How long it took; `None`: it was cut off, or goes on.
    pub fct_ps: Option<u64>,
    /// How long its opener waited for the connection; `None` for what comes back.
    pub handshake_ps: Option<u64>,
    /// Payload that was sent, bytes sent again included.
    pub payload_sent: u64,
    /// Segments that were sent again.
    pub retransmissions: u32,
}

/// Some of the flows, and what is known of the others.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct TrackedFlows {
    /// Flows in the order in which they ended, those that go on behind the others.
    pub flows: Vec<TrackedFlow>,
    /// The place among those that have ended of the one behind these; `None` where none is left.
    pub next: Option<u64>,
    /// Flows that had ended and were forgotten, the earliest first.
    pub forgotten: u64,
    /// Connections that were not followed, as too many were open.
    pub not_followed: u64,
}

/// One direction of a connection.
#[derive(Clone, Copy, Default, Debug)]
struct Way {
    /// The sequence number of its first byte; `None` before its SYN.
    first: Option<u32>,
    /// One past its furthest byte.
    bytes: u64,
    started: Option<Time>,
    /// The sequence number behind its FIN.
    end: Option<u32>,
    ended: Option<Time>,
    payload_sent: u64,
    retransmissions: u32,
}

#[derive(Clone, Copy, Debug)]
struct Connection {
    /// Whether the greater end of the key is the opener.
    is_reversed: bool,
    began: Time,
    handshake: Option<Duration>,
    /// What the smaller end of the key sends, and what the greater.
    ways: [Way; 2],
}

/// Follows connections.
#[derive(Default, Debug)]
pub struct Tracker {
    open: HashMap<Key, Connection>,
    ended: VecDeque<TrackedFlow>,
    forgotten: u64,
    not_followed: u64,
}

/// The connection of a segment, and which of its ends sends it.
fn key(from: HostId, to: HostId, segment: &TcpSegment) -> (Key, usize) {
    let [src, dst] = segment.ports;
    let (src, dst) = ((from, src), (to, dst));
    match src <= dst {
        true => (([src, dst], segment.is_ipv6), 0),
        false => (([dst, src], segment.is_ipv6), 1),
    }
}

impl Way {
    /// A segment of payload enters the network.
    fn send(&mut self, now: Time, segment: &TcpSegment) {
        let Some(first) = self.first else {
            return;
        };
        if segment.payload > 0 {
            self.started.get_or_insert(now);
            self.payload_sent += u64::from(segment.payload);
            // How far its last byte is behind the furthest, in the 32 bits of sequence numbers.
            let furthest = first.wrapping_add(self.bytes as u32);
            let last = segment.sequence.wrapping_add(segment.payload);
            match last.wrapping_sub(furthest) as i32 {
                more @ 1.. => self.bytes += more as u64,
                _ => self.retransmissions += 1,
            }
        }
        if segment.flags.has(TcpFlags::FIN) {
            let end = segment.sequence.wrapping_add(segment.payload);
            self.end = Some(end.wrapping_add(1));
        }
    }

    /// The other end has everything before `sequence`.
    fn acknowledged(&mut self, now: Time, sequence: u32) {
        if let Some(end) = self.end
            && sequence.wrapping_sub(end) as i32 >= 0
        {
            self.ended.get_or_insert(now);
        }
    }
}

impl Connection {
    /// Its flows: every way that has sent something.
    fn flows(&self, (ends, _): &Key) -> impl Iterator<Item = TrackedFlow> {
        let of_way = |place: usize| {
            let (way, src, dst) = (&self.ways[place], ends[place], ends[1 - place]);
            let is_opener = (place == 1) == self.is_reversed;
            let start = if is_opener {
                Some(self.began)
            } else {
                way.started
            };
            let start = start.filter(|_| way.bytes > 0)?;
            Some(TrackedFlow {
                src: src.0.0,
                dst: dst.0.0,
                src_port: src.1,
                dst_port: dst.1,
                bytes: way.bytes,
                start_ps: start.as_ps(),
                fct_ps: way.ended.map(|ended| ended.since(start).as_ps()),
                handshake_ps: self.handshake.filter(|_| is_opener).map(Duration::as_ps),
                payload_sent: way.payload_sent,
                retransmissions: way.retransmissions,
            })
        };
        [of_way(0), of_way(1)].into_iter().flatten()
    }
}

impl Tracker {
    /// A segment enters the network at `now`.
    pub fn see(&mut self, now: Time, from: HostId, to: HostId, segment: &TcpSegment) {
        let (key, place) = key(from, to, segment);
        let is_answer = segment.flags.has(TcpFlags::ACK);
        if segment.flags.has(TcpFlags::SYN) && !is_answer {
            self.open(now, key, place, segment.sequence);
            return;
        }
        let Some(connection) = self.open.get_mut(&key) else {
            return;
        };
        if segment.flags.has(TcpFlags::RST) {
            self.close(&key);
            return;
        }
        let is_opener = (place == 1) == connection.is_reversed;
        if segment.flags.has(TcpFlags::SYN) {
            connection.ways[place].first = Some(segment.sequence.wrapping_add(1));
            return;
        }
        if is_answer {
            let answered = connection.ways[1 - place].first.is_some();
            if is_opener && answered && connection.handshake.is_none() {
                connection.handshake = Some(now.since(connection.began));
            }
            connection.ways[1 - place].acknowledged(now, segment.acknowledged);
        }
        connection.ways[place].send(now, segment);
        if connection.ways.iter().all(|way| way.ended.is_some()) {
            self.close(&key);
        }
    }

    /// A first SYN.
    fn open(&mut self, now: Time, key: Key, place: usize, sequence: u32) {
        let first = Some(sequence.wrapping_add(1));
        if let Some(known) = self.open.get(&key) {
            if known.ways[place].first == first {
                // It is sent again.
                return;
            }
            // The ports are used again.
            self.close(&key);
        }
        if self.open.len() >= MOST_OPEN {
            self.not_followed += 1;
            return;
        }
        let mut ways = [Way::default(); 2];
        ways[place].first = first;
        let connection = Connection {
            is_reversed: place == 1,
            began: now,
            handshake: None,
            ways,
        };
        self.open.insert(key, connection);
    }

    fn close(&mut self, key: &Key) {
        if let Some(connection) = self.open.remove(key) {
            self.ended.extend(connection.flows(key));
        }
        while self.ended.len() > MOST_ENDED {
            self.ended.pop_front();
            self.forgotten += 1;
        }
    }

    /// Up to `most` flows from the one at place `from` among those that have ended. Those that go on come
    /// with the last of them.
    pub fn flows(&self, from: u64, most: usize) -> TrackedFlows {
        let skipped = from.saturating_sub(self.forgotten);
        let skipped = usize::try_from(skipped).unwrap_or(usize::MAX);
        let ended = self.ended.iter().skip(skipped).take(most);
        let mut flows: Vec<TrackedFlow> = ended.copied().collect();
        let next = skipped.saturating_add(flows.len());
        let is_last = next >= self.ended.len();
        if is_last {
            // In an order that does not depend on the map's.
            let open: BTreeMap<_, _> = self.open.iter().collect();
            flows.extend(open.iter().flat_map(|(key, open)| open.flows(key)));
        }
        TrackedFlows {
            flows,
            next: (!is_last).then_some(self.forgotten + next as u64),
            forgotten: self.forgotten,
            not_followed: self.not_followed,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CLIENT: HostId = HostId(3);
    const SERVER: HostId = HostId(1);

    fn us(us: u64) -> Time {
        Time::from_ns(1_000 * us)
    }

    /// Connections between a client's port and a server's port 80, as the network sees them.
    #[derive(Default)]
    struct Wire {
        tracker: Tracker,
        port: u16,
    }

    impl Wire {
        fn segment(&mut self, at: u64, is_client: bool, flags: TcpFlags, numbers: [u32; 3]) {
            let [sequence, acknowledged, payload] = numbers;
            let (from, to, ports) = match is_client {
                true => (CLIENT, SERVER, [self.port, 80]),
                false => (SERVER, CLIENT, [80, self.port]),
            };
            let segment = TcpSegment {
                ports,
                is_ipv6: false,
                flags,
                sequence,
                acknowledged,
                payload,
            };
            self.tracker.see(us(at), from, to, &segment);
        }

        fn client(&mut self, at: u64, flags: TcpFlags, numbers: [u32; 3]) {
            self.segment(at, true, flags, numbers);
        }

        fn server(&mut self, at: u64, flags: TcpFlags, numbers: [u32; 3]) {
            self.segment(at, false, flags, numbers);
        }

        /// The handshake, from 10 us on. The client's first byte has the number 0, so that the SYN's wraps.
        fn opened() -> Self {
            let mut wire = Self {
                port: 40_000,
                ..Self::default()
            };
            wire.client(10, TcpFlags::SYN, [u32::MAX, 0, 0]);
            wire.server(20, TcpFlags::SYN.with(TcpFlags::ACK), [499, 0, 0]);
            wire.client(30, TcpFlags::ACK, [0, 500, 0]);
            wire
        }

        fn flows(&self) -> Vec<TrackedFlow> {
            self.tracker.flows(0, 100).flows
        }
    }

    const FIN: TcpFlags = TcpFlags::FIN.with(TcpFlags::ACK);

    #[test]
    fn a_request_and_its_answer_are_two_flows() {
        let mut wire = Wire::opened();
        wire.client(31, TcpFlags::ACK, [0, 500, 100]);
        wire.server(40, TcpFlags::ACK, [500, 100, 1_000]);
        wire.server(41, TcpFlags::ACK, [1_500, 100, 1_000]);
        // The first of them is sent again.
        wire.server(300, TcpFlags::ACK, [500, 100, 1_000]);
        wire.server(301, FIN, [2_500, 100, 0]);
        assert!(
            wire.flows().iter().all(|flow| flow.fct_ps.is_none()),
            "open"
        );
        wire.client(310, FIN, [100, 2_501, 0]);
        wire.server(320, TcpFlags::ACK, [2_501, 101, 0]);
        let flows = wire.flows();
        let [answer, request] = flows.as_slice() else {
            panic!("{flows:?}");
        };
        assert_eq!((request.src, request.dst, request.bytes), (3, 1, 100));
        assert_eq!((request.src_port, request.dst_port), (40_000, 80));
        assert_eq!(request.start_ps, us(10).as_ps());
        assert_eq!(request.fct_ps, Some(us(310).as_ps()));
        assert_eq!(request.handshake_ps, Some(us(20).as_ps()));
        assert_eq!((answer.src, answer.dst, answer.bytes), (1, 3, 2_000));
        assert_eq!(answer.start_ps, us(40).as_ps());
        assert_eq!(answer.fct_ps, Some(us(270).as_ps()));
        assert_eq!((answer.payload_sent, answer.retransmissions), (3_000, 1));
        assert_eq!((request.retransmissions, answer.handshake_ps), (0, None));
    }

    #[test]
    fn a_connection_that_is_reset_leaves_a_flow_that_did_not_complete() {
        let mut wire = Wire::opened();
        wire.client(31, TcpFlags::ACK, [0, 500, 100]);
        wire.server(40, TcpFlags::RST, [500, 0, 0]);
        let flows = wire.flows();
        assert_eq!(flows.len(), 1, "the server sent nothing");
        assert_eq!((flows[0].bytes, flows[0].fct_ps), (100, None));
        // What comes late belongs to nothing.
        wire.client(50, FIN, [100, 500, 0]);
        assert_eq!(wire.flows(), flows);
    }

    #[test]
    fn a_syn_that_is_sent_again_is_the_same_connection_and_one_with_another_number_is_not() {
        let mut wire = Wire::opened();
        wire.client(35, TcpFlags::SYN, [u32::MAX, 0, 0]);
        wire.client(36, TcpFlags::ACK, [0, 500, 7]);
        assert_eq!(wire.flows()[0].start_ps, us(10).as_ps());
        wire.client(99, TcpFlags::SYN, [1_000, 0, 0]);
        wire.server(100, TcpFlags::SYN.with(TcpFlags::ACK), [4, 1_001, 0]);
        wire.client(101, TcpFlags::ACK, [1_001, 5, 9]);
        let flows = wire.flows();
        let bytes: Vec<u64> = flows.iter().map(|flow| flow.bytes).collect();
        assert_eq!(bytes, [7, 9]);
        assert_eq!(flows[1].start_ps, us(99).as_ps());
    }

    #[test]
    fn flows_come_in_pieces_and_what_is_kept_is_bounded() {
        let mut wire = Wire::default();
        for number in 0..(MOST_ENDED + 10) {
            wire.port = number as u16;
            let at = number as u64;
            wire.client(at, TcpFlags::SYN, [0, 0, 0]);
            wire.server(at, TcpFlags::SYN.with(TcpFlags::ACK), [0, 1, 0]);
            wire.client(at, TcpFlags::ACK, [1, 1, 1 + number as u32]);
            wire.client(at, TcpFlags::RST, [2, 1, 0]);
        }
        let first = wire.tracker.flows(0, 1_000);
        assert_eq!((first.flows.len(), first.forgotten), (1_000, 10));
        assert_eq!(first.flows[0].bytes, 11);
        let mut from = first.next;
        let mut count = first.flows.len();
        while let Some(next) = from {
            let part = wire.tracker.flows(next, 100_000);
            assert_eq!(part.flows[0].bytes, count as u64 + 11);
            count += part.flows.len();
            from = part.next;
        }
        assert_eq!(count, MOST_ENDED);
        for number in 0..(MOST_OPEN + 5) {
            wire.port = number as u16;
            let (from, to) = (HostId(5 + (number >> 16) as u32), SERVER);
            let segment = TcpSegment {
                ports: [number as u16, 80],
                is_ipv6: false,
                flags: TcpFlags::SYN,
                sequence: 0,
                acknowledged: 0,
                payload: 0,
            };
            wire.tracker.see(us(0), from, to, &segment);
        }
        assert_eq!(wire.tracker.flows(0, 0).not_followed, 5);
    }
}

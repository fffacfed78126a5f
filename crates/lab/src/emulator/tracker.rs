//! Tracker of the flows that any program sends over TCP. The tracker reads the headers of the programs' segments.
//!
//! A TCP connection has up to two flows. One flow is the data from the side that opens the connection (the opener).
//! The second flow is the data in the opposite direction.
//! The length of a flow is the number of bytes of its stream, without retransmissions.
//! The opener's flow starts with the first SYN. The opposite flow starts with its first byte of payload.
//! A flow is complete when its receiver acknowledges the FIN.
//! The tracker uses the times at which packets enter the network. A completion time includes the delay in the receiver.
//! A completion time does not include the time that the last ACK spends in the network.
//!
//! The flows of a reset or open connection have no completion time.
//! Data that TCP sends with the SYN (Fast Open) is counted in the length only if later data of the flow follows.
//! Data with the SYN is never counted as sent payload.

use crate::emulator::frames::TcpSegment;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, HashMap, VecDeque};
use tailcut_transport::tcp::TcpFlags;
use tailcut_units::{Duration, HostId, Time};

/// Maximum number of open connections that the tracker follows.
const MOST_OPEN: usize = 65_536;
/// Maximum number of ended flows that the tracker keeps.
const MOST_ENDED: usize = 262_144;

/// Identity of a connection: the two ends in ascending order of host and port, and whether the connection uses IPv6.
type Key = ([(HostId, u16); 2], bool);

/// Flow that a program has sent over TCP.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct TrackedFlow {
    /// Number of the sending host.
    pub src: u32,
    /// Number of the receiving host.
    pub dst: u32,
    /// Port of the sender.
    pub src_port: u16,
    /// Port of the receiver.
    pub dst_port: u16,
    /// Length of the stream in bytes.
    pub bytes: u64,
    /// Start time in picoseconds of the network's clock.
    pub start_ps: u64,
    /// Completion time in picoseconds; `None` if the connection was reset or is still open.
    pub fct_ps: Option<u64>,
    /// Duration of the handshake in picoseconds; `None` for the flow to the opener.
    pub handshake_ps: Option<u64>,
    /// Payload sent in bytes, including retransmissions.
    pub payload_sent: u64,
    /// Number of retransmitted segments.
    pub retransmissions: u32,
}

/// Part of the tracked flows, and counters of missing flows.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct TrackedFlows {
    /// Ended flows in the order of their end, followed by open flows.
    pub flows: Vec<TrackedFlow>,
    /// Index of the next ended flow; `None` if this part is the last.
    pub next: Option<u64>,
    /// Number of ended flows that were discarded. The earliest flows are discarded first.
    pub forgotten: u64,
    /// Number of connections that were not tracked because too many were open.
    pub not_followed: u64,
}

/// One direction of a connection: the data that one of its ends sends.
#[derive(Clone, Copy, Default, Debug)]
struct Direction {
    /// Sequence number of the first byte; `None` before the SYN.
    first: Option<u32>,
    /// Length of the stream in bytes, up to the last byte that the tracker has seen.
    bytes: u64,
    started: Option<Time>,
    /// Sequence number after the FIN; `None` before the FIN.
    end: Option<u32>,
    ended: Option<Time>,
    payload_sent: u64,
    retransmissions: u32,
}

#[derive(Clone, Copy, Debug)]
struct Connection {
    /// Whether the second end of the key opened the connection.
    is_reversed: bool,
    began: Time,
    handshake: Option<Duration>,
    /// Data from the first end of the key, and data from the second end.
    directions: [Direction; 2],
}

/// Tracker of the TCP connections of programs.
#[derive(Default, Debug)]
pub struct Tracker {
    open: HashMap<Key, Connection>,
    ended: VecDeque<TrackedFlow>,
    forgotten: u64,
    not_followed: u64,
}

/// Returns the connection of a segment, and the index of its sender in the key.
fn key(from: HostId, to: HostId, segment: &TcpSegment) -> (Key, usize) {
    let [src, dst] = segment.ports;
    let (src, dst) = ((from, src), (to, dst));
    match src <= dst {
        true => (([src, dst], segment.is_ipv6), 0),
        false => (([dst, src], segment.is_ipv6), 1),
    }
}

impl Direction {
    /// Records a segment that enters the network in the direction of this flow.
    fn send(&mut self, now: Time, segment: &TcpSegment) {
        let Some(first) = self.first else {
            return;
        };
        if segment.payload > 0 {
            self.started.get_or_insert(now);
            self.payload_sent += u64::from(segment.payload);
            // Signed distance from the end of the known stream to the end of the segment, modulo 2^32.
            // The distance is positive if the segment contains new bytes.
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

    /// Records that the receiver of this flow has acknowledged all bytes before `sequence`.
    fn acknowledged(&mut self, now: Time, sequence: u32) {
        if let Some(end) = self.end
            && sequence.wrapping_sub(end) as i32 >= 0
        {
            self.ended.get_or_insert(now);
        }
    }
}

impl Connection {
    /// Returns the flows of the connection, one for each direction in which data was sent.
    fn flows(&self, (ends, _): &Key) -> impl Iterator<Item = TrackedFlow> {
        let of_way = |place: usize| {
            let (direction, src, dst) = (&self.directions[place], ends[place], ends[1 - place]);
            let is_opener = (place == 1) == self.is_reversed;
            let start = if is_opener {
                Some(self.began)
            } else {
                direction.started
            };
            let start = start.filter(|_| direction.bytes > 0)?;
            Some(TrackedFlow {
                src: src.0.0,
                dst: dst.0.0,
                src_port: src.1,
                dst_port: dst.1,
                bytes: direction.bytes,
                start_ps: start.as_ps(),
                fct_ps: direction.ended.map(|ended| ended.since(start).as_ps()),
                handshake_ps: self.handshake.filter(|_| is_opener).map(Duration::as_ps),
                payload_sent: direction.payload_sent,
                retransmissions: direction.retransmissions,
            })
        };
        [of_way(0), of_way(1)].into_iter().flatten()
    }
}

impl Tracker {
    /// Records a segment that enters the network at `now`.
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
            connection.directions[place].first = Some(segment.sequence.wrapping_add(1));
            return;
        }
        if is_answer {
            let answered = connection.directions[1 - place].first.is_some();
            if is_opener && answered && connection.handshake.is_none() {
                connection.handshake = Some(now.since(connection.began));
            }
            connection.directions[1 - place].acknowledged(now, segment.acknowledged);
        }
        connection.directions[place].send(now, segment);
        if connection
            .directions
            .iter()
            .all(|direction| direction.ended.is_some())
        {
            self.close(&key);
        }
    }

    /// Starts to track a connection at its SYN.
    fn open(&mut self, now: Time, key: Key, place: usize, sequence: u32) {
        let first = Some(sequence.wrapping_add(1));
        if let Some(known) = self.open.get(&key) {
            if known.directions[place].first == first {
                // The SYN is a retransmission, so the connection is already tracked.
                return;
            }
            // A new connection reuses the ports of an earlier one, so the earlier connection has ended.
            self.close(&key);
        }
        if self.open.len() >= MOST_OPEN {
            self.not_followed += 1;
            return;
        }
        let mut directions = [Direction::default(); 2];
        directions[place].first = first;
        let connection = Connection {
            is_reversed: place == 1,
            began: now,
            handshake: None,
            directions,
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

    /// Returns up to `most` ended flows, starting at index `from`. The last part also contains the open flows.
    pub fn flows(&self, from: u64, most: usize) -> TrackedFlows {
        let skipped = from.saturating_sub(self.forgotten);
        let skipped = usize::try_from(skipped).unwrap_or(usize::MAX);
        let ended = self.ended.iter().skip(skipped).take(most);
        let mut flows: Vec<TrackedFlow> = ended.copied().collect();
        let next = skipped.saturating_add(flows.len());
        let is_last = next >= self.ended.len();
        if is_last {
            // The order must not depend on the random order of the hash map.
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

    /// Test connections between a client's port and port 80 of a server, as the tracker sees them.
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

        /// Records a handshake that starts at 10 us.
        /// The client's SYN has the highest sequence number, so its first byte has the number 0.
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
        // The server repeats its first segment.
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
        // Segments that arrive after the end belong to no connection.
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

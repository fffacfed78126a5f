//! Segments that wait for the socket. Datagrams of the same size to one address are sent as one message.
//! The kernel splits such a message again (segmentation offload).

use super::sealing::Seal;
use crate::udp::{Datagrams, MOST_BYTES, Outgoing, TrafficClass};
use std::io::{self, IoSlice};
use std::net::{IpAddr, SocketAddr};
use std::ops::Range;
use tailcut_units::FlowId;
use tailcut_wire::EncodeError;
use tailcut_wire::scdp::credit::{
    self, CLOSE_BYTES, Envelope, Message, OFFER_BYTES, PREFIX_BYTES, TOKEN_BYTES,
};

/// Bytes of the longest header, without padding.
const LONGEST: usize = OFFER_BYTES + TOKEN_BYTES;
/// Zeros for the padding of packets. The longest padded packet has the largest MTU, 9,000 bytes.
pub(super) static ZEROS: [u8; 9_216] = [0; 9_216];
/// Largest number of waiting segments. Above this number, datagrams that belong to no session are dropped.
/// Otherwise unknown hosts could fill the memory while the socket is blocked.
const MOST_ANSWERS: usize = 4_096;

/// Source of a segment's payload.
#[derive(Clone, Debug)]
pub(super) enum PayloadSource {
    /// The segment has no payload.
    Nowhere,
    /// The payload is a range of bytes of an object that is being sent.
    Object(FlowId, Range<usize>),
    /// The payload is a range of the arena, which contains repair symbols and encrypted packets.
    Arena(Range<usize>),
    /// The payload is this number of zeros.
    Zeros(usize),
}

/// Segment that waits to be sent, with its encoded header.
#[derive(Clone, Debug)]
pub(super) struct Staged {
    to: SocketAddr,
    from: Option<IpAddr>,
    class: TrafficClass,
    header: [u8; LONGEST],
    header_length: usize,
    payload: PayloadSource,
}

impl Staged {
    /// Creates a segment to a remote address, from a local address. `encode` writes the segment's header.
    pub(super) fn of(
        (to, from): (SocketAddr, Option<IpAddr>),
        class: TrafficClass,
        payload: PayloadSource,
        encode: impl FnOnce(&mut [u8]) -> Result<usize, EncodeError>,
    ) -> Option<Self> {
        let mut header = [0; LONGEST];
        let header_length = encode(&mut header).ok()?;
        Some(Self {
            to,
            from,
            class,
            header,
            header_length,
            payload,
        })
    }

    /// Creates a segment for a packet of version 2.
    pub(super) fn new(
        ends: (SocketAddr, Option<IpAddr>),
        class: TrafficClass,
        envelope: &Envelope,
        message: &Message,
        payload: PayloadSource,
    ) -> Option<Self> {
        let (message, padding) = match *message {
            Message::Offer(offer) => {
                // The buffer of the header has no space for padding, so the payload contains the zeros.
                let own = OFFER_BYTES + offer.token.map_or(0, |token| token.len());
                let padding = usize::from(offer.padded).saturating_sub(own);
                let padded = 0;
                (Message::Offer(credit::Offer { padded, ..offer }), padding)
            }
            Message::Probe { size, number } => {
                let padding = usize::from(size).saturating_sub(CLOSE_BYTES);
                let header = Message::Probe {
                    size: CLOSE_BYTES as u16,
                    number,
                };
                (header, padding)
            }
            message => (message, 0),
        };
        let payload = match padding {
            0 => payload,
            padding => PayloadSource::Zeros(padding.min(ZEROS.len())),
        };
        Self::of(ends, class, payload, |header| {
            let length = credit::encode(envelope, &message, header)?;
            // The header was encoded with the probe's size without padding.
            // The packet must contain the size with the padding.
            if let (Message::Probe { .. }, Some(size)) = (message, header.get_mut(PREFIX_BYTES..)) {
                let whole = (length + padding) as u16;
                if let Some(size) = size.first_chunk_mut() {
                    *size = whole.to_be_bytes();
                }
            }
            Ok(length)
        })
    }

    fn payload(&self) -> usize {
        match &self.payload {
            PayloadSource::Nowhere => 0,
            PayloadSource::Object(_, range) | PayloadSource::Arena(range) => range.len(),
            PayloadSource::Zeros(count) => *count,
        }
    }

    pub(super) fn length(&self) -> usize {
        self.header_length + self.payload()
    }

    /// Returns whether `other` may follow this segment in the same message.
    fn leads(&self, other: &Self) -> bool {
        (self.to, self.from, self.class) == (other.to, other.from, other.class)
            && other.length() <= self.length()
    }
}

/// All segments that wait for the socket.
#[derive(Debug, Default)]
pub(super) struct Staging {
    segments: Vec<Staged>,
    /// Bytes of repair symbols and encrypted packets.
    pub(super) arena: Vec<u8>,
    /// Number of datagrams sent.
    pub(super) datagrams: u64,
    /// Number of messages that contained the sent datagrams.
    pub(super) messages: u64,
    /// Number of messages that the system refused.
    pub(super) refused: u64,
}

impl Staging {
    pub(super) fn len(&self) -> usize {
        self.segments.len()
    }

    pub(super) fn push(&mut self, staged: Staged) {
        self.segments.push(staged);
    }

    /// Encrypts a packet and returns its segment. Returns `None` if the header or the payload cannot be encoded.
    pub(super) fn seal<'a>(
        &mut self,
        seal: &mut Seal,
        ends: (SocketAddr, Option<IpAddr>),
        class: TrafficClass,
        (envelope, message, payload): (&Envelope, &Message, PayloadSource),
        object: impl Fn(FlowId) -> Option<&'a [u8]>,
    ) -> Option<Staged> {
        let Staged {
            header,
            header_length,
            payload,
            ..
        } = Staged::new(ends, class, envelope, message, payload)?;
        let head = header.get(..header_length)?;
        let range = match payload {
            PayloadSource::Nowhere => seal.seal(head, &[], &mut self.arena),
            PayloadSource::Object(flow, range) => {
                let bytes = object(flow)?.get(range)?;
                seal.seal(head, bytes, &mut self.arena)
            }
            PayloadSource::Zeros(count) => seal.seal(head, ZEROS.get(..count)?, &mut self.arena),
            // The payload is in the arena, and the encryption appends to the arena. So the bytes are copied first.
            PayloadSource::Arena(range) => {
                let bytes = self.arena.get(range)?.to_vec();
                seal.seal(head, &bytes, &mut self.arena)
            }
        };
        // The encrypted bytes in the arena include the header.
        Staged::of(ends, class, PayloadSource::Arena(range?), |_| Ok(0))
    }

    /// Adds a packet that belongs to no session. Drops the packet if too many segments wait.
    pub(super) fn put(
        &mut self,
        to: SocketAddr,
        from: Option<IpAddr>,
        envelope: &Envelope,
        message: &Message,
    ) {
        let class = TrafficClass::default();
        self.answer(Staged::new(
            (to, from),
            class,
            envelope,
            message,
            PayloadSource::Nowhere,
        ));
    }

    /// Adds an encoded packet that belongs to no session. Drops the packet if too many segments wait.
    pub(super) fn answer(&mut self, staged: Option<Staged>) {
        if self.segments.len() < MOST_ANSWERS {
            self.segments.extend(staged);
        }
    }

    /// Returns how many segments at the start of the list fit into one message.
    fn run(segments: &[Staged], most: usize) -> usize {
        let Some(first) = segments.first() else {
            return 0;
        };
        let mut bytes = first.length();
        let mut count = 1;
        while let Some(next) = segments.get(count) {
            bytes += next.length();
            if count == most || bytes > MOST_BYTES || !first.leads(next) {
                break;
            }
            count += 1;
            // In a message, only the last datagram may be shorter than the others.
            if next.length() < first.length() {
                break;
            }
        }
        count
    }

    /// Removes the waiting segments whose payload is in an object.
    /// Segments with bytes in the arena remain, because they do not need the object.
    pub(super) fn forget(&mut self, flow: FlowId) {
        let is_of = |staged: &Staged| matches!(&staged.payload, PayloadSource::Object(of, _) if *of == flow);
        self.segments.retain(|staged| !is_of(staged));
    }

    /// Groups the segments by address, and keeps the order of the segments to each address.
    /// A symbol for several receivers creates consecutive segments to different addresses.
    /// Without this step, each message would have few datagrams.
    fn gather(&mut self) {
        let segments = &self.segments;
        let is_gathered = segments.windows(2).all(|pair| pair[0].to <= pair[1].to);
        if is_gathered {
            return;
        }
        let mut order: Vec<usize> = (0..segments.len()).collect();
        // The sort is stable, so the segments to one address keep their order.
        order.sort_by_key(|&at| segments[at].to);
        self.segments = order.iter().map(|&at| segments[at].clone()).collect();
    }

    /// Sends segments to the socket. `object` returns the bytes of an object.
    /// Returns `true` if the socket's buffer is full and segments remain.
    pub(super) fn flush<'a>(
        &'a mut self,
        net: &mut impl Datagrams,
        object: impl Fn(FlowId) -> Option<&'a [u8]>,
    ) -> bool {
        self.gather();
        let segments = &self.segments[..];
        let most = net.segments().max(1);
        // Each segment has at most two slices, one for the header and one for the payload.
        let mut parts: Vec<IoSlice<'_>> = Vec::with_capacity(2 * segments.len());
        // Consecutive symbols usually belong to the same object. So the last object is kept.
        let mut last = None;
        // For each message, the number of segments and the number of slices up to its end.
        let mut ends: Vec<(usize, usize)> = Vec::new();
        let mut end = 0;
        while end < segments.len() {
            let next = end + Self::run(&segments[end..], most);
            for staged in &segments[end..next] {
                parts.push(IoSlice::new(&staged.header[..staged.header_length]));
                let payload = match &staged.payload {
                    PayloadSource::Nowhere => None,
                    PayloadSource::Object(flow, range) => {
                        if last.is_none_or(|(of, _)| of != *flow) {
                            last = object(*flow).map(|bytes| (*flow, bytes));
                        }
                        // `forget` has removed the segments of ended objects, so each object still exists.
                        let known = last.filter(|(of, _)| of == flow);
                        known.and_then(|(_, bytes)| bytes.get(range.clone()))
                    }
                    PayloadSource::Arena(range) => self.arena.get(range.clone()),
                    PayloadSource::Zeros(count) => ZEROS.get(..*count),
                };
                parts.extend(payload.map(IoSlice::new));
            }
            end = next;
            ends.push((end, parts.len()));
        }
        let begins = std::iter::once(&(0, 0)).chain(&ends);
        let messages: Vec<Outgoing<'_>> = begins
            .zip(&ends)
            .filter_map(|(from, to)| {
                let first = segments.get(from.0)?;
                let cut = u16::try_from(first.length()).ok();
                Some(Outgoing {
                    to: first.to,
                    from: first.from,
                    class: first.class,
                    // A message of one datagram needs no splitting.
                    segment: cut.filter(|_| to.0 - from.0 > 1),
                    parts: &parts[from.1..to.1],
                })
            })
            .collect();
        let (mut taken, mut blocked) = (0, false);
        while taken < messages.len() && !blocked {
            match net.send(&messages[taken..]) {
                Ok(0) => blocked = true,
                Ok(count) => {
                    taken += count;
                    self.messages += count as u64;
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => blocked = true,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                // The message is lost. The transport treats this like any other loss.
                Err(_) => {
                    taken += 1;
                    self.refused += 1;
                }
            }
        }
        let gone = taken.checked_sub(1).map_or(0, |last| ends[last].0);
        self.datagrams += gone as u64;
        self.segments.drain(..gone);
        // The remaining segments may refer to the arena. So the arena is cleared only if no segment remains.
        if self.segments.is_empty() {
            self.arena.clear();
        }
        blocked
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::udp::Incoming;

    /// Socket that stores the address and the bytes of each message.
    struct Taker(Vec<(SocketAddr, Vec<u8>)>);

    impl Datagrams for Taker {
        fn send(&mut self, messages: &[Outgoing<'_>]) -> io::Result<usize> {
            for message in messages {
                let bytes = message.parts.iter().flat_map(|part| part.to_vec());
                self.0.push((message.to, bytes.collect()));
            }
            Ok(messages.len())
        }

        fn receive(&mut self, _: &mut dyn FnMut(&Incoming<'_>)) -> io::Result<usize> {
            Ok(0)
        }

        fn segments(&self) -> usize {
            64
        }
    }

    #[test]
    fn what_goes_to_each_of_several_in_turn_leaves_in_one_message_to_each_in_its_order() {
        let hosts = [2, 1].map(|host| SocketAddr::from(([10, 0, 0, host], 7)));
        let mut staging = Staging::default();
        for number in 0..3 {
            for to in hosts {
                let class = TrafficClass::default();
                let staged = Staged::of((to, None), class, PayloadSource::Nowhere, |header| {
                    header[0] = number;
                    Ok(1)
                });
                staging.push(staged.expect("a header that fits"));
            }
        }
        let mut taker = Taker(Vec::new());
        assert!(!staging.flush(&mut taker, |_| None));
        let expected = [hosts[1], hosts[0]].map(|to| (to, vec![0, 1, 2]));
        assert_eq!(taker.0, expected);
        assert_eq!((staging.datagrams, staging.messages), (6, 2));
    }
}

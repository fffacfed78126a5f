//! Bytes of sessions. This module stores the bytes that senders write, and puts them into packets.
//! The module also stores the bytes that arrive.

use crate::code;
use std::collections::BTreeMap;
use tailcut_transport::copies::{copy_of_flow, flow_of_copy};
use tailcut_transport::ndp::{NdpConfig, NdpKind};
use tailcut_transport::scdp::{Object, ScdpHeader, ScdpKind};
use tailcut_transport::{Condition, Ecn, Header, Segment};
use tailcut_units::FiveTuple;
use tailcut_wire::{MAX_HEADER_BYTES, decode, encode};

/// Packet in flight.
/// A TCP packet contains its segment as a value, because this crate does not encode TCP headers for sockets.
pub enum Carried {
    Segment(Segment, Vec<u8>),
    Datagram(FiveTuple, Ecn, Vec<u8>),
}

/// Sender of bytes: number of the host, number of the copy, and a flag.
/// The flag is true if the bytes are the message that cancels the copy.
type Sender = (usize, u32, bool);

/// Bytes of one session that have arrived.
#[derive(Default)]
struct Arrived {
    /// Bytes by their position in the session. `None` for bytes that have not arrived.
    bytes: Vec<Option<u8>>,
    object: Option<Object>,
    /// Symbols by block number and symbol identifier.
    symbols: BTreeMap<u32, BTreeMap<u32, Vec<u8>>>,
}

#[derive(Default)]
pub struct Sessions {
    /// Messages of each sender. A sender appends bytes to the message of a connection or of an answer.
    written: BTreeMap<Sender, Vec<Vec<u8>>>,
    /// Sessions of each sender, in the order of the messages that it has sent.
    leaving: BTreeMap<Sender, Vec<FiveTuple>>,
    /// SCDP objects by session. Objects are stored, because not every symbol contains the object's parameters.
    objects: BTreeMap<FiveTuple, Object>,
    /// Sessions that have arrived from each sender, in the order of its messages.
    coming: BTreeMap<Sender, Vec<FiveTuple>>,
    arrived: BTreeMap<FiveTuple, Arrived>,
}

/// Returns the sender whose bytes a segment from host `from` contains.
fn sender(from: usize, segment: &Segment) -> Option<Sender> {
    let number = copy_of_flow(segment.flow)?;
    let is_word = segment.flow != flow_of_copy(number);
    Some((from, number, is_word))
}

fn is_data(segment: &Segment) -> bool {
    let is_kind = match &segment.header {
        Header::Tcp(_) => true,
        Header::Ndp(header) => header.kind == NdpKind::Data,
        Header::Scdp(header) => header.kind == ScdpKind::Symbol,
        _ => false,
    };
    is_kind && segment.payload > 0
}

/// Returns the position of a packet's payload in its session, or `None` for symbols.
fn offset(header: &Header) -> Option<usize> {
    match header {
        Header::Tcp(header) => Some(header.offset as usize),
        Header::Ndp(header) => Some(header.index as usize * NdpConfig::default().mss as usize),
        _ => None,
    }
}

fn object_of(header: &ScdpHeader) -> Option<Object> {
    let object = || Object::from_options(header.length, header.symbol, header.blocks);
    header.syn.then(object).flatten()
}

impl Sessions {
    /// Appends bytes to the last message of a sender, or starts its first message.
    pub fn write(&mut self, from: usize, number: u32, bytes: &[u8]) {
        let messages = self.written.entry((from, number, false)).or_default();
        match messages.last_mut() {
            Some(last) => last.extend(bytes),
            None => messages.push(bytes.to_vec()),
        }
    }

    /// Starts a new message of a sender.
    pub fn begin(&mut self, from: usize, number: u32, is_word: bool, bytes: &[u8]) {
        let messages = self.written.entry((from, number, is_word)).or_default();
        messages.push(bytes.to_vec());
    }

    /// Adds the payload to a segment that leaves its host, and encodes the packet.
    pub fn packed(&mut self, from: usize, segment: &Segment) -> Carried {
        let payload = match sender(from, segment).filter(|_| is_data(segment)) {
            Some(sender) => self.payload(sender, segment),
            None => Vec::new(),
        };
        assert_eq!(payload.len(), segment.payload as usize);
        if let Header::Tcp(_) = segment.header {
            return Carried::Segment(*segment, payload);
        }
        let mut bytes = vec![0; MAX_HEADER_BYTES];
        let header = encode(segment, &mut bytes).expect("every segment of a host can be encoded");
        bytes.truncate(header);
        bytes.extend(payload);
        Carried::Datagram(segment.tuple, segment.ecn, bytes)
    }

    fn payload(&mut self, sender: Sender, segment: &Segment) -> Vec<u8> {
        let sessions = self.leaving.entry(sender).or_default();
        let place = sessions.iter().position(|tuple| *tuple == segment.tuple);
        let place = place.unwrap_or_else(|| {
            sessions.push(segment.tuple);
            sessions.len() - 1
        });
        let message = &self.written[&sender][place];
        if let Some(offset) = offset(&segment.header) {
            return message[offset..offset + segment.payload as usize].to_vec();
        }
        let Header::Scdp(header) = &segment.header else {
            unreachable!("a protocol that carries requests");
        };
        if let Some(object) = object_of(header) {
            self.objects.insert(segment.tuple, object);
        }
        let object = &self.objects[&segment.tuple];
        code::payload(object, header.block, header.esi, message)
    }

    /// Decodes a packet that arrives at a host, and stores its payload.
    pub fn unpacked(&mut self, carried: Carried) -> Segment {
        let (segment, payload) = match carried {
            Carried::Segment(segment, payload) => (segment, payload),
            Carried::Datagram(tuple, ecn, bytes) => {
                let (segment, header) = decode(tuple, ecn, &bytes).expect("what was written");
                (segment, bytes[header..].to_vec())
            }
        };
        let from = segment.tuple.src.0 as usize;
        if let Some(sender) = sender(from, &segment)
            && is_data(&segment)
        {
            self.keep(sender, &segment, payload);
        }
        segment
    }

    fn keep(&mut self, sender: Sender, segment: &Segment, payload: Vec<u8>) {
        let sessions = self.coming.entry(sender).or_default();
        if !sessions.contains(&segment.tuple) {
            sessions.push(segment.tuple);
        }
        let arrived = self.arrived.entry(segment.tuple).or_default();
        if let Header::Scdp(header) = &segment.header {
            arrived.object = arrived.object.or_else(|| object_of(header));
        }
        if segment.condition != Condition::Whole {
            return;
        }
        if let Some(offset) = offset(&segment.header) {
            let end = offset + payload.len();
            arrived.bytes.resize(arrived.bytes.len().max(end), None);
            for (place, byte) in arrived.bytes[offset..].iter_mut().zip(payload) {
                assert!(place.is_none_or(|before| before == byte), "another byte");
                *place = Some(byte);
            }
        } else if let Header::Scdp(header) = &segment.header {
            let block = arrived.symbols.entry(header.block).or_default();
            block.insert(header.esi, payload);
        }
    }

    /// Returns the bytes of a session that have arrived.
    /// If the host has reported how many bytes have arrived, `total` is their number. With `None`, returns all bytes.
    /// `place` is the index of the session among all sessions of the copy from host `from`.
    pub fn arrived(
        &mut self,
        from: usize,
        number: u32,
        place: usize,
        total: Option<u64>,
    ) -> Vec<u8> {
        let tuple = self.coming[&(from, number, false)][place];
        self.read(tuple, total)
    }

    fn read(&mut self, tuple: FiveTuple, total: Option<u64>) -> Vec<u8> {
        let arrived = self.arrived.get_mut(&tuple).expect("a session");
        if let Some(object) = &arrived.object {
            let total = total.unwrap_or(object.length());
            let is_within = |block: &u32| object.bytes_before(*block) < total;
            for block in (0..object.blocks()).filter(is_within) {
                let from = object.bytes_before(block) as usize;
                if arrived.bytes.len() == from {
                    let symbols = arrived.symbols.remove(&block).unwrap_or_default();
                    let bytes = code::decoded(object, block, &symbols);
                    arrived.bytes.extend(bytes.into_iter().map(Some));
                }
            }
        }
        let total = total.map_or(arrived.bytes.len(), |total| total as usize);
        let bytes = arrived.bytes[..total].iter();
        let bytes = bytes.map(|byte| byte.expect("a byte that has arrived"));
        bytes.collect()
    }

    /// Returns the messages that cancel copies and have arrived, each with the number of its copy.
    pub fn words(&mut self) -> Vec<(u32, Vec<u8>)> {
        let words = self.coming.iter().filter(|((_, _, is_word), _)| *is_word);
        let words: Vec<(u32, FiveTuple)> = words
            .flat_map(|((_, number, _), tuples)| tuples.iter().map(|tuple| (*number, *tuple)))
            .collect();
        let mut read = |(number, tuple)| (number, self.read(tuple, None));
        words.into_iter().map(&mut read).collect()
    }
}

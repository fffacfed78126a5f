//! Headers of whole segments. The tailcut header contains all fields of a segment except addresses, ports and ECN.

use crate::codec::{DecodeError, EncodeError};
use crate::prefix::{CONDITION_BITS, Magic, NETWORK_OFFSET, Packet, Prefix, condition_bits};
use crate::scdp::credit::{self, Envelope, Message};
use crate::{ndp, pfabric, scdp};
use tailcut_transport::scdp::ScdpKind;
use tailcut_transport::{Condition, Ecn, Header, Segment};
use tailcut_units::FiveTuple;

/// Length of the longest header of a segment, in bytes.
pub const MAX_HEADER_BYTES: usize = ndp::HEADER_BYTES;

const _: () = assert!(pfabric::HEADER_BYTES <= MAX_HEADER_BYTES);
const _: () = assert!(
    scdp::paper::SYN_BYTES <= MAX_HEADER_BYTES && scdp::paper::PULL_BYTES <= MAX_HEADER_BYTES
);

/// Encodes the header of a segment at the start of `buffer`. Returns the header's length.
/// Addresses, ports and ECN are not encoded, because the headers of lower layers contain them.
///
/// # Errors
/// The buffer is too small, a field is too large, or the segment is a TCP segment.
pub fn encode(segment: &Segment, buffer: &mut [u8]) -> Result<usize, EncodeError> {
    let prefix = Prefix::of(segment);
    match segment.header {
        Header::Tcp(_) => Err(EncodeError::Tcp),
        Header::Ndp(header) => ndp::encode(&Packet { prefix, header }, buffer),
        Header::Credit(_) => credited(segment, buffer),
        Header::Scdp(header)
            if matches!(
                header.kind,
                ScdpKind::Credited | ScdpKind::Offer | ScdpKind::Status
            ) =>
        {
            credited(segment, buffer)
        }
        Header::Scdp(header) => scdp::paper::encode(&Packet { prefix, header }, buffer),
        Header::PFabric(header) => pfabric::encode(&Packet { prefix, header }, buffer),
        Header::Own(words) => own(words, buffer),
    }
}

/// Encodes a header of SCDP in credit mode, for captures of simulated hosts. The session is the number of the flow.
/// Fields that the simulator does not have are 0.
fn credited(segment: &Segment, buffer: &mut [u8]) -> Result<usize, EncodeError> {
    let share = match segment.header {
        Header::Scdp(header) => header.share,
        _ => 0,
    };
    let envelope = Envelope {
        session: segment.flow.0.into(),
        share,
    };
    let message = Message::of(&segment.header, segment.priority);
    let message = message.ok_or(EncodeError::NotCarried { kind: "credit" })?;
    let length = credit::encode(&envelope, &message, buffer)?;
    if segment.condition == Condition::Trimmed
        && let Some(flags) = buffer.get_mut(1)
    {
        *flags |= 1;
    }
    Ok(length)
}

/// Encodes the four header words of a custom transport, each with its most significant byte first.
/// The bytes are only for captures, because tailcut does not know the meaning of the words.
fn own(words: [u64; 4], buffer: &mut [u8]) -> Result<usize, EncodeError> {
    let found = buffer.len();
    let needed = size_of_val(&words);
    let room = buffer.get_mut(..needed);
    let room = room.ok_or(EncodeError::Short { needed, found })?;
    for (bytes, word) in room.chunks_exact_mut(8).zip(words) {
        bytes.copy_from_slice(&word.to_be_bytes());
    }
    Ok(needed)
}

/// Decodes the header at the start of a datagram. Returns the segment and the header's length.
/// If a switch has not removed the payload, it follows the header ([`Prefix::arrived`]).
///
/// # Errors
/// The bytes are not a header of NDP, SCDP or pFabric, or a part of the payload is missing.
pub fn decode(
    tuple: FiveTuple,
    ecn: Ecn,
    datagram: &[u8],
) -> Result<(Segment, usize), DecodeError> {
    let (prefix, header, length) = match Magic::of(datagram)? {
        Magic::Ndp => {
            let (packet, length) = ndp::decode(datagram)?;
            (packet.prefix, Header::Ndp(packet.header), length)
        }
        Magic::Scdp => {
            let (packet, length) = scdp::paper::decode(datagram)?;
            (packet.prefix, Header::Scdp(packet.header), length)
        }
        Magic::PFabric => {
            let (packet, length) = pfabric::decode(datagram)?;
            (packet.prefix, Header::PFabric(packet.header), length)
        }
        Magic::Rans => {
            let found = Magic::Rans as u8;
            return Err(DecodeError::Unknown { found });
        }
    };
    let segment = Segment {
        tuple,
        flow: prefix.flow,
        payload: prefix.payload,
        ecn,
        priority: prefix.priority,
        path: prefix.path,
        rank: prefix.rank,
        trimmable: prefix.trimmable,
        condition: prefix.arrived(datagram.len() - length)?,
        header,
    };
    Ok((segment, length))
}

/// Records in the header of a datagram that a switch has trimmed the datagram or returned it to its sender.
/// Returns the header's length. The caller must remove all bytes after the header.
///
/// # Errors
/// The bytes are not a header of NDP, SCDP or pFabric. The datagram is not changed.
pub fn set_condition(datagram: &mut [u8], condition: Condition) -> Result<usize, DecodeError> {
    let length = match Magic::of(datagram)? {
        Magic::Ndp => ndp::decode(datagram)?.1,
        Magic::Scdp => scdp::paper::decode(datagram)?.1,
        Magic::PFabric => pfabric::decode(datagram)?.1,
        Magic::Rans => {
            let found = Magic::Rans as u8;
            return Err(DecodeError::Unknown { found });
        }
    };
    if let Some(network) = datagram.get_mut(NETWORK_OFFSET) {
        *network = (*network & !CONDITION_BITS) | condition_bits(condition);
    }
    Ok(length)
}

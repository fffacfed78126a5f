//! Prefix of a header: the first 24 bytes of every packet of NDP, SCDP and pFabric.

use crate::codec::{DecodeError, EncodeError, Reader, Writer};
use tailcut_transport::{Condition, PathPin, Segment};
use tailcut_units::FlowId;

/// Version of all layouts in this crate, except SCDP's credit mode, which has version 2.
pub const VERSION: u8 = 1;

/// Length of a [`Prefix`] in bytes.
pub const PREFIX_BYTES: usize = 24;

/// Position of the byte with [`Prefix::condition`] and [`Prefix::trimmable`].
pub(crate) const NETWORK_OFFSET: usize = 5;
/// Bits of the network byte that contain the condition.
pub(crate) const CONDITION_BITS: u8 = 0x03;
/// Bit of the network byte that allows switches to trim the packet.
const TRIMMABLE_BIT: u8 = 0x80;

/// First byte of a header. It identifies the protocol.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub enum Magic {
    /// SCDP.
    Scdp = 0xe1,
    /// NDP.
    Ndp = 0xe2,
    /// pFabric.
    PFabric = 0xe3,
    /// RANS.
    Rans = 0xe4,
}

impl Magic {
    /// Returns the protocol of a header from its first byte.
    ///
    /// # Errors
    /// The bytes are empty, or the first byte is unknown.
    pub fn of(bytes: &[u8]) -> Result<Self, DecodeError> {
        let found = Reader::new(bytes).u8()?;
        [Self::Scdp, Self::Ndp, Self::PFabric, Self::Rans]
            .into_iter()
            .find(|magic| *magic as u8 == found)
            .ok_or(DecodeError::Unknown { found })
    }
}

/// Common fields of all packets of NDP, SCDP and pFabric.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub struct Prefix {
    /// Number of the session at its sender. Answers contain the same number.
    pub flow: FlowId,
    /// Length of the payload in bytes when the packet was sent.
    /// A switch that removes the payload does not change the length.
    pub payload: u32,
    /// Priority class. 0 is the highest.
    pub priority: u8,
    /// Path that the packet must take, or [`PathPin::NONE`].
    pub path: PathPin,
    /// Rank of the packet. Some switches forward the packet with the lowest rank first.
    /// In pFabric, the rank is the number of remaining bytes of the flow.
    pub rank: u32,
    /// Whether a switch may remove the payload.
    pub trimmable: bool,
    /// Change that switches have made in the packet.
    pub condition: Condition,
}

impl Prefix {
    /// Returns the prefix of a segment.
    pub const fn of(segment: &Segment) -> Self {
        Self {
            flow: segment.flow,
            payload: segment.payload,
            priority: segment.priority,
            path: segment.path,
            rank: segment.rank,
            trimmable: segment.trimmable,
            condition: segment.condition,
        }
    }

    /// Returns the condition of the payload. `rest` is the number of bytes after the header.
    /// A switch that does not know this header removes the payload and leaves the header unchanged.
    /// A header with [`Condition::Whole`] and no payload therefore means [`Condition::Trimmed`].
    ///
    /// # Errors
    /// The payload is neither complete nor completely removed.
    pub const fn arrived(&self, rest: usize) -> Result<Condition, DecodeError> {
        let expected = self.payload as usize;
        match (self.condition, rest) {
            (Condition::Whole, _) if rest == expected => Ok(Condition::Whole),
            (Condition::Whole, 0) => Ok(Condition::Trimmed),
            (Condition::Trimmed | Condition::Returned, 0) => Ok(self.condition),
            _ => Err(DecodeError::Payload {
                expected,
                found: rest,
            }),
        }
    }
}

/// Prefix of a header, and the fields of its protocol.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub struct Packet<H> {
    /// Common fields of all protocols.
    pub prefix: Prefix,
    /// Fields that only one protocol has.
    pub header: H,
}

/// Fields of a prefix whose values each protocol defines.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Own {
    /// Length of the whole header in bytes.
    pub(crate) length: usize,
    pub(crate) kind: u8,
    pub(crate) flags: u8,
    /// Last two bytes of the prefix. Some protocols use them.
    pub(crate) last: u16,
}

/// Encodes the prefix of a header of `own.length` bytes. Returns an encoder for the fields after the prefix.
pub(crate) fn write<'a>(
    buffer: &'a mut [u8],
    magic: Magic,
    prefix: &Prefix,
    own: Own,
) -> Result<Writer<'a>, EncodeError> {
    let mut writer = Writer::new(buffer, own.length)?;
    let length = u8::try_from(own.length).map_err(|_| EncodeError::Field {
        name: "header length",
        found: own.length as u64,
    })?;
    let trimmable = if prefix.trimmable { TRIMMABLE_BIT } else { 0 };
    let network = trimmable | condition_bits(prefix.condition);
    writer.put([magic as u8, VERSION, length, own.kind, own.flags, network])?;
    writer.put(path_bits(prefix.path).to_be_bytes())?;
    writer.put(prefix.flow.0.to_be_bytes())?;
    writer.put(prefix.payload.to_be_bytes())?;
    writer.put(prefix.rank.to_be_bytes())?;
    writer.put([prefix.priority, 0])?;
    writer.put(own.last.to_be_bytes())?;
    Ok(writer)
}

/// Decodes magic, version and length, and checks that the header is complete.
/// Returns a decoder for the fields after the prefix, and the header's length.
pub(crate) fn open<'a>(bytes: &'a [u8], magic: Magic) -> Result<(Reader<'a>, usize), DecodeError> {
    let mut reader = Reader::new(bytes);
    let expected = magic as u8;
    match reader.u8()? {
        found if found == expected => {}
        found => return Err(DecodeError::Magic { expected, found }),
    }
    match reader.u8()? {
        VERSION => {}
        found => {
            return Err(DecodeError::Version {
                expected: VERSION,
                found,
            });
        }
    }
    let length = usize::from(reader.u8()?);
    let found = bytes.len();
    match length <= found {
        true => Ok((reader, length)),
        false => Err(DecodeError::Short {
            needed: length,
            found,
        }),
    }
}

/// Decodes the prefix of a header. Returns a decoder for the fields after the prefix, and the values of the prefix.
pub(crate) fn read<'a>(
    bytes: &'a [u8],
    magic: Magic,
) -> Result<(Reader<'a>, Prefix, Own), DecodeError> {
    let (mut reader, length) = open(bytes, magic)?;
    let [kind, flags, network] = reader.take()?;
    let path = path_of(reader.u16()?);
    let flow = FlowId(reader.u32()?);
    let payload = reader.u32()?;
    let rank = reader.u32()?;
    let priority = reader.u8()?;
    reader.reserved::<1>()?;
    let last = reader.u16()?;
    let prefix = Prefix {
        flow,
        payload,
        priority,
        path,
        rank,
        trimmable: network & TRIMMABLE_BIT != 0,
        condition: condition_of(network)?,
    };
    let own = Own {
        length,
        kind,
        flags,
        last,
    };
    Ok((reader, prefix, own))
}

pub(crate) const fn condition_bits(condition: Condition) -> u8 {
    match condition {
        Condition::Whole => 0,
        Condition::Trimmed => 1,
        Condition::Returned => 2,
    }
}

const fn condition_of(network: u8) -> Result<Condition, DecodeError> {
    match network & !TRIMMABLE_BIT {
        0 => Ok(Condition::Whole),
        1 => Ok(Condition::Trimmed),
        2 => Ok(Condition::Returned),
        _ => Err(DecodeError::Field {
            name: "network",
            found: network as u64,
        }),
    }
}

/// Returns the bits that encode a path. `0xffff` means no path.
pub(crate) fn path_bits(path: PathPin) -> u16 {
    path.index().unwrap_or(u16::MAX)
}

pub(crate) const fn path_of(bits: u16) -> PathPin {
    PathPin::to(bits)
}

/// Encodes flags as bits. The first flag is the lowest bit.
pub(crate) fn flag_bits<const N: usize>(flags: [bool; N]) -> u8 {
    let set = flags.iter().zip(0u8..);
    set.fold(0, |bits, (flag, place)| bits | (u8::from(*flag) << place))
}

/// Decodes the flags in a byte. Bits that are not flags must be zero.
pub(crate) fn flags_of<const N: usize>(bits: u8) -> Result<[bool; N], DecodeError> {
    let mut flags = [false; N];
    let mut rest = bits;
    for flag in &mut flags {
        *flag = rest & 1 != 0;
        rest >>= 1;
    }
    match rest {
        0 => Ok(flags),
        _ => Err(DecodeError::Field {
            name: "flags",
            found: bits.into(),
        }),
    }
}

/// Checks that the header has the length that its kind requires.
pub(crate) const fn expect_length(own: &Own, expected: usize) -> Result<(), DecodeError> {
    match own.length == expected {
        true => Ok(()),
        false => Err(DecodeError::Length {
            expected,
            found: own.length,
        }),
    }
}

pub(crate) const fn unknown_kind(kind: u8) -> DecodeError {
    DecodeError::Field {
        name: "kind",
        found: kind as u64,
    }
}

/// Checks that the last two bytes of the prefix are zero, because this protocol does not use them.
pub(crate) const fn expect_unused(own: &Own) -> Result<(), DecodeError> {
    match own.last {
        0 => Ok(()),
        found => Err(DecodeError::Field {
            name: "reserved",
            found: found as u64,
        }),
    }
}

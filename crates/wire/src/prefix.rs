//! What every header of a packet starts with: 24 bytes, the same for NDP, SCDP and pFabric.

use crate::codec::{DecodeError, EncodeError, Reader, Writer};
use tailcut_transport::{Condition, PathPin, Segment};
use tailcut_units::FlowId;

/// The version of every layout here.
pub const VERSION: u8 = 1;

/// Bytes of a [`Prefix`].
pub const PREFIX_BYTES: usize = 24;

/// Where [`Prefix::condition`] and [`Prefix::trimmable`] stand.
pub(crate) const NETWORK_OFFSET: usize = 5;
/// The bits of that byte that hold the condition.
pub(crate) const CONDITION_BITS: u8 = 0x03;
/// The bit of that byte that says that switches may trim.
const TRIMMABLE_BIT: u8 = 0x80;

/// The first byte of a header.
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
    /// The protocol that a header is of, by its first byte.
    ///
    /// # Errors
    /// There is no first byte, or it is none of ours.
    pub fn of(bytes: &[u8]) -> Result<Self, DecodeError> {
        let found = Reader::new(bytes).u8()?;
        [Self::Scdp, Self::Ndp, Self::PFabric, Self::Rans]
            .into_iter()
            .find(|magic| *magic as u8 == found)
            .ok_or(DecodeError::Unknown { found })
    }
}

/// What every packet of NDP, SCDP and pFabric carries beside its protocol's own fields.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub struct Prefix {
    /// The session, by its sender's number, in answers too.
    pub flow: FlowId,
    /// Bytes of payload as they were sent, also where a switch has cut them off.
    pub payload: u32,
    /// Priority class, 0 is the highest.
    pub priority: u8,
    /// The path that the packet is pinned to, if it is.
    pub path: PathPin,
    /// What switches order by where they do (pFabric: bytes that remain); lower goes first.
    pub rank: u32,
    /// Whether a switch may cut the payload off.
    pub trimmable: bool,
    /// What switches did to the packet.
    pub condition: Condition,
}

impl Prefix {
    /// The prefix of a segment.
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

    /// What became of the payload, from the bytes that follow the header. A switch that trims
    /// without knowing this header leaves [`Condition::Whole`] in it and no payload.
    ///
    /// # Errors
    /// The payload is neither whole nor gone.
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

/// A prefix with what its protocol adds.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub struct Packet<H> {
    /// What all protocols have.
    pub prefix: Prefix,
    /// The protocol's own header.
    pub header: H,
}

/// The bytes of a prefix that are the protocol's own.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Own {
    /// Bytes of the whole header.
    pub(crate) length: usize,
    pub(crate) kind: u8,
    pub(crate) flags: u8,
    /// The last two bytes of the prefix.
    pub(crate) last: u16,
}

/// Starts a header of `own.length` bytes.
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

/// Magic and version, and that the bytes are as many as the header says. Gives that number.
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

/// Reads the prefix of a header.
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

/// `0xffff` stands for no path.
pub(crate) fn path_bits(path: PathPin) -> u16 {
    path.index().unwrap_or(u16::MAX)
}

pub(crate) const fn path_of(bits: u16) -> PathPin {
    PathPin::to(bits)
}

/// A bit for each flag that is set, the first is the lowest.
pub(crate) fn flag_bits<const N: usize>(flags: [bool; N]) -> u8 {
    let set = flags.iter().zip(0u8..);
    set.fold(0, |bits, (flag, place)| bits | (u8::from(*flag) << place))
}

/// The flags of a byte, of which the others have to be zero.
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

/// That the header is as long as those of its kind.
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

/// That the last two bytes of the prefix, which this protocol does not use, are zero.
pub(crate) const fn expect_unused(own: &Own) -> Result<(), DecodeError> {
    match own.last {
        0 => Ok(()),
        found => Err(DecodeError::Field {
            name: "reserved",
            found: found as u64,
        }),
    }
}

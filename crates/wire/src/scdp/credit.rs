//! SCDP over UDP sockets: version 2 of SCDP's header, `docs/wire/scdp.md`. Receivers grant credits.
//! A session between real hosts needs fields that the transport does not have.
//! The fields are tokens, probes of the path's MTU, and a session identifier that is independent of addresses.

mod check;

pub use check::{Check, ECHO_BYTES, Echo, LEAST_CHECK};

use crate::codec::{DecodeError, EncodeError, Reader, Writer};
#[cfg(not(feature = "std"))]
use crc::{CRC_32_ISCSI, Crc, Table};
use tailcut_transport::Header;
use tailcut_transport::scdp::{CreditHeader, MAX_ESI, ScdpHeader, ScdpKind, WANTS, Want};

/// Version of this layout, in the upper four bits of the first byte.
pub const VERSION: u8 = 2;
/// Length in bytes of the envelope, the common start of all packets.
pub const PREFIX_BYTES: usize = 12;
/// Length in bytes of the header before a symbol. Only this header remains after trimming.
pub const SYMBOL_BYTES: usize = 32;
/// Length in bytes of an offer without token and padding.
pub const OFFER_BYTES: usize = 48;
/// Length in bytes of a token.
pub const TOKEN_BYTES: usize = 32;
/// Length in bytes of a retry. A retry is shorter than any packet to which it is an answer.
pub const RETRY_BYTES: usize = PREFIX_BYTES + TOKEN_BYTES;
/// Length in bytes of a status message, and of a done message.
pub const STATUS_BYTES: usize = 20;
/// Length in bytes of a close message, and of a probe without padding.
pub const CLOSE_BYTES: usize = 16;
/// Length in bytes of a pull without its list of wants.
pub const PULL_BYTES: usize = 28;
/// Length in bytes of a want. A want requests a number of symbols of one block.
pub const WANT_BYTES: usize = 4;
/// Length in bytes of a proof.
pub const PROOF_BYTES: usize = PREFIX_BYTES + 32;
/// Smallest length in bytes of an offer that requests an answer. With this length, no answer is longer than its offer.
pub const LEAST_OFFER: u16 = 1_200;

/// Flag of an encrypted packet.
pub const SEALED: u8 = 0x80;
/// Flag of a symbol whose payload a switch has removed.
const TRIMMED: u8 = 0x01;

/// Checksum over the first 28 bytes of a symbol's header.
/// After trimming, the UDP checksum is no longer valid, so the header needs its own checksum.
#[cfg(not(feature = "std"))]
const CHECKSUM: Crc<u32, Table<1>> = Crc::<u32, Table<1>>::new(&CRC_32_ISCSI);

/// Common start of all packets.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub struct Envelope {
    /// Session: a random number, chosen by the sender of the offer. Addresses and ports may change during a session.
    pub session: u64,
    /// Number of one of the object's senders. The packet is from this sender or to this sender.
    pub share: u16,
}

/// Header of a symbol. The symbol's bytes follow it.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub struct Symbol {
    /// Number of the credit that the symbol uses.
    pub number: u32,
    /// Number of the source block.
    pub block: u32,
    /// Encoding symbol identifier (ESI), below 2^24.
    pub esi: u32,
    /// Priority class. 0 is the highest.
    pub class: u8,
    /// Clock of the sender in units of 100 ns, modulo 2^32.
    pub stamp: u32,
    /// Whether a switch has recorded here that it removed the symbol's bytes.
    /// Switches that do not know this header remove the bytes without a record.
    pub trimmed: bool,
}

/// Offer of an object by a sender.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub struct Offer {
    /// Size of the object in bytes.
    pub length: u64,
    /// Number of source blocks.
    pub blocks: u32,
    /// Size of a symbol in bytes.
    pub symbol: u16,
    /// Number of hosts that send symbols of this object.
    pub senders: u16,
    /// Number of symbols that this sender sends without credits.
    pub pushed: u16,
    /// Number of this object in its transfer.
    pub slab: u32,
    /// Clock of the sender in units of 100 ns, modulo 2^32.
    pub stamp: u32,
    /// First eight bytes of the hash of the whole transfer.
    pub root: u64,
    /// Token from the retry that the receiver sent. `None` if the sender has no token.
    pub token: Option<[u8; TOKEN_BYTES]>,
    /// Size of the packet in bytes, including padding with zeros. 0 means no padding.
    pub padded: u16,
}

/// Content of a packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Message {
    /// Symbol of an object.
    Symbol(Symbol),
    /// Pull: the receiver grants credits to the sender.
    Pull(CreditHeader),
    /// Offer of an object.
    Offer(Offer),
    /// Retry: the receiver requests that the sender repeats its offer with this token.
    Retry([u8; TOKEN_BYTES]),
    /// Status: the sender reports the credits that it has used.
    Status {
        /// Number of used credits.
        used: u32,
        /// Clock of the sender in units of 100 ns, modulo 2^32.
        stamp: u32,
        /// Whether the sender waits for a message from the receiver.
        asks: bool,
    },
    /// Done: the receiver has the whole object.
    Done {
        /// First eight bytes of the hash of the received object.
        hash: u64,
    },
    /// Close: the sender or the receiver refuses the session, or ends it early.
    Close {
        /// Number of the reason. The application defines the numbers of reasons.
        reason: u16,
    },
    /// Probe: it tests whether a packet of this size arrives.
    Probe {
        /// Size of the probe in bytes, at least 16.
        size: u16,
        /// Number of the probe.
        number: u16,
    },
    /// Acknowledgment of a probe.
    ProbeAck {
        /// Size of the probe in bytes.
        size: u16,
        /// Number of the probe.
        number: u16,
    },
    /// Proof that the sender of an object has the key. It is the answer to a challenge of the receiver.
    Proof([u8; 32]),
    /// Check: a request to an endpoint to answer.
    Check(Check),
    /// Echo: the answer to a check.
    Echo(Echo),
}

impl Message {
    /// Converts a header of the transport to a message. Returns `None` if this version has no message for the header.
    /// Fields that the transport does not have get their default values.
    pub fn of(header: &Header, class: u8) -> Option<Self> {
        let header = match header {
            Header::Scdp(header) => header,
            Header::Credit(header) => return Some(Self::Pull(*header)),
            _ => return None,
        };
        Some(match header.kind {
            ScdpKind::Credited => Self::Symbol(Symbol {
                number: header.pull,
                block: header.block,
                esi: header.esi,
                class,
                stamp: header.count,
                trimmed: false,
            }),
            ScdpKind::Offer => Self::Offer(Offer {
                length: header.length,
                blocks: header.blocks,
                symbol: u16::try_from(header.symbol).ok()?,
                senders: header.senders,
                pushed: u16::try_from(header.count).ok()?,
                ..Offer::default()
            }),
            ScdpKind::Status => Self::Status {
                used: header.pull,
                stamp: header.count,
                asks: header.syn,
            },
            ScdpKind::Done => Self::Done { hash: 0 },
            ScdpKind::Symbol | ScdpKind::Pull => return None,
        })
    }

    /// Converts the message to a header of the transport. `share` is the number of the object's sender.
    /// Returns `None` if the message is not for the transport.
    pub fn header(&self, share: u16) -> Option<Header> {
        let header = match *self {
            Self::Pull(header) => return Some(Header::Credit(header)),
            Self::Symbol(symbol) => ScdpHeader {
                kind: ScdpKind::Credited,
                pull: symbol.number,
                block: symbol.block,
                esi: symbol.esi,
                count: symbol.stamp,
                ..ScdpHeader::default()
            },
            Self::Offer(offer) => ScdpHeader {
                kind: ScdpKind::Offer,
                syn: true,
                count: offer.pushed.into(),
                length: offer.length,
                blocks: offer.blocks,
                symbol: offer.symbol.into(),
                senders: offer.senders,
                share,
                ..ScdpHeader::default()
            },
            Self::Status { used, stamp, asks } => ScdpHeader {
                kind: ScdpKind::Status,
                syn: asks,
                pull: used,
                count: stamp,
                ..ScdpHeader::default()
            },
            Self::Done { .. } => ScdpHeader {
                kind: ScdpKind::Done,
                ..ScdpHeader::default()
            },
            Self::Retry(_)
            | Self::Close { .. }
            | Self::Probe { .. }
            | Self::ProbeAck { .. }
            | Self::Proof(_)
            | Self::Check(_)
            | Self::Echo(_) => {
                return None;
            }
        };
        Some(Header::Scdp(header))
    }

    const fn kind(&self) -> u8 {
        match self {
            Self::Symbol(_) => 0,
            Self::Pull(_) => 1,
            Self::Offer(_) => 2,
            Self::Retry(_) => 3,
            Self::Status { .. } => 4,
            Self::Done { .. } => 5,
            Self::Close { .. } => 6,
            Self::Probe { .. } => 7,
            Self::ProbeAck { .. } => 8,
            Self::Proof(_) => 9,
            Self::Check(_) => 10,
            Self::Echo(_) => 11,
        }
    }

    /// Returns the length of the packet in bytes, without the payload of a symbol.
    fn length(&self) -> usize {
        match self {
            Self::Symbol(_) => SYMBOL_BYTES,
            Self::Pull(pull) => PULL_BYTES + wants(pull).count() * WANT_BYTES,
            Self::Offer(offer) => {
                let token = offer.token.map_or(0, |token| token.len());
                (OFFER_BYTES + token).max(offer.padded.into())
            }
            Self::Retry(_) => RETRY_BYTES,
            Self::Proof(_) => PROOF_BYTES,
            Self::Status { .. } | Self::Done { .. } => STATUS_BYTES,
            Self::Close { .. } | Self::ProbeAck { .. } => CLOSE_BYTES,
            Self::Probe { size, .. } => CLOSE_BYTES.max(usize::from(*size)),
            Self::Check(check) => usize::from(check.size).max(check::CHECK_BYTES),
            Self::Echo(echo) => ECHO_BYTES.max(echo.padded.into()),
        }
    }

    fn flags(&self) -> u8 {
        let [low, high] = match self {
            Self::Symbol(symbol) => [symbol.trimmed, false],
            Self::Pull(pull) => [pull.probe, pull.fin],
            Self::Offer(offer) => [offer.token.is_some(), false],
            Self::Status { asks, .. } => [*asks, false],
            Self::Check(check) => [check.is_full, false],
            Self::Echo(echo) => [echo.is_group, false],
            _ => [false; 2],
        };
        u8::from(low) | u8::from(high) << 1
    }
}

/// Returns the wants that a pull contains.
fn wants(pull: &CreditHeader) -> impl Iterator<Item = &Want> {
    pull.wants
        .iter()
        .filter(|want| want.ahead != Want::NONE.ahead)
}

/// Encodes a packet at the start of `buffer`, but not the payload of a symbol. Returns the number of bytes written.
///
/// # Errors
/// The buffer is too small, or a symbol's identifier has more than 24 bits.
pub fn encode(
    envelope: &Envelope,
    message: &Message,
    buffer: &mut [u8],
) -> Result<usize, EncodeError> {
    let length = message.length();
    let mut writer = Writer::new(buffer, length)?;
    writer.put([VERSION << 4 | message.kind(), message.flags()])?;
    writer.put(envelope.share.to_be_bytes())?;
    writer.put(envelope.session.to_be_bytes())?;
    match message {
        Message::Symbol(symbol) => {
            if symbol.esi >= MAX_ESI {
                return Err(EncodeError::Field {
                    name: "esi",
                    found: symbol.esi.into(),
                });
            }
            writer.put(symbol.number.to_be_bytes())?;
            writer.put(symbol.block.to_be_bytes())?;
            writer.put((symbol.esi << 8 | u32::from(symbol.class)).to_be_bytes())?;
            writer.put(symbol.stamp.to_be_bytes())?;
            let checksum = checksum_of(buffer);
            if let Some(place) = buffer.get_mut(SYMBOL_BYTES - 4..SYMBOL_BYTES) {
                place.copy_from_slice(&checksum.to_be_bytes());
            }
            return Ok(length);
        }
        Message::Pull(pull) => {
            for count in [pull.granted, pull.next, pull.whole, pull.lost] {
                writer.put(count.to_be_bytes())?;
            }
            for want in wants(pull) {
                writer.put(want.ahead.to_be_bytes())?;
                writer.put(want.symbols.to_be_bytes())?;
            }
        }
        Message::Offer(offer) => {
            writer.put(offer.length.to_be_bytes())?;
            writer.put(offer.blocks.to_be_bytes())?;
            for count in [offer.symbol, offer.senders, offer.pushed, 0] {
                writer.put(count.to_be_bytes())?;
            }
            writer.put(offer.slab.to_be_bytes())?;
            writer.put(offer.stamp.to_be_bytes())?;
            writer.put(offer.root.to_be_bytes())?;
            if let Some(token) = offer.token {
                writer.put(token)?;
            }
        }
        Message::Retry(bytes) | Message::Proof(bytes) => writer.put(*bytes)?,
        Message::Status { used, stamp, .. } => {
            writer.put(used.to_be_bytes())?;
            writer.put(stamp.to_be_bytes())?;
        }
        Message::Done { hash } => writer.put(hash.to_be_bytes())?,
        Message::Close { reason } => {
            writer.put(reason.to_be_bytes())?;
            writer.put([0; 2])?;
        }
        Message::Probe { size, number } | Message::ProbeAck { size, number } => {
            writer.put(size.to_be_bytes())?;
            writer.put(number.to_be_bytes())?;
        }
        Message::Check(check) => check.write(&mut writer)?,
        Message::Echo(echo) => echo.write(&mut writer)?,
    }
    // Zeros fill the remaining bytes of the packet as padding.
    let written = writer.written();
    if let Some(rest) = buffer.get_mut(written..length) {
        rest.fill(0);
    }
    Ok(length)
}

/// Returns the priority class of the symbol in a datagram. The symbol may be encrypted.
/// Returns `None` if the header of a symbol is missing or has a wrong checksum, or if no payload follows the header.
pub fn class_of_symbol(datagram: &[u8]) -> Option<u8> {
    let (header, payload) = datagram.split_first_chunk::<SYMBOL_BYTES>()?;
    let [first, flags, .., c0, c1, c2, c3] = *header;
    let is_symbol = first == VERSION << 4 && flags & !SEALED == 0 && !payload.is_empty();
    let is_right = u32::from_be_bytes([c0, c1, c2, c3]) == checksum_of(header);
    (is_symbol && is_right).then_some(header[23])
}

/// Records in a symbol's header that a switch has removed the symbol's payload. Returns the header's length.
/// If the datagram contains no symbol, returns `None` and changes nothing.
pub(crate) fn set_trimmed(datagram: &mut [u8]) -> Option<usize> {
    class_of_symbol(datagram)?;
    *datagram.get_mut(1)? |= TRIMMED;
    Some(SYMBOL_BYTES)
}

/// Returns the checksum of the symbol's header at the start of `bytes`.
/// The checksum covers neither the flag of encryption nor the flag that a switch sets when it trims the symbol.
fn checksum_of(bytes: &[u8]) -> u32 {
    /// Bytes with an alignment of eight. The processor's CRC instructions need this alignment.
    #[repr(align(8))]
    struct Checked([u8; SYMBOL_BYTES - 4]);
    let mut checked = Checked([0; SYMBOL_BYTES - 4]);
    if let Some(header) = bytes.first_chunk() {
        checked.0 = *header;
    }
    checked.0[1] &= !(TRIMMED | SEALED);
    crc32c(&checked.0)
}

#[cfg(feature = "std")]
use crc32c::crc32c;

#[cfg(not(feature = "std"))]
fn crc32c(bytes: &[u8]) -> u32 {
    CHECKSUM.checksum(bytes)
}

/// Decodes a packet. Returns its envelope, its message, and the length of its header.
/// The payload of a symbol or padding follows the header.
///
/// # Errors
/// The bytes are not a packet of this version.
pub fn decode(bytes: &[u8]) -> Result<(Envelope, Message, usize), DecodeError> {
    let mut reader = Reader::new(bytes);
    let [first, flags] = reader.take()?;
    if first >> 4 != VERSION {
        return Err(DecodeError::Version {
            expected: VERSION,
            found: first >> 4,
        });
    }
    let kind = first & 0x0f;
    let known = match kind {
        0 | 2 | 4 | 10 | 11 => 1,
        1 => 3,
        _ => 0,
    };
    if flags & !known != 0 {
        return Err(DecodeError::Field {
            name: "flags",
            found: flags.into(),
        });
    }
    let (low, high) = (flags & 1 != 0, flags & 2 != 0);
    let share = reader.u16()?;
    let session = reader.u64()?;
    let message = match kind {
        0 => {
            let (number, block) = (reader.u32()?, reader.u32()?);
            let [esi @ .., class] = reader.take::<4>()?;
            let stamp = reader.u32()?;
            let found = reader.u32()?;
            if found != checksum_of(bytes) {
                return Err(DecodeError::Field {
                    name: "checksum",
                    found: found.into(),
                });
            }
            let [high, middle, least] = esi;
            Message::Symbol(Symbol {
                number,
                block,
                esi: u32::from_be_bytes([0, high, middle, least]),
                class,
                stamp,
                trimmed: low,
            })
        }
        1 => Message::Pull(read_pull(&mut reader, bytes.len(), [low, high])?),
        2 => Message::Offer(read_offer(&mut reader, bytes.len(), low)?),
        3 => Message::Retry(reader.take()?),
        4 => Message::Status {
            used: reader.u32()?,
            stamp: reader.u32()?,
            asks: low,
        },
        5 => Message::Done {
            hash: reader.u64()?,
        },
        6 => {
            let reason = reader.u16()?;
            reader.reserved::<2>()?;
            Message::Close { reason }
        }
        7 | 8 => {
            let (size, number) = (reader.u16()?, reader.u16()?);
            let expected = usize::from(size);
            match kind {
                7 if expected != bytes.len() => {
                    let found = bytes.len();
                    return Err(DecodeError::Length { expected, found });
                }
                7 => Message::Probe { size, number },
                _ => Message::ProbeAck { size, number },
            }
        }
        9 => Message::Proof(reader.take()?),
        10 => Message::Check(Check::read(&mut reader, bytes.len(), low)?),
        11 => Message::Echo(Echo::read(&mut reader, bytes.len(), low)?),
        _ => {
            return Err(DecodeError::Field {
                name: "kind",
                found: kind.into(),
            });
        }
    };
    let length = message.length();
    if let Message::Offer(_) | Message::Probe { .. } | Message::Check(_) | Message::Echo(_) =
        message
    {
        reader.zeros("padding")?;
    }
    Ok((Envelope { session, share }, message, length))
}

fn read_pull(
    reader: &mut Reader<'_>,
    length: usize,
    [probe, fin]: [bool; 2],
) -> Result<CreditHeader, DecodeError> {
    let mut pull = CreditHeader {
        probe,
        fin,
        granted: reader.u32()?,
        next: reader.u32()?,
        whole: reader.u32()?,
        lost: reader.u32()?,
        wants: [Want::NONE; WANTS],
    };
    // A packet shorter than `PULL_BYTES` has already caused an error above.
    let rest = length - PULL_BYTES;
    if !rest.is_multiple_of(WANT_BYTES) || rest > WANTS * WANT_BYTES {
        return Err(DecodeError::Length {
            expected: PULL_BYTES + (rest / WANT_BYTES).min(WANTS) * WANT_BYTES,
            found: length,
        });
    }
    for want in pull.wants.iter_mut().take(rest / WANT_BYTES) {
        *want = Want {
            ahead: reader.u16()?,
            symbols: reader.u16()?,
        };
        if want.ahead == Want::NONE.ahead {
            return Err(DecodeError::Field {
                name: "ahead",
                found: want.ahead.into(),
            });
        }
    }
    Ok(pull)
}

fn read_offer(
    reader: &mut Reader<'_>,
    length: usize,
    has_token: bool,
) -> Result<Offer, DecodeError> {
    let (bytes, blocks) = (reader.u64()?, reader.u32()?);
    let (symbol, senders, pushed) = (reader.u16()?, reader.u16()?, reader.u16()?);
    reader.reserved::<2>()?;
    let (slab, stamp, root) = (reader.u32()?, reader.u32()?, reader.u64()?);
    let token = match has_token {
        true => Some(reader.take()?),
        false => None,
    };
    let own = OFFER_BYTES + token.map_or(0, |token: [u8; TOKEN_BYTES]| token.len());
    let padded = u16::try_from(length).map_err(|_| DecodeError::Length {
        expected: usize::from(u16::MAX),
        found: length,
    })?;
    Ok(Offer {
        length: bytes,
        blocks,
        symbol,
        senders,
        pushed,
        slab,
        stamp,
        root,
        token,
        padded: if length > own { padded } else { 0 },
    })
}

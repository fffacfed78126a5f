//! SCDP headers of paper mode, version 1: `docs/wire/scdp.md`.

use crate::codec::{DecodeError, EncodeError};
use crate::prefix::{
    self, Magic, Own, PREFIX_BYTES, Packet, expect_length, expect_unused, flag_bits, flags_of,
    unknown_kind,
};
use tailcut_transport::scdp::{MAX_ESI, ScdpHeader, ScdpKind};

/// Length in bytes of the header before a symbol that does not open a session.
pub const SYMBOL_BYTES: usize = PREFIX_BYTES + 8;
/// Length in bytes of the header before a symbol that may open a session.
pub const SYN_BYTES: usize = SYMBOL_BYTES + 24;
/// Length in bytes of a pull, and of the message which reports that the object is complete.
pub const PULL_BYTES: usize = PREFIX_BYTES + 16;

const fn length_of(kind: ScdpKind, syn: bool) -> usize {
    match (kind, syn) {
        (ScdpKind::Symbol, false) => SYMBOL_BYTES,
        (ScdpKind::Symbol, true) => SYN_BYTES,
        (ScdpKind::Pull | ScdpKind::Done, _) => PULL_BYTES,
        (ScdpKind::Credited | ScdpKind::Offer | ScdpKind::Status, _) => 0,
    }
}

/// Returns a copy of a header. Fields that this kind of header does not contain have their default values.
fn carried(header: &ScdpHeader) -> ScdpHeader {
    let named = ScdpHeader {
        kind: header.kind,
        syn: header.syn,
        fin: header.fin,
        pinned: header.pinned,
        block: header.block,
        ..ScdpHeader::default()
    };
    match header.kind {
        ScdpKind::Symbol if header.syn => ScdpHeader { pull: 0, ..*header },
        ScdpKind::Symbol => ScdpHeader {
            esi: header.esi,
            ..named
        },
        ScdpKind::Pull | ScdpKind::Done => ScdpHeader {
            pull: header.pull,
            count: header.count,
            blocks: header.blocks,
            ..named
        },
        // Only credit mode (version 2) has packets of the kinds `Credited`, `Offer` and `Status`.
        ScdpKind::Credited | ScdpKind::Offer | ScdpKind::Status => *header,
    }
}

/// Encodes a header at the start of `buffer`. Returns its length.
///
/// # Errors
/// The buffer is too small, a symbol's identifier has more than 24 bits, or a set field has no place in the header.
pub fn encode(packet: &Packet<ScdpHeader>, buffer: &mut [u8]) -> Result<usize, EncodeError> {
    let header = &packet.header;
    let (kind, name) = match header.kind {
        ScdpKind::Symbol if header.syn => (0, "symbol with SYN"),
        ScdpKind::Symbol => (0, "symbol"),
        ScdpKind::Pull => (1, "pull"),
        ScdpKind::Done => (2, "done"),
        ScdpKind::Credited | ScdpKind::Offer | ScdpKind::Status => {
            return Err(EncodeError::NotCarried {
                kind: "credit, which version 2 has",
            });
        }
    };
    if carried(header) != *header {
        return Err(EncodeError::NotCarried { kind: name });
    }
    if header.esi >= MAX_ESI {
        return Err(EncodeError::Field {
            name: "esi",
            found: header.esi.into(),
        });
    }
    let own = Own {
        length: length_of(header.kind, header.syn),
        kind,
        flags: flag_bits([header.syn, header.fin, header.pinned]),
        last: 0,
    };
    let mut writer = prefix::write(buffer, Magic::Scdp, &packet.prefix, own)?;
    writer.put(header.block.to_be_bytes())?;
    if header.kind == ScdpKind::Symbol {
        writer.put(header.esi.to_be_bytes())?;
        if header.syn {
            writer.put(header.count.to_be_bytes())?;
            writer.put(header.blocks.to_be_bytes())?;
            writer.put(header.length.to_be_bytes())?;
            writer.put(header.symbol.to_be_bytes())?;
            writer.put(header.senders.to_be_bytes())?;
            writer.put(header.share.to_be_bytes())?;
        }
    } else {
        writer.put(header.pull.to_be_bytes())?;
        writer.put(header.count.to_be_bytes())?;
        writer.put(header.blocks.to_be_bytes())?;
    }
    Ok(writer.written())
}

/// Decodes the header at the start of `bytes`. Returns the packet and the header's length.
///
/// # Errors
/// The bytes are not an SCDP header of this version.
pub fn decode(bytes: &[u8]) -> Result<(Packet<ScdpHeader>, usize), DecodeError> {
    let (mut reader, prefix, own) = prefix::read(bytes, Magic::Scdp)?;
    let kind = match own.kind {
        0 => ScdpKind::Symbol,
        1 => ScdpKind::Pull,
        2 => ScdpKind::Done,
        kind => return Err(unknown_kind(kind)),
    };
    let [syn, fin, pinned] = flags_of(own.flags)?;
    expect_length(&own, length_of(kind, syn))?;
    expect_unused(&own)?;
    let mut header = ScdpHeader {
        kind,
        syn,
        fin,
        pinned,
        block: reader.u32()?,
        ..ScdpHeader::default()
    };
    if kind == ScdpKind::Symbol {
        header.esi = reader.u32()?;
        if header.esi >= MAX_ESI {
            return Err(DecodeError::Field {
                name: "esi",
                found: header.esi.into(),
            });
        }
        if syn {
            header.count = reader.u32()?;
            header.blocks = reader.u32()?;
            header.length = reader.u64()?;
            header.symbol = reader.u32()?;
            header.senders = reader.u16()?;
            header.share = reader.u16()?;
        }
    } else {
        header.pull = reader.u32()?;
        header.count = reader.u32()?;
        header.blocks = reader.u32()?;
    }
    Ok((Packet { prefix, header }, own.length))
}

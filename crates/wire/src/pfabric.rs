//! pFabric headers: `docs/wire/pfabric.md`.

use crate::codec::{DecodeError, EncodeError};
use crate::prefix::{
    self, Magic, Own, PREFIX_BYTES, Packet, expect_length, expect_unused, flags_of, unknown_kind,
};
use tailcut_transport::pfabric::{PFabricHeader, PFabricKind};

/// Length of a pFabric header in bytes.
pub const HEADER_BYTES: usize = PREFIX_BYTES + 24;

/// Encodes a header at the start of `buffer`. Returns its length.
///
/// # Errors
/// The buffer is too small.
pub fn encode(packet: &Packet<PFabricHeader>, buffer: &mut [u8]) -> Result<usize, EncodeError> {
    let header = &packet.header;
    let own = Own {
        length: HEADER_BYTES,
        kind: match header.kind {
            PFabricKind::Data => 0,
            PFabricKind::Ack => 1,
            PFabricKind::Probe => 2,
            PFabricKind::ProbeAck => 3,
        },
        flags: 0,
        last: 0,
    };
    let mut writer = prefix::write(buffer, Magic::PFabric, &packet.prefix, own)?;
    for field in [header.index, header.packets, header.cumulative] {
        writer.put(field.to_be_bytes())?;
    }
    Ok(writer.written())
}

/// Decodes the header at the start of `bytes`. Returns the packet and the header's length.
///
/// # Errors
/// The bytes are not a pFabric header of this version.
pub fn decode(bytes: &[u8]) -> Result<(Packet<PFabricHeader>, usize), DecodeError> {
    let (mut reader, prefix, own) = prefix::read(bytes, Magic::PFabric)?;
    expect_length(&own, HEADER_BYTES)?;
    expect_unused(&own)?;
    let [] = flags_of(own.flags)?;
    let header = PFabricHeader {
        kind: match own.kind {
            0 => PFabricKind::Data,
            1 => PFabricKind::Ack,
            2 => PFabricKind::Probe,
            3 => PFabricKind::ProbeAck,
            kind => return Err(unknown_kind(kind)),
        },
        index: reader.u64()?,
        packets: reader.u64()?,
        cumulative: reader.u64()?,
    };
    Ok((Packet { prefix, header }, own.length))
}

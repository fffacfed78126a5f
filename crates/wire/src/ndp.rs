//! NDP headers: `docs/wire/ndp.md`.

use crate::codec::{DecodeError, EncodeError};
use crate::prefix::{
    self, Magic, Own, PREFIX_BYTES, Packet, expect_length, flag_bits, flags_of, path_bits, path_of,
    unknown_kind,
};
use tailcut_transport::ndp::{NdpHeader, NdpKind};
use tailcut_units::Time;

/// Length of an NDP header in bytes.
pub const HEADER_BYTES: usize = PREFIX_BYTES + 32;

/// Encodes a header at the start of `buffer`. Returns its length.
///
/// # Errors
/// The buffer is too small.
pub fn encode(packet: &Packet<NdpHeader>, buffer: &mut [u8]) -> Result<usize, EncodeError> {
    let header = &packet.header;
    let own = Own {
        length: HEADER_BYTES,
        kind: match header.kind {
            NdpKind::Data => 0,
            NdpKind::Ack => 1,
            NdpKind::Nack => 2,
            NdpKind::Pull => 3,
        },
        flags: flag_bits([header.first_window, header.last, header.pinned]),
        last: path_bits(header.path),
    };
    let mut writer = prefix::write(buffer, Magic::Ndp, &packet.prefix, own)?;
    for field in [
        header.index,
        header.cumulative,
        header.pull,
        header.sent.as_ps(),
    ] {
        writer.put(field.to_be_bytes())?;
    }
    Ok(writer.written())
}

/// Decodes the header at the start of `bytes`. Returns the packet and the header's length.
///
/// # Errors
/// The bytes are not an NDP header of this version.
pub fn decode(bytes: &[u8]) -> Result<(Packet<NdpHeader>, usize), DecodeError> {
    let (mut reader, prefix, own) = prefix::read(bytes, Magic::Ndp)?;
    expect_length(&own, HEADER_BYTES)?;
    let [first_window, last, pinned] = flags_of(own.flags)?;
    let header = NdpHeader {
        kind: match own.kind {
            0 => NdpKind::Data,
            1 => NdpKind::Ack,
            2 => NdpKind::Nack,
            3 => NdpKind::Pull,
            kind => return Err(unknown_kind(kind)),
        },
        first_window,
        last,
        pinned,
        path: path_of(own.last),
        index: reader.u64()?,
        cumulative: reader.u64()?,
        pull: reader.u64()?,
        sent: Time::from_ps(reader.u64()?),
    };
    Ok((Packet { prefix, header }, own.length))
}

//! Checks and echoes. A check tests whether an endpoint answers, and how the path to the endpoint changes packets.
//! An echo is the answer. Checks do not belong to a session, and the endpoint that answers stores no state for them.

use crate::codec::{DecodeError, EncodeError, Reader, Writer};
use core::net::{IpAddr, Ipv6Addr, SocketAddr};

/// Length in bytes of a check without padding.
pub(super) const CHECK_BYTES: usize = 20;
/// Length in bytes of an echo without padding.
pub const ECHO_BYTES: usize = 40;
/// Smallest length in bytes of a check. With this length, no echo is longer than its check.
pub const LEAST_CHECK: u16 = 40;

/// Check: a request to an endpoint to answer.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub struct Check {
    /// Size of this packet in bytes, at least [`LEAST_CHECK`]. The packet is padded with zeros.
    pub size: u16,
    /// Number of the check.
    pub number: u16,
    /// TOS or traffic-class byte that the echo must have.
    pub class: u8,
    /// Whether the echo must have the same length as the check.
    pub is_full: bool,
}

/// Echo: the answer to a check. It reports how the check arrived.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Echo {
    /// Number of the check that this echo answers.
    pub number: u16,
    /// Source address of the check, as the endpoint that answers received it.
    pub seen: SocketAddr,
    /// Size in bytes of the receive buffer at the endpoint that answers, without memory that the system adds.
    pub buffer: u32,
    /// TOS or traffic-class byte of the check when it arrived.
    pub class: u8,
    /// Whether the check was sent to a multicast group.
    pub is_group: bool,
    /// Size of the echo in bytes, including padding with zeros. 0 means no padding.
    pub padded: u16,
}

impl Check {
    pub(super) fn write(&self, writer: &mut Writer<'_>) -> Result<(), EncodeError> {
        if self.size < LEAST_CHECK {
            return Err(EncodeError::Field {
                name: "size",
                found: self.size.into(),
            });
        }
        writer.put(self.size.to_be_bytes())?;
        writer.put(self.number.to_be_bytes())?;
        writer.put([self.class, 0, 0, 0])
    }

    /// Decodes a check from a packet of `length` bytes.
    pub(super) fn read(
        reader: &mut Reader<'_>,
        length: usize,
        is_full: bool,
    ) -> Result<Self, DecodeError> {
        let (size, number) = (reader.u16()?, reader.u16()?);
        let class = reader.u8()?;
        reader.reserved::<3>()?;
        let expected = usize::from(size.max(LEAST_CHECK));
        if size < LEAST_CHECK || expected != length {
            let found = length;
            return Err(DecodeError::Length { expected, found });
        }
        Ok(Self {
            size,
            number,
            class,
            is_full,
        })
    }
}

impl Echo {
    pub(super) fn write(&self, writer: &mut Writer<'_>) -> Result<(), EncodeError> {
        writer.put(self.number.to_be_bytes())?;
        writer.put(self.seen.port().to_be_bytes())?;
        let address = match self.seen.ip() {
            IpAddr::V4(address) => address.to_ipv6_mapped(),
            IpAddr::V6(address) => address,
        };
        writer.put(address.octets())?;
        writer.put(self.buffer.to_be_bytes())?;
        writer.put([self.class, 0, 0, 0])
    }

    /// Decodes an echo from a packet of `length` bytes.
    pub(super) fn read(
        reader: &mut Reader<'_>,
        length: usize,
        is_group: bool,
    ) -> Result<Self, DecodeError> {
        let (number, port) = (reader.u16()?, reader.u16()?);
        let address = Ipv6Addr::from(reader.take::<16>()?);
        let (buffer, class) = (reader.u32()?, reader.u8()?);
        reader.reserved::<3>()?;
        let padded = u16::try_from(length).map_err(|_| DecodeError::Length {
            expected: usize::from(u16::MAX),
            found: length,
        })?;
        Ok(Self {
            number,
            seen: SocketAddr::new(address.to_canonical(), port),
            buffer,
            class,
            is_group,
            padded: if length > ECHO_BYTES { padded } else { 0 },
        })
    }
}

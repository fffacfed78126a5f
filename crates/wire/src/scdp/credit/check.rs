//! Checks: whether an endpoint is there, and what the path to it does to packets. They belong to no
//! session, and the end that answers keeps nothing of them.

use crate::codec::{DecodeError, EncodeError, Reader, Writer};
use core::net::{IpAddr, Ipv6Addr, SocketAddr};

/// Bytes of a check without padding.
pub(super) const CHECK_BYTES: usize = 20;
/// Bytes of an echo without padding.
pub const ECHO_BYTES: usize = 40;
/// A check has at least as many bytes, so that no echo is longer than the check it answers.
pub const LEAST_CHECK: u16 = 40;

/// Asks an endpoint to answer.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub struct Check {
    /// Bytes of this packet, at least [`LEAST_CHECK`]; filled with zeros.
    pub size: u16,
    /// Which check it is.
    pub number: u16,
    /// The TOS or traffic-class byte that the answer is to have.
    pub class: u8,
    /// Whether the answer is to be as long as the check.
    pub is_full: bool,
}

/// Answers a check, and tells how it arrived.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Echo {
    /// The check's number.
    pub number: u16,
    /// The address that the check came from, as it is seen there.
    pub seen: SocketAddr,
    /// Bytes that the end which answers has got as its receive buffer, without what the system adds.
    pub buffer: u32,
    /// The TOS or traffic-class byte that the check arrived with.
    pub class: u8,
    /// Whether the check came by a multicast group.
    pub is_group: bool,
    /// Bytes of the packet, with zeros at its end; 0: no padding.
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

    /// Of a packet of `length` bytes.
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

    /// Of a packet of `length` bytes.
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

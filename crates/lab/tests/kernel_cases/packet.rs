//! Packets between the kernel and the peer.

use crate::device::{OWN, PEER};
use etherparse::{IpEcn, IpNumber, Ipv4Header, TcpHeader, TcpOptionElement, TcpSlice};

/// Packet that the kernel has sent, without its addresses.
pub struct Arrival {
    pub header: TcpHeader,
    pub payload: u32,
    /// Whether the packet has an ECN-capable codepoint.
    pub capable: bool,
}

/// Returns the TCP segment of an IPv4 packet. Returns `None` if the packet has another protocol or is incomplete.
pub fn read(packet: &[u8]) -> Option<Arrival> {
    let (ip, rest) = Ipv4Header::from_slice(packet).ok()?;
    let length = usize::from(ip.payload_len().ok()?);
    if ip.protocol != IpNumber::TCP {
        return None;
    }
    let segment = TcpSlice::from_slice(rest.get(..length)?).ok()?;
    Some(Arrival {
        header: segment.to_header(),
        payload: u32::try_from(segment.payload().len()).ok()?,
        capable: ip.ecn != IpEcn::ZERO,
    })
}

/// Returns an IPv4 packet that the peer sends.
pub fn write(
    mut header: TcpHeader,
    options: &[TcpOptionElement],
    payload: &[u8],
    ecn: IpEcn,
) -> Result<Vec<u8>, String> {
    let refused = |error: &dyn std::fmt::Display| format!("no packet has this form ({error})");
    header
        .set_options(options)
        .map_err(|error| refused(&error))?;
    let length = u16::try_from(header.header_len() + payload.len());
    let length = length.map_err(|error| refused(&error))?;
    let mut ip = Ipv4Header::new(length, 64, IpNumber::TCP, PEER.octets(), OWN.octets())
        .map_err(|error| refused(&error))?;
    ip.ecn = ecn;
    ip.header_checksum = ip.calc_header_checksum();
    let sum = header.calc_checksum_ipv4(&ip, payload);
    header.checksum = sum.map_err(|error| refused(&error))?;
    Ok([&ip.to_bytes()[..], &header.to_bytes()[..], payload].concat())
}

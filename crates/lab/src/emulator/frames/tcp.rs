//! Fields of TCP segments that network cards use.

use std::net::IpAddr;
use tailcut_transport::tcp::TcpFlags;
use tailcut_units::{FiveTuple, HostId, Protocol};
use tailcut_wire::foreign::{Content, View};

/// TCP segment in a frame.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TcpSegment {
    /// Source port and destination port.
    pub ports: [u16; 2],
    /// Whether the segment uses IPv6.
    pub is_ipv6: bool,
    /// Flags of the segment.
    pub flags: TcpFlags,
    /// Sequence number of the SYN or of the first byte of payload.
    pub sequence: u32,
    /// Sequence number of the next byte that the sender expects. Valid only with the flag ACK.
    pub acknowledged: u32,
    /// Payload of the segment in bytes.
    pub payload: u32,
}

impl TcpSegment {
    /// Returns the TCP segment of a frame. Returns `None` if there is none or if it is incomplete.
    pub fn of(view: &View<'_>) -> Option<Self> {
        let ip = view.ip?;
        match view.content {
            Content::Tcp {
                flags,
                sequence,
                acknowledged,
                payload,
            } => Some(Self {
                ports: ip.ports?,
                is_ipv6: matches!(ip.src, IpAddr::V6(_)),
                flags,
                sequence,
                acknowledged,
                payload: payload as u32,
            }),
            _ => None,
        }
    }

    /// Returns the TCP segment in the bytes of a frame. Returns `None` without a complete TCP segment.
    pub fn read(frame: &[u8]) -> Option<Self> {
        Self::of(&View::read(frame).ok()?)
    }

    /// Returns the five-tuple of the segment between two hosts.
    pub const fn tuple(&self, src: HostId, dst: HostId) -> FiveTuple {
        let [src_port, dst_port] = self.ports;
        FiveTuple {
            src,
            dst,
            src_port,
            dst_port,
            protocol: Protocol::Tcp,
        }
    }
}

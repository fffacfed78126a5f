//! What network cards look at in a TCP segment.

use std::net::IpAddr;
use tailcut_transport::tcp::TcpFlags;
use tailcut_units::{FiveTuple, HostId, Protocol};
use tailcut_wire::foreign::{Content, View};

/// A TCP segment in a frame.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TcpSegment {
    /// The sender's and the receiver's port.
    pub ports: [u16; 2],
    /// Whether it goes over IPv6.
    pub is_ipv6: bool,
    /// Its flags.
    pub flags: TcpFlags,
    /// Its sequence number: that of the SYN, or of the first byte of payload.
    pub sequence: u32,
    /// The number of the next byte that its sender expects, where its flags have ACK.
    pub acknowledged: u32,
    /// Bytes of payload.
    pub payload: u32,
}

impl TcpSegment {
    /// The segment in a frame, if there is a whole one.
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

    /// The segment in a frame's bytes, if there is a whole one.
    pub fn read(frame: &[u8]) -> Option<Self> {
        Self::of(&View::read(frame).ok()?)
    }

    /// Its addresses between two hosts.
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

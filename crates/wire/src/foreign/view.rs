//! Decoder of Ethernet frames.

use super::membership::{Membership, igmp, mld};
use core::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use etherparse::{
    ArpOperation, ArpPacketSlice, Icmpv4Slice, Icmpv6Slice, LaxNetSlice, LaxSlicedPacket,
    LinkSlice, TcpSlice, TransportSlice,
};
use tailcut_transport::Ecn;
use tailcut_transport::tcp::TcpFlags;
use tailcut_units::mix64;

/// Decoded frame.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct View<'a> {
    /// Length of the frame as it was received, in bytes, without the preamble.
    /// A frame from a TAP device is also without the FCS.
    pub size: usize,
    /// Ethernet address of the sender.
    pub source: [u8; 6],
    /// Ethernet address of the receiver.
    pub destination: [u8; 6],
    /// Number of the outermost VLAN, or `None` without a VLAN tag.
    pub vlan: Option<u16>,
    /// EtherType after all VLAN tags.
    pub ether_type: u16,
    /// Fields of the IP header, or `None` without an IP header.
    pub ip: Option<Ip>,
    /// Content of the frame after the Ethernet and IP headers.
    pub content: Content<'a>,
}

/// Fields of an IP header that switches use, and the ports of TCP or UDP.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Ip {
    /// Address of the sender.
    pub src: IpAddr,
    /// Address of the receiver.
    pub dst: IpAddr,
    /// Protocol number (IANA) after all extension headers.
    pub protocol: u8,
    /// Source and destination port of TCP or UDP.
    /// `None` for fragments.
    /// Only the first fragment contains ports, but all fragments of a datagram should take the same path.
    pub ports: Option<[u16; 2]>,
    /// Differentiated services code point.
    pub dscp: u8,
    /// ECN field.
    pub ecn: Ecn,
    /// TTL (IPv4) or hop limit (IPv6).
    pub ttl: u8,
    /// Position of the packet in its datagram if the packet is a fragment, or `None`.
    pub fragment: Option<Fragment>,
    /// Whether the frame ends before the end of the packet. The IP header contains the packet's length.
    pub is_cut: bool,
}

impl Ip {
    /// Returns the hash of the five-tuple. If there are no ports, zeros replace them.
    pub fn hash(&self) -> u32 {
        let [src_port, dst_port] = self.ports.unwrap_or_default();
        hash([self.src, self.dst], [src_port, dst_port], self.protocol)
    }

    /// Returns the hash of the packets that go in the opposite direction.
    pub fn reversed_hash(&self) -> u32 {
        let [src_port, dst_port] = self.ports.unwrap_or_default();
        hash([self.dst, self.src], [dst_port, src_port], self.protocol)
    }
}

fn hash(addresses: [IpAddr; 2], ports: [u16; 2], protocol: u8) -> u32 {
    let mut state = 0;
    for address in addresses {
        let bits = match address {
            IpAddr::V4(address) => u128::from(address.to_bits()),
            IpAddr::V6(address) => address.to_bits(),
        };
        state = mix64(state ^ (bits >> 64) as u64);
        state = mix64(state ^ bits as u64);
    }
    let [src, dst] = ports.map(u64::from);
    (mix64(state ^ (src << 24 | dst << 8 | u64::from(protocol))) >> 32) as u32
}

/// Position of a fragment in its datagram.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Fragment {
    /// Identification of the datagram. `None` if the IPv6 fragment header is malformed.
    pub id: Option<u32>,
    /// Position in the datagram of the fragment's first byte.
    pub offset: u32,
    /// Whether more fragments of the datagram follow this one.
    pub more: bool,
}

/// Content of a frame.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Content<'a> {
    /// TCP segment.
    Tcp {
        /// Flags of the segment.
        flags: TcpFlags,
        /// Sequence number of the segment: of the SYN, or of the first byte of payload.
        sequence: u32,
        /// Sequence number of the next byte that the sender of this segment expects. Valid if the ACK flag is set.
        acknowledged: u32,
        /// Bytes of payload in the frame.
        payload: usize,
    },
    /// UDP datagram.
    Udp {
        /// Part of the payload that is in the frame.
        payload: &'a [u8],
    },
    /// ICMP message of IPv4 or IPv6.
    Icmp(IcmpKind),
    /// ARP or neighbour discovery message.
    Neighbour(Neighbour),
    /// IGMP or MLD message.
    Membership(Membership<'a>),
    /// Fragment of an IP packet. Fragments are not decoded further.
    Fragment,
    /// Content of any other kind. It may be valid.
    Other,
    /// Headers that are inconsistent or end too early.
    Malformed,
}

impl Content<'_> {
    /// Returns whether the content is the first segment of a TCP handshake.
    pub const fn is_syn(&self) -> bool {
        match self {
            Self::Tcp { flags, .. } => flags.has(TcpFlags::SYN) && !flags.has(TcpFlags::ACK),
            _ => false,
        }
    }

    /// Returns whether the content is the second segment of a TCP handshake.
    pub const fn is_syn_ack(&self) -> bool {
        match self {
            Self::Tcp { flags, .. } => flags.has(TcpFlags::SYN.with(TcpFlags::ACK)),
            _ => false,
        }
    }
}

/// Kind of an ICMP message. IPv4 and IPv6 have common kinds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum IcmpKind {
    /// Ping: the request for an echo.
    EchoRequest,
    /// Answer to a ping.
    EchoReply,
    /// Destination unreachable. `code` contains the reason.
    Unreachable {
        /// Code of the reason. IPv4 and IPv6 have different codes.
        code: u8,
    },
    /// The packet is too large for a link.
    TooBig {
        /// Largest packet that fits, in bytes.
        mtu: u32,
    },
    /// The TTL or the reassembly time has expired.
    TimeExceeded,
    /// The sender should use another router.
    Redirect,
    /// A header of the packet is malformed.
    ParameterProblem,
    /// Message of any other type.
    Other {
        /// Type of the message.
        kind: u8,
        /// Code of the message.
        code: u8,
    },
}

/// Messages between neighbours on a link.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Neighbour {
    /// Request for the owner of an address (ARP request, neighbour solicitation).
    Request {
        /// Requested address.
        target: IpAddr,
    },
    /// Answer of the owner of an address (ARP reply, neighbour advertisement).
    Reply {
        /// Address that the answer is about.
        target: IpAddr,
    },
    /// Router solicitation: a host searches for routers.
    RouterSolicitation,
    /// Router advertisement: a router announces itself.
    RouterAdvertisement,
    /// ARP message of any other kind, or ARP for another protocol than IPv4 over Ethernet.
    Other,
}

/// Error of bytes that are too short to be an Ethernet frame.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error("an Ethernet frame: found {found} bytes, but its header has 14")]
pub struct TooShort {
    /// Number of bytes found.
    pub found: usize,
}

impl<'a> View<'a> {
    /// Decodes a frame. A frame with a complete Ethernet header never causes an error.
    ///
    /// # Errors
    /// The frame is shorter than an Ethernet header.
    pub fn read(frame: &'a [u8]) -> Result<Self, TooShort> {
        let found = frame.len();
        let packet = LaxSlicedPacket::from_ethernet(frame).map_err(|_| TooShort { found })?;
        let Some(LinkSlice::Ethernet2(ethernet)) = &packet.link else {
            return Err(TooShort { found });
        };
        let vlan = packet.vlan_ids().first().map(|id| id.value());
        let behind_tags = packet.ether_payload().map(|payload| payload.ether_type);
        let ip = packet.net.as_ref().and_then(|net| ip_of(net, &packet));
        Ok(Self {
            size: found,
            source: ethernet.source(),
            destination: ethernet.destination(),
            vlan,
            ether_type: behind_tags.unwrap_or(ethernet.ether_type()).0,
            ip,
            content: content_of(&packet, ip.as_ref()),
        })
    }
}

fn ip_of(net: &LaxNetSlice<'_>, packet: &LaxSlicedPacket<'_>) -> Option<Ip> {
    let ports = match &packet.transport {
        Some(TransportSlice::Tcp(tcp)) => Some([tcp.source_port(), tcp.destination_port()]),
        Some(TransportSlice::Udp(udp)) => Some([udp.source_port(), udp.destination_port()]),
        _ => None,
    };
    match net {
        LaxNetSlice::Ipv4(ip) => {
            let header = ip.header();
            let is_fragment = header.is_fragmenting_payload();
            Some(Ip {
                src: header.source_addr().into(),
                dst: header.destination_addr().into(),
                protocol: ip.payload().ip_number.0,
                ports,
                dscp: header.dcp().value(),
                ecn: Ecn::from_bits(header.ecn().value()),
                ttl: header.ttl(),
                fragment: is_fragment.then(|| Fragment {
                    id: Some(header.identification().into()),
                    offset: u32::from(header.fragments_offset().byte_offset()),
                    more: header.more_fragments(),
                }),
                is_cut: ip.payload().incomplete,
            })
        }
        LaxNetSlice::Ipv6(ip) => {
            let header = ip.header();
            let fragment = ip.is_payload_fragmented().then(|| {
                let found =
                    ip.extensions()
                        .clone()
                        .into_iter()
                        .find_map(|extension| match extension {
                            etherparse::Ipv6ExtensionSlice::Fragment(fragment) => Some(Fragment {
                                id: Some(fragment.identification()),
                                offset: u32::from(fragment.fragment_offset().byte_offset()),
                                more: fragment.more_fragments(),
                            }),
                            _ => None,
                        });
                found.unwrap_or(Fragment {
                    id: None,
                    offset: 0,
                    more: false,
                })
            });
            Some(Ip {
                src: header.source_addr().into(),
                dst: header.destination_addr().into(),
                protocol: ip.payload().ip_number.0,
                ports,
                dscp: header.dscp().value(),
                ecn: Ecn::from_bits(header.ecn().value()),
                ttl: header.hop_limit(),
                fragment,
                is_cut: ip.payload().incomplete,
            })
        }
        LaxNetSlice::Arp(_) => None,
    }
}

fn content_of<'a>(packet: &LaxSlicedPacket<'a>, ip: Option<&Ip>) -> Content<'a> {
    if packet.stop_err.is_some() {
        return Content::Malformed;
    }
    if ip.is_some_and(|ip| ip.fragment.is_some()) {
        return Content::Fragment;
    }
    match (&packet.net, &packet.transport) {
        (Some(LaxNetSlice::Arp(packet)), _) => Content::Neighbour(arp(packet)),
        (_, Some(TransportSlice::Tcp(tcp))) => Content::Tcp {
            flags: flags_of(tcp),
            sequence: tcp.sequence_number(),
            acknowledged: tcp.acknowledgment_number(),
            payload: tcp.payload().len(),
        },
        (_, Some(TransportSlice::Udp(udp))) => Content::Udp {
            payload: udp.payload(),
        },
        (_, Some(TransportSlice::Icmpv4(icmp))) => Content::Icmp(icmp4(icmp)),
        (_, Some(TransportSlice::Icmpv6(icmp))) => icmp6(icmp),
        (_, Some(TransportSlice::Igmp(message))) => {
            igmp(message.slice()).map_or(Content::Other, Content::Membership)
        }
        // MLD messages that are too short for an ICMPv6 header have set `stop_err`.
        _ => Content::Other,
    }
}

fn flags_of(tcp: &TcpSlice<'_>) -> TcpFlags {
    let flags = [
        (tcp.fin(), TcpFlags::FIN),
        (tcp.syn(), TcpFlags::SYN),
        (tcp.rst(), TcpFlags::RST),
        (tcp.ack(), TcpFlags::ACK),
        (tcp.ece(), TcpFlags::ECE),
        (tcp.cwr(), TcpFlags::CWR),
    ];
    let set = flags.into_iter().filter(|(is_set, _)| *is_set);
    set.fold(TcpFlags::default(), |all, (_, flag)| all.with(flag))
}

fn arp(packet: &ArpPacketSlice<'_>) -> Neighbour {
    let Ok(target) = <[u8; 4]>::try_from(packet.target_protocol_addr()) else {
        return Neighbour::Other;
    };
    let sender = <[u8; 4]>::try_from(packet.sender_protocol_addr()).unwrap_or(target);
    match packet.operation() {
        ArpOperation::REQUEST => Neighbour::Request {
            target: Ipv4Addr::from(target).into(),
        },
        ArpOperation::REPLY => Neighbour::Reply {
            target: Ipv4Addr::from(sender).into(),
        },
        _ => Neighbour::Other,
    }
}

fn icmp4(icmp: &Icmpv4Slice<'_>) -> IcmpKind {
    use etherparse::icmpv4::{
        CODE_DST_UNREACH_NEED_FRAG, TYPE_DEST_UNREACH, TYPE_ECHO_REPLY, TYPE_ECHO_REQUEST,
        TYPE_PARAMETER_PROBLEM, TYPE_REDIRECT, TYPE_TIME_EXCEEDED,
    };
    let (kind, code) = (icmp.type_u8(), icmp.code_u8());
    let [_, _, high, low] = icmp.bytes5to8();
    match kind {
        TYPE_ECHO_REQUEST => IcmpKind::EchoRequest,
        TYPE_ECHO_REPLY => IcmpKind::EchoReply,
        TYPE_DEST_UNREACH if code == CODE_DST_UNREACH_NEED_FRAG => IcmpKind::TooBig {
            mtu: u16::from_be_bytes([high, low]).into(),
        },
        TYPE_DEST_UNREACH => IcmpKind::Unreachable { code },
        TYPE_TIME_EXCEEDED => IcmpKind::TimeExceeded,
        TYPE_REDIRECT => IcmpKind::Redirect,
        TYPE_PARAMETER_PROBLEM => IcmpKind::ParameterProblem,
        kind => IcmpKind::Other { kind, code },
    }
}

fn icmp6<'a>(icmp: &Icmpv6Slice<'a>) -> Content<'a> {
    use etherparse::icmpv6::{
        TYPE_DST_UNREACH, TYPE_ECHO_REPLY, TYPE_ECHO_REQUEST, TYPE_NEIGHBOR_ADVERTISEMENT,
        TYPE_NEIGHBOR_SOLICITATION, TYPE_PACKET_TOO_BIG, TYPE_PARAMETER_PROBLEM,
        TYPE_REDIRECT_MESSAGE, TYPE_ROUTER_ADVERTISEMENT, TYPE_ROUTER_SOLICITATION,
        TYPE_TIME_EXCEEDED,
    };
    if let Some(message) = mld(icmp.slice()) {
        return Content::Membership(message);
    }
    let (kind, code) = (icmp.type_u8(), icmp.code_u8());
    let target = icmp.payload().first_chunk::<16>();
    let target = target.map(|address| IpAddr::from(Ipv6Addr::from(*address)));
    let kind = match (kind, target) {
        (TYPE_NEIGHBOR_SOLICITATION, Some(target)) => {
            return Content::Neighbour(Neighbour::Request { target });
        }
        (TYPE_NEIGHBOR_ADVERTISEMENT, Some(target)) => {
            return Content::Neighbour(Neighbour::Reply { target });
        }
        (TYPE_NEIGHBOR_SOLICITATION | TYPE_NEIGHBOR_ADVERTISEMENT, None) => {
            return Content::Malformed;
        }
        (TYPE_ROUTER_SOLICITATION, _) => {
            return Content::Neighbour(Neighbour::RouterSolicitation);
        }
        (TYPE_ROUTER_ADVERTISEMENT, _) => {
            return Content::Neighbour(Neighbour::RouterAdvertisement);
        }
        (TYPE_ECHO_REQUEST, _) => IcmpKind::EchoRequest,
        (TYPE_ECHO_REPLY, _) => IcmpKind::EchoReply,
        (TYPE_DST_UNREACH, _) => IcmpKind::Unreachable { code },
        (TYPE_PACKET_TOO_BIG, _) => IcmpKind::TooBig {
            mtu: u32::from_be_bytes(icmp.bytes5to8()),
        },
        (TYPE_TIME_EXCEEDED, _) => IcmpKind::TimeExceeded,
        (TYPE_REDIRECT_MESSAGE, _) => IcmpKind::Redirect,
        (TYPE_PARAMETER_PROBLEM, _) => IcmpKind::ParameterProblem,
        (kind, _) => IcmpKind::Other { kind, code },
    };
    Content::Icmp(kind)
}

//! Ingress of frames: each frame that a host sends becomes a packet of the fabric.

use super::line::{LINE_OVERHEAD, SHORTEST_LINE_TIME};
use super::tcp::TcpSegment;
use super::trimming::TrimCodes;
use crate::emulator::addresses;
use std::net::IpAddr;
use tailcut_fabric::{Ecn, Handshake, Hints, Packet};
use tailcut_units::{HostId, mix64};
use tailcut_wire::foreign::{Content, Membership, View};

/// DSCPs for lower effort: 1 (RFC 8622), and CS1 (8), which was in use before RFC 8622.
const LOWER_EFFORT: [u8; 2] = [1, 8];

/// Destination of a frame.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Destination {
    /// The frame is for one host.
    Host(HostId),
    /// The frame is for the members of a multicast group.
    Group(IpAddr),
    /// The frame is for all other hosts.
    Everybody,
}

/// Packet of the fabric for a frame that enters the network.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Arrival {
    /// Packet of the fabric. Its destination is in the field `to` of this structure.
    pub packet: Packet,
    /// Information for switches that is not part of the packet.
    pub hints: Hints,
    /// Destination of the frame.
    pub to: Destination,
    /// TTL of the packet; `None` if the frame is not IPv4.
    pub ttl: Option<u8>,
    /// TCP segment in the frame, if there is one.
    pub tcp: Option<TcpSegment>,
}

/// Reason why a frame does not enter the network.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Refusal {
    /// The frame is shorter than its headers, or its headers contradict each other.
    Malformed,
    /// The source address belongs to another host than the sender.
    Spoofed,
    /// No host has the destination address.
    NoHost,
    /// The frame is a neighbour message, such as ARP.
    /// The network needs no neighbour messages, because the hosts' neighbour tables are complete from the start.
    Neighbour,
    /// The frame is a group membership message, which the first switch processes.
    Membership,
}

impl Refusal {
    /// Returns whether the frame is an error of the host.
    /// Neighbour and membership messages are no errors, although they do not enter the network.
    pub const fn is_fault(self) -> bool {
        !matches!(self, Self::Neighbour | Self::Membership)
    }

    /// Returns the name of the reason in tables.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Malformed => "malformed",
            Self::Spoofed => "spoofed",
            Self::NoHost => "no-host",
            Self::Neighbour => "neighbour",
            Self::Membership => "membership",
        }
    }
}

/// Returns the packet for a frame that host `from` sends in a network of `hosts` hosts.
/// `codes` are the DSCPs for trimming.
/// If the frame is a group membership message, `on_membership` receives the message.
///
/// # Errors
/// The reason why the frame does not enter the network.
pub fn arrive(
    frame: &[u8],
    from: HostId,
    hosts: u32,
    codes: &TrimCodes,
    on_membership: impl FnOnce(&Membership<'_>),
) -> Result<Arrival, Refusal> {
    let view = View::read(frame).map_err(|_| Refusal::Malformed)?;
    if view.source != addresses::mac(from) {
        return Err(Refusal::Spoofed);
    }
    if let Content::Membership(membership) = &view.content {
        on_membership(membership);
        return Err(Refusal::Membership);
    }
    match view.content {
        Content::Neighbour(_) => return Err(Refusal::Neighbour),
        Content::Malformed => return Err(Refusal::Malformed),
        _ => {}
    }
    if view.ip.is_some_and(|ip| !addresses::is_own(from, ip.src)) {
        return Err(Refusal::Spoofed);
    }
    Ok(Arrival {
        packet: packet(&view, from, codes),
        hints: hints(&view),
        to: destination(&view, hosts).ok_or(Refusal::NoHost)?,
        ttl: view.ip.filter(|ip| ip.src.is_ipv4()).map(|ip| ip.ttl),
        tcp: TcpSegment::of(&view),
    })
}

fn destination(view: &View<'_>, hosts: u32) -> Option<Destination> {
    let mac = view.destination;
    if mac == [0xff; 6] {
        return Some(Destination::Everybody);
    }
    if mac[0] & 1 == 1 {
        let group = view.ip.map(|ip| ip.dst).filter(IpAddr::is_multicast);
        return group.map(Destination::Group);
    }
    addresses::host_of_mac(mac, hosts).map(Destination::Host)
}

fn packet(view: &View<'_>, from: HostId, codes: &TrimCodes) -> Packet {
    let size = line_time(view.size);
    let dscp = view.ip.map_or(0, |ip| ip.dscp);
    let handshake = match &view.content {
        content if content.is_syn() => Handshake::Open,
        content if content.is_syn_ack() => Handshake::Answer,
        _ => Handshake::None,
    };
    let cut = match view.content {
        Content::Udp { payload } => codes.cut(view.size, payload, dscp),
        _ => None,
    };
    let by_code = match codes.control == Some(dscp) {
        true => 0,
        false => priority(dscp),
    };
    Packet {
        src: from,
        flow_hash: view.ip.map_or_else(|| other_hash(view), |ip| ip.hash()),
        size,
        priority: cut.and_then(|cut| cut.class).unwrap_or(by_code),
        ecn: view.ip.map_or(Ecn::NotCapable, |ip| ip.ecn),
        path: Packet::ANY_PATH,
        trimmed_size: cut.map_or(0, |cut| cut.trimmed_size),
        handshake,
        ..Packet::default()
    }
}

/// Returns a hash of the Ethernet addresses. It selects the path of frames without IP.
fn other_hash(view: &View<'_>) -> u32 {
    let mut bytes = [0; 16];
    bytes[..6].copy_from_slice(&view.source);
    bytes[6..12].copy_from_slice(&view.destination);
    (mix64(u128::from_be_bytes(bytes) as u64) >> 32) as u32
}

fn hints(view: &View<'_>) -> Hints {
    let is_handshake = view.content.is_syn() || view.content.is_syn_ack();
    Hints {
        reverse_hash: match view.ip {
            Some(ip) if is_handshake => ip.reversed_hash(),
            _ => 0,
        },
        ..Hints::NONE
    }
}

/// Returns the line time of a frame in bytes: the number of byte times that it occupies a link.
/// `bytes` is the length of the frame at the TAP device.
pub fn line_time(bytes: usize) -> u32 {
    (bytes as u32 + LINE_OVERHEAD).max(SHORTEST_LINE_TIME)
}

/// Returns the DSCP of a priority class. Classes are 0 (highest) to 7.
pub const fn code_point(class: u8) -> u8 {
    match class {
        0..=4 => (6 - class) << 3,
        // The general rule would give class 5 the class selector 1 (DSCP 8). But DSCP 8 means lower effort.
        5 => 10,
        6 => 0,
        _ => LOWER_EFFORT[0],
    }
}

/// Returns the priority class of a DSCP. Class selectors 7 and 6 are class 0, class selector 5 is class 1, and so on.
/// The default DSCP is class 6, and lower effort is class 7.
fn priority(dscp: u8) -> u8 {
    match LOWER_EFFORT.contains(&dscp) {
        true => 7,
        false => 6 - (dscp >> 3).min(6),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tailcut_wire::foreign::set_dscp;

    const HOSTS: u32 = 4;

    /// Returns a datagram from host 1 to host `to` with `payload` bytes of payload.
    fn datagram(to: HostId, payload: usize) -> Vec<u8> {
        let builder =
            etherparse::PacketBuilder::ethernet2(addresses::mac(HostId(1)), addresses::mac(to))
                .ipv4(
                    addresses::ipv4(HostId(1)).octets(),
                    addresses::ipv4(to).octets(),
                    64,
                )
                .udp(7, 9);
        let mut frame = Vec::new();
        builder.write(&mut frame, &vec![0; payload]).expect("fits");
        frame
    }

    fn read(frame: &[u8]) -> Result<Arrival, Refusal> {
        let codes = TrimCodes::default();
        arrive(frame, HostId(1), HOSTS, &codes, |_| {
            panic!("not a membership message")
        })
    }

    #[test]
    fn a_datagram_is_a_packet_with_preamble_gap_and_check_sequence() {
        let arrival = read(&datagram(HostId(3), 1_472)).expect("sound");
        assert_eq!(arrival.to, Destination::Host(HostId(3)));
        assert_eq!(
            (arrival.packet.src, arrival.packet.size),
            (HostId(1), 1_538)
        );
        assert_eq!(
            (arrival.packet.priority, arrival.packet.trimmed_size),
            (6, 0)
        );
        let short = read(&datagram(HostId(3), 1)).expect("sound");
        assert_eq!(short.packet.size, SHORTEST_LINE_TIME);
    }

    #[test]
    fn code_points_say_the_class_and_whether_a_switch_may_trim() {
        let mut frame = datagram(HostId(3), 1_000);
        for (dscp, class) in [(48, 0), (46, 1), (0, 6), (8, 7), (1, 7), (16, 4)] {
            set_dscp(&mut frame, dscp).expect("IP");
            assert_eq!(
                read(&frame).expect("sound").packet.priority,
                class,
                "{dscp}"
            );
        }
        set_dscp(&mut frame, 11).expect("IP");
        let trimmed = read(&frame).expect("sound").packet.trimmed_size;
        assert_eq!(usize::from(trimmed), 14 + 20 + 8 + 64 + 24);
    }

    #[test]
    fn the_code_point_of_a_class_is_read_as_that_class() {
        for class in 0..8 {
            assert_eq!(priority(code_point(class)), class);
            assert_ne!(code_point(class), TrimCodes::default().trimmable);
        }
    }

    #[test]
    fn a_host_that_names_another_as_sender_is_not_heard() {
        let frame = datagram(HostId(3), 10);
        let as_other = arrive(&frame, HostId(2), HOSTS, &TrimCodes::default(), |_| {});
        assert_eq!(as_other, Err(Refusal::Spoofed));
        let mut address = frame.clone();
        address[29] = 3;
        assert_eq!(read(&address), Err(Refusal::Spoofed), "wrong IP address");
    }

    #[test]
    fn whatever_a_host_sends_is_read_or_refused() {
        // Each round damages up to five bytes of a valid frame, and shortens the frame.
        let sound = datagram(HostId(3), 300);
        let mut draws = 0;
        let mut draw = |below: usize| {
            draws += 1;
            mix64(draws) as usize % below
        };
        for _ in 0..20_000 {
            let mut frame = sound.clone();
            for _ in 0..draw(6) {
                let place = draw(frame.len().min(60));
                frame[place] = draw(256) as u8;
            }
            frame.truncate(draw(sound.len() + 1));
            if let Ok(arrival) = arrive(&frame, HostId(1), HOSTS, &TrimCodes::default(), |_| {}) {
                assert!(arrival.packet.size >= SHORTEST_LINE_TIME);
                assert!(arrival.packet.size >= u32::from(arrival.packet.trimmed_size));
            }
        }
    }

    #[test]
    fn frames_for_nobody_and_torn_frames_are_counted_and_dropped() {
        assert_eq!(read(&datagram(HostId(9), 10)), Err(Refusal::NoHost));
        assert_eq!(read(&datagram(HostId(3), 10)[..9]), Err(Refusal::Malformed));
        assert_eq!(
            read(&datagram(HostId(3), 10)[..20]),
            Err(Refusal::Malformed)
        );
    }
}

//! What the fabric is told of a frame that a host has sent.

use super::line::{LINE_OVERHEAD, SHORTEST_LINE_TIME};
use super::tcp::TcpSegment;
use super::trimming::TrimCodes;
use crate::emulator::addresses;
use std::net::IpAddr;
use tailcut_fabric::{Ecn, Handshake, Hints, Packet};
use tailcut_units::{HostId, mix64};
use tailcut_wire::foreign::{Content, Membership, View};

/// The code points of traffic that gives way to all other (RFC 8622, and CS1 as it was used before).
const LOWER_EFFORT: [u8; 2] = [1, 8];

/// Whom a frame is for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Destination {
    /// One host.
    Host(HostId),
    /// The members of a multicast group.
    Group(IpAddr),
    /// Every other host.
    Everybody,
}

/// A frame that enters the network.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Arrival {
    /// What switches know of it, all but its destination.
    pub packet: Packet,
    /// What else they are told.
    pub hints: Hints,
    /// Whom it is for.
    pub to: Destination,
    /// The TTL of an IPv4 packet.
    pub ttl: Option<u8>,
    /// The TCP segment in it, if there is one.
    pub tcp: Option<TcpSegment>,
}

/// Why a frame does not enter the network.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Refusal {
    /// It is shorter than its headers, or they contradict themselves.
    Malformed,
    /// It names another host as its sender.
    Spoofed,
    /// No host has its destination.
    NoHost,
    /// It asks for a neighbour; those are known.
    Neighbour,
    /// It says something about group membership, which ends at the first switch.
    Membership,
}

impl Refusal {
    /// Whether the host did something wrong. Words on neighbours and groups are not for other hosts.
    pub const fn is_fault(self) -> bool {
        !matches!(self, Self::Neighbour | Self::Membership)
    }

    /// Its name in tables.
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

/// Reads a frame of host `from`, one of `hosts`, in a network whose code points for trimming are `codes`. Tells
/// `hear` what it says about group membership.
///
/// # Errors
/// Why it does not enter the network.
pub fn arrive(
    frame: &[u8],
    from: HostId,
    hosts: u32,
    codes: &TrimCodes,
    hear: impl FnOnce(&Membership<'_>),
) -> Result<Arrival, Refusal> {
    let view = View::read(frame).map_err(|_| Refusal::Malformed)?;
    if view.source != addresses::mac(from) {
        return Err(Refusal::Spoofed);
    }
    if let Content::Membership(membership) = &view.content {
        hear(membership);
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

/// Frames without IP take a path by their Ethernet addresses.
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

/// The line time of a frame from a TAP, in bytes.
pub fn line_time(bytes: usize) -> u32 {
    (bytes as u32 + LINE_OVERHEAD).max(SHORTEST_LINE_TIME)
}

/// The code point that stands for a priority class, 0 to 7.
pub const fn code_point(class: u8) -> u8 {
    match class {
        0..=4 => (6 - class) << 3,
        // Class selector 1 has come to mean lower effort.
        5 => 10,
        6 => 0,
        _ => LOWER_EFFORT[0],
    }
}

/// The priority class of a code point, 0 first: class selectors 7 and 6 together, then each in its turn down
/// to the default, which is class 6, and lower effort last.
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

    /// A datagram of host 1 for host `to`, with so many bytes of payload.
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
            panic!("no word on groups")
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
        assert_eq!(read(&address), Err(Refusal::Spoofed), "by its IP address");
    }

    #[test]
    fn whatever_a_host_sends_is_read_or_refused() {
        // Torn and garbled frames of every kind that a host sends.
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

//! Target for frames of hosts in the lab.

use std::convert::Infallible;
use tailcut_lab::frames::{
    Buffers, Destination, Refusal, TcpSegment, TrimCodes, arrive, by_reset, leave,
};
use tailcut_sim::fabric::Ecn;
use tailcut_units::HostId;
use tailcut_wire::foreign::View;

/// Host that sends the frames, and its Ethernet address.
const FROM: (HostId, [u8; 6]) = (HostId(1), [0x02, 0x74, 0x63, 0x00, 0, 2]);
/// Number of hosts.
const HOSTS: u32 = 8;
/// Size of the shortest frame on a link, with preamble and gap, in bytes.
const SHORTEST: u32 = 84;
/// Number of switches on the path of a frame.
const HOPS: u8 = 3;

/// Passes a frame from a host into the fabric, changes it as switches do, and passes it to another host.
/// The first byte selects the changes.
///
/// # Panics
/// If a frame in the name of another host is accepted, or if a frame is longer after it was trimmed.
/// If the changed frame has another source or destination, or cannot be read any more.
pub fn lab_frame(bytes: &[u8]) {
    let Some((&changes, frame)) = bytes.split_first() else {
        return;
    };
    let (from, mac) = FROM;
    let read = View::read(frame).ok();
    let arrived = arrive(frame, from, HOSTS, &TrimCodes::default(), |_| {});
    let arrival = match arrived {
        Ok(arrival) => arrival,
        Err(Refusal::Malformed) => return,
        Err(_) => return assert!(read.is_some()),
    };
    let read = read.expect("an accepted frame is readable");
    assert_eq!(read.source, mac);
    let mut packet = arrival.packet;
    assert!(packet.size >= SHORTEST && packet.size >= u32::from(packet.trimmed_size));
    assert!(!matches!(arrival.to, Destination::Host(host) if host.0 >= HOSTS));
    assert_eq!(arrival.tcp, TcpSegment::read(frame));
    if let Some(tcp) = &arrival.tcp {
        by_reset(from, HostId(0), tcp, arrival.hints);
    }
    if packet.ecn == Ecn::Capable && changes & 1 != 0 {
        packet.ecn = Ecn::Marked;
    }
    if packet.is_trimmable() && changes & 2 != 0 {
        packet.trim();
    }
    packet.hops = HOPS;
    packet.hop_limit = if changes & 4 != 0 { 64 } else { 0 };
    let fill = |buffer: &mut [u8]| {
        buffer[..frame.len()].copy_from_slice(frame);
        Ok::<_, Infallible>(frame.len())
    };
    let Ok(mut left) = Buffers::new(frame.len()).fill(fill);
    leave(&packet, &mut left);
    assert!(left.bytes().len() <= frame.len());
    let after = View::read(left.bytes()).expect("a changed frame is readable");
    assert_eq!(
        (after.source, after.destination),
        (read.source, read.destination)
    );
    assert_eq!(
        after.ip.map(|ip| (ip.src, ip.dst)),
        read.ip.map(|ip| (ip.src, ip.dst))
    );
    if packet.ecn == Ecn::Marked {
        assert_eq!(after.ip.map(|ip| ip.ecn), Some(Ecn::Marked));
    }
}

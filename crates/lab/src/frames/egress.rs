//! What switches have changed of a frame, written into it before its host gets it.

use super::buffer::Frame;
use super::ingress::TRIMMED_PAYLOAD;
use tailcut_fabric::{Ecn, Packet};
use tailcut_wire::foreign::{set_ecn, set_ttl, shorten};

/// Writes into a frame what happened to its packet: a congestion mark, a payload that was cut off, and what
/// the switches that it has passed, the one that it is at not counted, took off its TTL.
pub fn leave(packet: &Packet, frame: &mut Frame) {
    if packet.ecn == Ecn::Marked {
        // A frame without IP is not ECN-capable, and no switch marks it.
        let _ = set_ecn(frame.bytes_mut(), packet.ecn);
    }
    if packet.hop_limit != 0 {
        let passed = packet.hops.saturating_sub(1);
        // Only IPv4 has a hop limit here.
        let _ = set_ttl(frame.bytes_mut(), packet.hop_limit.saturating_sub(passed));
    }
    if packet.trimmed
        && let Ok(length) = shorten(frame.bytes_mut(), TRIMMED_PAYLOAD)
    {
        frame.truncate(length);
    }
}

//! Egress of frames: before a host receives a frame, the changes that switches have made are written into the frame.

use super::buffer::Frame;
use super::trimming::TRIMMED_PAYLOAD;
use tailcut_fabric::{Ecn, Packet};
use tailcut_transport::Condition;
use tailcut_wire::foreign::{Content, Trimmable, View, set_dscp, set_ecn, set_ttl, shorten, trim};

/// Writes the changes of a packet into its frame: the congestion mark, the trimmed payload, and the TTL. All switches
/// that the packet has passed decrement the TTL, except the switch where it is now.
pub fn leave(packet: &Packet, frame: &mut Frame) {
    if packet.ecn == Ecn::Marked {
        // This fails only for a frame without IP. Such a frame is not ECN-capable, so no switch marks it.
        let _ = set_ecn(frame.bytes_mut(), packet.ecn);
    }
    if packet.hop_limit != 0 {
        let passed = packet.hops.saturating_sub(1);
        // This fails only for a frame without IPv4. Such a frame has no hop limit in the lab.
        let _ = set_ttl(frame.bytes_mut(), packet.hop_limit.saturating_sub(passed));
    }
    if packet.trimmed {
        // A trimmed packet of SCDP needs further changes: its header contains a length and a flag for trimming.
        let is_ours = View::read(frame.bytes()).is_ok_and(|view| match view.content {
            Content::Udp { payload } => Trimmable::of(payload).is_some(),
            _ => false,
        });
        let cut = match is_ours {
            true => trim(frame.bytes_mut(), Condition::Trimmed),
            false => shorten(frame.bytes_mut(), TRIMMED_PAYLOAD),
        };
        if let Ok(length) = cut {
            frame.truncate(length);
        }
        if let Some(code) = frame.trimmed_code() {
            let _ = set_dscp(frame.bytes_mut(), code);
        }
    }
}

//! Egress of frames. Before a host receives a frame, this module writes the changes that switches have made into it.

use super::buffer::Frame;
use super::trimming::TRIMMED_PAYLOAD;
use tailcut_fabric::{Ecn, Packet};
use tailcut_transport::Condition;
use tailcut_wire::foreign::{Content, Trimmable, View, set_dscp, set_ecn, set_ttl, shorten, trim};

/// Writes the changes of a packet into its frame: the congestion mark, the trimmed payload, and the TTL.
/// Each switch on the path decrements the TTL, except the switch where the packet is now.
pub fn leave(packet: &Packet, frame: &mut Frame) {
    if packet.ecn == Ecn::Marked {
        // `set_ecn` fails only for a frame without IP. A frame without IP is not ECN-capable, so no switch marks it.
        let _ = set_ecn(frame.bytes_mut(), packet.ecn);
    }
    if packet.hop_limit != 0 {
        let passed = packet.hops.saturating_sub(1);
        // `set_ttl` fails only for a frame without IPv4. The lab applies no hop limit to a frame without IPv4.
        let _ = set_ttl(frame.bytes_mut(), packet.hop_limit.saturating_sub(passed));
    }
    if packet.trimmed {
        // A trimmed packet of SCDP needs further changes: the SCDP header contains the length and a flag for trimming.
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

//! What switches have changed of a frame, written into it before its host gets it.

use super::buffer::Frame;
use super::trimming::TRIMMED_PAYLOAD;
use tailcut_fabric::{Ecn, Packet};
use tailcut_transport::Condition;
use tailcut_wire::foreign::{Content, Trimmable, View, set_dscp, set_ecn, set_ttl, shorten, trim};

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
    if packet.trimmed {
        // A header of ours says by itself where it ends, and then that it was trimmed.
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

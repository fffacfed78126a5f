//! What switches have changed of a frame, written into it before its host gets it.

use super::buffer::Frame;
use super::ingress::TRIMMED_PAYLOAD;
use tailcut_fabric::{Ecn, Packet};
use tailcut_wire::foreign::{set_ecn, shorten};

/// Writes into a frame what happened to its packet: a congestion mark, and a payload that was cut off.
pub fn leave(packet: &Packet, frame: &mut Frame) {
    if packet.ecn == Ecn::Marked {
        // A frame without IP is not ECN-capable, and no switch marks it.
        let _ = set_ecn(frame.bytes_mut(), packet.ecn);
    }
    if packet.trimmed
        && let Ok(length) = shorten(frame.bytes_mut(), TRIMMED_PAYLOAD)
    {
        frame.truncate(length);
    }
}

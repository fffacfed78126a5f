//! Conversion of frames in the fabric for observers, such as packet captures.

use super::buffer::Frame;
use super::egress::leave;
use tailcut_capture::{Body, Carried, RealFrame};
use tailcut_fabric::queue::DropReason;
use tailcut_fabric::{ObservedPacket, Observer, Packet, PortId};
use tailcut_units::{FlowId, HostId, Time};
use tailcut_wire::foreign::View;

impl Body for Frame {
    /// Returns the frame with the changes that switches have made so far.
    fn carried(&self, packet: &Packet) -> Carried {
        let mut frame = self.clone();
        leave(packet, &mut frame);
        let bytes = frame.bytes();
        // The smaller of the two hashes is the same for both directions of a connection.
        // All frames without IP are flow 0.
        let flow = View::read(bytes).ok().and_then(|view| view.ip);
        let flow = flow.map_or(0, |ip| ip.hash().min(ip.reversed_hash()));
        Carried::Real(RealFrame {
            flow: FlowId(flow),
            is_trimmed: packet.trimmed,
            bytes: bytes[..bytes.len().min(RealFrame::KEPT)].to_vec(),
            length: bytes.len() as u32,
        })
    }
}

/// Observer of the lab's frames. It passes each event to an observer that accepts any type of payload.
pub struct OnFrames<'a>(&'a mut dyn Observer<dyn Body>);

impl<'a> OnFrames<'a> {
    /// Creates an observer that forwards to `watch`.
    pub fn new(watch: &'a mut dyn Observer<dyn Body>) -> Self {
        Self(watch)
    }
}

/// Converts an observed packet with a frame to an observed packet with any type of payload.
fn any(seen: ObservedPacket<'_, Frame>) -> ObservedPacket<'_, dyn Body> {
    ObservedPacket {
        now: seen.now,
        port: seen.port,
        id: seen.id,
        packet: seen.packet,
        body: seen.body,
    }
}

impl Observer<Frame> for OnFrames<'_> {
    fn is_on(&self) -> bool {
        self.0.is_on()
    }

    fn enqueued(&mut self, seen: ObservedPacket<'_, Frame>) {
        self.0.enqueued(any(seen));
    }

    fn started(&mut self, seen: ObservedPacket<'_, Frame>) {
        self.0.started(any(seen));
    }

    fn dropped(
        &mut self,
        now: Time,
        port: Option<PortId>,
        reason: DropReason,
        packet: &Packet,
        body: &Frame,
    ) {
        self.0.dropped(now, port, reason, packet, body);
    }

    fn delivered(&mut self, now: Time, host: HostId, packet: &Packet, body: &Frame) {
        self.0.delivered(now, host, packet, body);
    }
}

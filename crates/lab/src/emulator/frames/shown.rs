//! Frames in the fabric, shown to those who look on.

use super::buffer::Frame;
use super::egress::leave;
use tailcut_capture::{Body, Carried, RealFrame};
use tailcut_fabric::queue::DropReason;
use tailcut_fabric::{Observer, Packet, PortId, Seen};
use tailcut_units::{FlowId, HostId, Time};
use tailcut_wire::foreign::View;

impl Body for Frame {
    /// As it is at its place, with what switches have done to its packet so far.
    fn carried(&self, packet: &Packet) -> Carried {
        let mut frame = self.clone();
        leave(packet, &mut frame);
        let bytes = frame.bytes();
        // The same in both directions; frames without IP are one flow.
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

/// Shows the lab's frames to whoever looks on at frames of any kind.
pub struct OnFrames<'a>(&'a mut dyn Observer<dyn Body>);

impl<'a> OnFrames<'a> {
    /// Shows them to `watch`.
    pub fn new(watch: &'a mut dyn Observer<dyn Body>) -> Self {
        Self(watch)
    }
}

/// A packet at a port, its frame as any body.
fn any(seen: Seen<'_, Frame>) -> Seen<'_, dyn Body> {
    Seen {
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

    fn enqueued(&mut self, seen: Seen<'_, Frame>) {
        self.0.enqueued(any(seen));
    }

    fn started(&mut self, seen: Seen<'_, Frame>) {
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

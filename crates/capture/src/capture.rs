//! Capture of packets at hosts or at a port, as frames in a pcapng file.

use crate::capture_points::CapturePoints;
use crate::in_order::InOrder;
use crate::sink::{Captured, Limits, Sink};
use std::io::{self, Write};
use std::sync::Arc;
use tailcut_fabric::queue::DropReason;
use tailcut_fabric::{ObservedPacket, Observer, Packet, PortId};
use tailcut_transport::{Condition, Segment};
use tailcut_units::{FlowId, HostId, Time, stream_seed};
use tailcut_wire::capture::{self, Connection, Direction, Frame, FrameError, Interface, Note};

/// Largest number of bytes of a frame that a capture keeps. The number is enough for all headers.
/// The bytes of generated payloads are not needed, because they are zeros.
const SNAP: u32 = 128;

/// Domain of the random streams for initial sequence numbers. Each flow has a separate stream.
const SEQUENCE_DOMAIN: u64 = 0x7365_7175_656e_6365;

/// Properties of TCP segments that exist on the wire and not in the simulator.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct WireOptions {
    /// Seed of the initial sequence numbers. Each direction of a connection has its own number.
    pub seed: u64,
    /// MSS option in SYNs, in bytes.
    pub mss: u16,
    /// Whether SYNs permit SACK.
    pub sack: bool,
}

impl WireOptions {
    fn frame(&self, segment: &Segment) -> Result<Frame, FrameError> {
        // Hosts reuse ports, so two connections can have the same addresses and ports.
        // The flow number identifies a connection.
        let flow = u64::from(segment.flow.0);
        let seed = stream_seed(self.seed, SEQUENCE_DOMAIN, flow);
        let connection = Connection::drawn(&segment.tuple, seed, self.mss, self.sack);
        capture::frame(segment, &connection, SNAP as usize)
    }
}

/// Frame of a real program at a capture point, with all changes that switches have made so far.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RealFrame {
    /// Flow number of the frame's connection. Frames of both directions have the same number.
    pub flow: FlowId,
    /// Whether a switch has removed the payload.
    pub is_trimmed: bool,
    /// First bytes of the frame, starting with the Ethernet header, without FCS.
    pub bytes: Vec<u8>,
    /// Length of the frame in bytes, without a payload that a switch has removed.
    pub length: u32,
}

impl RealFrame {
    /// Bytes of a frame that a capture keeps.
    pub const KEPT: usize = SNAP as usize;
}

/// Content of a packet for a capture.
pub enum Carried {
    /// Segment, for which the capture generates a frame.
    Segment(Segment),
    /// Frame, which the capture copies.
    Real(RealFrame),
}

/// Body of a packet that can be captured.
pub trait Body {
    /// Returns the content of this body, the body of `packet`. Captures call this function only at capture points.
    fn carried(&self, packet: &Packet) -> Carried;
}

impl Body for Segment {
    fn carried(&self, _: &Packet) -> Carried {
        Carried::Segment(*self)
    }
}

impl Carried {
    const fn flow(&self) -> FlowId {
        match self {
            Self::Segment(segment) => segment.flow,
            Self::Real(frame) => frame.flow,
        }
    }

    const fn condition(&self) -> Condition {
        match self {
            Self::Segment(segment) => segment.condition,
            Self::Real(frame) if frame.is_trimmed => Condition::Trimmed,
            Self::Real(_) => Condition::Whole,
        }
    }
}

/// Event of a packet at a capture point.
#[derive(Clone, Copy)]
enum Event {
    Left,
    Reached,
    Dropped(DropReason),
}

/// Packet at a capture point.
struct CapturedPacket {
    point: u32,
    event: Event,
    carried: Carried,
}

/// Interfaces of a capture point.
struct PointInterfaces {
    interface: Interface,
    /// Interface of the point's dropped packets. `None` before the first drop.
    dropped: Option<Interface>,
    /// Number of drops since the last captured packet left.
    drops: u64,
}

/// Recorder of packets at [`CapturePoints`].
///
/// - At a host, the capture records the packets that the host sends, and the packets that reach it.
/// - At a port, the capture records the packets that the port sends.
/// - At hosts and ports, the capture also records dropped packets.
///   Dropped packets are on a separate interface, `NAME dropped`, with the reason as a comment.
///   The next packet that leaves the point contains the number of drops before it.
///
/// A packet that leaves a point has the time at which the port starts to send it.
/// A packet that reaches its host has the time of its last bit.
///
/// The body of a packet is a segment, for which the capture generates a frame, or a real frame.
pub struct Capture<W> {
    points: Arc<CapturePoints>,
    interfaces_of: Vec<PointInterfaces>,
    wire_options: WireOptions,
    look: fn(&Packet, &Segment) -> Segment,
    pending: InOrder<CapturedPacket>,
    sink: Sink<W>,
}

impl<W: Write> Capture<W> {
    /// Creates a capture that writes to `out`, in small writes.
    /// `look` returns a packet's segment as it is on the wire, after the changes by switches.
    pub fn new(
        out: W,
        points: Arc<CapturePoints>,
        wire_options: WireOptions,
        limits: Limits,
        look: fn(&Packet, &Segment) -> Segment,
    ) -> Self {
        let mut sink = Sink::new(out, limits);
        let interfaces = |sink: &mut Sink<W>, name: &str, rate_bps| PointInterfaces {
            interface: sink.interface(name, SNAP, rate_bps),
            dropped: None,
            drops: 0,
        };
        let all = points.all.iter();
        let interfaces_of =
            all.map(|point| interfaces(&mut sink, &point.name, point.rate.as_bps()));
        let interfaces_of = interfaces_of.collect();
        // A capture without packets still contains its interfaces.
        sink.begin();
        Self {
            points,
            interfaces_of,
            wire_options,
            look,
            pending: InOrder::new(),
            sink,
        }
    }

    /// Writes all packets up to the time `now`.
    fn write_until(&mut self, now: Time) {
        while let Some((at, captured)) = self.pending.next_until(now) {
            self.write(at, captured);
        }
    }

    fn write(&mut self, at: Time, captured: CapturedPacket) {
        let point = captured.point as usize;
        let interfaces = &mut self.interfaces_of[point];
        let mut drops = 0;
        match captured.event {
            Event::Left => drops = std::mem::take(&mut interfaces.drops),
            Event::Reached => {}
            Event::Dropped(_) => interfaces.drops += 1,
        }
        if !self.sink.takes(at, captured.carried.flow()) {
            // A packet that the sink leaves out is not in the file, so the next packet in the file reports the drops.
            interfaces.drops += drops;
            return;
        }
        let comment = comment(&captured);
        let frame = match captured.carried {
            Carried::Segment(segment) => match self.wire_options.frame(&segment) {
                Ok(frame) => frame,
                Err(error) => return self.sink.has_no_frame(error),
            },
            Carried::Real(RealFrame { bytes, length, .. }) => Frame { bytes, length },
        };
        let (interface, direction) = match captured.event {
            Event::Left => (interfaces.interface, Direction::Out),
            Event::Reached => (interfaces.interface, Direction::In),
            Event::Dropped(_) => {
                let point = &self.points.all[point];
                let name = format!("{} dropped", point.name);
                let sink = &mut self.sink;
                let make = || sink.interface(&name, SNAP, point.rate.as_bps());
                (*interfaces.dropped.get_or_insert_with(make), Direction::Out)
            }
        };
        let note = Note {
            comment: &comment,
            direction: Some(direction),
            drops,
        };
        self.sink.put(at, interface, &frame, &note);
    }

    /// Ends the capture of a run that ended at `end`, and returns the output.
    /// Ports may have reported events after `end` in advance. The capture discards events after `end`.
    ///
    /// # Errors
    /// The first error of the output.
    pub fn finish(mut self, end: Time) -> io::Result<(W, Captured)> {
        self.write_until(end);
        self.sink.finish()
    }

    fn record<B: Body + ?Sized>(
        &mut self,
        at: Time,
        point: Option<u32>,
        event: Event,
        packet: &Packet,
        body: &B,
    ) {
        if let Some(point) = point {
            let carried = match body.carried(packet) {
                Carried::Segment(segment) => Carried::Segment((self.look)(packet, &segment)),
                real => real,
            };
            let captured = CapturedPacket {
                point,
                event,
                carried,
            };
            self.pending.push(at, captured);
        }
    }
}

/// Returns the comment of a packet.
fn comment(captured: &CapturedPacket) -> String {
    let condition = match captured.carried.condition() {
        Condition::Whole => None,
        Condition::Trimmed => Some("trimmed".to_owned()),
        Condition::Returned => Some("trimmed, on the way back to its sender".to_owned()),
    };
    let dropped = match captured.event {
        Event::Dropped(reason) => Some(format!("dropped: {}", reason.name())),
        Event::Left | Event::Reached => None,
    };
    let said: Vec<String> = dropped.into_iter().chain(condition).collect();
    said.join("; ")
}

impl<W: Write, B: Body + ?Sized> Observer<B> for Capture<W> {
    fn enqueued(&mut self, seen: ObservedPacket<'_, B>) {
        self.write_until(seen.now);
    }

    fn started(&mut self, seen: ObservedPacket<'_, B>) {
        let point = self.points.of_port(seen.port);
        self.record(seen.now, point, Event::Left, seen.packet, seen.body);
    }

    fn dropped(
        &mut self,
        now: Time,
        port: Option<PortId>,
        reason: DropReason,
        packet: &Packet,
        body: &B,
    ) {
        self.write_until(now);
        let point = port.and_then(|port| self.points.of_port(port));
        self.record(now, point, Event::Dropped(reason), packet, body);
    }

    fn delivered(&mut self, now: Time, host: HostId, packet: &Packet, body: &B) {
        self.write_until(now);
        let point = self.points.of_host(host);
        self.record(now, point, Event::Reached, packet, body);
    }
}

//! Capture of packets at hosts or at a port, as frames in a pcapng file.

use crate::in_order::InOrder;
use crate::places::Places;
use crate::sink::{Captured, Limits, Sink};
use std::io::{self, Write};
use std::sync::Arc;
use tailcut_fabric::queue::DropReason;
use tailcut_fabric::{Observer, Packet, PortId, Seen};
use tailcut_transport::{Condition, Segment};
use tailcut_units::{FlowId, HostId, Time, stream_seed};
use tailcut_wire::capture::{self, Connection, Direction, Frame, FrameError, Interface, Note};

/// Bytes of a frame that are kept. All headers fit. Payloads are zeros.
const SNAP: u32 = 128;

/// Domain of the initial sequence numbers among random streams, with one stream per flow.
const SEQUENCE_DOMAIN: u64 = 0x7365_7175_656e_6365;

/// Properties of TCP segments that exist on the wire and not in the simulator.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Dress {
    /// Seed of the initial sequence numbers. Each direction of a connection has its own number.
    pub seed: u64,
    /// MSS in SYNs.
    pub mss: u16,
    /// Whether SYNs permit SACK.
    pub sack: bool,
}

impl Dress {
    fn frame(&self, segment: &Segment) -> Result<Frame, FrameError> {
        // The flow is part of the seed, because a host uses its ports again.
        let flow = u64::from(segment.flow.0);
        let seed = stream_seed(self.seed, SEQUENCE_DOMAIN, flow);
        let connection = Connection::drawn(&segment.tuple, seed, self.mss, self.sack);
        capture::frame(segment, &connection, SNAP as usize)
    }
}

/// Real frame at a place, including the changes by switches.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RealFrame {
    /// Number of the connection that the frame belongs to, the same in both directions.
    pub flow: FlowId,
    /// Whether a switch has removed the payload.
    pub is_trimmed: bool,
    /// First bytes of the frame, starting with the Ethernet header, without FCS.
    pub bytes: Vec<u8>,
    /// Bytes of the frame, without a payload that was removed.
    pub length: u32,
}

impl RealFrame {
    /// Bytes of a frame that a capture keeps.
    pub const KEPT: usize = SNAP as usize;
}

/// Content of a packet for a capture.
pub enum Carried {
    /// A segment. Its frame is generated.
    Segment(Segment),
    /// A frame.
    Real(RealFrame),
}

/// Body of a packet that can be captured.
pub trait Body {
    /// Returns the content of the body in `packet`. Called only at the places of a capture.
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

/// Event of a packet.
#[derive(Clone, Copy)]
enum Event {
    Left,
    Reached,
    Dropped(DropReason),
}

/// Packet that was seen.
struct Sighting {
    place: u32,
    event: Event,
    carried: Carried,
}

/// Captured place.
struct Lane {
    interface: Interface,
    /// Interface of its dropped packets, after the first drop.
    dropped: Option<Interface>,
    /// Drops since the last packet left.
    drops: u64,
}

/// Capture at its [`Places`]. At a host it records the packets that leave its uplinks and the
/// packets that reach it. At a port it records the packets that the port sends. At both it records
/// drops. A packet that leaves has the time at which its service begins. A packet that reaches its
/// host has the time of its last bit.
///
/// Dropped packets are on a separate interface, `NAME dropped`, with the reason as a comment. The
/// next packet that leaves has the number of drops.
///
/// Packets carry segments, for which frames are generated, or real frames.
pub struct Capture<W> {
    places: Arc<Places>,
    lanes: Vec<Lane>,
    dress: Dress,
    look: fn(&Packet, &Segment) -> Segment,
    seen: InOrder<Sighting>,
    sink: Sink<W>,
}

impl<W: Write> Capture<W> {
    /// Creates a capture into `out`, which gets small writes. `look` returns a packet's segment as
    /// it is on the wire, after the changes by switches.
    pub fn new(
        out: W,
        places: Arc<Places>,
        dress: Dress,
        limits: Limits,
        look: fn(&Packet, &Segment) -> Segment,
    ) -> Self {
        let mut sink = Sink::new(out, limits);
        let lane = |sink: &mut Sink<W>, name: &str, rate_bps| Lane {
            interface: sink.interface(name, SNAP, rate_bps),
            dropped: None,
            drops: 0,
        };
        let all = places.all.iter();
        let lanes = all.map(|place| lane(&mut sink, &place.name, place.rate.as_bps()));
        let lanes = lanes.collect();
        sink.begin();
        Self {
            places,
            lanes,
            dress,
            look,
            seen: InOrder::new(),
            sink,
        }
    }

    /// Writes all packets up to the time `now`.
    fn write_until(&mut self, now: Time) {
        while let Some((at, sighting)) = self.seen.next_until(now) {
            self.write(at, sighting);
        }
    }

    fn write(&mut self, at: Time, sighting: Sighting) {
        let place = sighting.place as usize;
        let lane = &mut self.lanes[place];
        let mut drops = 0;
        match sighting.event {
            Event::Left => drops = std::mem::take(&mut lane.drops),
            Event::Reached => {}
            Event::Dropped(_) => lane.drops += 1,
        }
        if !self.sink.takes(at, sighting.carried.flow()) {
            lane.drops += drops;
            return;
        }
        let comment = comment(&sighting);
        let frame = match sighting.carried {
            Carried::Segment(segment) => match self.dress.frame(&segment) {
                Ok(frame) => frame,
                Err(error) => return self.sink.has_no_frame(error),
            },
            Carried::Real(RealFrame { bytes, length, .. }) => Frame { bytes, length },
        };
        let (interface, direction) = match sighting.event {
            Event::Left => (lane.interface, Direction::Out),
            Event::Reached => (lane.interface, Direction::In),
            Event::Dropped(_) => {
                let place = &self.places.all[place];
                let name = format!("{} dropped", place.name);
                let sink = &mut self.sink;
                let make = || sink.interface(&name, SNAP, place.rate.as_bps());
                (*lane.dropped.get_or_insert_with(make), Direction::Out)
            }
        };
        let note = Note {
            comment: &comment,
            direction: Some(direction),
            drops,
        };
        self.sink.put(at, interface, &frame, &note);
    }

    /// Ends the capture of a run that ended at `end`. Events after `end` were reported early and
    /// are discarded. Returns the output.
    ///
    /// # Errors
    /// The first error of the output.
    pub fn finish(mut self, end: Time) -> io::Result<(W, Captured)> {
        self.write_until(end);
        self.sink.finish()
    }

    fn see<B: Body + ?Sized>(
        &mut self,
        at: Time,
        place: Option<u32>,
        event: Event,
        packet: &Packet,
        body: &B,
    ) {
        if let Some(place) = place {
            let carried = match body.carried(packet) {
                Carried::Segment(segment) => Carried::Segment((self.look)(packet, &segment)),
                real => real,
            };
            let sighting = Sighting {
                place,
                event,
                carried,
            };
            self.seen.tell(at, sighting);
        }
    }
}

/// Returns the comment of a packet.
fn comment(sighting: &Sighting) -> String {
    let condition = match sighting.carried.condition() {
        Condition::Whole => None,
        Condition::Trimmed => Some("trimmed".to_owned()),
        Condition::Returned => Some("trimmed, on the way back to its sender".to_owned()),
    };
    let dropped = match sighting.event {
        Event::Dropped(reason) => Some(format!("dropped: {}", reason.name())),
        Event::Left | Event::Reached => None,
    };
    let said: Vec<String> = dropped.into_iter().chain(condition).collect();
    said.join("; ")
}

impl<W: Write, B: Body + ?Sized> Observer<B> for Capture<W> {
    fn enqueued(&mut self, seen: Seen<'_, B>) {
        self.write_until(seen.now);
    }

    fn started(&mut self, seen: Seen<'_, B>) {
        let place = self.places.of_port(seen.port);
        self.see(seen.now, place, Event::Left, seen.packet, seen.body);
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
        let place = port.and_then(|port| self.places.of_port(port));
        self.see(now, place, Event::Dropped(reason), packet, body);
    }

    fn delivered(&mut self, now: Time, host: HostId, packet: &Packet, body: &B) {
        self.write_until(now);
        let place = self.places.of_host(host);
        self.see(now, place, Event::Reached, packet, body);
    }
}

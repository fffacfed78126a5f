//! A capture: packets at hosts or at a port, as frames in a pcapng file.

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

/// Bytes that are kept of a frame: more than all of its headers. Payloads are zeros.
const SNAP: u32 = 128;

/// The domain of initial sequence numbers among random streams, one a flow.
const SEQUENCE_DOMAIN: u64 = 0x7365_7175_656e_6365;

/// What TCP segments have on the wire and not in the simulator.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Dress {
    /// Of the initial sequence numbers: one for each direction of a connection.
    pub seed: u64,
    /// The MSS that SYNs tell.
    pub mss: u16,
    /// Whether SYNs permit SACK.
    pub sack: bool,
}

impl Dress {
    fn frame(&self, segment: &Segment) -> Result<Frame, FrameError> {
        // The flow takes part, as a host uses its ports again.
        let flow = u64::from(segment.flow.0);
        let seed = stream_seed(self.seed, SEQUENCE_DOMAIN, flow);
        let connection = Connection::drawn(&segment.tuple, seed, self.mss, self.sack);
        capture::frame(segment, &connection, SNAP as usize)
    }
}

/// A real frame, as it is at a place: with what switches have done to it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RealFrame {
    /// A number for the connection that it belongs to, the same in both directions.
    pub flow: FlowId,
    /// Whether a switch has cut its payload off.
    pub is_trimmed: bool,
    /// Its first bytes, from the Ethernet header on, without FCS.
    pub bytes: Vec<u8>,
    /// How many it has, the payload that was cut off not counted.
    pub length: u32,
}

impl RealFrame {
    /// Bytes of a frame that a capture keeps.
    pub const KEPT: usize = SNAP as usize;
}

/// What a packet carries, as a capture takes it.
pub enum Carried {
    /// A segment, whose frame is made up.
    Segment(Segment),
    /// A frame.
    Real(RealFrame),
}

/// The body of a packet that can be captured.
pub trait Body {
    /// What is captured of it in `packet`. Asked at the places of a capture only.
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

/// What happened to a packet.
#[derive(Clone, Copy)]
enum Event {
    Left,
    Reached,
    Dropped(DropReason),
}

/// A packet that was seen.
struct Sighting {
    place: u32,
    event: Event,
    carried: Carried,
}

/// One of the places that are captured.
struct Lane {
    interface: Interface,
    /// Where its dropped packets are, once there is one.
    dropped: Option<Interface>,
    /// Drops since a packet left.
    drops: u64,
}

/// Captures what passes its [`Places`]: of a host what leaves its uplinks and what reaches it, of
/// a port what it sends, and what either drops. A packet that leaves is stamped with the time
/// when its service begins, one that reaches its host with that of its last bit.
///
/// Dropped packets are on an interface of their own, `NAME dropped`, each with the reason as its
/// comment; the next packet that leaves tells how many there were.
///
/// Packets carry segments, for which frames are made up, or real frames.
pub struct Capture<W> {
    places: Arc<Places>,
    lanes: Vec<Lane>,
    dress: Dress,
    look: fn(&Packet, &Segment) -> Segment,
    seen: InOrder<Sighting>,
    sink: Sink<W>,
}

impl<W: Write> Capture<W> {
    /// A capture into `out`, which gets small pieces. `look` is what a packet's segment is on the
    /// wire, after what switches have done to the packet.
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

    /// Writes what has come by `now`.
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

    /// Ends the capture of a run that ended at `end`: what was told of times after it did not
    /// happen. Gives back where it was written to.
    ///
    /// # Errors
    /// The first reason why something could not be written.
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

/// What has to be said of a packet.
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

//! Compares two kinds of simulated hosts.
//! The first kind exchanges segments, and the second runs the driver's engines over bytes.
//! Both kinds of hosts must give the same record: every packet is sent at the same time.

use super::{Memory, address, engine, news, object};
use crate::codec::Codes;
use crate::driver::engine::{Engine, News};
use crate::driver::outgoing::{Payload, Task};
use crate::udp::{Ancillary, Incoming, TrafficClass};
use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex};
use support::{queue_of, simulate, single_switch, trace};
use tailcut_record::RunRecord;
use tailcut_sim::{Design, HostSeat, Hosts, Ports, Registered};
use tailcut_transport::scdp::{
    BlockOrder, CreditConfig, Delivery, DriverCodec, Host, Mode, ScdpConfig,
};
use tailcut_transport::{Condition, Event, FlowStats, Message, Segment, Transport};
use tailcut_units::{Duration, Ecn, FiveTuple, FlowId, HostId, Protocol, Time};
use tailcut_wire::scdp::credit;
use tailcut_wire::{decode, set_condition};

#[path = "../../../../sim/tests/truth/support.rs"]
#[allow(dead_code, reason = "it serves other tests too")]
mod support;

fn config(mode: Mode) -> ScdpConfig {
    ScdpConfig {
        mode,
        // The simulator has no probes. So every path must carry symbols of this size.
        symbol: 1_160,
        delivery: Delivery::Blocks {
            order: BlockOrder::AsWhole,
            window: u64::MAX,
        },
        ..ScdpConfig::default()
    }
}

/// Bytes of the simulated segments. The index of a segment in this list is its field `rank`.
type Wire = Arc<Mutex<Vec<Vec<u8>>>>;

/// Simulated host that runs the driver's engine.
struct OverBytes {
    me: HostId,
    engine: Engine,
    net: Memory,
    wire: Wire,
    codes: Codes,
    /// Flow number in the simulator, by the engine's flow number.
    flows: BTreeMap<FlowId, FlowId>,
    events: VecDeque<Event>,
}

impl OverBytes {
    fn new(me: HostId, mode: Mode, wire: Wire) -> Self {
        Self {
            me,
            engine: engine(me.0, config(mode)),
            net: Memory::new(address(me.0)),
            wire,
            codes: Codes::new(16),
            flows: BTreeMap::new(),
            events: VecDeque::new(),
        }
    }

    fn settle(&mut self, now: Time) {
        while let Some(job) = self.engine.poll_job() {
            let decoded = job.run(&self.codes);
            self.engine.on_decoded(now, &decoded);
        }
        for news in news(&mut self.engine) {
            self.events.push_back(match news {
                News::Sent(flow, stats, ..) => Event::Closed(self.flows[&flow], stats),
                News::Failed(flow, _) => Event::Failed(self.flows[&flow], FlowStats::default()),
                News::Received { bytes, .. } => {
                    let flow = u32::from_be_bytes(bytes[..4].try_into().expect("four bytes"));
                    assert!(bytes[4..] == object(bytes.len(), flow.into())[4..]);
                    Event::Completed(FlowId(flow))
                }
            });
        }
    }
}

impl Transport for OverBytes {
    fn submit(&mut self, now: Time, message: Message) {
        let mut bytes = object(message.bytes as usize, message.flow.0.into());
        // `News::Received` does not contain the flow number. So the object starts with it, and `settle` reads it.
        bytes[..4].copy_from_slice(&message.flow.0.to_be_bytes());
        let sent = self
            .engine
            .send(now, Task::one(address(message.dst.0), Payload::new(bytes)));
        self.flows.insert(sent.expect("few peers"), message.flow);
        // A simulated host reports this event at the start of a flow. The engine drops the event.
        self.events.push_back(Event::Established(message.flow));
        self.settle(now);
    }

    fn on_segment(&mut self, now: Time, segment: Segment) {
        let mut bytes = self.wire.lock().expect("one thread")[segment.rank as usize].clone();
        if segment.condition == Condition::Trimmed {
            let kept = match self.engine.is_paper() {
                true => set_condition(&mut bytes, Condition::Trimmed).expect("a header"),
                // The switch in this case does not know the header, so it leaves this number of bytes.
                false => credit::SYMBOL_BYTES,
            };
            bytes.truncate(kept);
        }
        let class = TrafficClass::default().with_ecn(segment.ecn);
        let incoming = Incoming {
            from: address(segment.tuple.src.0),
            ancillary: Ancillary {
                class,
                ..Ancillary::default()
            },
            is_cut: false,
            bytes: &bytes,
        };
        self.engine.on_incoming(now, &incoming);
        self.settle(now);
    }

    fn on_timeout(&mut self, now: Time) {
        self.engine.on_timeout(now);
        self.settle(now);
    }

    fn poll_transmit(&mut self, now: Time) -> Option<Segment> {
        self.engine.transmit(now, &mut self.net, 1);
        let datagram = self.net.sent.pop_front()?;
        let hosts = (0..).map(HostId);
        let tuple = FiveTuple {
            src: self.me,
            dst: hosts.take(9).find(|host| address(host.0) == datagram.to)?,
            src_port: 0,
            dst_port: 0,
            protocol: Protocol::Udp,
        };
        let ecn = datagram.class.ecn();
        let segment = match self.engine.is_paper() {
            true => {
                decode(tuple, ecn, &datagram.bytes)
                    .expect("what was written")
                    .0
            }
            false => credited(tuple, ecn, &datagram.bytes),
        };
        let mut wire = self.wire.lock().expect("one thread");
        wire.push(datagram.bytes);
        let rank = wire.len() as u32 - 1;
        Some(Segment { rank, ..segment })
    }

    fn has_transmit(&self) -> bool {
        self.engine.has_transmit()
    }

    fn poll_event(&mut self) -> Option<Event> {
        self.events.pop_front()
    }

    fn next_timeout(&self) -> Option<Time> {
        self.engine.next_timeout()
    }

    fn unfinished(&self) -> Vec<(FlowId, FlowStats)> {
        Vec::new()
    }
}

/// Converts a datagram of version 2 to the corresponding segment.
fn credited(tuple: FiveTuple, ecn: Ecn, bytes: &[u8]) -> Segment {
    let (envelope, message, length) = credit::decode(bytes).expect("what was written");
    let (payload, priority) = match message {
        credit::Message::Symbol(symbol) => ((bytes.len() - length) as u32, symbol.class),
        _ => (0, 0),
    };
    let header = message.header(envelope.share).expect("of the transport");
    Segment {
        ecn,
        priority,
        trimmable: matches!(message, credit::Message::Symbol(_)),
        ..Segment::new(tuple, FlowId(0), payload, header)
    }
}

/// Transport without a driver. All blocks are decoded successfully and immediately.
struct OverSegments(Host<DriverCodec>);

impl OverSegments {
    fn settle(&mut self, now: Time) {
        while let Some(attempt) = self.0.codec_mut().poll() {
            self.0.decoded(now, attempt.job, true);
        }
    }
}

impl Transport for OverSegments {
    fn submit(&mut self, now: Time, message: Message) {
        self.0.submit(now, message);
    }

    fn on_segment(&mut self, now: Time, segment: Segment) {
        self.0.on_segment(now, segment);
        self.settle(now);
    }

    fn on_timeout(&mut self, now: Time) {
        self.0.on_timeout(now);
        self.settle(now);
    }

    fn poll_transmit(&mut self, now: Time) -> Option<Segment> {
        self.0.poll_transmit(now)
    }

    fn has_transmit(&self) -> bool {
        self.0.has_transmit()
    }

    fn poll_event(&mut self) -> Option<Event> {
        loop {
            match self.0.poll_event()? {
                // The driver's engine does not report the blocks of an object. So they are dropped here.
                Event::Block(..) => {}
                event => return Some(event),
            }
        }
    }

    fn next_timeout(&self) -> Option<Time> {
        self.0.next_timeout()
    }

    fn unfinished(&self) -> Vec<(FlowId, FlowStats)> {
        self.0.unfinished()
    }
}

/// Runs five hosts at 10 Gb/s. Four hosts send to one host at the same time, and one host sends objects to all others.
fn run(design: &str) -> RunRecord {
    let shape = single_switch(5, queue_of(20));
    let topology = shape.build().expect("a topology");
    let mut csv = "start_ns,src,dst,bytes\n".to_owned();
    for (start, src, dst, bytes) in [
        (0, 1, 0, 300_000),
        (0, 2, 0, 300_000),
        (0, 3, 0, 500_001),
        (0, 4, 0, 4_000),
        (20_000, 0, 1, 40),
        (20_000, 0, 2, 200_000),
        (20_000, 0, 3, 146_000),
        (900_000, 4, 3, 1_000_000),
        (900_000, 4, 3, 1_000_000),
    ] {
        csv += &format!("{start},{src},{dst},{bytes}\n");
    }
    simulate(&support::config(
        design,
        "five hosts",
        shape,
        trace(&csv, &topology),
    ))
}

/// Returns two records: of hosts that exchange segments, and of hosts that exchange bytes.
/// If `trims` is true, the switches trim packets.
fn records(name: &str, mode: Mode, trims: bool) -> [RunRecord; 2] {
    let names = ["segments", "bytes"].map(|over| format!("{over}-{name}"));
    let names: [&'static str; 2] = names.map(|name| &*name.leak());
    let own = |name, hosts| Design {
        name,
        summary: "for a test",
        hosts,
        ports: match trims {
            true => Design::named("scdp").expect("built in").ports.clone(),
            false => Ports::own("it is for a test", |_, _| |_| queue_of(20)),
        },
        ..Design::named("scdp").expect("built in").clone()
    };
    let segments = Hosts::own(move |_| {
        Ok(move |seat: &HostSeat<'_>| {
            let host = Host::new(seat.host, config(mode), DriverCodec::default())?;
            Ok(OverSegments(host))
        })
    });
    let wire = Wire::default();
    let bytes = Hosts::own(move |_| {
        let wire = Arc::clone(&wire);
        Ok(move |seat: &HostSeat<'_>| Ok(OverBytes::new(seat.host, mode, Arc::clone(&wire))))
    });
    for design in [own(names[0], segments), own(names[1], bytes)] {
        design.register().expect("a new name");
    }
    names.map(run)
}

fn check([segments, bytes]: [RunRecord; 2]) -> RunRecord {
    assert!(segments.flows.iter().all(|flow| flow.fct.is_some()));
    assert_eq!(bytes.flows, segments.flows);
    assert_eq!(bytes.ports, segments.ports);
    assert_eq!(bytes.totals, segments.totals);
    segments
}

const CREDITS: Mode = Mode::Credit(CreditConfig {
    max_window: 4_096,
    loss_by_chance: 0.1,
    min_timeout: Duration::from_us(200),
    ecn: true,
});

#[test]
fn over_bytes_the_simulator_has_the_same_record_where_switches_trim() {
    for (name, mode) in [("trims", Mode::Paper), ("trims-credits", CREDITS)] {
        let record = check(records(name, mode, true));
        assert!(record.totals.trimmed.packets > 0, "{name}");
    }
}

#[test]
fn over_bytes_the_simulator_has_the_same_record_where_switches_drop() {
    for (name, mode) in [("drops", Mode::Paper), ("drops-credits", CREDITS)] {
        let record = check(records(name, mode, false));
        assert!(record.totals.drops.total().packets > 0, "{name}");
    }
}

//! Tests of captures of a network. The bodies of the network's packets are segments, or real frames.

use std::io::{self, Write};
use std::sync::Arc;
use tailcut_capture::{
    Body, Capture, CapturePoints, Captured, Carried, Limits, RealFrame, WireOptions,
};
use tailcut_fabric::queue::{DropTail, Limit, QueueConfig};
use tailcut_fabric::topology::{SingleSwitch, Topology, Wire};
use tailcut_fabric::{Fabric, FabricConfig, Packet, PortEvents};
use tailcut_transport::tcp::{TcpFlags, TcpHeader};
use tailcut_transport::{Header, Segment};
use tailcut_units::{Duration, FiveTuple, FlowId, HostId, Protocol, Rate, Time};

const WIRE_OPTIONS: WireOptions = WireOptions {
    seed: 1,
    mss: 1_460,
    sack: false,
};

const PLENTY: Limits = Limits {
    bytes: 1_000_000,
    flows: None,
};

/// Bytes of a packet on the wire. A port of 10 Gb/s sends the packet in 1 us.
const SIZE: u32 = 1_250;

/// Returns segment number `number` of a flow.
fn segment(packet: &Packet, flow: u32, number: u64) -> Segment {
    let tuple = FiveTuple {
        src: packet.src,
        dst: packet.dst,
        src_port: 40_000 + flow as u16,
        dst_port: 80,
        protocol: Protocol::Tcp,
    };
    let header = Header::Tcp(TcpHeader {
        flags: TcpFlags::ACK,
        offset: number * 1_000,
        ..TcpHeader::default()
    });
    Segment::new(tuple, FlowId(flow), 1_000, header)
}

/// Returns a network of three hosts and one switch. Each port queues at most two packets.
fn star() -> Topology {
    SingleSwitch {
        hosts: 3,
        host_wire: Wire {
            rate: Rate::from_gbps(10),
            delay: Duration::from_us(1),
        },
        queue: QueueConfig::DropTail(DropTail {
            limit: Limit::Packets(2),
            mark_above: None,
        }),
        shared_buffer: None,
    }
    .build()
    .expect("a switch")
}

/// Runs an incast: hosts 0 and 1 send 8 packets each to host 2, without gaps. The capture is written to `out`.
/// The packets of both hosts reach the switch at the same time, so the queue of the port to host 2 grows.
/// Some of the last packets are dropped.
fn incast<W: Write>(
    out: W,
    name: &str,
    limits: Limits,
    events: PortEvents,
    end: Time,
) -> io::Result<(W, Captured)> {
    let topology = star();
    let points = CapturePoints::named(&topology, name).expect("a name of the network");
    let capture = Capture::new(out, Arc::new(points), WIRE_OPTIONS, limits, |_, sent| *sent);
    let config = FabricConfig {
        port_events: events,
        ..FabricConfig::default()
    };
    let mut fabric = Fabric::observed(&topology, &config, capture);
    for number in 0..8 {
        let now = Time::from_ns(number * 1_000);
        while fabric.advance(now).is_some() {}
        for flow in 0..2 {
            let packet = Packet {
                src: HostId(flow),
                dst: HostId(2),
                size: SIZE,
                ..Packet::default()
            };
            let body = segment(&packet, flow, number);
            fabric.inject(now, HostId(flow), packet, body);
        }
    }
    while fabric.advance(end).is_some() {}
    fabric.into_observer().finish(end)
}

/// Packet block of the file: interface, time in nanoseconds, captured length and original length, and all other bytes.
#[derive(PartialEq, Eq, Debug)]
struct Frame {
    interface: u32,
    ns: u64,
    lengths: [u32; 2],
    rest: Vec<u8>,
}

/// Returns the names of the interfaces in a capture file, and its packets.
fn read(mut file: &[u8]) -> (Vec<String>, Vec<Frame>) {
    let number = |bytes: &[u8]| u32::from_le_bytes(bytes.try_into().expect("four bytes"));
    let (mut names, mut frames) = (Vec::new(), Vec::new());
    while !file.is_empty() {
        let (kind, length) = (number(&file[..4]), number(&file[4..8]) as usize);
        let held = &file[8..length - 4];
        match kind {
            1 => {
                // The first option of an interface block is the name of the interface.
                let length = usize::from(u16::from_le_bytes([held[10], held[11]]));
                names.push(String::from_utf8(held[12..12 + length].to_vec()).expect("text"));
            }
            6 => frames.push(Frame {
                interface: number(&held[..4]),
                ns: u64::from(number(&held[4..8])) << 32 | u64::from(number(&held[8..12])),
                lengths: [number(&held[12..16]), number(&held[16..20])],
                rest: held[20..].to_vec(),
            }),
            _ => assert_eq!(kind, 0x0a0d_0d0a),
        }
        file = &file[length..];
    }
    (names, frames)
}

/// Time long after the arrival of the last packet.
const LATE: Time = Time::from_ns(1_000_000);

fn captured(name: &str, limits: Limits) -> (Vec<u8>, Captured) {
    let events = PortEvents::OneWherePossible;
    incast(Vec::new(), name, limits, events, LATE).expect("memory takes everything")
}

#[test]
fn a_host_is_captured_when_packets_leave_it_and_when_they_reach_it() {
    let (file, told) = captured("h0", PLENTY);
    let (names, frames) = read(&file);
    assert_eq!(names, ["h0"]);
    let left: Vec<u64> = frames.iter().map(|frame| frame.ns).collect();
    assert_eq!(left, [0, 1_000, 2_000, 3_000, 4_000, 5_000, 6_000, 7_000]);
    // Each frame has 54 bytes of headers (Ethernet, IPv4, TCP) and 1,000 bytes of payload. The capture keeps 128 bytes.
    assert!(frames.iter().all(|frame| frame.lengths == [128, 1_054]));
    assert_eq!((told.packets, told.bytes), (8, file.len() as u64));

    let (_, reached) = read(&captured("h2", PLENTY).0);
    // The packet needs 1 us on each of two links, and 1 us of service at each port.
    assert_eq!(reached[0].ns, 4_000);
    let gaps: Vec<u64> = reached
        .windows(2)
        .map(|two| two[1].ns - two[0].ns)
        .collect();
    assert!(gaps.iter().all(|gap| *gap == 1_000), "{gaps:?}");
}

#[test]
fn a_port_shows_what_it_sends_and_beside_it_what_it_drops() {
    let (file, told) = captured("s0>h2", PLENTY);
    let (names, frames) = read(&file);
    assert_eq!(names, ["s0>h2", "s0>h2 dropped"]);
    let of = |interface| {
        frames
            .iter()
            .filter(move |frame| frame.interface == interface)
    };
    let (sent, dropped) = (of(0).count(), of(1).count());
    assert_eq!(sent + dropped, 16);
    assert!(dropped > 0 && told.packets == 16);
    let says = |frame: &Frame, text: &str| {
        let text = text.as_bytes();
        frame.rest.windows(text.len()).any(|part| part == text)
    };
    assert!(of(1).all(|frame| says(frame, "dropped: queue-full")));
    assert!(of(0).all(|frame| !says(frame, "dropped")));
    // In a sent packet, the option epb_dropcount (number 4, 8 bytes long) contains the number of earlier drops.
    let drops: usize = of(0)
        .flat_map(|frame| frame.rest.windows(12))
        .filter(|option| option[..4] == [4, 0, 8, 0] && option[5..] == [0; 7])
        .map(|option| usize::from(option[4]))
        .sum();
    assert_eq!(drops, dropped);
}

#[test]
fn times_never_go_back_and_ports_that_settle_departures_early_show_the_same() {
    for name in ["all", "h0", "h2", "s0>h2"] {
        let file = |events| {
            incast(Vec::new(), name, PLENTY, events, LATE)
                .expect("memory")
                .0
        };
        let (_, one) = read(&file(PortEvents::OneWherePossible));
        let (_, two) = read(&file(PortEvents::Two));
        assert!(one.windows(2).all(|two| two[0].ns <= two[1].ns), "{name}");
        // Independent events at the same time may have any order.
        let sorted = |mut frames: Vec<Frame>| {
            frames.sort_by_key(|frame| (frame.ns, frame.interface, frame.rest.clone()));
            frames
        };
        assert_eq!(sorted(one), sorted(two), "{name}");
    }
}

#[test]
fn all_hosts_are_an_interface_each() {
    let (names, frames) = read(&captured("all", PLENTY).0);
    assert_eq!(names, ["h0", "h1", "h2"]);
    for (number, name) in (0..).zip(&names) {
        let (_, alone) = read(&captured(name, PLENTY).0);
        let within = frames.iter().filter(|frame| frame.interface == number);
        let within: Vec<_> = within.map(|frame| (frame.ns, &frame.rest)).collect();
        let alone: Vec<_> = alone.iter().map(|frame| (frame.ns, &frame.rest)).collect();
        assert_eq!(within, alone, "{name}");
    }
}

#[test]
fn a_full_file_ends_whole_and_what_is_left_out_is_counted() {
    let (whole, all) = captured("h0", PLENTY);
    let limits = |bytes| Limits { bytes, flows: None };
    for bytes in [0, 500, 700, all.bytes - 1, all.bytes] {
        let (file, told) = captured("h0", limits(bytes));
        assert!(whole.starts_with(&file));
        // The interfaces are written even if they exceed the limit.
        assert!(file.len() as u64 <= bytes || told.packets == 0);
        assert_eq!(
            (told.bytes, told.packets + told.too_late),
            (file.len() as u64, 8)
        );
        let first_left_out = told.full_at.map(Time::as_ns);
        assert_eq!(
            first_left_out,
            (told.packets < 8).then_some(told.packets * 1_000)
        );
        assert_eq!(read(&file).1.len() as u64, told.packets);
    }
}

#[test]
fn only_the_flows_that_come_by_first_are_captured_when_so_asked() {
    let one = Limits {
        flows: Some(1),
        ..PLENTY
    };
    let (file, told) = captured("all", one);
    let (_, every) = captured("all", PLENTY);
    assert_eq!(told.packets + told.of_other_flows, every.packets);
    let (_, frames) = read(&file);
    assert!(frames.iter().any(|frame| frame.interface == 0));
    assert!(frames.iter().all(|frame| frame.interface != 1));
}

#[test]
fn what_was_to_happen_after_the_end_is_not_captured() {
    // The switch queues its last packet. A port that computes departures in advance reports the departure before `end`.
    let end = Time::from_ns(9_500);
    let until = |events| {
        let told = incast(Vec::new(), "s0>h2", PLENTY, events, end);
        told.expect("memory").1
    };
    let (one, two) = (until(PortEvents::OneWherePossible), until(PortEvents::Two));
    assert_eq!(one, two);
    assert!(one.packets < 16);
}

/// Output that accepts a limited number of bytes and fails after them, like a full disk.
struct Small(usize);

impl Write for Small {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self.0.checked_sub(bytes.len()) {
            Some(left) => {
                self.0 = left;
                Ok(bytes.len())
            }
            None => Err(io::Error::other("no space")),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[test]
fn a_disk_that_is_full_is_told_at_the_end() {
    let events = PortEvents::OneWherePossible;
    let error = incast(Small(700), "h0", PLENTY, events, LATE).map(|(_, told)| told);
    assert_eq!(error.expect_err("no room").to_string(), "no space");
}

#[test]
fn hosts_without_an_address_are_counted_with_the_reason() {
    let topology = star();
    let points = Arc::new(CapturePoints::named(&topology, "all").expect("hosts"));
    let look = |_: &Packet, sent: &Segment| {
        let mut segment = *sent;
        segment.tuple.src = HostId(1 << 24);
        segment
    };
    let capture = Capture::new(Vec::new(), points, WIRE_OPTIONS, PLENTY, look);
    let mut fabric = Fabric::observed(&topology, &FabricConfig::default(), capture);
    let packet = Packet {
        dst: HostId(2),
        size: SIZE,
        ..Packet::default()
    };
    let body = segment(&packet, 0, 0);
    fabric.inject(Time::ZERO, HostId(0), packet, body);
    while fabric.advance(LATE).is_some() {}
    let (_, told) = fabric.into_observer().finish(LATE).expect("memory");
    assert_eq!((told.packets, told.without_frame), (0, 2));
    let why = told.why.expect("a reason").to_string();
    assert!(why.contains("16777216"), "{why}");
}

/// Body of a packet that is a real frame.
#[derive(Clone)]
struct Real(RealFrame);

impl Body for Real {
    fn carried(&self, _: &Packet) -> Carried {
        Carried::Real(self.0.clone())
    }
}

#[test]
fn real_frames_are_captured_with_their_own_bytes() {
    let topology = star();
    let points = Arc::new(CapturePoints::named(&topology, "h2").expect("a host"));
    let capture = Capture::new(Vec::new(), points, WIRE_OPTIONS, PLENTY, |_, sent| *sent);
    let mut fabric = Fabric::observed(&topology, &FabricConfig::default(), capture);
    for (flow, is_trimmed) in [(1, false), (2, true)] {
        let packet = Packet {
            src: HostId(flow),
            dst: HostId(2),
            size: SIZE,
            ..Packet::default()
        };
        let frame = RealFrame {
            flow: FlowId(flow),
            is_trimmed,
            bytes: vec![0xa0 + flow as u8; 60],
            length: 1_226,
        };
        let from = HostId(flow - 1);
        fabric.inject(
            Time::ZERO,
            from,
            Packet {
                src: from,
                ..packet
            },
            Real(frame),
        );
    }
    while fabric.advance(LATE).is_some() {}
    let (file, told) = fabric.into_observer().finish(LATE).expect("memory");
    assert_eq!((told.packets, told.without_frame), (2, 0));
    for byte in [0xa1, 0xa2] {
        assert!(file.windows(60).any(|bytes| bytes == [byte; 60]), "{byte}");
    }
    let trimmed = b"trimmed";
    assert_eq!(file.windows(7).filter(|bytes| bytes == trimmed).count(), 1);
}

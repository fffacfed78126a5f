//! Tests of network cards with real frames.

use super::card::CardConfig;
use super::cards::Cards;
use super::queue::QueuedFrame;
use crate::emulator::addresses::{ipv4, mac};
use crate::emulator::frames::{self, Buffers, Frame, TrimCodes};
use std::collections::BTreeSet;
use std::num::NonZeroU32;
use tailcut_fabric::queue::{DropTail, Limit, QueueConfig};
use tailcut_fabric::topology::{SingleSwitch, Topology, Wire};
use tailcut_fabric::{Delivery, Fabric, FabricConfig, Output, PortId};
use tailcut_transport::nic::{Departures, PacedConfig, PacerConfig};
use tailcut_transport::pias::Tags;
use tailcut_transport::tcp::{Congestion, Host, TcpConfig, TcpFlags};
use tailcut_transport::{Demotion, Header, Message, PathPin, Replication, Segment, Transport};
use tailcut_units::{Duration, FlowId, HostId, Rate, Time};
use tailcut_wire::foreign::{View, set_dscp};

const SENDER: HostId = HostId(0);
const RECEIVER: HostId = HostId(1);
const ACK: TcpFlags = TcpFlags::ACK;
const THRESHOLDS: [u64; 2] = [3_000, 8_000];
/// Time during which a frame with 1,000 bytes of TCP payload occupies a link of 100 Mb/s.
const FRAME_TIME: Duration = Duration::from_ns((1_000 + 54 + 24) * 80);

fn room(packets: u32) -> NonZeroU32 {
    NonZeroU32::new(packets).expect("some")
}

fn tags() -> Tags {
    Tags {
        demotion: Demotion::at(&THRESHOLDS).expect("ascending"),
        resends_count: false,
        in_order: true,
        relief_after: None,
    }
}

fn tagging(tags: Tags) -> CardConfig {
    CardConfig {
        tags: Some(tags),
        pacer: None,
        departures: None,
        length: room(1_000),
    }
}

/// Returns the configuration of a card with a pacer at a tenth of the link's rate.
/// When an ECN-Echo arrives, the pacer starts to pace the flow of this ECN-Echo.
fn pacing() -> CardConfig {
    let rate = Rate::from_mbps(10);
    CardConfig {
        tags: None,
        pacer: Some(PacedConfig {
            pacer: PacerConfig {
                association_probability: 1.0,
                min_rate: Some(rate),
                max_rate: Some(rate),
                bucket_bytes: 0,
                ..PacerConfig::default()
            },
            line_rate: Rate::from_mbps(100),
            overhead: 0,
            seed: 1,
        }),
        departures: None,
        length: room(1_000),
    }
}

/// Fields of a TCP segment in a test frame.
#[derive(Clone, Copy)]
struct Tcp {
    from: HostId,
    ports: [u16; 2],
    flags: TcpFlags,
    sequence: u32,
    payload: usize,
}

const DATA: Tcp = Tcp {
    from: SENDER,
    ports: [40_000, 80],
    flags: ACK,
    sequence: 1,
    payload: 1_000,
};
const SYN: Tcp = Tcp {
    flags: TcpFlags::SYN,
    sequence: 0,
    payload: 0,
    ..DATA
};

impl Tcp {
    fn bytes(&self) -> Vec<u8> {
        let to = HostId(1 - self.from.0);
        let [src_port, dst_port] = self.ports;
        let mut tcp = etherparse::TcpHeader::new(src_port, dst_port, self.sequence, 1_000);
        tcp.syn = self.flags.has(TcpFlags::SYN);
        tcp.ack = self.flags.has(ACK);
        tcp.fin = self.flags.has(TcpFlags::FIN);
        tcp.rst = self.flags.has(TcpFlags::RST);
        tcp.ece = self.flags.has(TcpFlags::ECE);
        let builder = etherparse::PacketBuilder::ethernet2(mac(self.from), mac(to))
            .ipv4(ipv4(self.from).octets(), ipv4(to).octets(), 64)
            .tcp_header(tcp);
        let mut frame = Vec::new();
        let payload = vec![0; self.payload];
        builder.write(&mut frame, &payload).expect("fits");
        frame
    }
}

fn datagram(dscp: u8) -> Vec<u8> {
    let builder = etherparse::PacketBuilder::ethernet2(mac(SENDER), mac(RECEIVER))
        .ipv4(ipv4(SENDER).octets(), ipv4(RECEIVER).octets(), 64)
        .udp(7, 9);
    let mut frame = Vec::new();
    builder.write(&mut frame, &[0; 100]).expect("fits");
    set_dscp(&mut frame, dscp).expect("IP");
    frame
}

/// Two hosts with network cards, connected by one switch and links of 100 Mb/s.
struct Network {
    cards: Cards,
    fabric: Fabric<Frame>,
    buffers: Buffers,
    now: Time,
    dropped: usize,
}

fn topology() -> Topology {
    let limit = Limit::Packets(1_000);
    let single_switch = SingleSwitch {
        hosts: 2,
        host_wire: Wire {
            rate: Rate::from_mbps(100),
            delay: Duration::ZERO,
        },
        queue: QueueConfig::DropTail(DropTail {
            limit,
            mark_above: None,
        }),
        shared_buffer: None,
    };
    single_switch.build().expect("a switch")
}

impl Network {
    fn new(config: CardConfig) -> Self {
        Self {
            cards: Cards::new(&[config; 2]).expect("sound"),
            fabric: Fabric::new(&topology(), &FabricConfig::default()),
            buffers: Buffers::new(2_000),
            now: Time::ZERO,
            dropped: 0,
        }
    }

    /// Sends a frame of host `from` now.
    fn send_from(&mut self, from: HostId, bytes: &[u8]) {
        let read = self.buffers.fill(|buffer| -> Result<usize, ()> {
            buffer[..bytes.len()].copy_from_slice(bytes);
            Ok(bytes.len())
        });
        let frame = read.expect("read");
        let arrival = frames::arrive(bytes, from, 2, &TrimCodes::default(), |_| {}).expect("sound");
        let mut packet = arrival.packet;
        packet.dst = HostId(1 - from.0);
        let queued = QueuedFrame {
            tuple: arrival
                .tcp
                .map_or_else(Default::default, |tcp| tcp.tuple(from, packet.dst)),
            packet,
            hints: arrival.hints,
            frame,
        };
        let (cards, fabric) = (&mut self.cards, &mut self.fabric);
        cards.send(self.now, from, arrival.tcp.as_ref(), queued, fabric);
    }

    fn send(&mut self, tcp: Tcp) {
        self.send_from(tcp.from, &tcp.bytes());
    }

    /// Runs the network until `until`. Returns the packets that arrive at hosts.
    /// The network cards of the receiving hosts also receive the packets.
    fn run_until(&mut self, until: Time) -> Vec<Delivery<Frame>> {
        let mut deliveries = Vec::new();
        loop {
            let departure = self.cards.next();
            match self.fabric.advance(departure.min(until)) {
                Some(Output::Delivered(delivery)) => {
                    let (src, bytes) = (delivery.packet.src, delivery.body.bytes());
                    self.cards
                        .on_arrival(delivery.time, src, delivery.host, bytes);
                    deliveries.push(delivery);
                }
                Some(Output::Dropped(_)) => self.dropped += 1,
                None if departure <= until => self.cards.depart(departure, &mut self.fabric),
                None => break,
            }
        }
        self.now = until;
        deliveries
    }

    /// Returns the packets that arrive within 10 s.
    fn run(&mut self) -> Vec<Delivery<Frame>> {
        self.run_until(self.now + Duration::from_ms(10_000))
    }
}

fn class(delivery: &Delivery<Frame>) -> u8 {
    delivery.packet.priority
}

fn classes(deliveries: &[Delivery<Frame>]) -> Vec<u8> {
    deliveries.iter().map(class).collect()
}

#[test]
fn a_flow_goes_down_where_it_has_sent_a_threshold_and_its_frames_say_so() {
    let mut network = Network::new(tagging(tags()));
    network.send(SYN);
    for nth in 0..10 {
        let sequence = 1 + nth * 1_000;
        network.send(Tcp { sequence, ..DATA });
    }
    let deliveries = network.run();
    assert_eq!(classes(&deliveries), [0, 0, 0, 0, 1, 1, 1, 1, 1, 2, 2]);
    for delivery in &deliveries {
        let bytes = delivery.body.bytes();
        // A receiver can read the class from the frame, and the checksum of the frame is correct.
        let read = frames::arrive(bytes, SENDER, 2, &TrimCodes::default(), |_| {}).expect("sound");
        assert_eq!(read.packet.priority, class(delivery));
        let header = etherparse::Ipv4HeaderSlice::from_slice(&bytes[14..]).expect("IPv4");
        let header = header.to_header();
        assert_eq!(header.calc_header_checksum(), header.header_checksum);
    }
}

#[test]
fn what_is_no_tcp_keeps_its_class_and_its_code_point() {
    let mut network = Network::new(tagging(tags()));
    for dscp in [0, 46, 8] {
        network.send_from(SENDER, &datagram(dscp));
    }
    let mut found: Vec<(u8, u8)> = Vec::new();
    for delivery in network.run() {
        let view = View::read(delivery.body.bytes()).expect("a frame");
        found.push((class(&delivery), view.ip.expect("IP").dscp));
    }
    // The link already transmits the first datagram when the second and third datagram arrive.
    assert_eq!(found, [(6, 0), (1, 46), (7, 8)]);
}

#[test]
fn high_classes_go_first_unless_hosts_serve_all_as_they_come() {
    let order = |in_order| {
        let mut network = Network::new(tagging(Tags { in_order, ..tags() }));
        network.send(SYN);
        for nth in 0..10 {
            let sequence = 1 + nth * 1_000;
            network.send(Tcp { sequence, ..DATA });
        }
        let ports = [50_000, 80];
        network.send(Tcp { ports, ..SYN });
        network.send(Tcp { ports, ..DATA });
        classes(&network.run())
    };
    assert_eq!(order(true), [0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 2, 2]);
    assert_eq!(order(false), [0, 0, 0, 0, 1, 1, 1, 1, 1, 2, 2, 0, 0]);
}

/// Sends 20 frames at the same time. Returns their arrival times.
fn burst(network: &mut Network) -> Vec<Time> {
    for _ in 0..20 {
        network.send(DATA);
    }
    network.run().iter().map(|delivery| delivery.time).collect()
}

fn gaps(times: &[Time]) -> Vec<Duration> {
    times
        .windows(2)
        .map(|pair| pair[1].since(pair[0]))
        .collect()
}

/// Sends an acknowledgement from the receiver to `port`.
fn acknowledge(network: &mut Network, port: u16, flags: TcpFlags) {
    network.send(Tcp {
        from: RECEIVER,
        ports: [80, port],
        flags,
        payload: 0,
        ..DATA
    });
    network.run();
}

/// Sends an ECN-Echo for the sender's first flow. As a result, the pacer paces the packets of this flow for 10 ms.
fn echo(network: &mut Network) {
    network.send(Tcp {
        from: RECEIVER,
        ports: [80, 40_000],
        flags: ACK.with(TcpFlags::ECE),
        payload: 0,
        ..DATA
    });
    network.run_until(network.now + Duration::from_ms(1));
}

#[test]
fn a_burst_is_spread_once_an_echo_has_come_and_not_before() {
    let mut network = Network::new(pacing());
    let back_to_back = [FRAME_TIME; 19];
    assert_eq!(gaps(&burst(&mut network)), back_to_back);
    acknowledge(&mut network, 40_000, ACK);
    assert_eq!(gaps(&burst(&mut network)), back_to_back, "no echo");
    let handshake = TcpFlags::SYN.with(ACK).with(TcpFlags::ECE);
    acknowledge(&mut network, 40_000, handshake);
    assert_eq!(gaps(&burst(&mut network)), back_to_back, "no echo either");
    acknowledge(&mut network, 40_001, ACK.with(TcpFlags::ECE));
    assert_eq!(
        gaps(&burst(&mut network)),
        back_to_back,
        "the echo belongs to another flow"
    );
    echo(&mut network);
    let spread = gaps(&burst(&mut network));
    assert_eq!(spread.len(), 19);
    for gap in spread {
        // At a tenth of the rate, the gaps are ten times as long, but not exact to the picosecond.
        let ratio = gap.as_secs_f64() / (FRAME_TIME.as_secs_f64() * 10.0);
        assert!((ratio - 1.0).abs() < 1e-6, "{gap}");
    }
}

#[test]
fn other_traffic_goes_around_the_pacer() {
    let mut network = Network::new(pacing());
    echo(&mut network);
    for _ in 0..5 {
        network.send(DATA);
    }
    network.send_from(SENDER, &datagram(0));
    let arrived = network.run();
    let place = arrived
        .iter()
        .position(|delivery| delivery.packet.size < 1_000);
    assert!(
        place < Some(5),
        "the frame must arrive before the last paced frame: {place:?}"
    );
}

#[test]
fn what_finds_no_room_is_dropped_and_counted_at_the_hosts_link() {
    // Without a pacer, the card accepts one more frame, because the first frame leaves the card immediately.
    for (config, kept) in [(tagging(tags()), 11), (pacing(), 10)] {
        let length = room(10);
        let mut network = Network::new(CardConfig { length, ..config });
        echo(&mut network);
        for _ in 0..100 {
            network.send(DATA);
        }
        assert_eq!(network.run().len(), kept);
        assert_eq!(network.dropped, 100 - kept);
        let uplink = PortId(topology().uplinks_of(SENDER).start);
        let report = network.fabric.port_report(network.now, uplink);
        let (sent, dropped) = (report.sent_packets, report.dropped);
        assert_eq!((sent as usize, dropped as usize), (kept, 100 - kept));
        network.send(DATA);
        assert_eq!(network.run().len(), 1, "the queue has room again");
    }
}

/// Simulates two hosts on a path without delay. The path loses the sender's segments whose numbers are in `lost`.
/// Returns all segments that the sender sends.
fn simulated(tags: Tags, bytes: u64, lost: &BTreeSet<usize>) -> Vec<Segment> {
    let config = TcpConfig {
        congestion: Congestion::DCTCP,
        tags: Some(tags),
        ..TcpConfig::default()
    };
    let host = |id| Host::new(HostId(id), config.clone()).expect("sound");
    let mut hosts = [host(0), host(1)];
    let mut now = Time::ZERO;
    let message = Message {
        flow: FlowId(0),
        dst: RECEIVER,
        bytes,
        path: PathPin::NONE,
        replication: Replication::Off,
    };
    hosts[0].submit(now, message);
    let mut sent = Vec::new();
    loop {
        let mut moved = false;
        for from in 0..2 {
            while let Some(segment) = hosts[from].poll_transmit(now) {
                moved = true;
                if from == 0 {
                    sent.push(segment);
                }
                if from == 1 || !lost.contains(&sent.len()) {
                    hosts[1 - from].on_segment(now, segment);
                }
            }
        }
        if moved {
            continue;
        }
        let Some(next) = Time::earlier(hosts[0].next_timeout(), hosts[1].next_timeout()) else {
            return sent;
        };
        now = now.max(next);
        for host in &mut hosts {
            host.on_timeout(now);
        }
    }
}

#[test]
fn a_flow_gets_the_classes_that_the_simulators_tcp_gives_it() {
    // The sequence numbers wrap around during the flow.
    let first = u32::MAX - 20_000;
    let lost = BTreeSet::from([4, 9, 10, 30, 31]);
    for resends_count in [false, true] {
        let tags = Tags {
            demotion: Demotion::at(&[5_000, 20_000, 60_000]).expect("ascending"),
            resends_count,
            in_order: false,
            relief_after: None,
        };
        let segments = simulated(tags, 100_000, &lost);
        let data = segments.iter().filter(|segment| segment.payload > 0);
        assert!(data.map(|segment| segment.payload).sum::<u32>() > 100_000);
        let mut network = Network::new(tagging(tags));
        for segment in &segments {
            let Header::Tcp(header) = segment.header else {
                panic!("not TCP");
            };
            let in_stream = match header.flags.has(TcpFlags::SYN) {
                true => 0,
                false => 1 + header.offset as u32,
            };
            network.send(Tcp {
                from: SENDER,
                ports: [segment.tuple.src_port, segment.tuple.dst_port],
                flags: header.flags,
                sequence: first.wrapping_add(in_stream),
                payload: segment.payload as usize,
            });
        }
        let expected: Vec<u8> = segments.iter().map(|segment| segment.priority).collect();
        assert!(expected.contains(&3));
        assert_eq!(classes(&network.run()), expected);
    }
}

#[test]
fn departures_with_jitter_are_irregular_in_order_and_keep_a_busy_link_busy() {
    let jittered = CardConfig {
        tags: None,
        pacer: None,
        departures: Some(Departures::new(FRAME_TIME, 1)),
        length: room(1_000),
    };
    let mut network = Network::new(jittered);
    let burst = burst(&mut network);
    // All frames of a burst are ready at the same time, so only the first frame waits for its own random delay.
    assert_eq!(gaps(&burst), [FRAME_TIME; 19]);
    // A frame that is sent alone leaves up to one frame time late. Each frame has its own delay.
    let mut delays = Vec::new();
    for _ in 0..20 {
        let sent = network.now;
        network.send(DATA);
        let arrived = network.run();
        delays.push(arrived[0].time.since(sent));
    }
    let (first, last) = (delays.iter().min(), delays.iter().max());
    let (first, last) = (*first.expect("frames"), *last.expect("frames"));
    assert!(
        last.saturating_sub(first) > FRAME_TIME / 4,
        "{first} to {last}"
    );
    assert!(
        last.saturating_sub(first) <= FRAME_TIME,
        "{first} to {last}"
    );
}

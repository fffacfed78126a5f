//! Tests of the endpoint's interface for layers above TCP.
//! There are many connections, both directions, and identifiers of ended connections.

use tailcut_transport::tcp::{
    ConnectError, ConnectionEvent, ConnectionId, Endpoint, Host, Role, TcpConfig, TcpFlags,
};
use tailcut_transport::{Message, PathPin, Replication, Transport};
use tailcut_units::{Duration, FiveTuple, FlowId, HostId, Time};

/// Two endpoints with a one-way delay of 10 us.
struct Wire {
    now: Time,
    ends: [Endpoint; 2],
    events: [Vec<ConnectionEvent>; 2],
    /// Source ports of the data segments that host 0 sent.
    data_ports: Vec<u16>,
}

impl Wire {
    fn new() -> Self {
        let end = |id| {
            let mut end = Endpoint::new(HostId(id), TcpConfig::default()).expect("valid");
            end.report_delivered(true);
            end
        };
        Self {
            now: Time::ZERO,
            ends: [end(0), end(1)],
            events: Default::default(),
            data_ports: vec![],
        }
    }

    fn connect(&mut self, dst_port: u16) -> ConnectionId {
        let src_port = self.ends[0]
            .unused_port(HostId(1), &[dst_port])
            .expect("a port");
        self.ends[0]
            .connect(
                self.now,
                tuple(src_port, dst_port),
                FlowId(7),
                PathPin::to(3),
            )
            .expect("free")
    }

    /// Passes segments until both endpoints are idle. Timers do not run.
    fn settle(&mut self) {
        loop {
            let mut sent = Vec::new();
            for from in [0, 1] {
                if let Some(segment) = self.ends[from].poll_transmit(self.now) {
                    if from == 0 && segment.payload > 0 {
                        self.data_ports.push(segment.tuple.src_port);
                    }
                    sent.push((1 - from, segment));
                }
            }
            if sent.is_empty() {
                return;
            }
            self.now += Duration::from_us(10);
            for (to, segment) in sent {
                self.ends[to].on_segment(self.now, &segment);
            }
            self.collect();
        }
    }

    fn collect(&mut self) {
        for (end, events) in self.ends.iter_mut().zip(&mut self.events) {
            events.extend(core::iter::from_fn(|| end.poll_event()));
        }
    }

    /// Returns the connection that host 1 accepted.
    fn accepted(&self) -> ConnectionId {
        let accepted = self.events[1].iter().find_map(|event| match event {
            ConnectionEvent::Accepted { id, .. } => Some(*id),
            _ => None,
        });
        accepted.expect("host 1 accepted a connection")
    }
}

fn tuple(src_port: u16, dst_port: u16) -> FiveTuple {
    FiveTuple {
        src: HostId(0),
        dst: HostId(1),
        src_port,
        dst_port,
        ..FiveTuple::default()
    }
}

#[test]
fn both_directions_carry_data_and_close_on_their_own() {
    let mut wire = Wire::new();
    let here = wire.connect(80);
    wire.ends[0].write(wire.now, here, 10_000);
    wire.settle();
    let there = wire.accepted();
    assert_eq!(wire.ends[1].delivered(there), Some(10_000));

    wire.ends[0].finish(wire.now, here);
    wire.settle();
    assert!(wire.events[1].contains(&ConnectionEvent::PeerFinished {
        id: there,
        total: 10_000
    }));

    wire.ends[1].write(wire.now, there, 50_000);
    wire.settle();
    assert_eq!(wire.ends[0].delivered(here), Some(50_000));
    assert!(
        !wire.events[0]
            .iter()
            .any(|event| matches!(event, ConnectionEvent::Closed { .. }))
    );

    wire.ends[1].finish(wire.now, there);
    wire.settle();
    for (end, id) in [(0, here), (1, there)] {
        let closed = wire.events[end].iter().any(
            |event| matches!(event, ConnectionEvent::Closed { id: closed, .. } if *closed == id),
        );
        assert!(closed, "host {end}: {:?}", wire.events[end]);
    }
}

#[test]
fn an_accepted_connection_knows_its_flow_path_and_peer() {
    let mut wire = Wire::new();
    let here = wire.connect(81);
    wire.settle();
    let Some(ConnectionEvent::Accepted {
        id,
        tuple,
        flow,
        path,
    }) = wire.events[1].first()
    else {
        panic!("{:?}", wire.events[1]);
    };
    assert_eq!(Some(*tuple), wire.ends[0].tuple(here));
    assert_eq!((*flow, *path), (FlowId(7), PathPin::to(3)));
    assert_eq!(wire.ends[1].role(*id), Some(Role::Acceptor));
    assert_eq!(wire.ends[0].role(here), Some(Role::Opener));
}

#[test]
fn delivered_totals_grow_to_what_was_written() {
    let mut wire = Wire::new();
    let here = wire.connect(80);
    wire.ends[0].write(wire.now, here, 123_456);
    wire.ends[0].finish(wire.now, here);
    wire.settle();
    let totals: Vec<u64> = wire.events[1]
        .iter()
        .filter_map(|event| match event {
            ConnectionEvent::Delivered { total, .. } => Some(*total),
            _ => None,
        })
        .collect();
    assert!(totals.is_sorted_by(|a, b| a < b), "{totals:?}");
    assert_eq!(totals.last(), Some(&123_456));
    assert_eq!(wire.ends[0].acknowledged(here), Some(123_456));
}

#[test]
fn nothing_can_be_written_after_the_finish() {
    let mut wire = Wire::new();
    let here = wire.connect(80);
    wire.ends[0].write(wire.now, here, 1_000);
    wire.ends[0].finish(wire.now, here);
    wire.ends[0].write(wire.now, here, 1_000);
    wire.settle();
    assert_eq!(wire.ends[1].delivered(wire.accepted()), Some(1_000));
}

#[test]
fn a_reset_tells_the_peer_and_the_name_means_nothing_any_more() {
    let mut wire = Wire::new();
    let here = wire.connect(80);
    wire.ends[0].write(wire.now, here, 10_000);
    wire.settle();
    let there = wire.accepted();

    let summary = wire.ends[0].reset(wire.now, here).expect("it was live");
    assert_eq!(
        (summary.flow, summary.stats.payload_sent),
        (FlowId(7), 10_000)
    );
    wire.settle();
    assert!(
        wire.events[1]
            .iter()
            .any(|event| matches!(event, ConnectionEvent::Reset { id, .. } if *id == there))
    );
    assert!(wire.ends[0].is_empty() && wire.ends[1].is_empty());

    assert_eq!(wire.ends[0].reset(wire.now, here), None);
    wire.ends[0].write(wire.now, here, 1);
    wire.ends[0].finish(wire.now, here);
    assert_eq!(wire.ends[0].stats(here), None);
    assert!(!wire.ends[0].has_transmit());
}

#[test]
fn a_stale_name_does_not_touch_the_next_user_of_its_slot() {
    let mut wire = Wire::new();
    let old = wire.connect(80);
    wire.ends[0].reset(wire.now, old);
    let new = wire.connect(80);
    assert_ne!(old, new);
    wire.ends[0].write(wire.now, old, 1_000_000);
    assert_eq!(wire.ends[0].reset(wire.now, old), None);
    wire.ends[0].write(wire.now, new, 500);
    wire.settle();
    assert_eq!(wire.ends[1].delivered(wire.accepted()), Some(500));
}

#[test]
fn a_tuple_in_use_and_a_foreign_source_are_refused() {
    let mut wire = Wire::new();
    let here = wire.connect(80);
    let used = wire.ends[0].tuple(here).expect("live");
    let again = wire.ends[0].connect(wire.now, used, FlowId(8), PathPin::NONE);
    assert_eq!(again, Err(ConnectError::TupleInUse(used)));
    let foreign = FiveTuple {
        src: HostId(9),
        ..tuple(5_000, 80)
    };
    let refused = wire.ends[0].connect(wire.now, foreign, FlowId(8), PathPin::NONE);
    assert_eq!(refused, Err(ConnectError::NotThisHost(HostId(9))));
}

#[test]
fn one_source_port_serves_two_destination_ports() {
    let mut wire = Wire::new();
    let port = wire.ends[0]
        .unused_port(HostId(1), &[80, 81])
        .expect("a port");
    for dst_port in [80, 81] {
        let opened =
            wire.ends[0].connect(wire.now, tuple(port, dst_port), FlowId(1), PathPin::NONE);
        let id = opened.expect("free");
        wire.ends[0].write(wire.now, id, 5_000);
    }
    wire.settle();
    assert_eq!(wire.ends[1].len(), 2);
    let next = wire.ends[0]
        .unused_port(HostId(1), &[81, 82])
        .expect("a port");
    assert_ne!(next, port);
}

#[test]
fn a_port_that_nobody_listens_on_answers_with_a_reset() {
    let mut wire = Wire::new();
    wire.ends[1].listen_only(&[80]);
    let refused = wire.connect(81);
    let taken = wire.connect(80);
    wire.settle();
    assert!(
        wire.events[0]
            .iter()
            .any(|event| matches!(event, ConnectionEvent::Reset { id, .. } if *id == refused))
    );
    assert!(wire.events[0].contains(&ConnectionEvent::Established { id: taken }));
}

#[test]
fn connections_with_data_take_turns() {
    let mut wire = Wire::new();
    let ids: Vec<ConnectionId> = (0..4).map(|_| wire.connect(80)).collect();
    wire.settle();
    for id in &ids {
        wire.ends[0].write(wire.now, *id, 5 * 1_460);
    }
    wire.settle();
    assert_eq!(wire.data_ports.len(), 20);
    for round in wire.data_ports.chunks(4) {
        let mut ports = round.to_vec();
        ports.sort_unstable();
        ports.dedup();
        assert_eq!(ports.len(), 4, "{round:?}");
    }
}

#[test]
fn nonsense_from_the_network_is_counted_and_dropped() {
    let mut wire = Wire::new();
    let here = wire.connect(80);
    wire.ends[0].write(wire.now, here, 1_000);
    let mut syn = wire.ends[0].poll_transmit(wire.now).expect("the SYN");
    wire.ends[1].on_segment(wire.now, &syn);
    wire.settle();
    let there = wire.accepted();
    let before = wire.ends[1].ignored();
    let tailcut_transport::Header::Tcp(header) = &mut syn.header else {
        panic!("a TCP segment")
    };
    header.flags = TcpFlags::ACK;
    header.ack = 1 << 40;
    header.offset = u64::MAX;
    syn.payload = u32::MAX;
    wire.ends[1].on_segment(wire.now, &syn);
    let tailcut_transport::Header::Tcp(header) = &mut syn.header else {
        panic!("a TCP segment")
    };
    header.offset = 0;
    wire.ends[1].on_segment(wire.now, &syn);
    assert_eq!(wire.ends[1].ignored(), before + 2);
    assert_eq!(wire.ends[1].delivered(there), Some(1_000));
}

#[test]
fn a_host_in_a_box_has_something_to_send_when_the_host_has() {
    let host = Host::new(HostId(0), TcpConfig::default()).expect("a valid configuration");
    let mut host: Box<dyn Transport> = Box::new(host);
    assert!(!host.has_transmit());
    host.submit(
        Time::ZERO,
        Message {
            flow: FlowId(0),
            dst: HostId(1),
            bytes: 1_000,
            path: PathPin::NONE,
            replication: Replication::AsConfigured,
        },
    );
    assert!(host.has_transmit());
    assert!(host.poll_transmit(Time::ZERO).is_some(), "the SYN");
    assert!(!host.has_transmit());
}

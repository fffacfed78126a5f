//! Tests of the ports on which hosts accept flows. Each host can choose its own port.

use crate::pair::{A, B, Pair};
use tailcut_requests::{HIGH, LOW};
use tailcut_transport::copies::{Ask, Carrier, Carry};
use tailcut_transport::ndp::{self, NdpConfig};
use tailcut_transport::pfabric::{self, PFabricConfig};
use tailcut_transport::repnet::{self, RepNetConfig};
use tailcut_transport::scdp::{self, DecodeSpeed, ModelCodec, ScdpConfig};
use tailcut_transport::tcp::{self, TcpConfig};
use tailcut_transport::{Event, Part, Transport};
use tailcut_units::{FlowId, HostId};

/// Checks that a flow arrives at `port`, and that answers come from this port.
fn served_at<T: Transport>(host: impl Fn(HostId) -> T, port: u16) {
    let mut pair = Pair::new(host(HostId(0)), host(HostId(1)));
    pair.submit(7, 30_000);
    pair.run();
    assert!(pair.completed(7).is_some());
    for sent in &pair.sent {
        let tuple = sent.segment.tuple;
        let its = if sent.from == A {
            tuple.dst_port
        } else {
            tuple.src_port
        };
        assert_eq!(its, port);
    }
}

fn tcp_at(port: u16) -> TcpConfig {
    TcpConfig {
        port,
        ..TcpConfig::default()
    }
}

fn scdp_at(port: u16, id: HostId) -> scdp::Host<ModelCodec> {
    let codec = ModelCodec::new([0.0; 3], DecodeSpeed::paper(), 1);
    let config = ScdpConfig {
        port,
        ..ScdpConfig::default()
    };
    scdp::Host::new(id, config, codec).expect("valid")
}

#[test]
fn hosts_are_reached_at_the_port_that_they_are_given_and_at_80_by_default() {
    for port in [80, 5_000, 32_765] {
        served_at(|id| tcp::Host::new(id, tcp_at(port)).expect("valid"), port);
        let ndp = NdpConfig {
            port,
            ..NdpConfig::default()
        };
        served_at(|id| ndp::Host::new(id, ndp).expect("valid"), port);
        let pfabric = PFabricConfig {
            port,
            ..PFabricConfig::default()
        };
        served_at(|id| pfabric::Host::new(id, pfabric).expect("valid"), port);
        served_at(|id| scdp_at(port, id), port);
        // Flows that are not requests use the port after the ports of requests.
        served_at(
            |id| Carrier::new(id, tcp_at(port)).expect("valid"),
            port + 2,
        );
    }
    assert_eq!(TcpConfig::default().port, 80);
    assert_eq!(NdpConfig::default().port, 80);
    assert_eq!(PFabricConfig::default().port, 80);
    assert_eq!(ScdpConfig::default().port, 80);
}

#[test]
fn both_connections_of_a_replicated_flow_have_ports_of_their_own() {
    let host = |id| {
        let replicated = RepNetConfig {
            limit: 100_000,
            ..RepNetConfig::default()
        };
        repnet::Host::new(HostId(id), tcp_at(5_000), replicated).expect("valid")
    };
    let mut pair = Pair::new(host(0), host(1));
    pair.submit(7, 30_000);
    pair.run();
    assert!(pair.completed(7).is_some());
    let sent = pair.sent.iter().filter(|sent| sent.from == A);
    let mut ports: Vec<u16> = sent.map(|sent| sent.segment.tuple.dst_port).collect();
    ports.sort_unstable();
    ports.dedup();
    assert_eq!(ports, [5_000, 5_001]);
}

#[test]
fn copies_of_requests_of_low_class_have_the_port_behind_that_of_the_high_ones() {
    let host = |id| Carrier::new(HostId(id), tcp_at(5_000)).expect("valid");
    let mut pair = Pair::new(host(0), host(1));
    for (number, class) in [(1, HIGH), (2, LOW)] {
        let ask = Ask {
            number,
            server: HostId(1),
            class,
            bytes: 100,
        };
        let asked = pair.act(A, |host, now| host.ask(now, ask));
        assert!(asked.is_some());
    }
    pair.run_until(pair.now + pair.one_way * 4);
    let sent = pair.sent.iter().filter(|sent| sent.from == A);
    let mut ports: Vec<u16> = sent.map(|sent| sent.segment.tuple.dst_port).collect();
    ports.sort_unstable();
    ports.dedup();
    assert_eq!(ports, [5_000, 5_001]);
    let answers = pair.sent.iter().filter(|sent| sent.from == B);
    assert!(answers.count() >= 2, "the server takes both");
}

#[test]
fn an_object_cannot_be_collected_at_the_port_that_the_host_is_reached_at() {
    let mut host = scdp_at(5_000, HostId(0));
    let collect = |host: &mut scdp::Host<ModelCodec>, port| {
        let flow = FlowId(u32::from(port));
        let part = Part::Collect { flow, port };
        host.take_part(tailcut_units::Time::ZERO, part)
            .expect("SCDP has it");
        host.poll_event()
    };
    assert!(matches!(collect(&mut host, 5_000), Some(Event::Failed(..))));
    assert_eq!(collect(&mut host, 5_001), None);
}

#[test]
fn a_port_among_those_of_outgoing_flows_is_refused() {
    for port in [0, 32_766, 65_535] {
        let error = tcp::Host::new(HostId(0), tcp_at(port)).expect_err("refused");
        assert_eq!((error.key, error.found), ("port", port.to_string()));
        let refused = NdpConfig {
            port,
            ..NdpConfig::default()
        }
        .validate();
        assert_eq!(refused.expect_err("refused").key, "port");
        let refused = PFabricConfig {
            port,
            ..PFabricConfig::default()
        }
        .validate();
        assert_eq!(refused.expect_err("refused").key, "port");
        let refused = ScdpConfig {
            port,
            ..ScdpConfig::default()
        }
        .validate();
        assert_eq!(refused.expect_err("refused").key, "port");
    }
}

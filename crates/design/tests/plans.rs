//! Plans of designs: setup of switches, and transports of hosts.

use std::sync::Arc;
use tailcut_design::fabric::load_balancer::LoadBalancerConfig;
use tailcut_design::fabric::queue::{DropTail, Limit, QueueConfig};
use tailcut_design::fabric::topology::{Node, SingleSwitch, Topology, Wire};
use tailcut_design::fabric::{Bonding, SharedBuffer};
use tailcut_design::{
    Design, HostPlan, PortSetup, Registered, Settings, Stack, SwitchPlan, Traffic,
};
use tailcut_units::{Bytes, Duration, HostId, Rate};

fn design(name: &str) -> Stack {
    name.parse().expect("a design")
}

/// Returns four hosts at a switch with a shared buffer and with ports that mark.
fn network() -> Topology {
    let switch = SingleSwitch {
        hosts: 4,
        host_wire: Wire {
            rate: Rate::from_gbps(10),
            delay: Duration::from_us(1),
        },
        queue: QueueConfig::DropTail(DropTail {
            limit: Limit::Packets(100),
            mark_above: Some(Limit::Packets(65)),
        }),
        shared_buffer: Some(SharedBuffer {
            capacity: Bytes(1_000_000),
            alpha: 1.0,
        }),
    };
    switch.build().expect("a network")
}

fn installed(name: &str, traffic: Traffic) -> Topology {
    let mut network = network();
    SwitchPlan::new(design(name), &Settings::default(), traffic)
        .install(&mut network)
        .expect("FIFO queues");
    network
}

/// Returns the queues of the switch's ports, and the queues of the hosts.
fn queues(network: &Topology) -> (Vec<&QueueConfig>, Vec<&QueueConfig>) {
    let is_switch = |node: Node| matches!(node, Node::Switch(_));
    let (of_switch, of_hosts): (Vec<_>, Vec<_>) =
        network.links.iter().partition(|link| is_switch(link.from));
    (
        of_switch.iter().map(|link| &link.config.queue).collect(),
        of_hosts.iter().map(|link| &link.config.queue).collect(),
    )
}

#[test]
fn a_design_over_ordinary_switches_leaves_the_network_as_it_is() {
    for name in ["tcp", "dctcp@conga", "repflow"] {
        let network = installed(name, Traffic::Transfers);
        let (ports, _) = queues(&network);
        assert!(
            ports
                .iter()
                .all(|queue| matches!(queue, QueueConfig::DropTail(_)))
        );
        assert!(network.switches[0].shared_buffer.is_some(), "{name}");
    }
}

#[test]
fn a_design_with_queues_of_its_own_has_them_at_switches_only_and_shares_no_buffer() {
    let network = installed("scdp", Traffic::Transfers);
    let (ports, hosts) = queues(&network);
    assert!(
        ports
            .iter()
            .all(|queue| matches!(queue, QueueConfig::Trimming(_)))
    );
    assert!(
        hosts
            .iter()
            .all(|queue| matches!(queue, QueueConfig::DropTail(_)))
    );
    assert!(network.switches[0].shared_buffer.is_none());
}

#[test]
fn switches_mark_only_where_the_design_has_ecn() {
    let mark = |name: &str, settings: &Settings| {
        let mut network = network();
        SwitchPlan::new(design(name), settings, Traffic::Transfers)
            .install(&mut network)
            .expect("FIFO queues");
        let (ports, _) = queues(&network);
        let marks = |queue: &&&QueueConfig| matches!(queue, QueueConfig::DropTail(queue) if queue.mark_above.is_some());
        ports.iter().filter(marks).count() == ports.len()
    };
    let mut settings = Settings::default();
    let marking = |settings: &Settings| {
        ["cubic", "tcp", "scdp-plain", "dctcp"].map(|name| mark(name, settings))
    };
    assert_eq!(marking(&settings), [false, false, true, true]);
    settings.tcp.classic_ecn = true;
    settings.designs.scdp_plain.ecn = false;
    assert_eq!(marking(&settings), [true, true, false, true]);
}

#[test]
fn where_phantom_queues_mark_the_real_ones_do_not() {
    let network = installed("hull", Traffic::Transfers);
    let (ports, _) = queues(&network);
    for queue in ports {
        let QueueConfig::DropTail(queue) = queue else {
            panic!("HULL's switches are ordinary except for their phantom queues");
        };
        assert_eq!(queue.mark_above, None);
    }
    let mut links = network.links.iter();
    let drain = links.find_map(|link| link.config.phantom).map(|p| p.drain);
    assert_eq!(drain, Some(0.95));
}

#[test]
fn duplicates_of_requests_have_a_class_below_those_of_the_transport() {
    let network = installed("pias", Traffic::Requests);
    let (ports, _) = queues(&network);
    let thresholds = Settings::default().designs.pias.thresholds.len() as u8;
    for queue in ports {
        let QueueConfig::PushOut(queue) = queue else {
            panic!("arriving packets of higher classes push out duplicates");
        };
        assert_eq!(
            (queue.classes, queue.group),
            (thresholds + 2, thresholds + 1)
        );
    }
}

#[test]
fn a_plan_is_open_to_a_closure_of_ones_own() {
    let mut plan = SwitchPlan::new(
        design("tcp@spray"),
        &Settings::default(),
        Traffic::Transfers,
    );
    assert!(matches!(plan.load_balancer, LoadBalancerConfig::Spray));
    assert_eq!(plan.bonding, Bonding::FreeFirst);
    let packets = 7;
    plan.port = Arc::new(move |_| PortSetup {
        queue: Some(QueueConfig::DropTail(DropTail {
            limit: Limit::Packets(packets),
            mark_above: None,
        })),
        phantom: None,
    });
    let mut network = network();
    plan.install(&mut network).expect("FIFO queues");
    let (ports, _) = queues(&network);
    let limits = ports.iter().map(|queue| match queue {
        QueueConfig::DropTail(queue) => queue.limit,
        other => panic!("{other:?}"),
    });
    assert!(limits.eq([Limit::Packets(7); 4]));
}

#[test]
fn every_transport_with_packets_has_hosts_for_transfers_and_most_for_requests() {
    let settings = Settings::default();
    let network = network();
    let mut built = 0;
    for part in Design::all()
        .into_iter()
        .filter(|design| design.has_packets())
    {
        for traffic in [Traffic::Transfers, Traffic::Requests] {
            if traffic == Traffic::Requests && !part.carries_requests() {
                continue;
            }
            let plan = HostPlan::new(design(part.name), &settings, traffic, 1, || {
                Duration::from_us(20)
            });
            let plan = plan.expect("defaults are sound");
            let host = HostId(2);
            let seat = plan.seat(host, 4, network.host_rate(host), network.paths);
            let transport = plan.boxed(&seat).expect("defaults are sound");
            assert_eq!(transport.next_timeout(), None, "{} is idle", part.name);
            built += 1;
        }
    }
    assert_eq!(built, 12 + 9);
}

#[test]
fn the_round_trip_is_asked_only_where_a_timeout_follows_from_it() {
    let settings = Settings::default();
    let never = || -> Duration { panic!("TCP's timeouts do not depend on the round trip") };
    HostPlan::new(design("tcp"), &settings, Traffic::Transfers, 1, never).expect("sound");
    let span = || Duration::from_us(20);
    let plan = HostPlan::new(design("pfabric"), &settings, Traffic::Transfers, 1, span);
    let plan = plan.expect("sound");
    let seat = plan.seat(HostId(0), 4, Rate::from_gbps(10), 1);
    let rto = plan.timeouts(&seat).expect("sound").least;
    assert_eq!(rto, Some(("pfabric.rto", Duration::from_us(60))));
}

#[test]
fn thresholds_that_do_not_ascend_are_told_by_their_key() {
    let mut settings = Settings::default();
    settings.designs.pias.thresholds = vec![10, 10];
    let span = || Duration::from_us(20);
    let plan = HostPlan::new(design("pias"), &settings, Traffic::Transfers, 1, span);
    assert_eq!(plan.expect_err("twice the same").key, "thresholds");
}

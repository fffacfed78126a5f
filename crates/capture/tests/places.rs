//! Tests of the names of hosts and ports.

use tailcut_capture::CapturePoints;
use tailcut_fabric::queue::{DropTail, Limit, QueueConfig};
use tailcut_fabric::topology::{CustomLink, CustomTopology, Node, NodeNames, Topology, Wire};
use tailcut_units::{Duration, HostId, Rate};

/// Returns a web server with two links, a client, and a switch.
fn named() -> Topology {
    let wire = Wire {
        rate: Rate::from_gbps(10),
        delay: Duration::from_us(1),
    };
    let link = |host| CustomLink {
        a: Node::Host(HostId(host)),
        b: Node::Switch(0),
        wire,
    };
    CustomTopology {
        hosts: 2,
        switches: 1,
        links: vec![link(0), link(0), link(1)],
        queue: QueueConfig::DropTail(DropTail {
            limit: Limit::Packets(10),
            mark_above: None,
        }),
        shared_buffer: None,
        names: NodeNames {
            hosts: vec!["web".to_owned()],
            switches: Vec::new(),
        },
    }
    .build()
    .expect("a network")
}

#[test]
fn names_are_those_of_tables() {
    let topology = named();
    for name in CapturePoints::names(&topology) {
        assert!(CapturePoints::named(&topology, &name).is_ok(), "{name}");
    }
    let names: Vec<String> = CapturePoints::names(&topology).collect();
    assert_eq!(names[..2], ["web", "h1"]);
    assert_eq!(names.len(), 2 + topology.links.len());
    for name in ["web>s0", "web>s0#1", "h1>s0"] {
        assert!(CapturePoints::named(&topology, name).is_ok(), "{name}");
    }
    assert!(CapturePoints::named(&topology, "web>s0#2").is_err());
}

#[test]
fn a_name_that_there_is_not_is_answered_with_those_that_there_are() {
    let error = CapturePoints::named(&named(), "h0").expect_err("it is called otherwise");
    assert_eq!(
        error.to_string(),
        "no such host or port; allowed: all, one of 2 hosts (web, h1), or one of 6 ports, FROM>TO \
         (web>s0#0, web>s0#1, h1>s0, ...): the table `topology` has their names"
    );
}

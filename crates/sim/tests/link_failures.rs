//! Failures of links in records.

#[allow(dead_code, reason = "each test uses a part of the support")]
#[path = "truth/support.rs"]
mod support;

use support::{config, queue_of, simulate, single_switch, web_search};
use tailcut_record::{LinkFailure, LinkTrouble};
use tailcut_sim::fabric::topology::{LinkFault, Node, Trouble};
use tailcut_units::{Duration, HostId, Rate, Time};

#[test]
fn a_slowed_link_is_in_the_record_and_busy_when_it_carries_what_is_left_to_it() {
    let at = |us| Time::ZERO + Duration::from_us(us);
    let (from, until) = (at(20_000), at(40_000));
    let shape = single_switch(3, queue_of(100));
    let load = web_search(0.9, Duration::from_us(60_000));
    let mut config = config("dctcp", "single", shape, load);
    config.sample_every = Some(Duration::from_us(500));
    config.faults = vec![LinkFault {
        a: Node::Host(HostId(1)),
        b: Node::Switch(0),
        number: None,
        trouble: Trouble::Slow(Rate::from_gbps(1)),
        from,
        until,
        reconvergence: Duration::ZERO,
    }];
    let record = simulate(&config);
    let port = |name: &str| {
        let found = record.ports.iter().find(|port| port.name == name);
        found.expect("a port").port
    };
    let failure = |link| LinkFailure {
        link,
        trouble: LinkTrouble::Slow(Rate::from_gbps(1)),
        from,
        until: Some(until),
    };
    let expected = ["h1>s0", "s0>h1"].map(|name| failure(port(name)));
    assert_eq!(record.failures, expected);
    assert!(
        record
            .topology
            .iter()
            .all(|link| link.rate == Rate::from_gbps(10))
    );

    let down = port("s0>h1");
    let slow = record
        .links
        .iter()
        .filter(|sample| sample.link == down && from < sample.time && sample.time <= until);
    let busy: Vec<f64> = slow.map(|sample| sample.utilisation).collect();
    let mean = busy.iter().sum::<f64>() / busy.len() as f64;
    assert!(
        busy.len() > 30 && mean > 0.9,
        "mean utilisation {mean} over {} samples",
        busy.len()
    );
    assert!(record.links.iter().all(|sample| sample.utilisation <= 1.0));
}

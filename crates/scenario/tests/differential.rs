//! Random scenarios, with one link or several links per host.
//! The records must be the same on either kind of port, with either event queue, and on any number of threads.
//!
//! The variable `RANDOM_SCENARIOS` sets the number of scenarios.

use proptest::prelude::*;
use std::num::NonZeroUsize;
use tailcut_record::{RunRecord, RunTotals};
use tailcut_scenario::{Scenario, Study, Workers};

const DESIGNS: [&str; 19] = [
    "tcp",
    "cubic@spray",
    "dctcp",
    "repflow",
    "repsyn+dctcp@spray",
    "mixed+cubic",
    "ndp",
    "ndp-plus",
    "scdp",
    "scdp-plain",
    "pfabric",
    "pias",
    "repflow+pias",
    "hull",
    "dctcp@letflow",
    "tcp@conga",
    "tcp@expeditus",
    "repflow@expeditus-deck",
    "tcp@omniscient",
];

/// Networks whose switches all have equal neighbours, so that every load balancer can run on them.
const TOPOLOGIES: [&str; 5] = [
    "kind = \"leaf-spine\"\nleaves = 4\nspines = 2\nhosts = 2",
    "kind = \"leaf-spine\"\nleaves = 4\nspines = 3\nhosts = 4\noversubscription = 2",
    "kind = \"leaf-spine\"\nleaves = 2\nspines = 2\nhosts = 4\nfabric_rate = \"3Gbps\"",
    "kind = \"fat-tree\"\nk = 4",
    "kind = \"fat-tree\"\nk = 4\noversubscription = 2",
];

/// Possible faults of the link between host 0 and its first switch. Every network has this link.
const FAULTS: [&str; 4] = [
    "",
    "rate = \"1Gbps\"\nfrom = \"100us\"\nuntil = \"900us\"\n",
    // The fault begins when the network is empty. The fault changes only the kind of the port.
    "rate = \"1Gbps\"\nfrom = \"1000s\"\n",
    "loss = 0.01\n",
];

const SIZES: [&str; 4] = [
    "uniform:1000:100000",
    "websearch",
    "fixed:30000",
    "facebook-cache",
];

fn scenario() -> impl Strategy<Value = String> {
    let network = (
        prop::sample::select(&TOPOLOGIES[..]),
        1..=2_u32,
        prop::sample::select(&["10Gbps", "7Gbps", "1Gbps"][..]),
        0..=3_u32,
        prop::sample::select(&FAULTS[..]),
    );
    let queue = (
        prop::sample::select(&["20 packets", "100 packets", "50000B"][..]),
        // A threshold as large as the whole queue is refused, because it marks nothing.
        1..=19_u32,
    );
    let traffic = (
        prop::sample::select(&DESIGNS[..]),
        1..=9_u32,
        10..=60_u32,
        prop::sample::select(&SIZES[..]),
        0..1_000_000_u32,
    );
    (network, queue, traffic).prop_map(|(network, queue, traffic)| {
        let (topology, host_links, rate, delay_us, fault) = network;
        let (limit, mark_above) = queue;
        let (design, tenths, flows, sizes, seed) = traffic;
        // CONGA and Expeditus need hosts with one switch.
        let one_link = ["conga", "expeditus", "omniscient"].iter().any(|name| design.contains(name));
        let host_links = if one_link { 1 } else { host_links };
        let fault = match fault {
            "" => String::new(),
            fault => format!("[[failures]]\na = \"h0\"\nb = \"s0\"\n{fault}"),
        };
        // A design rejects keys that it does not read.
        let has_own_queue = ["ndp", "ndp-plus", "scdp", "pfabric", "pias", "repflow+pias"];
        let mut queue = String::from("[queue]\n");
        if !has_own_queue.contains(&design) {
            queue += &format!("limit = \"{limit}\"\n");
        }
        if design.contains("dctcp") || design.contains("pias") || design == "scdp-plain" {
            queue += &format!("mark_above = \"{mark_above} packets\"\n");
        }
        if !["ndp", "ndp-plus", "scdp", "scdp-plain", "pfabric"].contains(&design) {
            queue += "[tcp]\nmin_rto = \"1ms\"\n";
        }
        format!(
            "designs = \"{design}\"\nloads = 0.{tenths}\nflows = {flows}\nseed = {seed}\nseeds = 2\ndrain = \"100ms\"\n\
             [topology]\n{topology}\nhost_links = {host_links}\nrate = \"{rate}\"\ndelay = \"{delay_us}us\"\n\
             {queue}[[workload]]\nsizes = \"{sizes}\"\n{fault}"
        )
    })
}

fn records(text: &str, changes: &[(&str, &str)], threads: usize) -> Vec<RunRecord> {
    let mut scenario = Scenario::parse("random.toml", "", text).expect("a scenario");
    for &(key, value) in changes {
        scenario = scenario.with(key, value).expect("a value");
    }
    let workers = Workers {
        threads: NonZeroUsize::new(threads).expect("a thread"),
        ..Workers::default()
    };
    let study = Study::of(&scenario).expect("a study");
    study.run(&workers).expect("records")
}

/// Returns an error that names the first part in which two lists of records differ.
/// The cost and the number of events may differ.
fn same(a: &[RunRecord], b: &[RunRecord], what: &str) -> Result<(), TestCaseError> {
    prop_assert_eq!(a.len(), b.len());
    for (a, b) in a.iter().zip(b) {
        let totals = |record: &RunRecord| RunTotals {
            events: 0,
            ..record.totals.clone()
        };
        prop_assert_eq!(a.hash(), b.hash(), "hash: {}", what);
        prop_assert_eq!(&a.flows, &b.flows, "flows: {}", what);
        prop_assert_eq!(&a.ports, &b.ports, "ports: {}", what);
        prop_assert_eq!(totals(a), totals(b), "totals: {}", what);
    }
    Ok(())
}

/// Number of scenarios.
fn cases() -> u32 {
    match std::env::var("RANDOM_SCENARIOS") {
        Ok(number) => number.parse().expect("RANDOM_SCENARIOS is a number"),
        Err(_) => 30,
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: cases(), failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_scenario_gives_the_same_records_on_any_ports_engine_and_threads(text in scenario()) {
        let reference = records(&text, &[], 1);
        for (changes, threads) in [
            (&[("port_events", "two")][..], 1),
            (&[("engine", "heap")][..], 2),
            (&[("port_events", "two"), ("engine", "heap")][..], 2),
        ] {
            let other = records(&text, changes, threads);
            same(&reference, &other, &format!("{changes:?}, {threads} threads"))?;
        }
    }
}

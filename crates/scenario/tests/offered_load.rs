//! Offered load in the record of a run: it equals the load that the links carry.

use tailcut_record::{OfferedLoad, RunRecord};
use tailcut_scenario::{Scenario, Study};
use tailcut_sim::{Unattended, run};

fn record(text: &str) -> RunRecord {
    let scenario = Scenario::parse("s.toml", "", text).expect("a scenario");
    let study = Study::of(&scenario).expect("a study");
    run(&study.runs[0], &Unattended).expect("a run")
}

fn offered(text: &str) -> OfferedLoad {
    record(text)
        .offered
        .expect("the record contains the offered load")
}

fn load_of(offered: &OfferedLoad, name: &str) -> f64 {
    let tier = offered.tiers.iter().find(|tier| tier.tier == name);
    tier.unwrap_or_else(|| panic!("no {name} in {offered:?}"))
        .load
}

const SPINES: &str =
    "[topology]\nkind = \"leaf-spine\"\nleaves = 2\nspines = 2\nhosts = 4\nrate = \"1Gbps\"\n";

#[test]
fn the_load_of_hosts_is_three_times_as_much_on_uplinks_that_are_oversubscribed_three_to_one() {
    let text = format!(
        "designs = [\"tcp\"]\nloads = 0.2\nflows = 10\n{SPINES}oversubscription = 3\n[[workload]]\nsizes = \
         \"fixed:146000\"\n"
    );
    let offered = offered(&text);
    // The load includes headers, preamble and gap: each packet with 1,460 B of payload has 1,538 B on the link.
    let hosts = 0.2 * 1_538.0 / 1_460.0;
    for (tier, expected) in [
        ("host uplinks", hosts),
        ("leaf uplinks", 3.0 * hosts),
        ("spine downlinks", 3.0 * hosts),
        ("host downlinks", hosts),
    ] {
        let load = load_of(&offered, tier);
        assert!((load - expected).abs() < 1e-9, "{tier}: {load}");
    }
    assert_eq!(offered.tiers.len(), 4);
    let leaf = &offered.tiers[1];
    assert!((leaf.in_proportion - leaf.load).abs() < 1e-12);
    assert_eq!(offered.overloaded(), None);
}

#[test]
fn parts_add_up_while_they_last_and_only_the_foreground_is_in_proportion() {
    let part = |class: &str, from: &str, until: &str| {
        format!(
            "[[workload]]\nclass = \"{class}\"\nsizes = \"fixed:146000\"\nload = 0.2\nfrom = \"{from}\"\nuntil \
             = \"{until}\"\n"
        )
    };
    let text = |second: &str| {
        let first = part("foreground", "0s", "10ms");
        format!("designs = [\"tcp\"]\nflows = 10\n{SPINES}{first}{second}")
    };
    let at_once = offered(&text(&part("background", "5ms", "9ms")));
    let one = 0.2 * 1_538.0 / 1_460.0;
    let tier = &at_once.tiers[0];
    assert!((tier.load - 2.0 * one).abs() < 1e-9, "{tier:?}");
    assert!((tier.in_proportion - one).abs() < 1e-9, "{tier:?}");
    let in_turn = offered(&text(&part("background", "10ms", "20ms")));
    let tier = &in_turn.tiers[0];
    assert!((tier.load - one).abs() < 1e-9, "{tier:?}");
}

/// Returns the bits that the used links of a tier carried, as a share of their capacity.
fn carried(record: &RunRecord, tiers: (u8, u8), seconds: f64) -> f64 {
    let (mut bits, mut capacity) = (0.0, 0.0);
    for (port, link) in record.ports.iter().zip(&record.topology) {
        if (link.from_tier, link.to_tier) == tiers && port.bytes.0 > 0 {
            bits += port.bytes.0 as f64 * 8.0;
            capacity += link.rate.as_bps() as f64 * seconds;
        }
    }
    bits / capacity
}

#[test]
fn links_carry_what_they_are_offered() {
    let top = "duration = \"200ms\"\n";
    let fixed = "sizes = \"fixed:146000\"\narrivals = \"fixed\"\n";
    let tree =
        "[topology]\nkind = \"fat-tree\"\nk = 4\ncore_oversubscription = 2\nrate = \"1Gbps\"\n";
    let two_links = "[topology]\nkind = \"leaf-spine\"\nleaves = 4\nspines = 2\nhosts = 4\nhost_links = \
                     2\nrate = \"1Gbps\"\n";
    let racks =
        "[topology]\nkind = \"leaf-spine\"\nleaves = 4\nspines = 2\nhosts = 4\nrate = \"1Gbps\"\n";
    let open = |matrix: &str| format!("[[workload]]\n{fixed}load = 0.1\n{matrix}");
    let storage = |how: &str| {
        format!("[[workload]]\nkind = \"storage\"\n{fixed}sessions_per_second = 2000\n{how}")
    };
    for (design, topology, workload) in [
        ("tcp", tree, open("matrix = \"anywhere\"\n")),
        ("tcp", tree, open("matrix = \"permutation\"\n")),
        ("tcp", two_links, open("matrix = \"anywhere\"\n")),
        ("tcp", racks, open("path = 1\n")),
        (
            "tcp",
            racks,
            open("fan_in_senders = 3\nfan_in_below = \"1MB\"\n"),
        ),
        ("tcp", racks, storage("write = \"multi-unicast\"\n")),
        ("tcp", racks, storage("write = \"daisy-chain\"\n")),
        ("tcp", racks, storage("read_share = 1\n")),
        ("scdp", racks, storage("")),
        ("scdp", racks, storage("read_share = 0.5\n")),
    ] {
        let record = record(&format!(
            "designs = [\"{design}\"]\n{top}{topology}{workload}"
        ));
        let offered = record.offered.as_ref().expect("known");
        // Acknowledgements and pulls add load, and flows start and end within the measured time.
        let most = if design == "scdp" { 1.3 } else { 1.15 };
        assert!(offered.tiers.len() >= 4, "{offered:?}");
        for tier in &offered.tiers {
            let tiers = match tier.tier.as_str() {
                "host uplinks" => (0, 1),
                "leaf uplinks" | "edge uplinks" => (1, 2),
                "aggregation uplinks" => (2, 3),
                "core downlinks" => (3, 2),
                "spine downlinks" | "aggregation downlinks" => (2, 1),
                "host downlinks" => (1, 0),
                other => panic!("{other}"),
            };
            let carried = carried(&record, tiers, 0.2);
            assert!(
                (0.95..most).contains(&(carried / tier.load)),
                "{design} {workload}: {} carried a load of {carried}, offered {}",
                tier.tier,
                tier.load
            );
        }
    }
}

#[test]
fn what_waits_for_the_network_or_is_run_as_it_is_offers_no_load() {
    let of = |kind: &str| {
        let limit = match kind {
            "burst" => "",
            _ => "flows = 10\nduration = \"1ms\"\n",
        };
        let text = format!(
            "designs = [\"tcp\"]\n{limit}{SPINES}[[workload]]\nkind = \"{kind}\"\nsizes = \
             \"fixed:1KB\"\n"
        );
        offered(&text)
    };
    for kind in ["closed", "burst"] {
        let offered = of(kind);
        assert_eq!(offered.exempt, [kind]);
        assert!(offered.tiers.is_empty() && offered.busiest.is_none());
    }
}

#[test]
fn requests_load_servers_and_the_links_between_them_and_their_clients() {
    let text = |design: &str| {
        format!(
            "designs = [\"{design}\"]\nloads = 0.4\nflows = 10\n{SPINES}[[workload]]\nkind = \"requests\"\nsizes = \
             \"fixed:146000\"\nclients = 2\nservers = 2\n"
        )
    };
    let over_packets = offered(&text("tcp"));
    let stations = "busiest stations of the servers";
    assert!((load_of(&over_packets, stations) - 0.4).abs() < 1e-9);
    let up = load_of(&over_packets, "host uplinks");
    assert!((up - 0.4 * 1_538.0 / 1_460.0).abs() < 1e-9, "{up}");
    let without_packets = offered(
        "designs = [\"stations\"]\nloads = 0.4\nflows = 10\n[[workload]]\nkind = \"requests\"\n",
    );
    assert!((load_of(&without_packets, stations) - 0.4).abs() < 1e-9);
    assert_eq!(without_packets.tiers.len(), 1);
}

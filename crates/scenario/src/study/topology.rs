//! The network from its sections, and from the short form of `--topology`.

use super::custom::{MOST_LINKS, custom};
use super::queue::{queue, shared_buffer};
use crate::error::Outcome;
use crate::error::{Place, ScenarioError};
use crate::scenario::{Scenario, Table};
use crate::schema::section;
use crate::value::{Value, shortened};
use std::sync::Arc;
use tailcut_sim::fabric::SharedBuffer;
use tailcut_sim::fabric::queue::QueueConfig;
use tailcut_sim::fabric::topology::{
    CoreOversubscription, FatTree, LeafSpine, SingleSwitch, Topology, TopologyError, Wire,
};
use tailcut_sim::{Shape, TopologySpec};
use tailcut_units::Rate;

/// The kinds of `tailcut list topologies` with what they are.
pub const KINDS: [(&str, &str); 4] = [
    ("single-switch", "hosts on one switch: one path a pair"),
    (
        "leaf-spine",
        "racks whose leaf is linked to every spine: as many paths as spines",
    ),
    (
        "fat-tree",
        "k-ary fat-tree of two or three tiers: k/2 or k*k/4 paths",
    ),
    (
        "custom",
        "nodes and links from a scenario file, [[nodes]] and [[links]]",
    ),
];

/// The keys that a kind takes beside `kind`, `name`, `rate` and `delay`.
pub fn keys_of(kind: &str) -> &'static [&'static str] {
    match kind {
        "single-switch" => &["hosts"],
        "leaf-spine" => &[
            "leaves",
            "spines",
            "hosts",
            "host_links",
            "oversubscription",
            "fabric_rate",
            "fabric_delay",
        ],
        "fat-tree" => &[
            "k",
            "tiers",
            "host_links",
            "oversubscription",
            "core_oversubscription",
            "cores_per_aggregation",
            "fabric_rate",
            "fabric_delay",
        ],
        _ => &[],
    }
}

const KEYS_OF_ALL: [&str; 4] = ["kind", "name", "rate", "delay"];

/// A network with what a workload needs to know of it.
pub struct Network {
    /// The network as runs take it.
    pub spec: TopologySpec,
    /// The same, built.
    pub built: Topology,
}

/// Puts `--topology`'s `KIND[:KEY=VALUE,...]` in place of a scenario's topology.
pub fn replace(scenario: &mut Scenario, text: &str, place: &Place) -> Outcome<()> {
    let (kind, parameters) = text.split_once(':').unwrap_or((text, ""));
    for section in ["topology", "nodes", "links"] {
        scenario.clear(section);
    }
    scenario.set("topology.kind", kind, place)?;
    let mut given: Vec<&str> = vec!["kind"];
    for parameter in parameters
        .split(',')
        .filter(|parameter| !parameter.trim().is_empty())
    {
        let Some((key, value)) = parameter.split_once('=') else {
            let found = format!("'{}'", shortened(parameter));
            let allowed = "KIND or KIND:KEY=VALUE,KEY=VALUE, such as leaf-spine:leaves=4,spines=4";
            return Err(ScenarioError::new(place, "topology", found, allowed));
        };
        let key = key.trim();
        if given.contains(&key) {
            let found = format!("'{}' twice", shortened(key));
            return Err(ScenarioError::new(
                place,
                "topology",
                found,
                "each key once",
            ));
        }
        given.push(key);
        scenario.set(&format!("topology.{key}"), value.trim(), place)?;
    }
    Ok(())
}

/// The network of a scenario.
pub fn network(scenario: &Scenario) -> Outcome<Network> {
    let table = scenario.table("topology");
    let nodes = scenario.tables("nodes");
    let kind = table.word("kind").unwrap_or(if nodes.is_empty() {
        "leaf-spine"
    } else {
        "custom"
    });
    for (key, _) in table.entries() {
        if !KEYS_OF_ALL.contains(&key) && !keys_of(kind).contains(&key) {
            let users = KINDS.iter().map(|(kind, _)| *kind);
            let users: Vec<&str> = users.filter(|kind| keys_of(kind).contains(&key)).collect();
            let allowed = format!("only with kind {}", users.join(" or "));
            return Err(table.error(key, format!("with kind {kind}"), allowed));
        }
    }
    if kind != "custom"
        && let Some(stray) = nodes.first().or(scenario.tables("links").first())
    {
        let found = format!("with topology kind {kind}");
        return Err(ScenarioError::new(
            &stray.place,
            "nodes",
            found,
            "only with kind custom",
        ));
    }
    let host_wire = Wire {
        rate: table.rate("rate").unwrap_or(Rate::from_gbps(10)),
        delay: table.duration("delay").unwrap_or_default(),
    };
    let fabric_wire = Wire {
        rate: table.rate("fabric_rate").unwrap_or(host_wire.rate),
        delay: table.duration("fabric_delay").unwrap_or(host_wire.delay),
    };
    let shared_buffer = shared_buffer(scenario)?;
    let shape = match kind {
        "single-switch" => Shape::SingleSwitch(SingleSwitch {
            hosts: table.small("hosts").unwrap_or(12),
            host_wire,
            queue: queue(scenario, host_wire.rate),
            shared_buffer,
        }),
        "leaf-spine" => Shape::LeafSpine(leaf_spine(
            &table,
            host_wire,
            fabric_wire,
            queue(scenario, host_wire.rate),
            shared_buffer,
        )?),
        "fat-tree" => Shape::FatTree(FatTree {
            k: table.small("k").unwrap_or(8),
            tiers: table.small("tiers").unwrap_or(3),
            edge_oversubscription: table.small("oversubscription").unwrap_or(1),
            host_links: table.small("host_links").unwrap_or(1),
            core_oversubscription: core_oversubscription(&table)?,
            host_wire,
            fabric_wire,
            queue: queue(scenario, host_wire.rate),
            shared_buffer,
        }),
        _ => Shape::Custom(Arc::new(custom(scenario, host_wire, shared_buffer)?)),
    };
    let built = shape
        .build()
        .map_err(|error| located(scenario, &table, &error))?;
    if built.hosts() < 2 {
        return Err(table.error(
            "hosts",
            format!("{} in all", built.hosts()),
            "at least 2 hosts",
        ));
    }
    let name = match table.text("name") {
        Some(name) => name,
        None if kind == "custom" => scenario.name.clone(),
        None if table.is_swept("kind") => "swept".to_owned(),
        None => short_form(kind, &table),
    };
    Ok(Network {
        spec: TopologySpec { name, shape },
        built,
    })
}

/// The kind with the parameters that were given, as `--topology` takes them.
fn short_form(kind: &str, table: &Table) -> String {
    // What is swept is told beside the name, so that a sweep is of one network.
    let given = table
        .entries()
        .filter(|(key, entry)| *key != "kind" && !entry.is_swept);
    let parameters: Vec<String> = given
        .map(|(key, entry)| match &entry.value {
            Value::Rate(rate) => format!("{key}={}", rate.to_string().replace(' ', "")),
            Value::Duration(span) => format!("{key}={}", span.to_string().replace(' ', "")),
            other => format!("{key}={}", other.to_json()),
        })
        .collect();
    match parameters.is_empty() {
        true => kind.to_owned(),
        false => format!("{kind}:{}", parameters.join(",")),
    }
}

/// A topology's own error, at the key that it is about.
fn located(scenario: &Scenario, table: &Table, error: &TopologyError) -> Box<ScenarioError> {
    let key = match error.parameter {
        "hosts_per_leaf" => "hosts",
        "edge_oversubscription" => "oversubscription",
        parameter => parameter,
    };
    let known = section("topology").is_some_and(|section| section.key(key).is_some());
    let (found, allowed) = (error.found.as_str(), error.allowed.as_str());
    match scenario.tables("links").first() {
        _ if known => table.error(key, found, allowed),
        Some(links) => ScenarioError::new(&links.place, key, found, allowed),
        None => ScenarioError::new(&table.place, key, found, allowed),
    }
}

fn leaf_spine(
    table: &Table,
    host_wire: Wire,
    fabric_wire: Wire,
    queue: QueueConfig,
    shared_buffer: Option<SharedBuffer>,
) -> Outcome<LeafSpine> {
    let leaves = table.small("leaves").unwrap_or(4);
    let spines = table.small("spines").unwrap_or(4);
    let hosts = table.small("hosts").unwrap_or(8);
    let host_links = table.small("host_links").unwrap_or(1);
    for (key, each) in [
        ("hosts", hosts.saturating_mul(host_links)),
        ("spines", spines),
    ] {
        let total = u64::from(leaves) * u64::from(each);
        if total > MOST_LINKS as u64 {
            let found = format!("{each} a leaf, {total} links in all");
            return Err(table.error(key, found, format!("at most {MOST_LINKS} links")));
        }
    }
    let mut spine_wire = fabric_wire;
    if let Some(ratio) = table.count("oversubscription") {
        if table.given("fabric_rate").is_some() {
            let allowed = "oversubscription or fabric_rate, not both";
            return Err(table.error("oversubscription", "both", allowed));
        }
        let downlinks = u64::from(hosts) * u64::from(host_links);
        let rate = host_wire.rate.as_bps().checked_mul(downlinks);
        let rate = rate
            .map(|sum| sum / (u64::from(spines) * ratio))
            .and_then(Rate::from_bps);
        spine_wire.rate = rate.ok_or_else(|| {
            table.error(
                "oversubscription",
                ratio.to_string(),
                "a ratio that leaves the uplinks a rate",
            )
        })?;
    }
    Ok(LeafSpine {
        leaves,
        spines,
        hosts_per_leaf: hosts,
        host_links,
        host_wire,
        spine_wire,
        queue,
        shared_buffer,
    })
}

fn core_oversubscription(table: &Table) -> Outcome<CoreOversubscription> {
    let ratio = table.small("core_oversubscription").unwrap_or(1);
    let uplinks = table.small("k").unwrap_or(8) / 2;
    let three_tiers = table.small("tiers").unwrap_or(3) == 3;
    if let Some(cores) = table.small("cores_per_aggregation") {
        if table.given("core_oversubscription").is_some() {
            let allowed = "cores_per_aggregation or core_oversubscription, not both";
            return Err(table.error("cores_per_aggregation", "both", allowed));
        }
        if !three_tiers {
            return Err(table.error(
                "cores_per_aggregation",
                "with two tiers",
                "only with three tiers",
            ));
        }
        return Ok(CoreOversubscription::CoresPerAggregation(cores));
    }
    match ratio {
        1 => Ok(CoreOversubscription::None),
        ratio if three_tiers && uplinks.is_multiple_of(ratio) && uplinks > 0 => {
            Ok(CoreOversubscription::CoresPerAggregation(uplinks / ratio))
        }
        ratio => {
            let allowed = "a divisor of k/2, with three tiers";
            Err(table.error("core_oversubscription", ratio.to_string(), allowed))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tailcut_units::HostId;

    fn parsed(text: &str) -> Scenario {
        Scenario::parse("s.toml", "", text).expect("keys and values are sound")
    }

    #[test]
    fn the_short_form_is_the_name_and_reads_back_to_the_same_network() {
        let mut scenario = parsed("");
        let text = "leaf-spine:hosts=6,leaves=2,spines=3,rate=1Gb/s,delay=500ns";
        replace(&mut scenario, text, &Place::flag("--topology")).expect("a topology");
        let network = network(&scenario).expect("a network");
        assert_eq!(network.spec.name, text);
        assert_eq!((network.built.hosts(), network.built.paths), (12, 3));
    }

    #[test]
    fn oversubscription_of_a_leaf_spine_sets_its_uplinks() {
        let built = network(&parsed(
            "[topology]\nspines = 3\nhosts = 6\noversubscription = 2\n",
        ));
        let built = built.expect("a network").built;
        assert_eq!(
            built.host_capacity_bps(),
            2 * built.rack_uplink_capacity_bps()
        );
    }

    #[test]
    fn hosts_may_have_several_links_where_their_number_divides_that_of_the_switches() {
        let of = |text: &str| network(&parsed(&format!("[topology]\n{text}\n")));
        let built =
            of("leaves = 4\nhost_links = 2\noversubscription = 1").expect("racks of two leaves");
        let built = built.built;
        assert!(built.is_multi_homed(HostId(0)));
        assert_eq!(built.host_capacity_bps(), built.rack_uplink_capacity_bps());
        let error = of("leaves = 4\nhost_links = 3")
            .err()
            .expect("three of four");
        let told =
            "s.toml:3: topology.host_links: found 3; allowed: divisors of 4, the number of leaves";
        assert_eq!(error.to_string(), told);
        let error = of("kind = \"single-switch\"\nhost_links = 2")
            .err()
            .expect("one switch");
        assert!(
            error
                .to_string()
                .contains("only with kind leaf-spine or fat-tree"),
            "{error}"
        );
    }

    #[test]
    fn a_key_of_another_kind_is_refused_where_it_stands() {
        let text = "[topology]\nkind = \"fat-tree\"\nspines = 3\n";
        let error = network(&parsed(text)).err().expect("no spines").to_string();
        let told = "s.toml:3: topology.spines: found with kind fat-tree; allowed: only with kind leaf-spine";
        assert_eq!(error, told);
    }

    #[test]
    fn nodes_and_links_make_a_network_of_ones_own() {
        let text = "[[nodes]]\nname = \"left\"\nkind = \"host\"\ncount = 3\n\
                    [[nodes]]\nname = \"right\"\nkind = \"host\"\n\
                    [[nodes]]\nname = \"tor\"\nkind = \"switch\"\n\
                    [[nodes]]\nname = \"far\"\nkind = \"switch\"\n\
                    [[nodes]]\nname = \"middle\"\nkind = \"switch\"\ncount = 2\n\
                    [[links]]\na = \"left\"\nb = \"tor\"\nrate = \"1Gbps\"\n\
                    [[links]]\na = \"right\"\nb = \"far\"\n\
                    [[links]]\na = \"middle\"\nb = \"tor\"\n\
                    [[links]]\na = \"middle\"\nb = \"far\"\n";
        let network = network(&parsed(text)).expect("a network");
        assert_eq!((network.built.hosts(), network.built.paths), (4, 2));
        assert_eq!(network.spec.name, "s");
        let built = &network.built;
        let ports = [0, 3, 4, 7].map(|port| built.port_name(port).expect("a port"));
        assert_eq!(
            ports,
            ["left[0]>tor", "right>far", "tor>left[0]", "tor>middle[0]"]
        );
        let error = super::network(&parsed(&text.replace("\"left\"", "\"left[1]\"")));
        let error = error.err().expect("a name of two nodes").to_string();
        assert!(error.contains("nodes.name: found \"left[1]\""), "{error}");
        let broken = text.replace("b = \"far\"", "b = \"fat\"");
        let error = super::network(&parsed(&broken))
            .err()
            .expect("no such node")
            .to_string();
        assert!(
            error.starts_with("s.toml:24: links.b: found \"fat\""),
            "{error}"
        );
        assert!(error.ends_with("did you mean 'far'?"), "{error}");
    }
}

//! Network of a scenario, from the sections of the scenario or from the short form of `--topology`.

use super::custom::custom;
use super::queue::{queue, shared_buffer};
use crate::error::Outcome;
use crate::error::{Location, ScenarioError};
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

/// Kinds of networks in `tailcut list topologies`, each with a description.
pub const KINDS: [(&str, &str); 4] = [
    ("single-switch", "hosts on one switch: one path per pair"),
    (
        "leaf-spine",
        "racks whose leaf connects to every spine: one path per spine",
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

/// Returns the keys of a kind, in addition to `kind`, `name`, `rate` and `delay`.
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
            "core_rate",
            "core_delay",
        ],
        _ => &[],
    }
}

const KEYS_OF_ALL: [&str; 4] = ["kind", "name", "rate", "delay"];

/// Network, as specification and as a graph.
pub struct Network {
    /// Specification in the configuration of runs.
    pub spec: TopologySpec,
    /// Graph of the network, built from the specification.
    pub built: Topology,
}

/// Replaces the topology of a scenario by the value of `--topology`: `KIND[:KEY=VALUE,...]`.
pub fn replace(scenario: &mut Scenario, text: &str, place: &Location) -> Outcome<()> {
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

/// Returns the network of a scenario.
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
        rate: table.get("rate"),
        delay: table.get("delay"),
    };
    let fabric_wire = Wire {
        rate: table.get_or("fabric_rate", host_wire.rate),
        delay: table.get_or("fabric_delay", host_wire.delay),
    };
    let shared_buffer = shared_buffer(scenario)?;
    let shape = match kind {
        "single-switch" => Shape::SingleSwitch(SingleSwitch {
            hosts: table.get_or("hosts", 12),
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
            k: table.get("k"),
            tiers: table.get("tiers"),
            edge_downlinks: edge_downlinks(&table)?,
            host_links: table.get("host_links"),
            core_oversubscription: core_oversubscription(&table)?,
            host_wire,
            fabric_wire,
            core_wire: core_wire(&table, fabric_wire)?,
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
            format!("{} in total", built.hosts()),
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

/// Returns the network's kind and the parameters that are set, in the syntax of `--topology`.
fn short_form(kind: &str, table: &Table) -> String {
    // Swept values have their own columns in the results. The name leaves them out, so a sweep has one network name.
    let given = table
        .entries()
        .filter(|(key, entry)| *key != "kind" && !entry.is_swept);
    let parameters: Vec<String> = given
        .map(|(key, entry)| match &entry.value {
            Value::Rate(rate) => format!("{key}={}", rate.to_string().replace(' ', "")),
            Value::Duration(span) => format!("{key}={}", span.to_string().replace(' ', "")),
            Value::Number(number) => format!("{key}={number}"),
            other => format!("{key}={}", other.to_json()),
        })
        .collect();
    match parameters.is_empty() {
        true => kind.to_owned(),
        false => format!("{kind}:{}", parameters.join(",")),
    }
}

/// Converts an error of a topology to an error at the key that causes it.
fn located(scenario: &Scenario, table: &Table, error: &TopologyError) -> Box<ScenarioError> {
    let key = match error.parameter {
        "hosts_per_leaf" => "hosts",
        "edge_downlinks" => "oversubscription",
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
    let leaves: u32 = table.get("leaves");
    let hosts: u32 = table.get_or("hosts", 8);
    let host_links: u32 = table.get("host_links");
    let downlinks = u64::from(hosts) * u64::from(host_links);
    let (spines, spine_rate) = uplinks(table, downlinks, host_wire.rate, fabric_wire.rate)?;
    let spine_wire = Wire {
        rate: spine_rate,
        ..fabric_wire
    };
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

/// Returns the number of spines of a leaf-spine network and the rate of each uplink.
/// If two of the keys spines, fabric_rate and oversubscription are set, they determine the third key.
fn uplinks(table: &Table, downlinks: u64, host: Rate, fabric: Rate) -> Outcome<(u32, Rate)> {
    let spines: u32 = table.get("spines");
    let Some(ratio) = table.get::<Option<f64>>("oversubscription") else {
        return Ok((spines, fabric));
    };
    let offered = host.as_bps() as f64 * downlinks as f64;
    if table.given("fabric_rate").is_none() {
        let rate = offered / (f64::from(spines) * ratio);
        let rate = Rate::from_bps(rate as u64).ok_or_else(|| {
            let allowed = "a ratio that gives the uplinks a rate above 0";
            table.error("oversubscription", ratio.to_string(), allowed)
        })?;
        return Ok((spines, rate));
    }
    if table.given("spines").is_some() {
        let allowed = "two of spines, fabric_rate and oversubscription";
        return Err(table.error("oversubscription", "all three", allowed));
    }
    let wanted = offered / (fabric.as_bps() as f64 * ratio);
    if let Some(whole) = whole(wanted, 4_096) {
        return Ok((whole, fabric));
    }
    let ratio_of = |spines: f64| offered / (fabric.as_bps() as f64 * spines);
    let found = format!("{ratio}, which needs {wanted:.3} uplinks of {fabric} per leaf");
    Err(table.error("oversubscription", found, near(wanted, "uplinks", ratio_of)))
}

/// Returns the number if it is whole (up to rounding errors) and in the range 1 to `most`.
fn whole(number: f64, most: u32) -> Option<u32> {
    let whole = number.round();
    let is_whole = (number - whole).abs() <= 1e-6 * whole;
    (is_whole && (1.0..=f64::from(most)).contains(&whole)).then_some(whole as u32)
}

/// Returns a text for an error: the ratios for the two whole numbers closest to `wanted`.
fn near(wanted: f64, of: &str, ratio_of: impl Fn(f64) -> f64) -> String {
    let few = wanted.floor().max(1.0);
    let short = |number: f64| {
        let text = format!("{number:.6}");
        text.trim_end_matches('0').trim_end_matches('.').to_owned()
    };
    let (first, second) = (short(ratio_of(few)), short(ratio_of(few + 1.0)));
    format!(
        "a ratio of whole {of}, such as {first} with {few} or {second} with {}",
        few + 1.0
    )
}

/// Returns the number of links from a fat-tree's edge switch to hosts.
fn edge_downlinks(table: &Table) -> Outcome<u32> {
    let uplinks = f64::from(table.get::<u32>("k") / 2);
    let ratio = table.get_or("oversubscription", 1.0);
    let wanted = uplinks * ratio;
    whole(wanted, 2_048).ok_or_else(|| {
        let found = format!("{ratio}, which needs {wanted:.3} hosts per edge switch");
        let allowed = near(wanted, "hosts", |hosts| hosts / uplinks);
        table.error("oversubscription", found, allowed)
    })
}

/// Returns the links between aggregation switches and cores.
fn core_wire(table: &Table, fabric: Wire) -> Outcome<Wire> {
    if table.get::<u32>("tiers") != 3 {
        for key in ["core_rate", "core_delay"] {
            if table.given(key).is_some() {
                return Err(table.error(key, "with two tiers", "only with three tiers"));
            }
        }
    }
    Ok(Wire {
        rate: table.get_or("core_rate", fabric.rate),
        delay: table.get_or("core_delay", fabric.delay),
    })
}

fn core_oversubscription(table: &Table) -> Outcome<CoreOversubscription> {
    let ratio: u32 = table.get("core_oversubscription");
    let uplinks = table.get::<u32>("k") / 2;
    let three_tiers = table.get::<u32>("tiers") == 3;
    if let Some(cores) = table.get::<Option<u32>>("cores_per_aggregation") {
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
    use tailcut_sim::fabric::topology::Node;
    use tailcut_units::HostId;

    fn parsed(text: &str) -> Scenario {
        Scenario::parse("s.toml", "", text).expect("keys and values are valid")
    }

    #[test]
    fn the_short_form_is_the_name_and_reads_back_to_the_same_network() {
        let mut scenario = parsed("");
        let text = "leaf-spine:hosts=6,leaves=2,spines=3,rate=1Gb/s,delay=500ns";
        replace(&mut scenario, text, &Location::flag("--topology")).expect("a topology");
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
    fn forty_servers_at_25_gigabits_and_three_to_one_are_one_line() {
        let of = |text: &str| {
            let mut scenario = parsed("");
            replace(&mut scenario, text, &Location::flag("--topology")).expect("a topology");
            network(&scenario)
        };
        let text = "leaf-spine:leaves=4,hosts=10,spines=2,rate=25Gbps,oversubscription=2.5";
        let built = of(text).expect("fifty gigabits for each uplink").built;
        assert_eq!(built.hosts(), 40);
        assert_eq!(
            built.host_capacity_bps() * 2,
            5 * built.rack_uplink_capacity_bps()
        );
        // Uplinks of a standard rate: the ratio determines their number.
        let text = "leaf-spine:leaves=4,hosts=12,rate=25Gbps,fabric_rate=50Gbps,oversubscription=3";
        let built = of(text).expect("two uplinks for each leaf").built;
        assert_eq!((built.hosts(), built.paths), (48, 2));
        let text = "leaf-spine:leaves=4,hosts=10,rate=25Gbps,fabric_rate=40Gbps,oversubscription=3";
        let error = of(text).err().expect("no whole number").to_string();
        assert_eq!(
            error,
            "--topology: topology.oversubscription: found 3, which needs 2.083 uplinks of 40 Gb/s per leaf; \
             allowed: a ratio of whole uplinks, such as 3.125 with 2 or 2.083333 with 3"
        );
        let text = "leaf-spine:spines=2,fabric_rate=40Gbps,oversubscription=3";
        let error = of(text).err().expect("one too many").to_string();
        let allowed = "found all three; allowed: two of spines, fabric_rate and oversubscription";
        assert!(error.ends_with(allowed), "{error}");
    }

    #[test]
    fn tiers_of_a_fat_tree_have_rates_of_their_own_and_ratios_need_not_be_whole() {
        let of = |text: &str| {
            network(&parsed(&format!(
                "[topology]\nkind = \"fat-tree\"\n{text}\n"
            )))
        };
        let built = of("k = 4\ncore_rate = \"40Gbps\"\noversubscription = 1.5");
        let built = built.expect("three hosts").built;
        assert_eq!(built.hosts(), 24);
        let to_cores = built.links.iter().filter(|link| match link.to {
            Node::Switch(switch) => switch >= 16,
            Node::Host(_) => false,
        });
        let rates: Vec<Rate> = to_cores.map(|link| link.config.rate).collect();
        assert_eq!(rates, [Rate::from_gbps(40); 16]);
        let refused = |text: &str| of(text).err().expect("refused").to_string();
        let error = refused("k = 4\noversubscription = 1.2");
        assert!(error.contains("such as 1 with 2 or 1.5 with 3"), "{error}");
        let error = refused("k = 4\ntiers = 2\ncore_rate = \"40Gbps\"");
        let allowed = "found with two tiers; allowed: only with three tiers";
        assert!(error.ends_with(allowed), "{error}");
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
        let expected =
            "s.toml:3: topology.host_links: found 3; allowed: divisors of 4, the number of leaves";
        assert_eq!(error.to_string(), expected);
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
        let expected = "s.toml:3: topology.spines: found with kind fat-tree; allowed: only with kind leaf-spine";
        assert_eq!(error, expected);
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
        // The links lead to one node of a group, and to a range of the group's nodes.
        let one = text.replace("a = \"left\"\nb", "a = \"left[0]\"\nb");
        let rest = format!("{one}[[links]]\na = \"left[1..3]\"\nb = \"far\"\n");
        let built = super::network(&parsed(&rest)).expect("a network").built;
        assert_eq!(built.racks, [0, 1, 1, 1]);
        let error = super::network(&parsed(&one.replace("left[0]", "left[3]")));
        let error = error.err().expect("only three").to_string();
        let expected = "links.a: found \"left[3]\"; allowed: left[0] to left[2], or several of them, such as \
                    left[0..3]";
        assert!(error.ends_with(expected), "{error}");
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

//! The network from its sections, and from the short form of `--topology`.

use super::Outcome;
use crate::scenario::schema::section;
use crate::scenario::value::{Value, shortened};
use crate::scenario::{Place, Scenario, ScenarioError, Table, did_you_mean};
use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;
use tailcut_sim::fabric::SharedBuffer;
use tailcut_sim::fabric::queue::{DropTail, Limit, QueueConfig};
use tailcut_sim::fabric::topology::{
    CoreOversubscription, CustomLink, CustomTopology, FatTree, LeafSpine, Node, NodeNames,
    SingleSwitch, Topology, TopologyError, Wire,
};
use tailcut_sim::{Shape, TopologySpec};
use tailcut_units::{HostId, Rate};

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
        None => short_form(kind, &table),
    };
    Ok(Network {
        spec: TopologySpec { name, shape },
        built,
    })
}

/// The kind with the parameters that were given, as `--topology` takes them.
fn short_form(kind: &str, table: &Table) -> String {
    let given = table.entries().filter(|(key, _)| *key != "kind");
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
    let (found, allowed) = match error.problem.split_once("; allowed ") {
        Some((found, allowed)) => (
            found,
            allowed.trim_start_matches("are ").trim_start_matches("is "),
        ),
        None => (error.problem.as_str(), ""),
    };
    let found = found.trim_start_matches("found ");
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

fn shared_buffer(scenario: &Scenario) -> Outcome<Option<SharedBuffer>> {
    let table = scenario.table("shared_buffer");
    let Some(capacity) = table.bytes("capacity") else {
        return match table.given("alpha") {
            Some(_) => Err(table.error("alpha", "no capacity", "only with a capacity")),
            None => Ok(None),
        };
    };
    Ok(Some(SharedBuffer {
        capacity,
        alpha: table.number("alpha").unwrap_or(1.0),
    }))
}

/// The queue of every switch port; what is automatic goes by the rate of the hosts.
fn queue(scenario: &Scenario, rate: Rate) -> QueueConfig {
    let table = scenario.table("queue");
    let shared = scenario.table("shared_buffer").bytes("capacity").is_some();
    let unlimited = Limit::Packets(u32::MAX);
    let sized = |key: &str| match table.value(key) {
        Some(Value::Bytes(bytes)) => Some(Limit::Bytes(bytes.0)),
        Some(Value::Count(packets)) => {
            Some(Limit::Packets(u32::try_from(packets).unwrap_or(u32::MAX)))
        }
        _ => None,
    };
    let limit = sized("limit").unwrap_or(match table.word("limit") {
        Some("auto") if !shared => Limit::Packets(automatic_limit(rate)),
        _ => unlimited,
    });
    let mark_above = sized("mark_above").or_else(|| match table.word("mark_above") {
        Some("auto") => Some(Limit::Packets(match limit {
            Limit::Packets(limit) if limit < u32::MAX => {
                automatic_threshold(rate).min((u64::from(limit) * 65 / 100) as u32)
            }
            _ => automatic_threshold(rate),
        })),
        _ => None,
    });
    QueueConfig::DropTail(DropTail { limit, mark_above })
}

/// 100 packets up to 10 Gb/s, above in proportion.
fn automatic_limit(rate: Rate) -> u32 {
    let in_proportion = u128::from(rate.as_bps()) * 100 / 10_000_000_000;
    u32::try_from(in_proportion)
        .unwrap_or(u32::MAX - 1)
        .max(100)
}

/// DCTCP's K: 20 packets up to 1 Gb/s and 65 at 10 Gb/s (DCTCP paper, section 4), linear between and
/// in proportion above.
fn automatic_threshold(rate: Rate) -> u32 {
    let mbps = rate.as_bps() / 1_000_000;
    let packets = match mbps {
        0..=1_000 => 20,
        1_001..10_000 => 20 + (mbps - 1_000) * 45 / 9_000,
        _ => mbps * 65 / 10_000,
    };
    u32::try_from(packets).unwrap_or(u32::MAX)
}

/// A name of a custom topology and the nodes that it stands for.
#[derive(Clone)]
enum Group {
    Hosts(Range<u32>),
    Switches(Range<u32>),
}

/// What the nodes of groups are called: by the name of a group of one, else as `[[failures]]` names one
/// of several.
fn node_names(groups: &BTreeMap<String, Group>, hosts: u32, switches: u32) -> NodeNames {
    let mut names = NodeNames {
        hosts: vec![String::new(); hosts as usize],
        switches: vec![String::new(); switches as usize],
    };
    for (name, group) in groups {
        let (range, its) = match group {
            Group::Hosts(range) => (range, &mut names.hosts),
            Group::Switches(range) => (range, &mut names.switches),
        };
        for (place, node) in range.clone().enumerate() {
            its[node as usize] = match range.len() {
                1 => name.clone(),
                _ => format!("{name}[{place}]"),
            };
        }
    }
    names
}

impl Group {
    fn nodes(&self) -> Vec<Node> {
        match self {
            Self::Hosts(range) => range.clone().map(|host| Node::Host(HostId(host))).collect(),
            Self::Switches(range) => range.clone().map(Node::Switch).collect(),
        }
    }
}

/// The most links of one kind.
const MOST_LINKS: usize = 1_000_000;

fn custom(
    scenario: &Scenario,
    usual: Wire,
    shared_buffer: Option<SharedBuffer>,
) -> Outcome<CustomTopology> {
    let (groups, hosts, switches) = groups(scenario)?;
    let mut links = Vec::new();
    let mut host_rates = Vec::new();
    for table in scenario.tables("links") {
        let end = |key: &str| -> Outcome<Vec<Node>> {
            let Some(name) = table.text(key) else {
                return Err(table.error(key, "nothing", "the name of a node"));
            };
            groups.get(&name).map(Group::nodes).ok_or_else(|| {
                let names: Vec<&str> = groups.keys().map(String::as_str).collect();
                let meant = did_you_mean(&name, names.iter().copied()).map(str::to_owned);
                let found = format!("\"{}\"", shortened(&name));
                table.error(key, found, "the name of a node").meaning(meant)
            })
        };
        let wire = Wire {
            rate: table.rate("rate").unwrap_or(usual.rate),
            delay: table.duration("delay").unwrap_or(usual.delay),
        };
        let (a_ends, b_ends) = (end("a")?, end("b")?);
        if a_ends.len().saturating_mul(b_ends.len()) + links.len() > MOST_LINKS {
            let found = format!("{} times {} links", a_ends.len(), b_ends.len());
            return Err(table.error("a", found, format!("at most {MOST_LINKS} links in all")));
        }
        for &a in &a_ends {
            for &b in &b_ends {
                if matches!((a, b), (Node::Host(_), _) | (_, Node::Host(_))) {
                    host_rates.push(wire.rate);
                }
                links.push(CustomLink { a, b, wire });
            }
        }
    }
    Ok(CustomTopology {
        hosts,
        switches,
        links,
        queue: queue(scenario, host_rates.into_iter().min().unwrap_or(usual.rate)),
        shared_buffer,
        names: node_names(&groups, hosts, switches),
    })
}

/// The names of a custom topology with the nodes that they stand for.
pub fn named_nodes(scenario: &Scenario) -> Outcome<Vec<(String, Vec<Node>)>> {
    let (groups, ..) = groups(scenario)?;
    let named = groups.into_iter();
    Ok(named.map(|(name, group)| (name, group.nodes())).collect())
}

fn groups(scenario: &Scenario) -> Outcome<(BTreeMap<String, Group>, u32, u32)> {
    const MOST: u32 = 65_535;
    let mut groups = BTreeMap::new();
    let (mut hosts, mut switches) = (0u32, 0u32);
    for table in scenario.tables("nodes") {
        let Some(name) = table.text("name") else {
            return Err(table.error("name", "nothing", "a name that no other node has"));
        };
        if name.contains(['[', ']']) {
            let found = format!("\"{}\"", shortened(&name));
            let allowed = "a name without [ and ], which tell nodes by one name apart";
            return Err(table.error("name", found, allowed));
        }
        let count = table.small("count").unwrap_or(1);
        let (group, total) = match table.word("kind") {
            Some("host") => {
                hosts += count;
                (Group::Hosts(hosts - count..hosts), hosts)
            }
            Some("switch") => {
                switches += count;
                (Group::Switches(switches - count..switches), switches)
            }
            _ => return Err(table.error("kind", "nothing", "\"host\" or \"switch\"")),
        };
        if total > MOST {
            return Err(table.error(
                "count",
                format!("{total} in all"),
                format!("at most {MOST}"),
            ));
        }
        if groups.insert(name.clone(), group).is_some() {
            let found = format!("\"{}\" again", shortened(&name));
            return Err(table.error("name", found, "a name that no other node has"));
        }
    }
    Ok((groups, hosts, switches))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(text: &str) -> Scenario {
        Scenario::parse("s.toml", "", text).expect("keys and values are sound")
    }

    fn threshold(rate: Rate) -> u32 {
        automatic_threshold(rate)
    }

    #[test]
    fn the_marking_threshold_follows_the_hosts_rate() {
        assert_eq!(threshold(Rate::from_mbps(50)), 20);
        assert_eq!(threshold(Rate::from_gbps(1)), 20);
        assert_eq!(threshold(Rate::from_mbps(5_500)), 42);
        assert_eq!(threshold(Rate::from_gbps(10)), 65);
        assert_eq!(threshold(Rate::from_gbps(40)), 260);
        assert_eq!(automatic_limit(Rate::from_gbps(1)), 100);
        assert_eq!(automatic_limit(Rate::from_gbps(100)), 1_000);
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
    fn a_shared_buffer_has_a_capacity() {
        let error = network(&parsed("[shared_buffer]\nalpha = 2\n")).err();
        let error = error.expect("nothing to share").to_string();
        assert_eq!(
            error,
            "s.toml:2: shared_buffer.alpha: found no capacity; allowed: only with a capacity"
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

//! Workloads of a scenario, one for each load: from the scenario's sections, or from the short form of `--workload`.

use super::files::{coflows, sizes, trace};
use super::matrix::{hosts_of, matrix};
use super::topology::Network;
use super::workload_keys::{KINDS, keys_of};
use super::{groups, queries, requests, storage};
use crate::error::Location;
use crate::error::Outcome;
use crate::scenario::{Scenario, Table};
use crate::value::Value;
use std::sync::Arc;
use tailcut_sim::workload::{Arrivals, Class};
use tailcut_sim::{
    ApplicationPart, BurstPart, ClosedSpec, FanInSpec, FlowsSpec, Limits, LoadReference,
    MatrixSpec, Named, OfferedRate, OpenSpec, OwnApplication, Registered, RequestRate,
    RequestsPart, WorkloadPart, WorkloadSpec,
};
use tailcut_units::Duration;

/// Replaces the workloads of a scenario by the value of `--workload`.
/// The value is the name of flow sizes, `requests:` with object sizes, `application:NAME`, or `trace:FILE`.
pub fn replace(scenario: &mut Scenario, text: &str, place: &Location) -> Outcome<()> {
    scenario.clear("workload");
    if let Some(sizes) = text.strip_prefix("requests:") {
        scenario.set("workload.kind", "requests", place)?;
        return scenario.set("workload.sizes", sizes, place);
    }
    if let Some(name) = text.strip_prefix("application:") {
        // An application has no load to sweep.
        scenario.unset("", "loads");
        scenario.set("workload.kind", "application", place)?;
        return scenario.set("workload.application", name, place);
    }
    match text.strip_prefix("trace:") {
        Some(file) => {
            // A trace has no load to sweep, and it determines its own length.
            for key in ["loads", "duration", "flows"] {
                scenario.unset("", key);
            }
            scenario.set("workload.kind", "trace", place)?;
            scenario.set("workload.file", file, place)
        }
        None => scenario.set("workload.sizes", text, place),
    }
}

/// Returns the workloads of a scenario: one for each load if a part sweeps the load, otherwise one workload.
pub fn workloads(scenario: &Scenario, network: &Network) -> Outcome<Vec<WorkloadSpec>> {
    let top = scenario.table("");
    let written: Vec<Table> = scenario.tables("workload").into_iter().cloned().collect();
    let tables = match written.is_empty() {
        true => vec![scenario.table("workload")],
        false => written,
    };
    let mut parts = Vec::with_capacity(tables.len());
    for table in &tables {
        parts.push(part(scenario, table, network)?);
    }
    let mut storage = parts.iter().zip(&tables).filter(|(part, _)| {
        matches!(
            part.part.flows,
            FlowsSpec::Storage(_) | FlowsSpec::Application(_)
        )
    });
    if let Some((_, second)) = storage.nth(1) {
        let found = "a second storage workload or application";
        let allowed = "one of these; read_share mixes reads and writes in one storage workload";
        return Err(second.error("kind", found, allowed));
    }
    let names: Vec<String> = parts.iter().map(|part| part.name.clone()).collect();
    let name = names.join("+");
    let sweeps = parts
        .iter()
        .any(|part| part.sweeps || part.shared_among.is_some());
    let weights = Arc::new(groups::weights(scenario, network)?);
    let spec = |load: Option<f64>| WorkloadSpec {
        name: name.clone(),
        load: load.or_else(|| parts.iter().find_map(|part| part.own_load)),
        parts: parts.iter().map(|part| part.at_load(load)).collect(),
        weights: Arc::clone(&weights),
    };
    groups::check(scenario, &spec(None).parts)?;
    if sweeps {
        let Some(Value::Numbers(loads)) = top.value("loads") else {
            return Err(top.error("loads", "none", "at least one load"));
        };
        let shares = parts.iter().any(|part| part.shared_among.is_some());
        let all = network.built.hosts();
        let leaves_out = tables.iter().any(|t| t.word("leave_out") == Some("sweep"));
        let too_large = |load: f64| load > 1.0 || leaves_out && hosts_of(load, all) + 2 > all;
        if let Some(load) = loads.iter().find(|load| shares && too_large(**load)) {
            let allowed = "a share of the hosts, because share and leave_out are swept: at most 1, and at least two \
                           hosts must remain";
            return Err(top.error("loads", load.to_string(), allowed));
        }
        return Ok(loads.into_iter().map(|load| spec(Some(load))).collect());
    }
    if top.given("loads").is_some() {
        let allowed = "loads only with a workload that has load = \"sweep\"";
        return Err(top.error("loads", "loads that no workload uses", allowed));
    }
    Ok(vec![spec(None)])
}

/// Text that replaces swept values in names.
const SWEPT: &str = "swept";

/// Part of a workload, before the load of a sweep is set.
struct PartTemplate {
    name: String,
    part: WorkloadPart,
    sweeps: bool,
    /// Number of hosts in the topology. Set if the sweep changes the share of hosts in a permutation.
    shared_among: Option<u32>,
    /// Load of a foreground part that sets its load itself.
    own_load: Option<f64>,
}

impl PartTemplate {
    fn at_load(&self, load: Option<f64>) -> WorkloadPart {
        let mut part = self.part.clone();
        match (&mut part.flows, load.filter(|_| self.sweeps)) {
            (FlowsSpec::Open(open), Some(load)) => {
                if let OfferedRate::Load { fraction, .. } = &mut open.rate {
                    *fraction = load;
                }
            }
            (FlowsSpec::Requests(requests), Some(load)) => requests.rate = RequestRate::Load(load),
            _ => {}
        }
        if let (Some(all), Some(load)) = (self.shared_among, load) {
            part.flows.set_permuted_hosts(hosts_of(load, all));
        }
        part
    }
}

fn part(scenario: &Scenario, table: &Table, network: &Network) -> Outcome<PartTemplate> {
    let kind = table.word("kind").unwrap_or("open");
    for (key, _) in table.entries() {
        if !["kind", "class"].contains(&key) && !keys_of(kind).contains(&key) {
            let users: Vec<&str> = KINDS
                .into_iter()
                .filter(|kind| keys_of(kind).contains(&key))
                .collect();
            let allowed = format!("only with kind {}", users.join(" or "));
            return Err(table.error(key, format!("with kind {kind}"), allowed));
        }
    }
    let class = table.word("class").unwrap_or("foreground");
    let class = Class::ALL
        .into_iter()
        .find(|known| known.name() == class)
        .unwrap_or_default();
    if ["trace", "coflows"].contains(&kind) {
        let (mut name, flows) = match kind {
            "trace" => {
                let (name, trace) = trace(scenario, table, network)?;
                (name, FlowsSpec::Trace(trace))
            }
            _ => {
                let (name, coflows) = coflows(scenario, table, network)?;
                (name, FlowsSpec::Coflows(coflows))
            }
        };
        if table.is_swept("file") || table.is_swept("kind") {
            SWEPT.clone_into(&mut name);
        }
        return Ok(PartTemplate {
            name,
            part: WorkloadPart {
                class,
                path: None,
                flows,
            },
            sweeps: false,
            shared_among: None,
            own_load: None,
        });
    }
    let (mut sizes_name, sizes) = sizes(scenario, table)?;
    if table.is_swept("sizes") {
        // Swept values have their own columns in the results.
        // The workload's name does not contain swept values, so all runs of a sweep have the same workload name.
        SWEPT.clone_into(&mut sizes_name);
    }
    let matrix = match kind {
        "storage" | "application" | "queries" => MatrixSpec::Anywhere,
        _ => matrix(table, network)?,
    };
    let swept = |key| table.word(key) == Some("sweep");
    let shared_among = (swept("share") || swept("leave_out")).then(|| network.built.hosts());
    let mut name = match kind {
        _ if table.is_swept("kind") => SWEPT.to_owned(),
        "open" => sizes_name,
        "application" => application(table)?.name().to_owned(),
        kind => format!("{kind}:{sizes_name}"),
    };
    let is_named = |word: &&str| *word != "auto" && !table.is_swept("matrix");
    if let Some(word) = table.word("matrix").filter(is_named) {
        name = format!("{name}/{word}");
    }
    let mut sweeps = false;
    let mut own_load = None;
    let flows = match kind {
        "open" => {
            let rate = offered_rate(table)?;
            if let OfferedRate::Load { fraction, .. } = rate {
                sweeps = table.get::<Option<f64>>("load").is_none();
                if sweeps && shared_among.is_some() {
                    let allowed = "a fixed load, because the share of the hosts is swept";
                    return Err(table.error("load", "sweep", allowed));
                }
                own_load = (!sweeps && class == Class::Foreground).then_some(fraction);
            }
            FlowsSpec::Open(OpenSpec {
                sizes,
                arrivals: arrivals(table),
                matrix,
                rate,
                from: table.get("from"),
                until: until(scenario, table)?,
                max_flows: max_flows(scenario, table),
                fan_in: fan_in(table, network)?,
            })
        }
        "requests" => {
            let rate = requests::rate(table)?;
            if let RequestRate::Load(fraction) = rate {
                sweeps = table.get::<Option<f64>>("load").is_none();
                own_load = (!sweeps).then_some(fraction);
            }
            FlowsSpec::Requests(RequestsPart {
                sizes,
                clients: table.get("clients"),
                servers: table.get("servers"),
                arrivals: arrivals(table),
                rate,
                from: table.get("from"),
                until: until(scenario, table)?,
                max_requests: max_flows(scenario, table),
            })
        }
        "storage" => {
            let open = storage::Open {
                sizes,
                arrivals: arrivals(table),
                from: table.get("from"),
                until: until(scenario, table)?,
                at_most: max_flows(scenario, table),
            };
            FlowsSpec::Storage(storage::part(table, network, open)?)
        }
        "application" => FlowsSpec::Application(ApplicationPart {
            application: application(table)?,
            sizes,
            from: table.get("from"),
            until: until(scenario, table)?,
            at_most: max_flows(scenario, table),
        }),
        "closed" => FlowsSpec::Closed(ClosedSpec {
            sizes,
            matrix,
            outstanding: table.get("outstanding"),
            think: queries::think(table)?,
            from: table.get("from"),
            until: until(scenario, table)?,
            max_flows: max_flows(scenario, table),
        }),
        "queries" => {
            let limits = Limits {
                from: table.get("from"),
                until: until(scenario, table)?,
                at_most: max_flows(scenario, table),
            };
            FlowsSpec::Queries(queries::part(table, network, sizes, limits)?)
        }
        _ => FlowsSpec::Burst(BurstPart {
            sizes,
            matrix,
            at: table.get("at"),
            jitter: table.get("jitter"),
        }),
    };
    Ok(PartTemplate {
        name,
        part: WorkloadPart {
            class,
            path: path(table, network)?,
            flows,
        },
        sweeps,
        shared_among,
        own_load,
    })
}

/// Returns the application that a part names.
fn application(table: &Table) -> Outcome<&'static OwnApplication> {
    let known = OwnApplication::all();
    let names: Vec<&str> = known.iter().map(|own| own.name()).collect();
    let allowed = match names.is_empty() {
        true => "none: no application is registered in this program".to_owned(),
        false => format!("one of {}", names.join(", ")),
    };
    let Some(name) = table.text("application") else {
        return Err(table.error("application", "nothing", allowed));
    };
    OwnApplication::named(&name)
        .ok_or_else(|| table.error("application", format!("\"{name}\""), allowed))
}

/// Returns the path to which the flows of a part are pinned.
fn path(table: &Table, network: &Network) -> Outcome<Option<u16>> {
    let Some(path) = table.get::<Option<u32>>("path") else {
        return Ok(None);
    };
    let paths = network.built.paths;
    match u16::try_from(path) {
        Ok(pinned) if path < paths => Ok(Some(pinned)),
        _ => {
            let allowed = format!("a path of the topology, 0 to {}", paths.saturating_sub(1));
            Err(table.error("path", path.to_string(), allowed))
        }
    }
}

fn arrivals(table: &Table) -> Arrivals {
    let named = table.word("arrivals").and_then(Arrivals::named);
    named.unwrap_or_default()
}

fn until(scenario: &Scenario, table: &Table) -> Outcome<Duration> {
    let from: Duration = table.get("from");
    let until = table.get::<Option<Duration>>("until");
    let until = until.unwrap_or_else(|| scenario.table("").get("duration"));
    if from >= until {
        let key = if table.given("until").is_some() {
            "until"
        } else {
            "from"
        };
        let found = format!("flows from {from} until {until}");
        return Err(table.error(key, found, "an end after the start"));
    }
    Ok(until)
}

fn max_flows(scenario: &Scenario, table: &Table) -> Option<u64> {
    match table.given("flows") {
        Some(_) => table.get("flows"),
        None => scenario.table("").get("flows"),
    }
}

fn offered_rate(table: &Table) -> Outcome<OfferedRate> {
    if let Some(flows) = table.get("flows_per_second") {
        if table.given("load").is_some() {
            let allowed = "load or flows_per_second, not both";
            return Err(table.error("flows_per_second", "both", allowed));
        }
        let of_loads = ["load_of", "count_headers"].into_iter();
        if let Some(key) = of_loads.into_iter().find(|key| table.given(key).is_some()) {
            return Err(table.error(key, "flows_per_second", "only with load"));
        }
        return Ok(OfferedRate::FlowsPerSecond(flows));
    }
    Ok(OfferedRate::Load {
        // In a sweep, the value is replaced later by a load of the study, so any number is valid here.
        fraction: table.get_or("load", 1.0),
        of: match (table.word("load_of"), table.get("load_of")) {
            (_, Some(rate)) => LoadReference::Rate(rate),
            (Some("racks"), _) => LoadReference::RackUplinks,
            _ => LoadReference::HostLinks,
        },
        wire_bytes: table.get("count_headers"),
    })
}

fn fan_in(table: &Table, network: &Network) -> Outcome<Option<FanInSpec>> {
    let Some(senders) = table.get::<Option<u32>>("fan_in_senders") else {
        return match table.given("fan_in_below") {
            Some(_) => Err(table.error("fan_in_below", "no fan-in", "only with fan_in_senders")),
            None => Ok(None),
        };
    };
    let most = network.built.hosts() - 1;
    if senders > most {
        let allowed = format!("2 to {most}: all hosts of the topology except the receiver");
        return Err(table.error("fan_in_senders", senders.to_string(), allowed));
    }
    Ok(Some(FanInSpec {
        senders,
        below: table.get("fan_in_below"),
    }))
}

#[cfg(test)]
mod tests {
    use super::super::topology::network;
    use super::*;

    fn of(text: &str) -> Outcome<Vec<WorkloadSpec>> {
        let scenario = Scenario::parse("s.toml", "", text).expect("keys and values are valid");
        workloads(&scenario, &network(&scenario).expect("a network"))
    }

    fn refusal(text: &str) -> String {
        of(text).expect_err("refused").to_string()
    }

    #[test]
    fn a_sweep_is_one_workload_a_load_and_leaves_the_background_alone() {
        let specs = of(
            "loads = [0.2, 0.6]\n[[workload]]\n[[workload]]\nclass = \"background\"\n\
                        sizes = \"fixed:1MB\"\nload = 0.1\n",
        )
        .expect("two workloads");
        let loads: Vec<Option<f64>> = specs.iter().map(|spec| spec.load).collect();
        assert_eq!(loads, [Some(0.2), Some(0.6)]);
        assert_eq!(specs[0].name, "websearch+fixed:1MB");
        let fraction = |spec: &WorkloadSpec, part: usize| match &spec.parts[part].flows {
            FlowsSpec::Open(OpenSpec {
                rate: OfferedRate::Load { fraction, .. },
                ..
            }) => *fraction,
            other => panic!("{other:?}"),
        };
        assert_eq!([fraction(&specs[1], 0), fraction(&specs[1], 1)], [0.6, 0.1]);
    }

    #[test]
    fn a_sweep_of_the_share_of_hosts_sets_how_many_take_part() {
        let text = "loads = [0.01, 0.5, 1]\n[[workload]]\nkind = \"burst\"\n\
                    matrix = \"permutation\"\nshare = \"sweep\"\n";
        let taking_part = of(text).expect("three workloads").into_iter().map(|spec| {
            let FlowsSpec::Burst(burst) = &spec.parts[0].flows else {
                panic!("{spec:?}");
            };
            let MatrixSpec::PermutationOf { hosts, .. } = burst.matrix else {
                panic!("{burst:?}");
            };
            (spec.load, hosts)
        });
        let of_32 = [(Some(0.01), 2), (Some(0.5), 16), (Some(1.0), 32)];
        assert_eq!(taking_part.collect::<Vec<_>>(), of_32);
        let error = refusal(&text.replace("0.5", "1.5"));
        assert!(error.starts_with("s.toml:1: loads: found 1.5"), "{error}");
        let error = refusal("[[workload]]\nmatrix = \"permutation\"\nshare = \"sweep\"\n");
        assert!(error.contains("workload.load: found sweep"), "{error}");
        let error = refusal("[[workload]]\nshare = 0.5\n");
        assert!(error.starts_with("s.toml:2: workload.share"), "{error}");
        let part = "matrix = \"anywhere\"\nleave_out = \"sweep\"\nflows_per_second = 9\n";
        let text = format!("loads = [0.5, 0.97]\n[[workload]]\n{part}");
        let error = refusal(&text);
        assert!(error.starts_with("s.toml:1: loads: found 0.97"), "{error}");
    }

    #[test]
    fn a_load_that_nothing_takes_is_refused() {
        let error = refusal("loads = 0.3\n[workload]\nkind = \"burst\"\n");
        assert!(
            error.starts_with("s.toml:1: loads: found loads that no workload uses"),
            "{error}"
        );
    }

    #[test]
    fn hosts_that_the_topology_lacks_are_refused_where_they_are_named() {
        let error = refusal("[workload]\nmatrix = \"pairs\"\npairs = [[0, 1],\n[2, 99]]\n");
        assert!(
            error.starts_with("s.toml:3: workload.pairs: found host 99"),
            "{error}"
        );
        let error = refusal("[workload]\nmatrix = \"incast\"\nsenders = 32\n");
        assert!(
            error.starts_with("s.toml:3: workload.senders: found 32; allowed: 1 to 31"),
            "{error}"
        );
        let error = refusal(
            "[topology]\nkind = \"single-switch\"\n[workload]\nmatrix = \"between-racks\"\n",
        );
        assert!(
            error.starts_with("s.toml:4: workload.matrix: found a topology with one rack"),
            "{error}"
        );
    }

    #[test]
    fn a_key_that_would_change_nothing_is_refused_where_it_stands() {
        for (text, location) in [
            (
                "within_racks = true",
                "2: workload.within_racks: found another matrix",
            ),
            (
                "matrix = \"anywhere\"\nsenders = 3",
                "3: workload.senders: found another matrix",
            ),
            ("receiver = 3", "2: workload.receiver: found another matrix"),
            (
                "pairs = [[0, 1]]",
                "2: workload.pairs: found another matrix",
            ),
            (
                "flows_per_second = 9\nload_of = \"racks\"",
                "3: workload.load_of: found flows_per_second",
            ),
            (
                "flows_per_second = 9\ncount_headers = true",
                "3: workload.count_headers: found",
            ),
            (
                "fan_in_below = \"10KB\"",
                "2: workload.fan_in_below: found no fan-in",
            ),
        ] {
            let error = refusal(&format!("[workload]\n{text}\n"));
            assert!(error.starts_with(&format!("s.toml:{location}")), "{error}");
        }
    }

    #[test]
    fn unknown_sizes_come_with_the_nearest_name() {
        let error = refusal("[workload]\nsizes = \"websarch\"\n");
        assert!(error.ends_with("did you mean 'websearch'?"), "{error}");
    }
}

//! Which designs and workloads read a key, so that one which nothing reads is refused by name.

use crate::error::Outcome;
use crate::scenario::Scenario;
use crate::schema::sections;
use tailcut_sim::{
    Design, Duplicates, FlowsSpec, NamedBalancer, NamedQueue, REPLICATIONS, Registered,
    Replication, Settings, Stack, WorkloadSpec, section_of,
};

/// Kinds of workload that the study's duration and number of flows hold for.
const TIMED: [&str; 6] = [
    "open",
    "closed",
    "requests",
    "storage",
    "trace",
    "application",
];

/// What a key needs beside a design.
struct Scene<'a> {
    scenario: &'a Scenario,
    settings: &'a Settings,
    has_requests: bool,
    has_storage: bool,
}

/// Refuses keys that no design and no workload of the scenario reads, of those that are `asked` for by section
/// and name. Keys that only say what `compare` and reproductions start from are left alone.
pub fn check(
    scenario: &Scenario,
    designs: &[Stack],
    settings: &Settings,
    workload: &WorkloadSpec,
    asked: impl Fn(&str, &str) -> bool,
) -> Outcome<()> {
    let any = |of: fn(&FlowsSpec) -> bool| workload.parts.iter().any(|part| of(&part.flows));
    let scene = Scene {
        scenario,
        settings,
        has_requests: any(|flows| matches!(flows, FlowsSpec::Requests(_))),
        has_storage: any(|flows| matches!(flows, FlowsSpec::Storage(_))),
    };
    for section in sections() {
        let mut disciplines = NamedQueue::all().into_iter();
        let discipline = disciplines.find(|one| section_of(one.name) == section.name);
        // A discipline that switch ports do not have.
        let other = discipline.map(|one| one.name);
        let other = other.filter(|name| *name != settings.discipline);
        for table in scenario.tables(section.name) {
            for (key, entry) in table.entries() {
                if entry.is_start || !asked(section.name, key) {
                    continue;
                }
                let path = section.path(key);
                if let Some(name) = other {
                    let found = format!("\"{}\" in queue.discipline", settings.discipline);
                    let allowed = format!("only with queue.discipline = \"{name}\"");
                    return Err(table.error(key, found, allowed));
                }
                if let Some(missing) = scene.missing(&path) {
                    let found = format!("nothing in the scenario that reads it ({})", missing.0);
                    return Err(table.error(key, found, missing.1));
                }
                let reads = |design: &Stack| scene.reads(&path, *design);
                if !designs.iter().any(reads) {
                    let names: Vec<String> = designs.iter().map(Stack::to_string).collect();
                    let found = format!("no design that reads it among {}", names.join(", "));
                    let allowed = format!("only with {}", scene.readers(&path).join(", "));
                    return Err(table.error(key, found, allowed));
                }
            }
        }
    }
    Ok(())
}

impl Scene<'_> {
    /// What the key needs of the workload or of another key and does not have: what there is, and what
    /// would be.
    fn missing(&self, path: &str) -> Option<(&'static str, &'static str)> {
        let (section, key) = path.split_once('.').unwrap_or(("", path));
        let is_given = |section: &str, key: &str| {
            let tables = self.scenario.tables(section);
            tables
                .iter()
                .any(|table| table.value(key).is_some_and(|value| is_on(&value)))
        };
        let needs = |holds: bool, found, allowed| (!holds).then_some((found, allowed));
        match (section, key) {
            ("servers" | "rans", _) if !self.has_requests => Some((
                "its workload has no requests",
                "only with workload.kind = \"requests\"",
            )),
            ("servers", "cpu_times" | "straggler_share") => needs(
                is_given("servers", "cpu"),
                "servers have no processor",
                "only with servers.cpu",
            ),
            ("servers", "straggler_factor") => needs(
                is_given("servers", "straggler_share"),
                "no copy straggles",
                "only with servers.straggler_share",
            ),
            ("rans", "hedge_percentile" | "hedge_window" | "hedge_first") => needs(
                !is_given("rans", "hedge_after"),
                "a hedge goes after a fixed delay",
                "only without rans.hedge_after",
            ),
            ("pias", "buffer") if self.has_requests => Some((
                "under requests the classes of pias share their room",
                "only without requests",
            )),
            ("nic", _) if self.has_requests => {
                Some(("requests have no such NICs", "only without requests"))
            }
            ("nic", "rx_timeout") => needs(
                self.scenario.table("nic").given("rx_frames").is_some(),
                "each frame is an interrupt",
                "only with nic.rx_frames",
            ),
            ("scdp", "shared_window" | "stragglers" | "straggler_after" | "quorum") => needs(
                self.has_storage,
                "its transfers have two ends",
                "only with workload.kind = \"storage\"",
            ),
            ("hull", "phantom_mark_above" | "phantom_placement") => needs(
                self.scenario
                    .table("hull")
                    .get::<Option<f64>>("phantom_drain")
                    .is_some(),
                "there are no phantom queues",
                "only with hull.phantom_drain",
            ),
            ("hull", key) if key.starts_with("pacer_") => needs(
                self.scenario.table("hull").get("pacer"),
                "there are no pacers",
                "only with hull.pacer = true",
            ),
            ("", "duration") => needs(
                self.any_part_reads("until", &TIMED),
                "no part of the workload goes on until then",
                "only with a part that is no burst and has no until of its own",
            ),
            ("", "flows") => needs(
                self.any_part_reads("flows", &TIMED),
                "no part of the workload has so many",
                "only with a part that is no burst and has no flows of its own",
            ),
            _ => None,
        }
    }

    /// Whether a part of the workload of one of these kinds leaves `own` to the study.
    fn any_part_reads(&self, own: &str, kinds: &[&str]) -> bool {
        let tables = self.scenario.tables("workload");
        let reads = |table: &&crate::scenario::Table| {
            table.given(own).is_none() && kinds.contains(&table.word("kind").unwrap_or("open"))
        };
        tables.is_empty() || tables.iter().any(reads)
    }

    /// Whether a design reads a key.
    fn reads(&self, path: &str, stack: Stack) -> bool {
        let (section, key) = path.split_once('.').unwrap_or(("", path));
        let design = stack.design;
        let has_packets = design.has_packets();
        let duplicates = match stack.replication {
            Replication::Duplicates(duplicates) => Some(duplicates),
            _ => None,
        };
        let duplicates_by = |kinds: &[Duplicates]| duplicates.is_some_and(|d| kinds.contains(&d));
        if is_section_of_a_balancer(section) {
            return section_of(stack.balancer.name) == section;
        }
        match (section, key) {
            ("", "sample_every" | "measure_waits" | "measure_bursts" | "measure_goodput") => {
                has_packets
            }
            ("", "port_events" | "clock" | "slowdown") => has_packets,
            ("topology" | "nodes" | "links" | "failures" | "framing", _) => has_packets,
            ("shared_buffer", _) => design.reads(path, self.settings) && !self.has_requests,
            ("tcp", "mss") | ("nic", _) => has_packets,
            ("repnet", _) => matches!(
                stack.replication,
                Replication::RepFlow | Replication::RepSyn | Replication::Mixed
            ),
            ("servers", "link" | "client_link" | "delay" | "purge_delay") => !has_packets,
            ("servers", "request_size") => has_packets,
            ("servers", "chunk") => {
                let rans = self.scenario.table("rans");
                let in_pieces = (rans.get::<u8>("copies") > 2
                    || rans.word("split") == Some("ranges"))
                    && duplicates_by(&[Duplicates::Rans]);
                !has_packets || self.has("servers", "disk") || in_pieces
            }
            ("servers", "discipline" | "preemption") => {
                !has_packets || self.has("servers", "disk") || self.has("servers", "cpu")
            }
            ("rans", "copies") => duplicates.is_some(),
            ("rans", "purge") => {
                use Duplicates::{Das, HedgePurged, Purged, Rans};
                duplicates_by(&[Purged, Das, Rans, HedgePurged])
            }
            ("rans", "split") => duplicates_by(&[Duplicates::Rans]),
            ("rans", "swap_lead") => {
                duplicates_by(&[Duplicates::Low, Duplicates::Das, Duplicates::Rans])
            }
            ("rans", "hedge_percentile" | "hedge_window" | "hedge_first" | "hedge_after") => {
                use Duplicates::{Hedge, HedgeBudget, HedgePurged};
                duplicates_by(&[Hedge, HedgePurged, HedgeBudget])
            }
            ("rans", "budget" | "budget_burst") => duplicates_by(&[Duplicates::HedgeBudget]),
            ("" | "ecmp" | "host" | "servers" | "rans" | "workload" | "groups", _) => true,
            // A discipline of the user's choice has the room of the design's ports.
            _ => design.reads(path, self.settings) || self.is_of_the_discipline(section, design),
        }
    }

    /// Returns whether a section belongs to the queue discipline that the ports of a design have.
    fn is_of_the_discipline(&self, section: &str, design: &Design) -> bool {
        section == section_of(self.settings.discipline)
            && design.reads("queue.discipline", self.settings)
    }

    fn has(&self, section: &str, key: &str) -> bool {
        self.scenario
            .table(section)
            .value(key)
            .is_some_and(|value| is_on(&value))
    }

    /// Names of designs that read a key.
    fn readers(&self, path: &str) -> Vec<String> {
        let designs = Design::all().into_iter();
        let balancers = NamedBalancer::all().into_iter();
        let replications = REPLICATIONS.iter().map(|layer| layer.name.to_owned());
        let reads = |name: &String| {
            let stack = name.parse::<Stack>();
            stack.is_ok_and(|stack| self.reads(path, stack))
        };
        let names = designs.map(|design| design.name.to_owned());
        let mut names: Vec<String> = names.chain(replications).filter(reads).collect();
        if names.is_empty() {
            let over_tcp = balancers.map(|balancer| format!("tcp@{}", balancer.name));
            names.extend(over_tcp.filter(reads));
        }
        names
    }
}

/// Returns whether a section belongs to a load balancer.
fn is_section_of_a_balancer(section: &str) -> bool {
    let mut balancers = NamedBalancer::all().into_iter();
    balancers.any(|one| !one.parameters.is_empty() && section_of(one.name) == section)
}

/// Whether a value turns something on: neither `off` nor a span of no length.
fn is_on(value: &crate::value::Value) -> bool {
    use crate::value::Value;
    match value {
        Value::Word(_) => false,
        Value::Duration(span) => *span > tailcut_units::Duration::ZERO,
        _ => true,
    }
}

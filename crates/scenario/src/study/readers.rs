//! Check that rejects keys without effect. At least one design or workload of the scenario must read each key.

use crate::error::Outcome;
use crate::scenario::Scenario;
use crate::schema::sections;
use crate::study::parameters::FIFO;
use tailcut_sim::{
    Design, Duplicates, FlowsSpec, NamedBalancer, NamedQueue, REPLICATIONS, Registered,
    Replication, Settings, Stack, WorkloadSpec, section_of,
};

/// Kinds of workload that use the duration and the number of flows of the study.
const TIMED: [&str; 8] = [
    "open",
    "closed",
    "queries",
    "coflows",
    "requests",
    "storage",
    "trace",
    "application",
];

/// Parts of the scenario that determine whether a key has an effect. The designs are not included.
struct ReaderContext<'a> {
    scenario: &'a Scenario,
    settings: &'a Settings,
    has_requests: bool,
    has_storage: bool,
}

/// Rejects keys that no design and no workload of the scenario reads.
/// `is_checked` selects the keys to check, by section and name.
/// Starting values of `compare` and of reproductions are not checked.
pub fn check(
    scenario: &Scenario,
    designs: &[Stack],
    settings: &Settings,
    workload: &WorkloadSpec,
    is_checked: impl Fn(&str, &str) -> bool,
) -> Outcome<()> {
    let any = |of: fn(&FlowsSpec) -> bool| workload.parts.iter().any(|part| of(&part.flows));
    let context = ReaderContext {
        scenario,
        settings,
        has_requests: any(|flows| matches!(flows, FlowsSpec::Requests(_))),
        has_storage: any(|flows| matches!(flows, FlowsSpec::Storage(_))),
    };
    let chosen = settings.discipline.map_or(FIFO, |one| one.name);
    for section in sections() {
        let mut disciplines = NamedQueue::all().into_iter();
        let discipline = disciplines.find(|one| section_of(one.name) == section.name);
        // For a section of a queue discipline that this scenario does not use: the name of this discipline.
        let other = discipline.map(|one| one.name);
        let other = other.filter(|name| *name != chosen);
        for table in scenario.tables(section.name) {
            for (key, entry) in table.entries() {
                if entry.is_starting_value || !is_checked(section.name, key) {
                    continue;
                }
                let path = section.path(key);
                if let Some(name) = other {
                    let found = format!("\"{}\" in queue.discipline", chosen);
                    let allowed = format!("only with queue.discipline = \"{name}\"");
                    return Err(table.error(key, found, allowed));
                }
                if let Some(unmet) = context.unmet_condition(&path) {
                    let found = format!("a key without effect ({})", unmet.0);
                    return Err(table.error(key, found, unmet.1));
                }
                let reads = |design: &Stack| context.reads(&path, *design);
                if !designs.iter().any(reads) {
                    let names: Vec<String> = designs.iter().map(Stack::to_string).collect();
                    let found = format!("only designs without this key: {}", names.join(", "));
                    let allowed = format!("only with {}", context.readers(&path).join(", "));
                    return Err(table.error(key, found, allowed));
                }
            }
        }
    }
    Ok(())
}

impl ReaderContext<'_> {
    /// Checks whether the workload and all further keys give this key an effect.
    /// If a key has no effect, returns the reason and the condition for an effect, as texts for the error.
    fn unmet_condition(&self, path: &str) -> Option<(&'static str, &'static str)> {
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
                "the workload has no requests",
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
                "a hedge is sent after a fixed delay",
                "only without rans.hedge_after",
            ),
            ("pias", "buffer") if self.has_requests => Some((
                "with requests, the classes of pias share the limit",
                "only without requests",
            )),
            ("nic", _) if self.has_requests => {
                Some(("requests have no coalescing", "only without requests"))
            }
            ("nic", "rx_timeout") => needs(
                self.scenario.table("nic").given("rx_frames").is_some(),
                "each frame is an interrupt",
                "only with nic.rx_frames",
            ),
            ("scdp", "shared_window" | "stragglers" | "straggler_after" | "quorum") => needs(
                self.has_storage,
                "each transfer has one sender and one receiver",
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
                "no part of the workload uses it",
                "only with a part that is not a burst and does not set until",
            ),
            ("", "flows") => needs(
                self.any_part_reads("flows", &TIMED),
                "no part of the workload uses it",
                "only with a part that is not a burst and does not set flows",
            ),
            _ => None,
        }
    }

    /// Returns whether the workload has a part of one of the given kinds that uses the study's value of the key `own`.
    fn any_part_reads(&self, own: &str, kinds: &[&str]) -> bool {
        let tables = self.scenario.tables("workload");
        let reads = |table: &&crate::scenario::Table| {
            table.given(own).is_none() && kinds.contains(&table.word("kind").unwrap_or("open"))
        };
        tables.is_empty() || tables.iter().any(reads)
    }

    /// Returns whether a design reads a key.
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
            ("" | "ecmp" | "host" | "measure" | "servers" | "rans" | "workload" | "groups", _) => {
                true
            }
            // A custom discipline uses the queue limit of the design's ports.
            _ => design.reads(path, self.settings) || self.is_of_the_discipline(section, design),
        }
    }

    /// Returns whether a section belongs to the queue discipline of a design's ports.
    fn is_of_the_discipline(&self, section: &str, design: &Design) -> bool {
        let chosen = self.settings.discipline;
        chosen.is_some_and(|one| section == section_of(one.name))
            && design.reads("queue.discipline", self.settings)
    }

    fn has(&self, section: &str, key: &str) -> bool {
        self.scenario
            .table(section)
            .value(key)
            .is_some_and(|value| is_on(&value))
    }

    /// Returns the names of designs that read a key.
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

/// Returns whether a value turns a function on. The values `off` and zero time turn it off.
fn is_on(value: &crate::value::Value) -> bool {
    use crate::value::Value;
    match value {
        Value::Word(_) => false,
        Value::Duration(span) => *span > tailcut_units::Duration::ZERO,
        _ => true,
    }
}

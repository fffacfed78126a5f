//! Which designs and workloads read a key, so that one which nothing reads is refused by name.

use crate::error::Outcome;
use crate::scenario::Scenario;
use crate::schema::SECTIONS;
use tailcut_sim::{
    Duplicates, FlowsSpec, OwnTransport, REPLICATIONS, ROUTINGS, Replication, Routing, Stack,
    TRANSPORTS, TransportKind, WorkloadSpec,
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
    has_requests: bool,
    has_storage: bool,
}

/// Refuses keys that no design and no workload of the scenario reads, of those that are `asked` for by section
/// and name. Keys that only say what `compare` and reproductions start from are left alone.
pub fn check(
    scenario: &Scenario,
    designs: &[Stack],
    workload: &WorkloadSpec,
    asked: impl Fn(&str, &str) -> bool,
) -> Outcome<()> {
    let any = |of: fn(&FlowsSpec) -> bool| workload.parts.iter().any(|part| of(&part.flows));
    let scene = Scene {
        scenario,
        has_requests: any(|flows| matches!(flows, FlowsSpec::Requests(_))),
        has_storage: any(|flows| matches!(flows, FlowsSpec::Storage(_))),
    };
    for section in SECTIONS {
        for table in scenario.tables(section.name) {
            for (key, entry) in table.entries() {
                if entry.is_start || !asked(section.name, key) {
                    continue;
                }
                let path = section.path(key);
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
    fn reads(&self, path: &str, design: Stack) -> bool {
        use TransportKind::{
            Cubic, Dctcp, Hull, Ndp, NdpPlus, PFabric, Pias, Qos, Scdp, ScdpPlain, Tcp,
        };
        let (section, key) = path.split_once('.').unwrap_or(("", path));
        let transport = design.transport;
        let is = |kinds: &[TransportKind]| kinds.contains(&transport);
        let has_packets = transport.has_packets();
        let own = design.own_transport;
        let has_own_controller = own.is_some_and(OwnTransport::has_controller);
        let duplicates = match design.replication {
            Replication::Duplicates(duplicates) => Some(duplicates),
            _ => None,
        };
        let duplicates_by = |kinds: &[Duplicates]| duplicates.is_some_and(|d| kinds.contains(&d));
        match (section, key) {
            ("", "sample_every" | "measure_waits" | "measure_bursts" | "measure_goodput") => {
                has_packets
            }
            ("", "port_events" | "clock" | "slowdown") => has_packets,
            ("topology" | "nodes" | "links" | "failures" | "framing", _) => has_packets,
            ("queue", "limit") => is(&[Tcp, Cubic, Dctcp, Hull, Qos, ScdpPlain]),
            ("queue", _) => self.marks_at_threshold(transport),
            ("shared_buffer", _) => is(&[Tcp, Cubic, Dctcp, Hull, ScdpPlain]) && !self.has_requests,
            ("tcp", "mss") => has_packets,
            ("tcp", "dctcp_gain") => is(&[Dctcp, Pias, Hull]) && !has_own_controller,
            ("tcp", "classic_ecn") => is(&[Tcp, Cubic, Qos]),
            ("tcp", _) => transport.has_handshake(),
            ("repnet", _) => matches!(
                design.replication,
                Replication::RepFlow | Replication::RepSyn | Replication::Mixed
            ),
            ("pfabric", _) => is(&[PFabric]),
            ("pias", _) => is(&[Pias]),
            ("qos", _) => is(&[Qos]),
            ("hull", _) => is(&[Hull]),
            ("nic", _) => has_packets,
            ("ndp", "thresholds") => is(&[NdpPlus]),
            ("ndp", _) => is(&[Ndp, NdpPlus]),
            (
                "scdp",
                "initial_window" | "shared_window" | "thresholds" | "host_order" | "timeout"
                | "queue" | "header_queue" | "headers_per_data" | "victim",
            ) => is(&[Scdp]),
            ("scdp", _) => is(&[Scdp, ScdpPlain]),
            ("scdp_plain", _) => is(&[ScdpPlain]),
            ("letflow", _) => design.routing == Routing::LetFlow,
            ("conga", _) => design.routing == Routing::Conga,
            ("expeditus", _) => design.routing == Routing::Expeditus,
            ("expeditus_deck", _) => design.routing == Routing::ExpeditusDeck,
            ("omniscient", _) => design.routing == Routing::Omniscient,
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
            _ => true,
        }
    }

    /// Whether packets of a transport are marked at the queue's threshold.
    fn marks_at_threshold(&self, transport: TransportKind) -> bool {
        use TransportKind::{Cubic, Dctcp, Hull, Pias, Qos, ScdpPlain, Tcp};
        match transport {
            Dctcp | Pias => true,
            Hull => self
                .scenario
                .table("hull")
                .get::<Option<f64>>("phantom_drain")
                .is_none(),
            ScdpPlain => self.scenario.table("scdp_plain").get("ecn"),
            Tcp | Cubic | Qos => self.scenario.table("tcp").get("classic_ecn"),
            _ => false,
        }
    }

    fn has(&self, section: &str, key: &str) -> bool {
        self.scenario
            .table(section)
            .value(key)
            .is_some_and(|value| is_on(&value))
    }

    /// Names of designs that read a key.
    fn readers(&self, path: &str) -> Vec<String> {
        let transports = TRANSPORTS.iter().map(|part| part.name.to_owned());
        let replications = REPLICATIONS.iter().map(|part| part.name.to_owned());
        let routings = ROUTINGS.iter().map(|part| format!("tcp@{}", part.name));
        let reads = |name: &String| {
            let design = name.parse::<Stack>();
            design.is_ok_and(|design| self.reads(path, design))
        };
        let mut names: Vec<String> = transports.chain(replications).filter(reads).collect();
        if names.is_empty() {
            names.extend(routings.filter(reads));
        }
        names
    }
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

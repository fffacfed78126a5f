//! Record of one run: its key, its counters, its cost, and its summary.

use crate::offered::makespan;
use crate::{
    ArrivedPayload, BurstStats, CoflowKind, CoflowRecord, FctStats, FctSummary, FlowLog,
    FlowRecord, FlowRows, LinkFailure, LinkSample, NodeRecord, OfferedLoad, PortTotals,
    QueueSample, RequestRecord, RequestSummary, RunKey, Sampling, SessionRecord, SessionSummary,
    SwitchWaits, Timers, TopologyLink, UnfinishedBytes, WallClock, coflow, hash,
};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use tailcut_units::Duration;

/// Record of a run in which the row of a flow is packed when the flow ends.
pub type PackedRun = RunRecord<FlowLog>;

/// Number of packets, and number of bytes in the packets, including headers.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct PacketCount {
    /// Number of packets.
    pub packets: u64,
    /// Number of bytes in the packets, including headers.
    pub bytes: u64,
}

impl PacketCount {
    /// Counts one packet of `bytes`.
    pub fn add(&mut self, bytes: u64) {
        self.packets += 1;
        self.bytes += bytes;
    }
}

/// Dropped packets by reason, such as `queue-full` or `no-route`.
#[derive(Clone, Default, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(transparent)]
pub struct DropCounts(pub BTreeMap<String, PacketCount>);

impl DropCounts {
    /// Returns the sum over all reasons.
    pub fn total(&self) -> PacketCount {
        self.0
            .values()
            .fold(PacketCount::default(), |sum, count| PacketCount {
                packets: sum.packets + count.packets,
                bytes: sum.bytes + count.bytes,
            })
    }
}

/// Counters of a run. In packets, `sent + copied = delivered + drops + remaining`.
/// In bytes, `sent + copied = delivered + drops + remaining + trimmed`.
#[derive(Clone, Default, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct RunTotals {
    /// Number of links that a packet crossed, summed over all packets.
    pub packet_hops: u64,
    /// Number of events that the engine processed. The number depends on the engine, so the hash does not include it.
    pub events: u64,
    /// Packets that hosts sent on their first link.
    pub sent: PacketCount,
    /// Copies that switches made of multicast packets, and their bytes.
    pub copied: PacketCount,
    /// Packets that reached a destination host.
    pub delivered: PacketCount,
    /// Dropped packets by reason.
    pub drops: DropCounts,
    /// Packets in queues or on links at the end of the run.
    pub remaining: PacketCount,
    /// Packets whose payload a switch cut off, and the removed bytes.
    /// Packets without payload are also included in the delivered, dropped or remaining packets.
    pub trimmed: PacketCount,
    /// Packets whose header a switch returned to the sender, and the bytes of the returned headers.
    /// A packet is returned at most once.
    pub returned: PacketCount,
    /// Packets marked as "congestion experienced".
    pub marks: u64,
    /// Virtual time at the end of the run.
    pub simulated: Duration,
}

/// Time and memory that a run needed. The hash of the run does not include them.
#[derive(Clone, Copy, Default, PartialEq, Debug, Serialize, Deserialize)]
pub struct RunCost {
    /// CPU time of the thread that executed the run, in seconds; `None`: unknown.
    pub cpu_seconds: Option<f64>,
    /// Wall time in seconds; `None`: unknown.
    pub wall_seconds: Option<f64>,
    /// Peak resident memory of the process until the end of this run, in bytes; `None`: unknown.
    pub peak_rss_bytes: Option<u64>,
}

/// All results of one run. `F` is the storage of flows: a list, or a packed log in a [`PackedRun`].
/// [`RunRecord::hash`] does not include the fields that are marked "not hashed".
#[derive(Clone, Default, PartialEq, Debug, Serialize, Deserialize)]
pub struct RunRecord<F = Vec<FlowRecord>> {
    /// Key of the run.
    pub key: RunKey,
    /// Counters of the run.
    pub totals: RunTotals,
    /// Time and memory that the run needed.
    pub cost: RunCost,
    /// Names of the workload's parts. [`FlowRecord::class`] is an index into this list.
    pub classes: Vec<String>,
    /// Flows, finished or not.
    pub flows: F,
    /// Flows that only carry load, and that start until the last of `flows` has ended.
    /// The numbers of flows that only carry load follow the numbers of `flows`. Not hashed.
    pub load_only: F,
    /// Requests, finished or not.
    pub requests: Vec<RequestRecord>,
    /// Receivers of storage sessions, grouped by session.
    /// Not hashed, because the hash includes the flows of the sessions.
    pub sessions: Vec<SessionRecord>,
    /// Coflows and queries, in the order of their starts. Not hashed, because the hash includes their flows.
    pub coflows: Vec<CoflowRecord>,
    /// Names and totals of all ports; may be empty. Not hashed.
    pub ports: Vec<PortTotals>,
    /// All hosts, followed by all switches, ordered by number; may be empty. Not hashed.
    pub nodes: Vec<NodeRecord>,
    /// Links of all ports, in the order of the ports; may be empty. Not hashed.
    pub topology: Vec<TopologyLink>,
    /// Failures of links in `topology`. Not hashed.
    pub failures: Vec<LinkFailure>,
    /// Times of the samples of queues and links; `None`: not sampled. Not hashed.
    pub sampling: Option<Sampling>,
    /// Queue samples in the order of time; may be empty. Not hashed.
    pub queues: Vec<QueueSample>,
    /// Link samples in the order of time; may be empty. Not hashed.
    pub links: Vec<LinkSample>,
    /// Waiting times at switch ports; `None`: not measured. Not hashed.
    pub switch_waits: Option<SwitchWaits>,
    /// Bursts of hosts; `None`: not measured. Not hashed.
    pub host_bursts: Option<BurstStats>,
    /// Payload that arrived; `None`: not measured. Not hashed.
    pub arrived: Option<ArrivedPayload>,
    /// Load that the workload offers to the links. Not hashed.
    pub offered: Option<OfferedLoad>,
    /// Timers of the run's transport. Not hashed.
    pub timers: Timers,
    /// Timing accuracy of a run on real hosts; `None`: a simulation. Not hashed.
    pub wall: Option<WallClock>,
}

impl RunRecord {
    /// Creates an empty record.
    pub fn new(key: RunKey) -> Self {
        Self::of(key, Vec::new())
    }
}

impl<F: Default> RunRecord<F> {
    /// Creates a record that contains only the given flows.
    pub fn of(key: RunKey, flows: F) -> Self {
        Self {
            key,
            flows,
            ..Self::default()
        }
    }
}

impl<F> RunRecord<F> {
    /// Returns the same run. `keep` converts its flows to another form.
    pub fn with_flows<G>(self, keep: impl Fn(F) -> G) -> RunRecord<G> {
        RunRecord {
            flows: keep(self.flows),
            load_only: keep(self.load_only),
            key: self.key,
            totals: self.totals,
            cost: self.cost,
            classes: self.classes,
            requests: self.requests,
            sessions: self.sessions,
            coflows: self.coflows,
            ports: self.ports,
            nodes: self.nodes,
            topology: self.topology,
            failures: self.failures,
            sampling: self.sampling,
            queues: self.queues,
            links: self.links,
            switch_waits: self.switch_waits,
            host_bursts: self.host_bursts,
            arrived: self.arrived,
            offered: self.offered,
            timers: self.timers,
            wall: self.wall,
        }
    }
}

impl<F: FlowRows> RunRecord<F> {
    /// Returns the hash of the run: 32 hexadecimal digits (XXH3-128).
    /// The hash includes the flows in the order of their numbers, the totals except `events`, and the requests.
    /// The hash does not depend on the platform, the engine or the number of threads.
    pub fn hash(&self) -> String {
        hash::of_run(&self.flows, &self.totals, &self.requests)
    }

    /// Returns the object that `--json` prints for this run.
    pub fn summary(&self) -> RunSummary {
        let drops = self.totals.drops.total();
        let sums = Sums::of(&self.flows);
        RunSummary {
            key: self.key.clone(),
            flows: self.flows.count() as u64,
            load_only: Some(self.load_only.count() as u64),
            unfinished: sums.unfinished,
            packet_hops: self.totals.packet_hops,
            events: self.totals.events,
            cpu_seconds: self.cost.cpu_seconds,
            record_hash: self.hash(),
            fct: FctSummary::of(&self.flows),
            wall_seconds: self.cost.wall_seconds,
            peak_rss_bytes: self.cost.peak_rss_bytes,
            simulated_seconds: self.totals.simulated.as_secs_f64(),
            sent: self.totals.sent,
            copied: self.totals.copied,
            delivered: self.totals.delivered,
            dropped: drops,
            drops: self.totals.drops.clone(),
            remaining: self.totals.remaining,
            trimmed: self.totals.trimmed,
            returned: self.totals.returned,
            marks: self.totals.marks,
            application_bytes: sums.bytes,
            payload_sent_bytes: sums.payload_sent,
            retransmissions: sums.retransmissions,
            timeouts: sums.timeouts,
            copies: sums.copies,
            switch_waits: self.switch_waits.clone(),
            host_bursts: self.host_bursts,
            arrived: self.arrived.clone(),
            sampling: self.sampling,
            requests: RequestSummary::of(&self.requests),
            sessions: SessionSummary::of(&self.sessions),
            queries: coflow::completion_of(&self.coflows, CoflowKind::Query),
            coflows: coflow::completion_of(&self.coflows, CoflowKind::Coflow),
            offered: self.offered.clone(),
            unfinished_bytes: UnfinishedBytes::of(&self.flows, &self.requests),
            timers: self.timers.clone(),
            makespan_ns: makespan(&self.flows, &self.requests).map(Duration::as_ns),
            wall: self.wall.clone(),
        }
    }
}

/// Sums over all flows for a summary.
#[derive(Default)]
struct Sums {
    unfinished: u64,
    bytes: u64,
    payload_sent: u64,
    retransmissions: u64,
    timeouts: u64,
    copies: u64,
}

impl Sums {
    fn of(flows: &impl FlowRows) -> Self {
        let mut sums = Self::default();
        for flow in flows.rows() {
            sums.unfinished += u64::from(flow.fct.is_none());
            sums.bytes += flow.bytes.0;
            sums.payload_sent += flow.payload_sent.0;
            sums.retransmissions += u64::from(flow.retransmissions);
            sums.timeouts += u64::from(flow.timeouts);
            sums.copies += u64::from(flow.copies);
        }
        sums
    }
}

/// Summary of a run, as `--json` prints it and `run.json` contains it.
/// Fields that are missing in files of older versions have a default.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct RunSummary {
    /// Key of the run: `design`, `topology`, `workload`, `load`, `seed`, and `parameters` if the study sweeps keys.
    #[serde(flatten)]
    pub key: RunKey,
    /// Number of started flows.
    pub flows: u64,
    /// Number of flows that only carry load after all other flows have started.
    /// Only packets, bytes, drops and marks include flows that only carry load.
    /// `None`: an earlier version wrote the file.
    #[serde(default)]
    pub load_only: Option<u64>,
    /// Number of flows that had not finished at the end of the run.
    pub unfinished: u64,
    /// Number of links that a packet crossed, summed over all packets.
    pub packet_hops: u64,
    /// Number of events that the engine processed.
    pub events: u64,
    /// CPU time of the run in seconds; `None`: unknown.
    pub cpu_seconds: Option<f64>,
    /// Hash of the record ([`RunRecord::hash`]).
    pub record_hash: String,
    /// Completion times of finished flows for each size group.
    pub fct: FctSummary,
    /// Wall time of the run in seconds; `None`: unknown.
    pub wall_seconds: Option<f64>,
    /// Peak resident memory of the process until the end of this run, in bytes; `None`: unknown.
    pub peak_rss_bytes: Option<u64>,
    /// Virtual time at the end of the run, in seconds.
    pub simulated_seconds: f64,
    /// Packets and bytes that hosts sent on their first link.
    pub sent: PacketCount,
    /// Copies that switches made of multicast packets, and their bytes.
    #[serde(default)]
    pub copied: PacketCount,
    /// Packets and bytes that reached a destination host.
    pub delivered: PacketCount,
    /// Dropped packets and bytes, over all reasons.
    pub dropped: PacketCount,
    /// Dropped packets and bytes by reason.
    pub drops: DropCounts,
    /// Packets and bytes in the network at the end of the run.
    pub remaining: PacketCount,
    /// Packets whose payload a switch cut off, and the removed bytes.
    #[serde(default)]
    pub trimmed: PacketCount,
    /// Packets whose header a switch returned to the sender, and the bytes of the returned headers.
    #[serde(default)]
    pub returned: PacketCount,
    /// Packets marked as "congestion experienced".
    pub marks: u64,
    /// Sum of the flows' sizes in bytes.
    pub application_bytes: u64,
    /// Sent payload bytes, including copies and retransmissions, without headers.
    pub payload_sent_bytes: u64,
    /// Number of retransmitted segments.
    pub retransmissions: u64,
    /// Number of retransmission timeouts.
    pub timeouts: u64,
    /// Number of connections in addition to the first one of each flow.
    pub copies: u64,
    /// Waiting times at switch ports; `None`: not measured.
    #[serde(default)]
    pub switch_waits: Option<SwitchWaits>,
    /// Bursts of hosts; `None`: not measured.
    #[serde(default)]
    pub host_bursts: Option<BurstStats>,
    /// Payload that arrived; `None`: not measured.
    #[serde(default)]
    pub arrived: Option<ArrivedPayload>,
    /// Times of the samples of queues and links; `None`: not sampled.
    #[serde(default)]
    pub sampling: Option<Sampling>,
    /// Summary of the requests; `None`: the workload has no requests.
    #[serde(default)]
    pub requests: Option<RequestSummary>,
    /// Summary of the storage sessions; `None`: the workload has no sessions.
    #[serde(default)]
    pub sessions: Option<SessionSummary>,
    /// Completion times of the queries; `None`: the workload has no queries.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub queries: Option<FctStats>,
    /// Completion times of the coflows from files; `None`: the workload has no coflows from files.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub coflows: Option<FctStats>,
    /// Load that the workload offers to the links; `None`: an earlier version wrote the file.
    #[serde(default)]
    pub offered: Option<OfferedLoad>,
    /// Mean number of unfinished bytes during the arrivals of flows.
    /// `None`: all flows start at the same time, or an earlier version wrote the file.
    #[serde(default)]
    pub unfinished_bytes: Option<UnfinishedBytes>,
    /// Timers of the run's transport; empty if an earlier version wrote the file.
    #[serde(default)]
    pub timers: Timers,
    /// Nanoseconds from the first start to the last end.
    /// `None`: a flow or a request did not finish, or an earlier version wrote the file.
    #[serde(default)]
    pub makespan_ns: Option<u64>,
    /// Timing accuracy of a run on real hosts; `None`: a simulation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wall: Option<WallClock>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_summary_of_an_earlier_version_is_read() {
        let key = RunKey {
            design: "tcp".to_owned(),
            topology: "leaf-spine".to_owned(),
            workload: "websearch".to_owned(),
            seed: 1,
            ..RunKey::default()
        };
        let summary = RunRecord::new(key).summary();
        let mut written = serde_json::to_value(&summary).expect("JSON");
        let keys = written.as_object_mut().expect("an object");
        for new in ["offered", "unfinished_bytes", "timers", "makespan_ns"] {
            assert!(keys.remove(new).is_some(), "{new}");
        }
        let read: RunSummary = serde_json::from_value(written).expect("a summary");
        assert_eq!(read, summary);
    }
}

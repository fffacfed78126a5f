//! One run: what names it, what it counted, what it cost, and its summary.

use crate::offered::makespan;
use crate::{
    ArrivedPayload, BurstStats, FctSummary, FlowLog, FlowRecord, FlowRows, LinkFailure, LinkSample,
    NodeRecord, OfferedLoad, PortTotals, QueueSample, RequestRecord, RequestSummary, RunKey,
    Sampling, SessionRecord, SessionSummary, SwitchWaits, Timers, TopologyLink, UnfinishedBytes,
    WallClock, hash,
};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use tailcut_units::Duration;

/// A run whose flows are packed once they have ended.
pub type PackedRun = RunRecord<FlowLog>;

/// A count of packets and of their bytes, headers included.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct PacketCount {
    /// Packets.
    pub packets: u64,
    /// Bytes.
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
    /// The sum over all reasons.
    pub fn total(&self) -> PacketCount {
        self.0
            .values()
            .fold(PacketCount::default(), |sum, count| PacketCount {
                packets: sum.packets + count.packets,
                bytes: sum.bytes + count.bytes,
            })
    }
}

/// What a run counted. `sent + copied = delivered + drops + remaining` holds in packets, and in bytes
/// with those of `trimmed` added.
#[derive(Clone, Default, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct RunTotals {
    /// Packets times links crossed.
    pub packet_hops: u64,
    /// Events that the engine handled. Depends on the engine, so it is not hashed.
    pub events: u64,
    /// Packets that hosts put on their first link.
    pub sent: PacketCount,
    /// Copies that switches made of packets to several hosts, and their bytes.
    pub copied: PacketCount,
    /// Packets that reached their host.
    pub delivered: PacketCount,
    /// Packets dropped, by reason.
    pub drops: DropCounts,
    /// Packets still queued or on a link when the run ended.
    pub remaining: PacketCount,
    /// Packets whose payload a switch cut off, and the bytes cut. The packets are also among those
    /// delivered, dropped or remaining.
    pub trimmed: PacketCount,
    /// Headers that a switch sent back to their sender, a packet once, and their bytes.
    pub returned: PacketCount,
    /// Packets marked with congestion experienced.
    pub marks: u64,
    /// The virtual time at which the run ended.
    pub simulated: Duration,
}

/// What a run cost its machine. Never hashed.
#[derive(Clone, Copy, Default, PartialEq, Debug, Serialize, Deserialize)]
pub struct RunCost {
    /// CPU time of the thread that ran it, in seconds; `None` where the system does not say.
    pub cpu_seconds: Option<f64>,
    /// Wall time, in seconds.
    pub wall_seconds: Option<f64>,
    /// The process's largest resident memory so far, in bytes.
    pub peak_rss_bytes: Option<u64>,
}

/// Everything that one run leaves behind. Flows are a list unless they are kept otherwise, as in a
/// [`PackedRun`].
#[derive(Clone, Default, PartialEq, Debug, Serialize, Deserialize)]
pub struct RunRecord<F = Vec<FlowRecord>> {
    /// What names the run.
    pub key: RunKey,
    /// What it counted.
    pub totals: RunTotals,
    /// What it cost.
    pub cost: RunCost,
    /// Names of the workload's parts, that [`FlowRecord::class`] points into.
    pub classes: Vec<String>,
    /// The flows, finished or not.
    pub flows: F,
    /// The requests, finished or not; empty for a workload without any.
    pub requests: Vec<RequestRecord>,
    /// Receivers of storage sessions, session by session. Not hashed: their flows are.
    pub sessions: Vec<SessionRecord>,
    /// Every port's name and totals; may be empty.
    pub ports: Vec<PortTotals>,
    /// Every host, then every switch, by their numbers; may be empty. Not hashed.
    pub nodes: Vec<NodeRecord>,
    /// Every port's link, in the order of the ports; may be empty. Not hashed.
    pub topology: Vec<TopologyLink>,
    /// Links of `topology` in trouble at some time. Not hashed.
    pub failures: Vec<LinkFailure>,
    /// When queues and links were sampled; `None`: never. Not hashed.
    pub sampling: Option<Sampling>,
    /// Queue samples in time order; may be empty.
    pub queues: Vec<QueueSample>,
    /// Link samples in time order; may be empty.
    pub links: Vec<LinkSample>,
    /// Waits at switch ports, where they were measured. Not hashed.
    pub switch_waits: Option<SwitchWaits>,
    /// Bursts of hosts, where they were measured. Not hashed.
    pub host_bursts: Option<BurstStats>,
    /// Payload that arrived, where it was measured. Not hashed.
    pub arrived: Option<ArrivedPayload>,
    /// What the workload offers the links. Not hashed.
    pub offered: Option<OfferedLoad>,
    /// The timers of its transport. Not hashed.
    pub timers: Timers,
    /// How punctual it was, where it ran on real hosts. Not hashed.
    pub wall: Option<WallClock>,
}

impl RunRecord {
    /// A run without flows and samples yet.
    pub fn new(key: RunKey) -> Self {
        Self::of(key, Vec::new())
    }
}

impl<F: Default> RunRecord<F> {
    /// A run of these flows, and nothing else yet.
    pub fn of(key: RunKey, flows: F) -> Self {
        Self {
            key,
            flows,
            ..Self::default()
        }
    }
}

impl<F> RunRecord<F> {
    /// The same run with its flows kept otherwise.
    pub fn with_flows<G>(self, keep: impl FnOnce(F) -> G) -> RunRecord<G> {
        RunRecord {
            flows: keep(self.flows),
            key: self.key,
            totals: self.totals,
            cost: self.cost,
            classes: self.classes,
            requests: self.requests,
            sessions: self.sessions,
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
    /// The hash of the flows, in flow order, of the totals but for `events`, and of the requests: 32
    /// hexadecimal digits (XXH3-128). Equal on every platform, engine and number of threads.
    pub fn hash(&self) -> String {
        hash::of_run(&self.flows, &self.totals, &self.requests)
    }

    /// The object that `--json` prints for this run.
    pub fn summary(&self) -> RunSummary {
        let drops = self.totals.drops.total();
        let sums = Sums::of(&self.flows);
        RunSummary {
            key: self.key.clone(),
            flows: self.flows.count() as u64,
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
            offered: self.offered.clone(),
            unfinished_bytes: UnfinishedBytes::of(&self.flows, &self.requests),
            timers: self.timers.clone(),
            makespan_ns: makespan(&self.flows, &self.requests).map(Duration::as_ns),
            wall: self.wall.clone(),
        }
    }
}

/// What a summary counts over all flows.
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

/// One run as `--json` prints it and as `run.json` keeps it.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct RunSummary {
    /// `design`, `topology`, `workload`, `load`, `seed`, and `parameters` where the study sweeps any.
    #[serde(flatten)]
    pub key: RunKey,
    /// Flows started.
    pub flows: u64,
    /// Flows that had not finished when the run ended.
    pub unfinished: u64,
    /// Packets times links crossed.
    pub packet_hops: u64,
    /// Events that the engine handled.
    pub events: u64,
    /// CPU time in seconds.
    pub cpu_seconds: Option<f64>,
    /// [`RunRecord::hash`].
    pub record_hash: String,
    /// Completion times by size group, finished flows only.
    pub fct: FctSummary,
    /// Wall time in seconds.
    pub wall_seconds: Option<f64>,
    /// The process's largest resident memory so far, in bytes.
    pub peak_rss_bytes: Option<u64>,
    /// Virtual time at the end, in seconds.
    pub simulated_seconds: f64,
    /// Packets and bytes that hosts put on their first link.
    pub sent: PacketCount,
    /// Copies that switches made of packets to several hosts, and their bytes.
    #[serde(default)]
    pub copied: PacketCount,
    /// Packets and bytes that reached their host.
    pub delivered: PacketCount,
    /// Packets and bytes dropped, for any reason.
    pub dropped: PacketCount,
    /// The same by reason.
    pub drops: DropCounts,
    /// Packets and bytes still in the network at the end.
    pub remaining: PacketCount,
    /// Packets whose payload a switch cut off, and the bytes cut.
    #[serde(default)]
    pub trimmed: PacketCount,
    /// Headers that a switch sent back to their sender, and their bytes.
    #[serde(default)]
    pub returned: PacketCount,
    /// Packets marked with congestion experienced.
    pub marks: u64,
    /// The sum of the flows' sizes.
    pub application_bytes: u64,
    /// Payload bytes sent: copies and retransmissions included, headers not.
    pub payload_sent_bytes: u64,
    /// Segments sent again.
    pub retransmissions: u64,
    /// Retransmission timeouts.
    pub timeouts: u64,
    /// Connections opened beyond the first of each flow.
    pub copies: u64,
    /// Waits at switch ports; `None` where they were not measured.
    #[serde(default)]
    pub switch_waits: Option<SwitchWaits>,
    /// Bursts of hosts; `None` where they were not measured.
    #[serde(default)]
    pub host_bursts: Option<BurstStats>,
    /// Payload that arrived; `None` where it was not measured.
    #[serde(default)]
    pub arrived: Option<ArrivedPayload>,
    /// When queues and links were sampled; `None`: never.
    #[serde(default)]
    pub sampling: Option<Sampling>,
    /// Requests; `None` for a workload without any.
    #[serde(default)]
    pub requests: Option<RequestSummary>,
    /// Storage sessions; `None` where there were none.
    #[serde(default)]
    pub sessions: Option<SessionSummary>,
    /// What the workload offers the links; `None` in what earlier versions wrote.
    #[serde(default)]
    pub offered: Option<OfferedLoad>,
    /// What was unfinished while flows arrived; `None` where all start at once, and in what earlier versions
    /// wrote.
    #[serde(default)]
    pub unfinished_bytes: Option<UnfinishedBytes>,
    /// The timers of its transport; none in what earlier versions wrote.
    #[serde(default)]
    pub timers: Timers,
    /// Nanoseconds from the first start to the last end; `None` where something did not finish, and in
    /// what earlier versions wrote.
    #[serde(default)]
    pub makespan_ns: Option<u64>,
    /// How punctual it was, where it ran on real hosts.
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

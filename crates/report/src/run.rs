//! Runs, flows and settings, with the data that the report needs.

use crate::waited_timer::WaitedTimer;
use std::collections::BTreeSet;
use std::ops::Range;
use tailcut_record::{
    CoflowKind, CoflowRecord, FlowRecord, FlowRows, LinkFailure, LinkSample, Parameter, PortTotals,
    QueueSample, RequestRecord, RunKey, RunRecord, RunSummary, SessionOperation, SessionOutcome,
    SessionRecord, Timers, TopologyLink, UnfinishedBytes,
};
use tailcut_units::Time;

/// Measured part of a run in which all flows are measured.
pub(crate) const WHOLE: Range<f64> = 0.0..f64::INFINITY;

/// Run with the data that the report needs.
#[derive(Clone, Debug)]
pub struct Run {
    /// Key of the run, and its totals.
    pub summary: RunSummary,
    /// Names of the parts of the workload.
    pub classes: Vec<String>,
    /// Flows of the run, in the order of their numbers.
    /// A study sorts this list and all other lists of [`Flow`] by start time.
    pub flows: Vec<Flow>,
    /// Requests, in the order of their numbers, as flows without an ideal time. The completion time is the latency.
    pub requests: Vec<Flow>,
    /// Storage sessions, in the order of their numbers, if the run has sessions that write and sessions that read.
    /// If all sessions of a run write, or all read, the list is empty.
    pub sessions: Vec<Flow>,
    /// Storage sessions that write, in the order of their numbers, as flows without an ideal time.
    /// A session completes when its last receiver completes, apart from receivers that were left out.
    /// The list [`flows`](Self::flows) contains the flows of the sessions.
    pub writes: Vec<Flow>,
    /// Storage sessions that read, in the same form as `writes`.
    pub reads: Vec<Flow>,
    /// Queries, in the order of their starts, as flows without an ideal time. A query completes with its last answer.
    /// The flows of the answers are in `flows`.
    pub queries: Vec<Flow>,
    /// Coflows from files, in the same form as `queries`.
    pub coflows: Vec<Flow>,
    /// Names and totals of the ports. The list may be empty.
    pub ports: Vec<PortTotals>,
    /// Links of the network, in the order of their ports. The list may be empty.
    pub topology: Vec<TopologyLink>,
    /// Links that are slow, lossy or down for some time.
    pub failures: Vec<LinkFailure>,
    /// Queue samples in the order of time.
    /// The list is empty without queue samples, or if the report does not show them.
    pub queues: Vec<QueueSample>,
    /// Link samples in the order of time.
    /// The list is empty without link samples, or if the report does not show them.
    pub links: Vec<LinkSample>,
    /// Measured part of the run: start and end in microseconds.
    /// A flow, request or session belongs to groups only if it starts in this part.
    pub measured: Range<f64>,
}

impl Run {
    /// Returns whether a flow that starts at `start_ns` is measured.
    /// The time is in nanoseconds since the start of the run.
    pub fn measures(&self, start_ns: u64) -> bool {
        let start = Time::from_ps(start_ns.saturating_mul(1_000));
        self.measured.contains(&in_us(start))
    }

    /// Sorts flows, requests, sessions and coflows by start time. Entries with the same start keep their order.
    pub(crate) fn sort_by_starts(&mut self) {
        for list in [
            &mut self.flows,
            &mut self.requests,
            &mut self.sessions,
            &mut self.writes,
            &mut self.reads,
            &mut self.queries,
            &mut self.coflows,
        ] {
            if !list.is_sorted_by_key(|flow| flow.start_us) {
                list.sort_by(|a, b| a.start_us.total_cmp(&b.start_us));
            }
        }
    }

    /// Returns the number of samples of each port until the last byte was carried.
    /// Returns `None` if the run does not contain the number of samples.
    pub(crate) fn instants(&self) -> Option<u64> {
        let sampling = self.summary.sampling?;
        let end = self.links.last()?.time.as_ns();
        Some(end.div_ceil(sampling.every_ns.max(1)).max(1))
    }

    /// Returns the unfinished bytes during the arrivals; `None` if the load does not continue during all arrivals.
    /// The unfinished bytes of a burst always grow while the burst starts.
    pub(crate) fn unfinished_bytes(&self) -> Option<UnfinishedBytes> {
        let offered = self.summary.offered.as_ref()?;
        self.summary
            .unfinished_bytes
            .filter(|_| !offered.tiers.is_empty())
    }

    /// Returns the time at which 99 % of the bytes had been carried, rounded to the end of a sample interval.
    /// Without the limit of 99 % of the bytes, a few late flows would leave most of a plot over time empty.
    /// Returns `None` if links were not sampled.
    pub(crate) fn nearly_all_carried(&self) -> Option<Time> {
        let sum = |links: &[LinkSample]| links.iter().map(|sample| sample.bytes.0).sum::<u64>();
        let late = sum(&self.links) / 100;
        let mut after = 0;
        let sample = self.links.iter().rev().find(|sample| {
            after += sample.bytes.0;
            after > late
        });
        sample.map(|sample| sample.time)
    }

    /// Returns whether a port belongs to a switch.
    /// A host sends a packet only when its link is free, so the host's backlog does not appear at its port.
    /// Returns true if the run does not contain its network.
    pub(crate) fn is_switch_port(&self, port: u32) -> bool {
        let link = self.topology.get(port as usize);
        link.is_none_or(|link| link.from_tier > 0)
    }
}

/// Flow with the data that the report needs.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Flow {
    /// Start time in microseconds.
    pub start_us: f64,
    /// Length of the flow in bytes, as the application sees it.
    pub bytes: u64,
    /// Completion time in microseconds. It is infinite if the flow did not finish.
    pub fct_us: f64,
    /// Completion time divided by the ideal completion time.
    /// The slowdown is infinite if the flow did not finish, and NaN without an ideal time.
    pub slowdown: f64,
    /// Number of the row in its table.
    pub number: u32,
    /// Index of the workload's part in [`Run::classes`].
    pub class: u8,
    /// Payload bytes that were sent for the flow, including copies, retransmissions and wasted symbols.
    pub sent: u64,
    /// Bytes of the sent payload that were not useful.
    pub wasted: u64,
    /// Retransmission timer for which the flow waited, according to its record.
    pub waited: WaitedTimer,
}

/// Returns a time in microseconds.
fn in_us(time: Time) -> f64 {
    time.as_secs_f64() * 1e6
}

impl Flow {
    /// Returns a flow from its record. `timers` are the timers of its transport.
    pub fn of(flow: &FlowRecord, timers: &Timers) -> Self {
        let ideal_us = flow.ideal_fct.as_us_f64();
        let fct_us = flow.fct.map_or(f64::INFINITY, |fct| fct.as_us_f64());
        Self {
            start_us: in_us(flow.start),
            bytes: flow.bytes.0,
            fct_us,
            slowdown: if ideal_us > 0.0 {
                fct_us / ideal_us
            } else {
                f64::NAN
            },
            number: flow.flow.0,
            class: flow.class,
            sent: flow.payload_sent.0,
            wasted: flow.payload_sent.0.saturating_sub(flow.bytes.0),
            waited: WaitedTimer::of_flow(flow, timers),
        }
    }

    /// Returns a request as a flow. `timers` are the timers of its transport.
    pub fn of_request(request: &RequestRecord, timers: &Timers) -> Self {
        let latency = request.latency.map(|latency| latency.as_us_f64());
        Self {
            start_us: in_us(request.start),
            bytes: request.bytes.0,
            fct_us: latency.unwrap_or(f64::INFINITY),
            slowdown: f64::NAN,
            number: request.request,
            class: 0,
            sent: request.sent.0,
            wasted: request.wasted.0,
            waited: WaitedTimer::at_most(request.latency, timers),
        }
    }

    /// Returns a session as a flow. `timers` are the timers of its transport.
    /// The flows of the session contain its cost.
    pub fn of_session(session: &SessionOutcome, timers: &Timers) -> Self {
        let completion = session.completion.map(|span| span.as_us_f64());
        Self {
            start_us: in_us(session.start),
            bytes: session.bytes.0,
            fct_us: completion.unwrap_or(f64::INFINITY),
            slowdown: f64::NAN,
            number: session.session,
            class: session.class,
            sent: 0,
            wasted: 0,
            waited: WaitedTimer::at_most(session.completion, timers),
        }
    }
}

/// Returns the coflows of a kind as flows. `timers` are the timers of their transport.
/// The flows of a coflow contain its cost.
pub(crate) fn coflows(rows: &[CoflowRecord], kind: CoflowKind, timers: &Timers) -> Vec<Flow> {
    let of_kind = rows.iter().filter(|row| row.kind == kind);
    let flow = |row: &CoflowRecord| Flow {
        start_us: in_us(row.start),
        bytes: row.bytes.0,
        fct_us: row
            .completion
            .map_or(f64::INFINITY, |span| span.as_us_f64()),
        slowdown: f64::NAN,
        number: row.coflow,
        class: row.class,
        sent: 0,
        wasted: 0,
        waited: WaitedTimer::at_most(row.completion, timers),
    };
    of_kind.map(flow).collect()
}

/// Sessions of a run: all sessions if there are two kinds, the sessions that write, and the sessions that read.
#[derive(Default)]
pub(crate) struct Sessions {
    pub all: Vec<Flow>,
    pub writes: Vec<Flow>,
    pub reads: Vec<Flow>,
}

impl Sessions {
    pub fn of(rows: &[SessionRecord], timers: &Timers) -> Self {
        let outcomes = SessionOutcome::of(rows);
        let of = |wanted: &dyn Fn(SessionOperation) -> bool| {
            let of_kind = outcomes.iter().filter(|s| wanted(s.operation));
            of_kind.map(|s| Flow::of_session(s, timers)).collect()
        };
        let writes: Vec<Flow> = of(&|operation| operation == SessionOperation::Write);
        let reads: Vec<Flow> = of(&|operation| operation == SessionOperation::Read);
        let all = match writes.is_empty() || reads.is_empty() {
            true => Vec::new(),
            false => of(&|_| true),
        };
        Self { all, writes, reads }
    }
}

/// Returns the number of runs that have different record hashes.
pub(crate) fn different(runs: &[&Run]) -> usize {
    let hashes = runs.iter().map(|run| run.summary.record_hash.as_str());
    hashes.collect::<BTreeSet<&str>>().len()
}

/// Returns whether several seeds all gave the same run. The figures of equal runs have no interval.
pub(crate) fn are_same(runs: &[&Run]) -> bool {
    runs.len() > 1 && different(runs) == 1
}

impl<F: FlowRows> From<&RunRecord<F>> for Run {
    fn from(run: &RunRecord<F>) -> Self {
        let flows = run.flows.in_order();
        let timers = &run.timers;
        let sessions = Sessions::of(&run.sessions, timers);
        let requests = run.requests.iter();
        Self {
            summary: run.summary(),
            classes: run.classes.clone(),
            flows: flows.map(|flow| Flow::of(&flow, timers)).collect(),
            requests: requests.map(|r| Flow::of_request(r, timers)).collect(),
            sessions: sessions.all,
            writes: sessions.writes,
            reads: sessions.reads,
            queries: coflows(&run.coflows, CoflowKind::Query, timers),
            coflows: coflows(&run.coflows, CoflowKind::Coflow, timers),
            ports: run.ports.clone(),
            topology: run.topology.clone(),
            failures: run.failures.clone(),
            queues: run.queues.clone(),
            links: run.links.clone(),
            measured: WHOLE,
        }
    }
}

/// Setting: all properties that runs must share so that they are comparable. Design and seed are not included.
#[derive(Clone, PartialEq, Debug)]
pub struct Setting {
    /// Name of the topology.
    pub topology: String,
    /// Name of the workload.
    pub workload: String,
    /// Offered load; `None` if the setting has no load.
    pub load: Option<f64>,
    /// Values of the swept keys.
    pub parameters: Vec<Parameter>,
}

/// All runs of one setting.
#[derive(Clone, Debug)]
pub struct Cell<'a> {
    /// Setting of the runs.
    pub setting: Setting,
    /// Designs in the study's order, each with its runs in the order of their seeds.
    pub designs: Vec<(&'a str, Vec<&'a Run>)>,
}

impl From<&RunKey> for Setting {
    fn from(key: &RunKey) -> Self {
        Self {
            topology: key.topology.clone(),
            workload: key.workload.clone(),
            load: key.load,
            parameters: key.parameters.clone(),
        }
    }
}

impl Setting {
    /// Returns the setting as text: "load 0.5" and the swept keys.
    /// If `whole` is true, the text also contains topology and workload.
    pub fn describe(&self, whole: bool) -> String {
        let place = [&self.topology, &self.workload];
        let mut words: Vec<String> = match whole {
            true => place.map(String::clone).to_vec(),
            false => Vec::new(),
        };
        words.extend(self.load.map(|load| format!("load {load}")));
        words.extend(self.parameters.iter().map(Parameter::to_string));
        match words.is_empty() {
            true => self.workload.clone(),
            false => words.join(", "),
        }
    }

    /// Returns the value of a swept key. Returns `None` if the key is not swept.
    pub fn parameter(&self, key: &str) -> Option<&Parameter> {
        self.parameters
            .iter()
            .find(|parameter| parameter.key == key)
    }
}

impl<'a> Cell<'a> {
    /// Returns the runs of a design. The list is empty if no run of the design has finished in this setting.
    pub fn runs(&self, design: &str) -> &[&'a Run] {
        let found = self.designs.iter().find(|(name, _)| *name == design);
        found.map_or(&[], |(_, runs)| runs)
    }
}

//! Runs and their flows as the report needs them, and the settings that they share.

use crate::waited::Waited;
use tailcut_record::{
    FlowRecord, FlowRows, LinkFailure, LinkSample, Parameter, PortTotals, QueueSample,
    RequestRecord, RunKey, RunRecord, RunSummary, SessionOperation, SessionOutcome, SessionRecord,
    Timers, TopologyLink,
};
use tailcut_units::Time;

/// One run as the report needs it.
#[derive(Clone, Debug)]
pub struct Run {
    /// What names the run, and its totals.
    pub summary: RunSummary,
    /// Names of the workload's parts.
    pub classes: Vec<String>,
    /// The flows in the order of their numbers.
    pub flows: Vec<Flow>,
    /// The requests in the order of their numbers, as flows that have no ideal: the completion time is
    /// the latency.
    pub requests: Vec<Flow>,
    /// The storage sessions, in the order of their numbers, where some write and some read; else empty.
    pub sessions: Vec<Flow>,
    /// The storage sessions that write, in the order of their numbers, as flows that have no ideal: each
    /// completes with its last receiver that was not left out. The flows that carry them are among `flows`.
    pub writes: Vec<Flow>,
    /// Those that read.
    pub reads: Vec<Flow>,
    /// Port names and totals; may be empty.
    pub ports: Vec<PortTotals>,
    /// The network's links in the order of their ports; may be empty.
    pub topology: Vec<TopologyLink>,
    /// Those of them that are in trouble at some time.
    pub failures: Vec<LinkFailure>,
    /// Queue samples in time order; empty where none were taken, or none of this run are shown.
    pub queues: Vec<QueueSample>,
    /// Link samples in time order; empty likewise.
    pub links: Vec<LinkSample>,
}

impl Run {
    /// How often each port was sampled until the last byte was carried; `None` where the run does
    /// not say.
    pub(crate) fn instants(&self) -> Option<u64> {
        let sampling = self.summary.sampling?;
        let end = self.links.last()?.time.as_ns();
        Some(end.div_ceil(sampling.every_ns.max(1)).max(1))
    }

    /// When 99 % of the bytes had been carried, at the end of a sample interval: a few late flows
    /// would leave most of a plot over time empty. `None` where links were not sampled.
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

    /// Whether the port is a switch's; a host feeds its link as that becomes free, so what waits
    /// there waits in the host. True where the run does not keep its network.
    pub(crate) fn is_switch_port(&self, port: u32) -> bool {
        let link = self.topology.get(port as usize);
        link.is_none_or(|link| link.from_tier > 0)
    }
}

/// What the report keeps of a flow.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Flow {
    /// The application's bytes.
    pub bytes: u64,
    /// Completion time in microseconds, infinite when the run ended first.
    pub fct_us: f64,
    /// Completion time over the ideal one; infinite when the run ended first, NaN without an ideal.
    pub slowdown: f64,
    /// Index into [`Run::classes`].
    pub class: u8,
    /// Payload sent for it, copies, retransmissions and symbols in vain included.
    pub sent: u64,
    /// What of that was of no use.
    pub wasted: u64,
    /// The retransmission timer that it waited for, as far as its record tells.
    pub waited: Waited,
}

impl Flow {
    /// A flow under a transport with these timers.
    pub fn of(flow: &FlowRecord, timers: &Timers) -> Self {
        let ideal_us = flow.ideal_fct.as_us_f64();
        let fct_us = flow.fct.map_or(f64::INFINITY, |fct| fct.as_us_f64());
        Self {
            bytes: flow.bytes.0,
            fct_us,
            slowdown: if ideal_us > 0.0 {
                fct_us / ideal_us
            } else {
                f64::NAN
            },
            class: flow.class,
            sent: flow.payload_sent.0,
            wasted: flow.payload_sent.0.saturating_sub(flow.bytes.0),
            waited: Waited::of_flow(flow, timers),
        }
    }

    /// A request under a transport with these timers.
    pub fn of_request(request: &RequestRecord, timers: &Timers) -> Self {
        let latency = request.latency.map(|latency| latency.as_us_f64());
        Self {
            bytes: request.bytes.0,
            fct_us: latency.unwrap_or(f64::INFINITY),
            slowdown: f64::NAN,
            class: 0,
            sent: request.sent.0,
            wasted: request.wasted.0,
            waited: Waited::at_most(request.latency, timers),
        }
    }

    /// A session under a transport with these timers. What it cost is told by the flows that carry it.
    pub fn of_session(session: &SessionOutcome, timers: &Timers) -> Self {
        let completion = session.completion.map(|span| span.as_us_f64());
        Self {
            bytes: session.bytes.0,
            fct_us: completion.unwrap_or(f64::INFINITY),
            slowdown: f64::NAN,
            class: session.class,
            sent: 0,
            wasted: 0,
            waited: Waited::at_most(session.completion, timers),
        }
    }
}

/// The sessions of a run: all of them where there are two kinds, the writes, and the reads.
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
            ports: run.ports.clone(),
            topology: run.topology.clone(),
            failures: run.failures.clone(),
            queues: run.queues.clone(),
            links: run.links.clone(),
        }
    }
}

/// What runs must share to be compared: everything but design and seed.
#[derive(Clone, PartialEq, Debug)]
pub struct Setting {
    /// The topology's name.
    pub topology: String,
    /// The workload's name.
    pub workload: String,
    /// The offered load, where there is one.
    pub load: Option<f64>,
    /// The values of what the study sweeps.
    pub parameters: Vec<Parameter>,
}

/// The runs of one setting.
#[derive(Clone, Debug)]
pub struct Cell<'a> {
    /// What the runs share.
    pub setting: Setting,
    /// The designs in the study's order, each with its runs in order of their seeds.
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
    /// The setting in words: "load 0.5", with topology and workload when `whole`, and what is swept.
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

    /// The value of a swept key.
    pub fn parameter(&self, key: &str) -> Option<&Parameter> {
        self.parameters
            .iter()
            .find(|parameter| parameter.key == key)
    }
}

impl<'a> Cell<'a> {
    /// The runs of `design`, none where it finished none here.
    pub fn runs(&self, design: &str) -> &[&'a Run] {
        let found = self.designs.iter().find(|(name, _)| *name == design);
        found.map_or(&[], |(_, runs)| runs)
    }
}

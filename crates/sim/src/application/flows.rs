//! Flows of the workload, as an application.

use super::{Application, Desk, Outcome};
use crate::config::RunConfig;
use tailcut_design::Replication;
use tailcut_record::CoflowRecord;
use tailcut_transport::{self as transport, Event};
use tailcut_units::{Bytes, FlowId, HostId, Time, reduce, stream_seed};
use tailcut_workload::{Coflow, CoflowKind, Flow, Source};

/// Application that starts the flows of a source, and reports their ends to the source.
pub(crate) struct Flows {
    source: Box<dyn Source>,
    replicating: Replicating,
}

impl Flows {
    pub fn new(source: Box<dyn Source>, replicating: Replicating) -> Self {
        Self {
            source,
            replicating,
        }
    }
}

impl Application for Flows {
    fn next(&self) -> Option<Time> {
        self.source.peek()
    }

    fn act(&mut self, desk: &mut Desk<'_>) {
        if let Some(flow) = self.source.next() {
            desk.start(&flow, self.replicating.of(&flow));
        }
    }

    fn event(&mut self, _host: HostId, event: Event, desk: &mut Desk<'_>) {
        let now = desk.now();
        if let Some(flow) = desk.recorder().event(now, event) {
            match event {
                Event::Failed(..) => self.source.failed(now, flow),
                _ => self.source.completed(now, flow),
            }
        }
    }

    fn finish(self: Box<Self>, _desk: &mut Desk<'_>) -> Outcome {
        let numbered = (0..).zip(self.source.coflows());
        Outcome {
            coflows: numbered
                .map(|(number, coflow)| row(number, &coflow))
                .collect(),
            ..Outcome::default()
        }
    }
}

fn row(number: u32, coflow: &Coflow) -> CoflowRecord {
    CoflowRecord {
        coflow: number,
        kind: match coflow.kind {
            CoflowKind::Query => tailcut_record::CoflowKind::Query,
            CoflowKind::Listed => tailcut_record::CoflowKind::Coflow,
        },
        receiver: coflow.receiver,
        flows: coflow.flows,
        bytes: Bytes(coflow.bytes),
        start: coflow.start,
        completion: coflow.end.map(|end| end.since(coflow.start)),
        class: coflow.class as u8,
    }
}

/// Replication of the flows in a run.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Replicating {
    seed: u64,
    /// Size limit for mixed replication, in bytes. A smaller flow gets a random replication method.
    drawn_below: Option<u64>,
}

impl Replicating {
    pub fn new(config: &RunConfig) -> Self {
        let is_mixed = config.stack.replication == Replication::Mixed;
        Self {
            seed: config.seed,
            drawn_below: is_mixed.then_some(config.settings.repnet.limit.0),
        }
    }

    pub fn of(self, flow: &Flow) -> transport::Replication {
        match self.drawn(flow.id, flow.bytes) {
            Some(drawn) => mixed::OUTCOMES[drawn].1,
            None => transport::Replication::AsConfigured,
        }
    }

    /// Returns the index of a flow's random method in [`mixed::OUTCOMES`].
    /// Returns `None` for large flows and in runs without mixed replication.
    pub fn drawn(self, flow: FlowId, bytes: u64) -> Option<usize> {
        self.drawn_below.filter(|below| bytes < *below)?;
        let stream = stream_seed(self.seed, mixed::DOMAIN, u64::from(flow.0));
        Some(reduce((stream >> 32) as u32, mixed::OUTCOMES.len() as u32) as usize)
    }
}

/// Mixed replication: each small flow gets a random replication method.
pub(crate) mod mixed {
    use tailcut_transport::Replication;

    /// Possible replication methods, each with its name in records. The name follows the class.
    pub const OUTCOMES: [(&str, Replication); 3] = [
        ("tcp", Replication::Off),
        ("repflow", Replication::RepFlow),
        ("repsyn", Replication::RepSyn),
    ];

    /// Domain of the random streams. Each flow has its own stream. The value is ASCII for "mixed".
    pub const DOMAIN: u64 = 0x6d69_7865_6400;
}

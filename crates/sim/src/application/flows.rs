//! The workload's flows as an application.

use super::{Application, Desk};
use crate::config::RunConfig;
use tailcut_design::Replication;
use tailcut_transport::{self as transport, Event};
use tailcut_units::{FlowId, HostId, Time, reduce, stream_seed};
use tailcut_workload::{Flow, Source};

/// Begins the flows that a source draws, and tells it which have ended.
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
            self.source.completed(now, flow);
        }
    }
}

/// How flows are replicated in a run.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Replicating {
    seed: u64,
    /// In a mixed run: bytes below which a flow's replication is drawn.
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

    fn of(self, flow: &Flow) -> transport::Replication {
        match self.drawn(flow.id, flow.bytes) {
            Some(drawn) => mixed::OUTCOMES[drawn].1,
            None => transport::Replication::AsConfigured,
        }
    }

    /// Which of [`mixed::OUTCOMES`] a flow drew; `None` for elephants and outside mixed runs.
    pub fn drawn(self, flow: FlowId, bytes: u64) -> Option<usize> {
        self.drawn_below.filter(|below| bytes < *below)?;
        let stream = stream_seed(self.seed, mixed::DOMAIN, u64::from(flow.0));
        Some(reduce((stream >> 32) as u32, mixed::OUTCOMES.len() as u32) as usize)
    }
}

/// Runs in which each mouse draws how it is replicated.
pub(crate) mod mixed {
    use tailcut_transport::Replication;

    /// What a mouse may be: what its record calls it behind its class, and its replication.
    pub const OUTCOMES: [(&str, Replication); 3] = [
        ("tcp", Replication::Off),
        ("repflow", Replication::RepFlow),
        ("repsyn", Replication::RepSyn),
    ];

    /// The domain of the random streams, one for each flow.
    pub const DOMAIN: u64 = 0x6d69_7865_6400;
}

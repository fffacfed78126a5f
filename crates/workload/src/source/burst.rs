//! Bursts: all sources start one flow at almost the same time.
//! A burst models an incast, a permutation, or a shuffle in rounds.

use super::interface::{Numbering, Source};
use crate::error::Error;
use crate::flow::{Class, Flow};
use crate::matrix::Matrix;
use crate::random::{Purpose, Stream};
use crate::sizes::SizeDistribution;
use alloc::collections::VecDeque;
use alloc::format;
use alloc::vec::Vec;
use tailcut_units::{Duration, FlowId, Time};

/// Specification of a burst. In each round, every source of the matrix starts one flow.
#[derive(Clone, Debug)]
pub struct BurstSpec {
    /// Seed of the run.
    pub seed: u64,
    /// Number of the workload. Workloads with different numbers have different random streams.
    pub label: u64,
    /// Traffic matrix. Use [`Matrix::incast`] for N senders to one receiver.
    pub matrix: Matrix,
    /// Sizes of the flows.
    pub sizes: SizeDistribution,
    /// Start of the first round.
    pub start: Time,
    /// Jitter: each flow starts at a random time within this span after the start of its round.
    /// With a jitter of zero, all flows of a round start at the same time.
    pub jitter: Duration,
    /// Number of rounds.
    pub rounds: u32,
    /// Time from the start of a round to the start of the next one, at least the jitter.
    pub interval: Duration,
    /// Role of the flows in the experiment.
    pub class: Class,
    /// Number of the equal-cost path of the flows. With `None`, the network chooses the path.
    pub path: Option<u16>,
}

/// Flows of a [`BurstSpec`]. A round starts at its time, even if flows of the previous round have not ended.
#[derive(Clone, Debug)]
pub struct Burst {
    spec: BurstSpec,
    streams: Vec<HostStreams>,
    begins: Time,
    rounds_left: u32,
    round: VecDeque<Flow>,
    numbering: Numbering,
}

#[derive(Clone, Debug)]
struct HostStreams {
    sizes: Stream,
    destinations: Stream,
    jitter: Stream,
}

impl Burst {
    /// Creates the flows of `spec`.
    ///
    /// # Errors
    /// [`Error::OutOfRange`] if there are several rounds and the jitter is longer than the interval between rounds.
    pub fn new(spec: BurstSpec) -> Result<Self, Error> {
        if spec.rounds > 1 && spec.jitter > spec.interval {
            return Err(Error::OutOfRange {
                parameter: "jitter",
                found: format!("{}", spec.jitter),
                allowed: "at most the interval between rounds",
            });
        }
        let of = |purpose, entity| Stream::of(spec.seed, spec.label, purpose, entity);
        let streams = spec
            .matrix
            .entities()
            .map(|entity| HostStreams {
                sizes: of(Purpose::Sizes, entity),
                destinations: of(Purpose::Destinations, entity),
                jitter: of(Purpose::Jitter, entity),
            })
            .collect();
        let mut burst = Self {
            streams,
            begins: spec.start,
            rounds_left: spec.rounds,
            round: VecDeque::new(),
            numbering: Numbering::default(),
            spec,
        };
        burst.draw_round();
        Ok(burst)
    }

    fn draw_round(&mut self) {
        if self.rounds_left == 0 {
            return;
        }
        self.rounds_left -= 1;
        let begins = self.begins;
        self.begins = begins.saturating_add(self.spec.interval);
        let mut flows: Vec<Flow> = Vec::with_capacity(self.streams.len());
        for (index, streams) in self.streams.iter_mut().enumerate() {
            let jitter = streams.jitter.uniform() * self.spec.jitter.as_secs_f64();
            flows.push(Flow {
                id: FlowId(0),
                start: begins.saturating_add(Duration::from_secs_f64(jitter)),
                src: self.spec.matrix.sources()[index],
                dst: self
                    .spec
                    .matrix
                    .destination(index, &mut streams.destinations),
                bytes: self.spec.sizes.sample(&mut streams.sizes),
                path: self.spec.path,
                class: self.spec.class,
            });
        }
        flows.sort_by_key(|flow| flow.start);
        self.round = flows.into();
    }
}

impl Source for Burst {
    fn peek(&self) -> Option<Time> {
        let flow = self.round.front()?;
        self.numbering.has_more().then_some(flow.start)
    }

    fn next(&mut self) -> Option<Flow> {
        self.peek()?;
        let mut flow = self.round.pop_front()?;
        flow.id = self.numbering.take();
        if self.round.is_empty() {
            self.draw_round();
        }
        Some(flow)
    }

    fn completed(&mut self, _now: Time, _flow: FlowId) {}
}

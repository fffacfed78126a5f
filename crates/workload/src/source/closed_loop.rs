//! A closed loop: the next flow waits for an earlier one.

use super::interface::{Numbering, Source};
use crate::error::Error;
use crate::flow::{Class, Flow};
use crate::matrix::Matrix;
use crate::random::{Purpose, Stream};
use crate::sizes::SizeDistribution;
use alloc::collections::{BTreeMap, BinaryHeap};
use alloc::format;
use alloc::vec::Vec;
use core::cmp::Reverse;
use tailcut_units::{Duration, FlowId, Time};

/// How long a source waits from a completion to its next flow.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Think {
    /// Always this long; zero starts the next flow at once.
    Fixed(Duration),
    /// Exponential with this mean.
    Exponential(Duration),
}

impl Think {
    fn draw(self, stream: &mut Stream) -> Duration {
        match self {
            Self::Fixed(span) => span,
            Self::Exponential(mean) => {
                Duration::from_secs_f64(stream.exponential() * mean.as_secs_f64())
            }
        }
    }
}

/// A closed loop: each source of the matrix keeps a number of flows outstanding.
#[derive(Clone, Debug)]
pub struct ClosedLoopSpec {
    /// The seed of the run.
    pub seed: u64,
    /// Tells the random streams of this workload from those of others in the run.
    pub label: u64,
    /// Who sends to whom.
    pub matrix: Matrix,
    /// The sizes of the flows.
    pub sizes: SizeDistribution,
    /// Flows that each source keeps outstanding (thinking ones included), at least one.
    pub outstanding: u32,
    /// The wait from a completion to the next flow.
    pub think: Think,
    /// When the first flows start.
    pub start: Time,
    /// The first flows start evenly at random within this span of the start.
    pub jitter: Duration,
    /// Flows start before this instant.
    pub until: Time,
    /// At most so many flows of all sources together. `None` for no limit.
    pub flows_at_most: Option<u64>,
    /// What the flows are.
    pub class: Class,
    /// The path that they are pinned to.
    pub path: Option<u16>,
}

/// The flows of a [`ClosedLoopSpec`].
#[derive(Clone, Debug)]
pub struct ClosedLoop {
    spec: ClosedLoopSpec,
    streams: Vec<HostStreams>,
    /// Starts that are due; ties in the order of the sources.
    due: BinaryHeap<Reverse<(Time, u32)>>,
    /// The source of each flow that has not completed.
    running: BTreeMap<FlowId, u32>,
    flows_left: u64,
    numbering: Numbering,
}

#[derive(Clone, Debug)]
struct HostStreams {
    sizes: Stream,
    destinations: Stream,
    think: Stream,
}

impl ClosedLoop {
    /// The flows of `spec`.
    ///
    /// # Errors
    /// [`Error::OutOfRange`] when no flow may be outstanding, or more than 65,536 a source.
    pub fn new(spec: ClosedLoopSpec) -> Result<Self, Error> {
        if !(1..=65_536).contains(&spec.outstanding) {
            return Err(Error::OutOfRange {
                parameter: "outstanding flows a source",
                found: format!("{}", spec.outstanding),
                allowed: "1 to 65,536",
            });
        }
        let of = |purpose, entity| Stream::of(spec.seed, spec.label, purpose, entity);
        let mut due = BinaryHeap::new();
        let mut streams = Vec::new();
        for (index, entity) in (0u32..).zip(spec.matrix.entities()) {
            let mut jitter = of(Purpose::Jitter, entity);
            for _ in 0..spec.outstanding {
                let wait = Duration::from_secs_f64(jitter.uniform() * spec.jitter.as_secs_f64());
                due.push(Reverse((spec.start.saturating_add(wait), index)));
            }
            streams.push(HostStreams {
                sizes: of(Purpose::Sizes, entity),
                destinations: of(Purpose::Destinations, entity),
                think: of(Purpose::Think, entity),
            });
        }
        Ok(Self {
            streams,
            due,
            running: BTreeMap::new(),
            flows_left: spec.flows_at_most.unwrap_or(u64::MAX),
            numbering: Numbering::default(),
            spec,
        })
    }
}

impl Source for ClosedLoop {
    fn peek(&self) -> Option<Time> {
        let Reverse((start, _)) = *self.due.peek()?;
        let open = self.flows_left > 0 && self.numbering.has_more();
        (open && start < self.spec.until).then_some(start)
    }

    fn next(&mut self) -> Option<Flow> {
        self.peek()?;
        let Reverse((start, source)) = self.due.pop()?;
        self.flows_left -= 1;
        let index = source as usize;
        let streams = &mut self.streams[index];
        let flow = Flow {
            id: self.numbering.take(),
            start,
            src: self.spec.matrix.sources()[index],
            dst: self
                .spec
                .matrix
                .destination(index, &mut streams.destinations),
            bytes: self.spec.sizes.sample(&mut streams.sizes),
            path: self.spec.path,
            class: self.spec.class,
        };
        self.running.insert(flow.id, source);
        Some(flow)
    }

    fn completed(&mut self, now: Time, flow: FlowId) {
        if let Some(source) = self.running.remove(&flow) {
            let think = self
                .spec
                .think
                .draw(&mut self.streams[source as usize].think);
            self.due.push(Reverse((now.saturating_add(think), source)));
        }
    }
}

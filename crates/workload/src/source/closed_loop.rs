//! Closed loop: a source starts its next flow after an earlier flow has completed.

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

/// Think time: the time from the completion of a flow to the start of the source's next flow.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum ThinkTime {
    /// Constant think time. With zero, the next flow starts immediately.
    Fixed(Duration),
    /// Exponential distribution with this mean think time.
    Exponential(Duration),
}

impl ThinkTime {
    /// Returns the mean think time.
    pub const fn mean(self) -> Duration {
        match self {
            Self::Fixed(span) | Self::Exponential(span) => span,
        }
    }

    pub(super) fn draw(self, stream: &mut Stream) -> Duration {
        match self {
            Self::Fixed(span) => span,
            Self::Exponential(mean) => {
                Duration::from_secs_f64(stream.exponential() * mean.as_secs_f64())
            }
        }
    }
}

/// Specification of a closed loop. Each source of the matrix keeps a number of flows outstanding.
#[derive(Clone, Debug)]
pub struct ClosedLoopSpec {
    /// Seed of the run.
    pub seed: u64,
    /// Number of the workload. Workloads with different numbers have different random streams.
    pub label: u64,
    /// Traffic matrix.
    pub matrix: Matrix,
    /// Sizes of the flows.
    pub sizes: SizeDistribution,
    /// Number of outstanding flows per source, at least one. A flow in its think time is also outstanding.
    pub outstanding: u32,
    /// Think time between two flows.
    pub think: ThinkTime,
    /// Start of the first flows.
    pub start: Time,
    /// Jitter: the first flows start at random times within this span after `start`.
    pub jitter: Duration,
    /// End of the workload. All flows start before this time.
    pub until: Time,
    /// Largest number of flows of all sources together. `None` for no limit.
    pub flows_at_most: Option<u64>,
    /// Role of the flows in the experiment.
    pub class: Class,
    /// Number of the equal-cost path of the flows. With `None`, the network chooses the path.
    pub path: Option<u16>,
}

/// Flows of a [`ClosedLoopSpec`].
#[derive(Clone, Debug)]
pub struct ClosedLoop {
    spec: ClosedLoopSpec,
    streams: Vec<HostStreams>,
    /// Scheduled starts of flows. Starts at the same time are in the order of the sources.
    due: BinaryHeap<Reverse<(Time, u32)>>,
    /// Source of each flow that has not completed.
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
    /// Creates the flows of `spec`.
    ///
    /// # Errors
    /// [`Error::OutOfRange`] if the number of outstanding flows per source is not 1 to 65,536.
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

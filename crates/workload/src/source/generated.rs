//! Open loop: the arrivals of flows do not wait for the completion of earlier flows.

use super::interface::{Numbering, Source};
use crate::arrivals::Arrivals;
use crate::error::Error;
use crate::flow::{Class, Flow};
use crate::matrix::Matrix;
use crate::random::{Purpose, Stream};
use crate::sizes::SizeDistribution;
use alloc::collections::{BinaryHeap, VecDeque};
use alloc::format;
use alloc::vec::Vec;
use core::cmp::Reverse;
use tailcut_units::{FlowId, HostId, Time};

/// Fan-in: an N-to-1 incast for each mouse of an open loop, as in RepNet's evaluation.
/// When a mouse arrives, `degree - 1` additional flows of the same size start at the same time.
/// Each additional flow has a different sender, and the same destination as the mouse.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct FanIn {
    /// Number of flows that send to one destination, including the mouse itself: 11 for 11-to-1.
    pub degree: u32,
    /// Upper limit of the size of mice, in bytes. A flow is a mouse if it is smaller.
    pub below: u64,
}

impl FanIn {
    /// Returns the factor by which the fan-in increases the load in payload bytes.
    /// The factor is 1 + (degree - 1) (share of all bytes that belong to mice).
    pub fn load_factor(&self, sizes: &SizeDistribution) -> f64 {
        let copies = f64::from(self.degree.saturating_sub(1));
        1.0 + copies * sizes.byte_share_below(self.below)
    }
}

/// Specification of an open loop.
/// Each source of the matrix has its own arrival process, with a rate that is proportional to the source's weight.
/// All senders have the same probability to be additional senders of a fan-in.
#[derive(Clone, Debug)]
pub struct GeneratedSpec {
    /// Seed of the run.
    pub seed: u64,
    /// Number of the workload. Workloads with different numbers have different random streams.
    pub label: u64,
    /// Traffic matrix.
    pub matrix: Matrix,
    /// Sizes of the flows.
    pub sizes: SizeDistribution,
    /// Arrival process of each source.
    pub arrivals: Arrivals,
    /// Flows per second of *all* sources together, as [`crate::Load::flows_per_second`] returns it.
    pub flows_per_second: f64,
    /// Start of the arrivals.
    pub start: Time,
    /// End of the workload. All flows start before this time.
    pub until: Time,
    /// Largest number of arrivals, without the additional flows of a fan-in. `None` for no limit.
    pub arrivals_at_most: Option<u64>,
    /// N-to-1 incast for each mouse. `None` for no incast.
    pub fan_in: Option<FanIn>,
    /// Role of the flows in the experiment. All flows of a fan-in have the role [`Class::Incast`].
    pub class: Class,
    /// Number of the equal-cost path of the flows. With `None`, the network chooses the path.
    pub path: Option<u16>,
}

/// Flows of a [`GeneratedSpec`].
#[derive(Clone, Debug)]
pub struct Generated {
    spec: GeneratedSpec,
    /// Sending hosts without repetitions. The additional senders of a fan-in are drawn from this list.
    senders: Vec<HostId>,
    streams: Vec<HostStreams>,
    /// Next arrival of each source. Arrivals at the same time are in the order of the sources.
    next_arrivals: BinaryHeap<Reverse<(Time, u32)>>,
    /// Flows of a started fan-in that the driver has not taken yet.
    converging: VecDeque<Flow>,
    arrivals_left: u64,
    numbering: Numbering,
}

#[derive(Clone, Debug)]
struct HostStreams {
    arrivals: Stream,
    sizes: Stream,
    destinations: Stream,
    fan_in: Stream,
}

impl Generated {
    /// Creates the flows of `spec`.
    ///
    /// # Errors
    /// [`Error::OutOfRange`] if the rate is not a finite number above zero, or if a fan-in has fewer than two flows.
    /// [`Error::OutOfRange`] also if a fan-in needs more senders than there are sources other than the destination.
    pub fn new(spec: GeneratedSpec) -> Result<Self, Error> {
        let rate_of = |index| spec.matrix.part_of_source(index, spec.flows_per_second);
        let is_rate = |rate: f64| rate > 0.0 && rate.is_finite();
        if !(0..spec.matrix.sources().len()).all(|index| is_rate(rate_of(index))) {
            return Err(Error::OutOfRange {
                parameter: "flows per second",
                found: format!("{}", spec.flows_per_second),
                allowed: "a number above 0",
            });
        }
        let mut senders = spec.matrix.sources().to_vec();
        senders.sort_unstable();
        senders.dedup();
        if let Some(FanIn { degree, .. }) = spec.fan_in
            && !(2..senders.len() as u64).contains(&u64::from(degree))
        {
            return Err(Error::OutOfRange {
                parameter: "degree of the fan-in",
                found: format!("{degree} with {} sources", senders.len()),
                allowed: "at least 2 and fewer than the sources",
            });
        }
        let of = |purpose, entity| Stream::of(spec.seed, spec.label, purpose, entity);
        let mut streams: Vec<HostStreams> = spec
            .matrix
            .entities()
            .map(|entity| HostStreams {
                arrivals: of(Purpose::Arrivals, entity),
                sizes: of(Purpose::Sizes, entity),
                destinations: of(Purpose::Destinations, entity),
                fan_in: of(Purpose::FanIn, entity),
            })
            .collect();
        let next_arrivals = (0u32..)
            .zip(&mut streams)
            .map(|(index, streams)| {
                let gap = spec
                    .arrivals
                    .first_gap(rate_of(index as usize), &mut streams.arrivals);
                Reverse((spec.start.saturating_add(gap), index))
            })
            .collect();
        Ok(Self {
            senders,
            streams,
            next_arrivals,
            converging: VecDeque::new(),
            arrivals_left: spec.arrivals_at_most.unwrap_or(u64::MAX),
            numbering: Numbering::default(),
            spec,
        })
    }

    /// Draws the flow that starts at `start` from the source at `index`. Also draws the additional flows of its fan-in.
    fn arrive(&mut self, start: Time, index: usize) -> Flow {
        let streams = &mut self.streams[index];
        let sources = self.spec.matrix.sources();
        let mut flow = Flow {
            id: FlowId(0),
            start,
            src: sources[index],
            dst: self
                .spec
                .matrix
                .destination(index, &mut streams.destinations),
            bytes: self.spec.sizes.sample(&mut streams.sizes),
            path: self.spec.path,
            class: self.spec.class,
        };
        if let Some(fan_in) = self.spec.fan_in
            && flow.bytes < fan_in.below
        {
            flow.class = Class::Incast;
            let mut others: Vec<HostId> = self
                .senders
                .iter()
                .copied()
                .filter(|&host| host != flow.src && host != flow.dst)
                .collect();
            let copies = (fan_in.degree as usize - 1).min(others.len());
            for i in 0..copies {
                let drawn = i as u64 + streams.fan_in.below((others.len() - i) as u64);
                others.swap(i, drawn as usize);
                self.converging.push_back(Flow {
                    src: others[i],
                    ..flow
                });
            }
        }
        flow
    }
}

impl Source for Generated {
    fn peek(&self) -> Option<Time> {
        let start = match self.converging.front() {
            Some(flow) => flow.start,
            None if self.arrivals_left > 0 => self.next_arrivals.peek()?.0.0,
            None => return None,
        };
        (start < self.spec.until && self.numbering.has_more()).then_some(start)
    }

    fn next(&mut self) -> Option<Flow> {
        let start = self.peek()?;
        let mut flow = match self.converging.pop_front() {
            Some(flow) => flow,
            None => {
                let Reverse((_, source)) = self.next_arrivals.pop()?;
                self.arrivals_left -= 1;
                let index = source as usize;
                let spec = &self.spec;
                let rate = spec.matrix.part_of_source(index, spec.flows_per_second);
                let gap = spec.arrivals.gap(rate, &mut self.streams[index].arrivals);
                self.next_arrivals
                    .push(Reverse((start.saturating_add(gap), source)));
                self.arrive(start, index)
            }
        };
        flow.id = self.numbering.take();
        Some(flow)
    }

    fn completed(&mut self, _now: Time, _flow: FlowId) {}
}

//! An open loop: flows that arrive whether or not the earlier ones are done.

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

/// N-to-1 incast beside background traffic, in the way of RepNet's evaluation: whenever a mouse
/// arrives, `degree - 1` more flows of its size start at the same instant from distinct other hosts
/// to the same destination.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct FanIn {
    /// How many flows converge, the first one included: 11 for 11-to-1.
    pub degree: u32,
    /// Flows smaller than this many bytes are mice.
    pub below: u64,
}

impl FanIn {
    /// By what factor the fan-in multiplies the load in payload bytes:
    /// 1 + (degree - 1) (share of the bytes in mice).
    pub fn load_factor(&self, sizes: &SizeDistribution) -> f64 {
        let copies = f64::from(self.degree.saturating_sub(1));
        1.0 + copies * sizes.byte_share_below(self.below)
    }
}

/// An open loop: each source of the matrix starts flows by an arrival process of its own, whose rate is in
/// proportion to the source's weight. The other members of a fan-in are drawn evenly.
#[derive(Clone, Debug)]
pub struct GeneratedSpec {
    /// The seed of the run.
    pub seed: u64,
    /// Tells the random streams of this workload from those of others in the run.
    pub label: u64,
    /// Who sends to whom.
    pub matrix: Matrix,
    /// The sizes of the flows.
    pub sizes: SizeDistribution,
    /// The arrival process of each source.
    pub arrivals: Arrivals,
    /// Flows a second of *all* sources together, as [`crate::Load::flows_per_second`] gives it.
    pub flows_per_second: f64,
    /// When the arrivals begin.
    pub start: Time,
    /// Flows start before this instant.
    pub until: Time,
    /// At most so many arrivals; the copies of a fan-in are not counted. `None` for no limit.
    pub arrivals_at_most: Option<u64>,
    /// N-to-1 incast.
    pub fan_in: Option<FanIn>,
    /// What the flows are; members of a fan-in are always [`Class::Incast`].
    pub class: Class,
    /// The path that the flows are pinned to.
    pub path: Option<u16>,
}

/// The flows of a [`GeneratedSpec`].
#[derive(Clone, Debug)]
pub struct Generated {
    spec: GeneratedSpec,
    /// The hosts that send, each once, for the members of a fan-in.
    senders: Vec<HostId>,
    streams: Vec<HostStreams>,
    /// The next arrival of each source; ties in the order of the sources.
    next_arrivals: BinaryHeap<Reverse<(Time, u32)>>,
    /// The rest of a fan-in that has begun.
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
    /// The flows of `spec`.
    ///
    /// # Errors
    /// [`Error::OutOfRange`] when the rate is not a finite number above zero, or when a fan-in has
    /// fewer than two flows or more than there are sources beside the destination.
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

    /// Draws the flow of the source at `index` that arrives at `start`, and the rest of its fan-in.
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

//! Queries: an aggregator sends questions to several workers, and all of its workers answer.
//! The aggregator starts its next query after the last answer.

use super::closed_loop::ThinkTime;
use super::interface::{Numbering, Source};
use crate::coflow::{Coflow, CoflowKind, Coflows};
use crate::error::Error;
use crate::flow::{Class, Flow};
use crate::random::{Purpose, Stream};
use crate::sizes::SizeDistribution;
use alloc::collections::{BTreeMap, BinaryHeap, VecDeque};
use alloc::format;
use alloc::vec::Vec;
use core::cmp::Reverse;
use tailcut_units::{FlowId, HostId, Time};

/// Specification of queries in a closed loop. Each aggregator keeps a number of queries outstanding.
#[derive(Clone, Debug)]
pub struct QueriesSpec {
    /// Seed of the run.
    pub seed: u64,
    /// Number of the workload. Workloads with different numbers have different random streams.
    pub label: u64,
    /// Hosts that start queries.
    pub aggregators: Vec<HostId>,
    /// Hosts that answer. For each query, all of them except the aggregator are workers with the same probability.
    pub workers: Vec<HostId>,
    /// Number of workers of a query, at least 1.
    pub fan_out: u32,
    /// Sizes of the answers.
    pub sizes: SizeDistribution,
    /// Size of the question to each worker, in bytes. A worker starts its answer when the whole question has arrived.
    /// With `None`, there are no questions, and all answers start with the query.
    pub question: Option<u64>,
    /// Number of outstanding queries per aggregator, at least one. A query in its think time is also outstanding.
    pub outstanding: u32,
    /// Think time: the time from the last answer of a query to the start of the next query.
    pub think: ThinkTime,
    /// Start of the first queries.
    pub start: Time,
    /// End of the workload. All queries start before this time.
    pub until: Time,
    /// Largest number of queries of all aggregators together. `None` for no limit.
    pub queries_at_most: Option<u64>,
    /// Role of the flows in the experiment.
    pub class: Class,
    /// Number of the equal-cost path of the flows. With `None`, the network chooses the path.
    pub path: Option<u16>,
}

/// Flows of a [`QueriesSpec`].
#[derive(Clone, Debug)]
pub struct Queries {
    spec: QueriesSpec,
    streams: Vec<AggregatorStreams>,
    /// Scheduled starts of queries. Starts at the same time are in the order of the aggregators.
    due: BinaryHeap<Reverse<(Time, u32)>>,
    /// Flows that are ready to start and that the driver has not taken, in the order of their starts.
    ready: VecDeque<(Flow, Part)>,
    /// Each flow that has not ended, and its role in its query.
    running: BTreeMap<FlowId, (Flow, Part)>,
    /// Index of the aggregator of each query.
    aggregators: Vec<u32>,
    coflows: Coflows,
    queries_left: u64,
    numbering: Numbering,
}

/// Role of a flow in its query.
#[derive(Clone, Copy, Debug)]
enum Part {
    /// Question. The fields are the number of the query, and the size of the answer in bytes.
    Question(u32, u64),
    /// Answer. The field is the number of the query.
    Answer(u32),
}

#[derive(Clone, Debug)]
struct AggregatorStreams {
    sizes: Stream,
    workers: Stream,
    think: Stream,
}

impl Queries {
    /// Creates the flows of `spec`.
    ///
    /// # Errors
    /// [`Error::OutOfRange`] if the number of outstanding queries per aggregator is not 1 to 65,536.
    /// [`Error::OutOfRange`] also if the fan-out is not 1 to the number of possible workers of each aggregator.
    pub fn new(spec: QueriesSpec) -> Result<Self, Error> {
        let out_of_range = |parameter, found, allowed| {
            Err(Error::OutOfRange {
                parameter,
                found,
                allowed,
            })
        };
        if !(1..=65_536).contains(&spec.outstanding) {
            let found = format!("{}", spec.outstanding);
            return out_of_range("outstanding queries of an aggregator", found, "1 to 65,536");
        }
        let fewest = spec.workers.len().saturating_sub(1) as u64;
        if !(1..=fewest).contains(&u64::from(spec.fan_out)) {
            let found = format!("{} of {} workers", spec.fan_out, spec.workers.len());
            return out_of_range(
                "fan-out",
                found,
                "1 to the number of workers without the aggregator",
            );
        }
        let mut due = BinaryHeap::new();
        let mut streams = Vec::new();
        for (index, host) in (0u32..).zip(&spec.aggregators) {
            let of = |purpose| Stream::of(spec.seed, spec.label, purpose, u64::from(host.0));
            for _ in 0..spec.outstanding {
                due.push(Reverse((spec.start, index)));
            }
            streams.push(AggregatorStreams {
                sizes: of(Purpose::Sizes),
                workers: of(Purpose::Workers),
                think: of(Purpose::Think),
            });
        }
        Ok(Self {
            streams,
            due,
            ready: VecDeque::new(),
            running: BTreeMap::new(),
            aggregators: Vec::new(),
            coflows: Coflows::default(),
            queries_left: spec.queries_at_most.unwrap_or(u64::MAX),
            numbering: Numbering::default(),
            spec,
        })
    }

    fn next_query(&self) -> Option<Time> {
        let Reverse((start, _)) = *self.due.peek()?;
        (self.queries_left > 0 && start < self.spec.until).then_some(start)
    }

    /// Starts the next query. Its first flows are the questions, or the answers if there are no questions.
    fn begin(&mut self) {
        let Some(Reverse((start, index))) = self.due.pop() else {
            return;
        };
        self.queries_left -= 1;
        let aggregator = self.spec.aggregators[index as usize];
        let streams = &mut self.streams[index as usize];
        let workers = draw(
            &self.spec.workers,
            aggregator,
            self.spec.fan_out,
            &mut streams.workers,
        );
        let sizes = workers
            .iter()
            .map(|_| self.spec.sizes.sample(&mut streams.sizes));
        let sizes: Vec<u64> = sizes.collect();
        let query = self.coflows.begin(Coflow {
            kind: CoflowKind::Query,
            start,
            receiver: Some(aggregator),
            flows: self.spec.fan_out,
            bytes: sizes.iter().sum(),
            end: None,
            class: self.spec.class,
        });
        self.aggregators.push(index);
        for (worker, bytes) in workers.into_iter().zip(sizes) {
            let answer = Flow {
                id: FlowId(0),
                start,
                src: worker,
                dst: aggregator,
                bytes,
                path: self.spec.path,
                class: self.spec.class,
            };
            let first = match self.spec.question {
                None => (answer, Part::Answer(query)),
                Some(size) => {
                    let question = Flow {
                        src: aggregator,
                        dst: worker,
                        bytes: size.max(1),
                        ..answer
                    };
                    (question, Part::Question(query, bytes))
                }
            };
            self.ready.push_back(first);
        }
    }

    /// Records that a flow of a query has ended and that no other flow follows it.
    fn flow_ended(&mut self, now: Time, query: u32, failed: bool) {
        if !self.coflows.flow_ended(now, query, failed) {
            return;
        }
        let index = self.aggregators[query as usize];
        let stream = &mut self.streams[index as usize].think;
        let think = self.spec.think.draw(stream);
        self.due.push(Reverse((now.saturating_add(think), index)));
    }
}

/// Draws `count` different hosts from `hosts` in random order. The host `without` is excluded.
fn draw(hosts: &[HostId], without: HostId, count: u32, stream: &mut Stream) -> Vec<HostId> {
    let own = hosts.iter().position(|host| *host == without);
    let others = hosts.len() - usize::from(own.is_some());
    // The code is a Fisher-Yates shuffle of the indices of the allowed hosts.
    // The shuffle stores only the indices that it has moved.
    let mut moved: BTreeMap<usize, usize> = BTreeMap::new();
    let mut drawn = Vec::with_capacity(count as usize);
    for place in 0..others.min(count as usize) {
        let chosen = place + stream.below((others - place) as u64) as usize;
        let index = moved.get(&chosen).copied().unwrap_or(chosen);
        let first = moved.get(&place).copied().unwrap_or(place);
        moved.insert(chosen, first);
        // `index` is a number among the allowed hosts, so indices after the excluded host are one too small.
        drawn.push(hosts[index + usize::from(own.is_some_and(|own| index >= own))]);
    }
    drawn
}

impl Source for Queries {
    fn peek(&self) -> Option<Time> {
        let ready = self.ready.front().map(|(flow, _)| flow.start);
        let next = ready.or_else(|| self.next_query());
        next.filter(|_| self.numbering.has_more())
    }

    fn next(&mut self) -> Option<Flow> {
        self.peek()?;
        if self.ready.is_empty() {
            self.begin();
        }
        let (flow, part) = self.ready.pop_front()?;
        let flow = Flow {
            id: self.numbering.take(),
            ..flow
        };
        self.running.insert(flow.id, (flow, part));
        Some(flow)
    }

    fn completed(&mut self, now: Time, flow: FlowId) {
        match self.running.remove(&flow) {
            Some((question, Part::Question(query, bytes))) => {
                let answer = Flow {
                    start: now,
                    src: question.dst,
                    dst: question.src,
                    bytes,
                    ..question
                };
                self.ready.push_back((answer, Part::Answer(query)));
            }
            Some((_, Part::Answer(query))) => self.flow_ended(now, query, false),
            None => {}
        }
    }

    fn failed(&mut self, now: Time, flow: FlowId) {
        if let Some((_, Part::Question(query, _) | Part::Answer(query))) =
            self.running.remove(&flow)
        {
            self.flow_ended(now, query, true);
        }
    }

    fn coflows(&self) -> Vec<Coflow> {
        self.coflows.all().to_vec()
    }
}

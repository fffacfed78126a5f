//! Requests: clients, servers, sizes of answers, and the work that each copy of a request causes at its server.

use crate::arrivals::Arrivals;
use crate::error::Error;
use crate::random::{Purpose, Stream};
use crate::sizes::SizeDistribution;
use alloc::collections::BinaryHeap;
use alloc::format;
use alloc::vec::Vec;
use core::cmp::Reverse;
use tailcut_units::{Duration, Time};

/// Distribution of processor times.
#[derive(Clone, Copy, Default, PartialEq, Eq, Hash, Debug)]
pub enum WorkTimes {
    /// Every time is equal to the mean.
    #[default]
    Fixed,
    /// Exponential distribution with the specified mean.
    Exponential,
}

/// Specification of requests in an open loop. Each client has its own arrival process.
#[derive(Clone, Debug)]
pub struct RequestsSpec {
    /// Seed of the run.
    pub seed: u64,
    /// Number of the workload. Workloads with different numbers have different random streams.
    pub label: u64,
    /// Number of clients, at least one.
    pub clients: u32,
    /// Number of servers, at least one. Each request draws its servers with equal probabilities, without repetition.
    pub servers: u32,
    /// Sizes of the answers in bytes.
    pub sizes: SizeDistribution,
    /// Arrival process of each client.
    pub arrivals: Arrivals,
    /// Requests per second of all clients together, above zero.
    pub per_second: f64,
    /// Earliest start of a request.
    pub start: Time,
    /// End of the workload. All requests start before this time.
    pub until: Time,
    /// Largest number of requests. `None` for no limit.
    pub at_most: Option<u64>,
    /// Work of each copy at its server.
    pub work: WorkSpec,
}

/// Work that a copy causes at its server, in addition to the transfer of its bytes.
#[derive(Clone, Copy, Default, PartialEq, Debug)]
pub struct WorkSpec {
    /// Mean processor time without straggling.
    pub cpu: Duration,
    /// Distribution of the processor time. It is drawn separately for each copy.
    pub cpu_times: WorkTimes,
    /// Time until the disk returns the first byte.
    pub seek: Duration,
    /// Share of copies with a longer processor time (stragglers), 0 to 1.
    pub straggler_share: f64,
    /// Factor of the processor time of stragglers, at least 1.
    pub straggler_factor: f64,
}

impl WorkSpec {
    /// Returns the mean processor time of a copy in seconds, including stragglers.
    pub fn mean_cpu(&self) -> f64 {
        self.cpu.as_secs_f64() * (1.0 + self.straggler_share * (self.straggler_factor - 1.0))
    }
}

/// One request of a client.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Request {
    /// Number of the request, in the order of the starts.
    pub number: u32,
    /// Number of the client, from 0.
    pub client: u32,
    /// Size of the answer in bytes, at least 1.
    pub bytes: u64,
    /// Time when the client sends the request.
    pub start: Time,
}

/// Requests of a [`RequestsSpec`]. Each request has its own random streams.
/// More copies of a request therefore do not change other requests.
#[derive(Clone, Debug)]
pub struct Requests {
    spec: RequestsSpec,
    rate_per_client: f64,
    arrivals: Vec<Stream>,
    /// Next arrival of each client. Arrivals at the same time are in the order of the clients.
    next: BinaryHeap<Reverse<(Time, u32)>>,
    number: u32,
    left: u64,
}

impl Requests {
    /// Creates the requests of `spec`.
    ///
    /// # Errors
    /// [`Error::OutOfRange`] for a rate that is not a finite number above zero.
    /// [`Error::OutOfRange`] also if there are no clients or no servers.
    pub fn new(spec: RequestsSpec) -> Result<Self, Error> {
        let rate_per_client = spec.per_second / f64::from(spec.clients);
        if !(rate_per_client > 0.0 && rate_per_client.is_finite()) {
            return Err(Error::OutOfRange {
                parameter: "requests per second of each client",
                found: format!("{rate_per_client}"),
                allowed: "a number above 0",
            });
        }
        if spec.servers == 0 {
            return Err(Error::OutOfRange {
                parameter: "servers",
                found: format!("{}", spec.servers),
                allowed: "at least 1",
            });
        }
        let stream = |client| {
            let client = u64::from(client);
            Stream::of(spec.seed, spec.label, Purpose::Arrivals, client)
        };
        let mut arrivals: Vec<Stream> = (0..spec.clients).map(stream).collect();
        let next = (0..).zip(&mut arrivals).map(|(client, stream)| {
            let gap = spec.arrivals.first_gap(rate_per_client, stream);
            Reverse((spec.start.saturating_add(gap), client))
        });
        Ok(Self {
            next: next.collect(),
            rate_per_client,
            arrivals,
            number: 0,
            left: spec.at_most.unwrap_or(u64::MAX),
            spec,
        })
    }

    /// Returns the start of the next request, or `None` if no request is left.
    pub fn peek(&self) -> Option<Time> {
        let Reverse((time, _)) = *self.next.peek()?;
        (self.left > 0 && time < self.spec.until).then_some(time)
    }

    /// Returns the servers of request `number`, in the order in which they receive copies.
    /// The number of returned servers is `copies`, but at most the number of all servers.
    pub fn servers(&self, number: u32, copies: u32) -> Vec<u32> {
        let mut stream = self.stream(Purpose::Servers, u64::from(number));
        let mut chosen: Vec<u32> = Vec::new();
        for drawn in 0..copies.min(self.spec.servers) {
            // The random number is an index among the servers that are not chosen yet.
            // The inner loop converts it to a server number.
            let mut server = stream.below(u64::from(self.spec.servers - drawn)) as u32;
            let mut below: Vec<u32> = chosen.clone();
            below.sort_unstable();
            for taken in below {
                server += u32::from(taken <= server);
            }
            chosen.push(server);
        }
        chosen
    }

    /// Returns the processor time and the seek time of one copy of a request.
    pub fn work(&self, number: u32, copy: u8) -> (Duration, Duration) {
        let work = &self.spec.work;
        let entity = (u64::from(number) << 8) | u64::from(copy);
        let mut stream = self.stream(Purpose::Service, entity);
        let drawn = match work.cpu_times {
            WorkTimes::Fixed => 1.0,
            WorkTimes::Exponential => stream.exponential(),
        };
        let slow = match stream.uniform() < work.straggler_share {
            true => work.straggler_factor,
            false => 1.0,
        };
        // With a factor of 1, the time is not converted to seconds, because the conversion would round the time.
        let cpu = match drawn * slow {
            1.0 => work.cpu,
            factor => Duration::from_secs_f64(work.cpu.as_secs_f64() * factor),
        };
        (cpu, work.seek)
    }

    fn stream(&self, purpose: Purpose, entity: u64) -> Stream {
        Stream::of(self.spec.seed, self.spec.label, purpose, entity)
    }
}

impl Iterator for Requests {
    type Item = Request;

    fn next(&mut self) -> Option<Request> {
        self.peek()?;
        let Reverse((start, client)) = self.next.pop()?;
        let stream = &mut self.arrivals[client as usize];
        let gap = self.spec.arrivals.gap(self.rate_per_client, stream);
        self.next.push(Reverse((start.saturating_add(gap), client)));
        let number = self.number;
        self.number += 1;
        self.left -= 1;
        let mut sizes = self.stream(Purpose::Sizes, u64::from(number));
        Some(Request {
            number,
            client,
            bytes: self.spec.sizes.sample(&mut sizes).max(1),
            start,
        })
    }
}

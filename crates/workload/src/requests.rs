//! Requests: who asks which servers for how much, and what each copy costs the server that it meets.

use crate::arrivals::Arrivals;
use crate::error::Error;
use crate::random::{Purpose, Stream};
use crate::sizes::SizeDistribution;
use alloc::collections::BinaryHeap;
use alloc::format;
use alloc::vec::Vec;
use core::cmp::Reverse;
use tailcut_units::{Duration, Time};

/// How the time of a piece of work is drawn.
#[derive(Clone, Copy, Default, PartialEq, Eq, Hash, Debug)]
pub enum WorkTimes {
    /// Always the mean.
    #[default]
    Fixed,
    /// Exponential.
    Exponential,
}

/// Requests in an open loop: each client asks by an arrival process of its own.
#[derive(Clone, Debug)]
pub struct RequestsSpec {
    /// The seed of the run.
    pub seed: u64,
    /// Tells the random streams of this workload from those of others in the run.
    pub label: u64,
    /// Clients, at least one.
    pub clients: u32,
    /// Servers, at least one. Each request draws its servers evenly, without repetition.
    pub servers: u32,
    /// Bytes of the answers.
    pub sizes: SizeDistribution,
    /// The arrival process of each client.
    pub arrivals: Arrivals,
    /// Requests a second of all clients together, above zero.
    pub per_second: f64,
    /// Requests start from this instant on.
    pub start: Time,
    /// Requests start before this instant.
    pub until: Time,
    /// At most so many requests; `None` for no limit.
    pub at_most: Option<u64>,
    /// Work that each copy brings.
    pub work: WorkSpec,
}

/// Work that a copy brings beside its bytes.
#[derive(Clone, Copy, Default, PartialEq, Debug)]
pub struct WorkSpec {
    /// Processor time, in the mean and without straggling.
    pub cpu: Duration,
    /// How it is drawn, for each copy on its own.
    pub cpu_times: WorkTimes,
    /// Time until a disk's first byte.
    pub seek: Duration,
    /// The share of copies, 0 to 1, whose processor time is longer,
    pub straggler_share: f64,
    /// by this factor, at least 1.
    pub straggler_factor: f64,
}

impl WorkSpec {
    /// The mean processor time, straggling counted.
    pub fn mean_cpu(&self) -> f64 {
        self.cpu.as_secs_f64() * (1.0 + self.straggler_share * (self.straggler_factor - 1.0))
    }
}

/// One request.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Request {
    /// Its number: the order in which requests start.
    pub number: u32,
    /// The client, from 0.
    pub client: u32,
    /// Bytes of the answer, at least 1.
    pub bytes: u64,
    /// When the client asks.
    pub start: Time,
}

/// The requests of a [`RequestsSpec`]. What belongs to one request is drawn from streams of its own, so
/// that it does not depend on how many copies others have.
#[derive(Clone, Debug)]
pub struct Requests {
    spec: RequestsSpec,
    rate_per_client: f64,
    arrivals: Vec<Stream>,
    /// The next arrival of each client; ties in the order of the clients.
    next: BinaryHeap<Reverse<(Time, u32)>>,
    number: u32,
    left: u64,
}

impl Requests {
    /// The requests of `spec`.
    ///
    /// # Errors
    /// [`Error::OutOfRange`] for a rate that is not a finite number above zero, and for no clients or
    /// servers.
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

    /// When the next request starts; `None` when there are no more.
    pub fn peek(&self) -> Option<Time> {
        let Reverse((time, _)) = *self.next.peek()?;
        (self.left > 0 && time < self.spec.until).then_some(time)
    }

    /// The servers of request `number` in the order in which they are asked, `copies` of them or all.
    pub fn servers(&self, number: u32, copies: u32) -> Vec<u32> {
        let mut stream = self.stream(Purpose::Servers, u64::from(number));
        let mut chosen: Vec<u32> = Vec::new();
        for drawn in 0..copies.min(self.spec.servers) {
            // Evenly from those that are left: the drawn rank counts over the chosen ones.
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

    /// Processor time and seek time of one copy of a request.
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

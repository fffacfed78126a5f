//! Reads and writes of replicated blocks, as clients of a distributed file system make them: the storage
//! setup of the SCDP paper (section V-A) with HDFS' default placement.

use crate::arrivals::Arrivals;
use crate::error::Error;
use crate::flow::Class;
use crate::matrix::Racks;
use crate::random::{Purpose, Stream};
use crate::sizes::SizeDistribution;
use alloc::collections::BinaryHeap;
use alloc::format;
use alloc::vec::Vec;
use core::cmp::Reverse;
use tailcut_units::{HostId, Time};

/// What a client wants.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Operation {
    /// Puts a block on all its replicas.
    Write,
    /// Gets blocks that are stored already.
    Read,
}

impl Operation {
    /// The name in records.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Write => "write",
            Self::Read => "read",
        }
    }
}

/// Where a block is.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Placement {
    /// The hosts that hold it, in the order of their choice.
    pub replicas: Vec<HostId>,
    /// The one that a client reads it from alone: in its own rack if there is one, else any.
    pub read_from: HostId,
}

/// One request of a client.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Session {
    /// Counted from zero in the order of the starts.
    pub number: u32,
    /// When the client asks.
    pub start: Time,
    /// The client, which holds none of the replicas.
    pub client: HostId,
    /// What it wants.
    pub operation: Operation,
    /// Bytes of all blocks together, at least one.
    pub bytes: u64,
    /// The blocks: one for a write.
    pub blocks: Vec<Placement>,
    /// What the request is to the experiment.
    pub class: Class,
}

impl Session {
    /// The bytes of block `index`: all of nearly one size.
    pub fn block_bytes(&self, index: usize) -> u64 {
        let count = self.blocks.len() as u64;
        let longer = u64::from((index as u64) < self.bytes % count);
        self.bytes / count + longer
    }
}

/// An open loop of sessions: every host is a client, with arrivals of its own.
#[derive(Clone, Debug)]
pub struct StorageSpec {
    /// The seed of the run.
    pub seed: u64,
    /// Tells the random streams of this workload from those of others in the run.
    pub label: u64,
    /// The hosts that are clients and hold blocks, each once: more than there are replicas.
    pub hosts: Vec<HostId>,
    /// Their racks.
    pub racks: Racks,
    /// The bytes of a session.
    pub sizes: SizeDistribution,
    /// Replicas of a block, at least 1: the first anywhere, the second in another rack than the first,
    /// the third in the rack of the second on another host, the rest anywhere else. Where a rack does
    /// not have such a host, any other takes its place.
    pub replicas: u32,
    /// The share of sessions that read, 0 to 1.
    pub reads: f64,
    /// Blocks that a read gets at once, at least 1.
    pub blocks: u32,
    /// The arrival process of each client.
    pub arrivals: Arrivals,
    /// Sessions a second of all clients together.
    pub per_second: f64,
    /// When the arrivals begin.
    pub start: Time,
    /// Sessions start before this instant.
    pub until: Time,
    /// At most so many. `None` for no limit.
    pub at_most: Option<u64>,
    /// What the sessions are to the experiment.
    pub class: Class,
}

/// The sessions of a [`StorageSpec`].
#[derive(Clone, Debug)]
pub struct Storage {
    spec: StorageSpec,
    per_client: f64,
    streams: Vec<ClientStreams>,
    /// The next arrival of each client; ties in the order of the clients.
    next_arrivals: BinaryHeap<Reverse<(Time, u32)>>,
    started: u32,
}

#[derive(Clone, Debug)]
struct ClientStreams {
    arrivals: Stream,
    sizes: Stream,
    placements: Stream,
}

impl Storage {
    /// The sessions of `spec`.
    ///
    /// # Errors
    /// [`Error::OutOfRange`] for a rate that is not a finite number above zero, a share of reads outside
    /// 0 to 1, no block, or replicas that are none or not fewer than the hosts.
    pub fn new(spec: StorageSpec) -> Result<Self, Error> {
        let check = |holds: bool, parameter, found: &dyn core::fmt::Display, allowed| {
            if holds {
                return Ok(());
            }
            Err(Error::OutOfRange {
                parameter,
                found: format!("{found}"),
                allowed,
            })
        };
        let hosts = spec.hosts.len();
        let per_client = spec.per_second / hosts as f64;
        check(
            (1..hosts as u64).contains(&u64::from(spec.replicas)),
            "replicas",
            &format!("{} among {hosts} hosts", spec.replicas),
            "at least 1 and fewer than the hosts, since the client holds none",
        )?;
        check(
            per_client > 0.0 && per_client.is_finite(),
            "sessions per second",
            &spec.per_second,
            "a number above 0",
        )?;
        check(
            (0.0..=1.0).contains(&spec.reads),
            "share of reads",
            &spec.reads,
            "0 to 1",
        )?;
        check(
            spec.blocks > 0,
            "blocks of a read",
            &spec.blocks,
            "at least 1",
        )?;
        let of =
            |purpose, host: HostId| Stream::of(spec.seed, spec.label, purpose, u64::from(host.0));
        let mut streams: Vec<ClientStreams> = spec
            .hosts
            .iter()
            .map(|&host| ClientStreams {
                arrivals: of(Purpose::Arrivals, host),
                sizes: of(Purpose::Sizes, host),
                placements: of(Purpose::Destinations, host),
            })
            .collect();
        let next_arrivals = (0u32..)
            .zip(&mut streams)
            .map(|(client, streams)| {
                let gap = spec.arrivals.first_gap(per_client, &mut streams.arrivals);
                Reverse((spec.start.saturating_add(gap), client))
            })
            .collect();
        Ok(Self {
            spec,
            per_client,
            streams,
            next_arrivals,
            started: 0,
        })
    }

    /// When the next session starts, if any does.
    pub fn peek(&self) -> Option<Time> {
        let Reverse((start, _)) = *self.next_arrivals.peek()?;
        let more = self
            .spec
            .at_most
            .is_none_or(|most| u64::from(self.started) < most);
        (more && start < self.spec.until && self.started < u32::MAX).then_some(start)
    }

    /// The next session, whose start is what [`Storage::peek`] said.
    pub fn next_session(&mut self) -> Option<Session> {
        let start = self.peek()?;
        let Reverse((_, index)) = self.next_arrivals.pop()?;
        let streams = &mut self.streams[index as usize];
        let gap = self
            .spec
            .arrivals
            .gap(self.per_client, &mut streams.arrivals);
        self.next_arrivals
            .push(Reverse((start.saturating_add(gap), index)));
        let client = self.spec.hosts[index as usize];
        let bytes = self.spec.sizes.sample(&mut streams.sizes);
        let operation = if streams.placements.uniform() < self.spec.reads {
            Operation::Read
        } else {
            Operation::Write
        };
        let blocks = match operation {
            Operation::Write => 1,
            Operation::Read => u64::from(self.spec.blocks).min(bytes),
        };
        let stream = &mut streams.placements;
        let spec = &self.spec;
        let blocks = (0..blocks).map(|_| place(spec, client, stream)).collect();
        let number = self.started;
        self.started += 1;
        Some(Session {
            number,
            start,
            client,
            operation,
            bytes,
            blocks,
            class: self.spec.class,
        })
    }
}

/// Chooses the replicas of a block, none of them on `client`.
fn place(spec: &StorageSpec, client: HostId, stream: &mut Stream) -> Placement {
    let mut replicas: Vec<HostId> = Vec::with_capacity(spec.replicas as usize);
    for number in 0..spec.replicas {
        let free = |host: &HostId| *host != client && !replicas.contains(host);
        let rack = |replica: usize| replicas.get(replica).map(|host| spec.racks.of(*host));
        let preferred = |host: &HostId| {
            let own = Some(spec.racks.of(*host));
            free(host)
                && match number {
                    1 => own != rack(0),
                    2 => own == rack(1),
                    _ => true,
                }
        };
        let chosen = draw(&spec.hosts, preferred, stream);
        replicas.extend(chosen.or_else(|| draw(&spec.hosts, free, stream)));
    }
    let near = |host: &&HostId| spec.racks.of(**host) == spec.racks.of(client);
    let read_from = match replicas.iter().find(near) {
        Some(host) => *host,
        None => replicas[stream.below(replicas.len() as u64) as usize],
    };
    Placement {
        replicas,
        read_from,
    }
}

/// One of the hosts for which `may` holds, drawn evenly.
fn draw(hosts: &[HostId], may: impl Fn(&HostId) -> bool, stream: &mut Stream) -> Option<HostId> {
    let count = hosts.iter().filter(|host| may(host)).count();
    if count == 0 {
        return None;
    }
    let drawn = stream.below(count as u64) as usize;
    hosts.iter().filter(|host| may(host)).nth(drawn).copied()
}

//! Storage workload: clients of a distributed file system read and write replicated blocks.
//! The setup is from the SCDP paper (section V-A), with the default placement of HDFS.

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

/// Operation of a client.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Operation {
    /// The client writes a block to all its replicas.
    Write,
    /// The client reads blocks that are already stored.
    Read,
}

impl Operation {
    /// Returns the operation's name in records.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Write => "write",
            Self::Read => "read",
        }
    }
}

/// Placement of a block on hosts.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Placement {
    /// Hosts with a replica, in the order in which they were chosen.
    pub replicas: Vec<HostId>,
    /// Host from which the client reads the block if it reads from only one host.
    /// The host has a replica and is in the client's rack.
    /// If no host satisfies both conditions, the host is a random host with a replica.
    pub read_from: HostId,
}

/// Session: one request of a client.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Session {
    /// Number of the session, from zero, in the order of the starts.
    pub number: u32,
    /// Time when the client sends the request.
    pub start: Time,
    /// Host that sends the request. It stores no replica of the blocks.
    pub client: HostId,
    /// Operation: write or read.
    pub operation: Operation,
    /// Bytes of all blocks together, at least one.
    pub bytes: u64,
    /// Placement of each block. A write has one block.
    pub blocks: Vec<Placement>,
    /// Role of the request in the experiment.
    pub class: Class,
}

impl Session {
    /// Returns the size of block `index` in bytes. The sizes of two blocks differ by at most one byte.
    pub fn block_bytes(&self, index: usize) -> u64 {
        let count = self.blocks.len() as u64;
        let longer = u64::from((index as u64) < self.bytes % count);
        self.bytes / count + longer
    }
}

/// Specification of sessions in an open loop. Every host is a client with its own arrival process.
#[derive(Clone, Debug)]
pub struct StorageSpec {
    /// Seed of the run.
    pub seed: u64,
    /// Number of the workload. Workloads with different numbers have different random streams.
    pub label: u64,
    /// Hosts, without repetitions. Each host is a client and stores blocks. There must be more hosts than replicas.
    pub hosts: Vec<HostId>,
    /// Racks of the hosts.
    pub racks: Racks,
    /// Distribution of the bytes of a session.
    pub sizes: SizeDistribution,
    /// Number of replicas of a block, at least 1. All replicas are on different hosts, and no replica is on the client.
    ///
    /// - The first replica is on a random host.
    /// - The second replica is in another rack than the first.
    /// - The third replica is in the same rack as the second.
    /// - All further replicas are on random hosts.
    ///
    /// If no host satisfies the rule of a replica, the replica is on a random host.
    pub replicas: u32,
    /// Share of sessions that read, 0 to 1.
    pub reads: f64,
    /// Number of blocks of a read, at least 1. The client reads them at the same time.
    pub blocks: u32,
    /// Arrival process of each client.
    pub arrivals: Arrivals,
    /// Sessions per second of all clients together.
    pub per_second: f64,
    /// Start of the arrivals.
    pub start: Time,
    /// End of the workload. All sessions start before this time.
    pub until: Time,
    /// Largest number of sessions. `None` for no limit.
    pub at_most: Option<u64>,
    /// Role of the sessions in the experiment.
    pub class: Class,
}

/// Sessions of a [`StorageSpec`].
#[derive(Clone, Debug)]
pub struct Storage {
    spec: StorageSpec,
    per_client: f64,
    streams: Vec<ClientStreams>,
    /// Next arrival of each client. Arrivals at the same time are in the order of the clients.
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
    /// Creates the sessions of `spec`.
    ///
    /// # Errors
    /// [`Error::OutOfRange`] if the rate is not a finite number above zero, or if the share of reads is not 0 to 1.
    /// [`Error::OutOfRange`] also if there are no blocks or no replicas, or if there are not more hosts than replicas.
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

    /// Returns the start of the next session, or `None` if no session is left.
    pub fn peek(&self) -> Option<Time> {
        let Reverse((start, _)) = *self.next_arrivals.peek()?;
        let more = self
            .spec
            .at_most
            .is_none_or(|most| u64::from(self.started) < most);
        (more && start < self.spec.until && self.started < u32::MAX).then_some(start)
    }

    /// Returns the next session. It starts at the time that [`Storage::peek`] returned.
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
            // Each block has at least one byte.
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

/// Chooses the hosts for the replicas of a block. The client stores no replica.
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

/// Returns a random host among the hosts for which `may` is true, or `None` if `may` is true for no host.
fn draw(hosts: &[HostId], may: impl Fn(&HostId) -> bool, stream: &mut Stream) -> Option<HostId> {
    let count = hosts.iter().filter(|host| may(host)).count();
    if count == 0 {
        return None;
    }
    let drawn = stream.below(count as u64) as usize;
    hosts.iter().filter(|host| may(host)).nth(drawn).copied()
}

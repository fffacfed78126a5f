//! Server of requests. Each copy passes first through the processor, then through the disk, and then through the link.

use super::header::{CancelScope, CopyId, Purpose, RequestHeader, RequestId, Response};
use super::station::{Discipline, JobId, Preemption, Progress, Station};
use alloc::collections::{BTreeMap, VecDeque};
use tailcut_units::{Duration, HostId, Rate, Time};

/// Stations of a server. A station that is switched off takes no time.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct ServerConfig {
    /// Order among copies of one class, at every station.
    pub discipline: Discipline,
    /// Time at which the high class interrupts the low class, at every station.
    pub preemption: Preemption,
    /// Rate at which the disk reads; `None`: no disk.
    pub disk: Option<Rate>,
    /// Rate of the link. `None`: the driver models the network. Each chunk then leaves as soon as the disk has read it.
    /// Without a disk, the whole answer leaves in one step.
    pub link: Option<Rate>,
    /// Number of bytes, at least 1, that the disk and the link serve as one unit. They leave together.
    pub chunk: u64,
}

/// Work of one copy at a server, in addition to the transfer of its bytes.
/// The workload draws these times, so the driver passes them as an argument.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Demand {
    /// Processor time.
    pub cpu: Duration,
    /// Time before the disk's first byte (seek and rotation). Ignored without a disk.
    pub seek: Duration,
}

/// Report of a copy that has left the server: its answer was sent, or it was purged.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Departure {
    /// Time of the departure.
    pub time: Time,
    /// Copy that has left.
    pub copy: CopyId,
    /// Service time that all stations spent on the copy.
    pub service: Duration,
    /// Bytes of the answer that were sent, the sent part of an interrupted chunk included.
    pub sent: u64,
    /// Whether the copy was purged.
    pub is_purged: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Stage {
    Cpu,
    Disk,
    Link,
}

#[derive(Clone, Copy, Debug)]
struct Copy {
    client: HostId,
    priority: u8,
    /// Number of bytes that were requested.
    bytes: u64,
    /// Whether the client may request more bytes.
    is_open: bool,
    /// Whether the processor has finished its work for this copy.
    is_computed: bool,
    demand: Demand,
    /// Whether the disk still has to seek for this copy.
    seeks: bool,
    /// Number of bytes that the disk has read.
    read: u64,
    /// Number of bytes that were sent.
    sent: u64,
    service: Duration,
}

/// Server as plain state. Every input takes the current time.
/// The driver calls [`on_timeout`](Self::on_timeout) at [`next_timeout`](Self::next_timeout).
/// The driver polls answers and departures after every input.
#[derive(Clone, Debug)]
pub struct Server {
    config: ServerConfig,
    cpu: Station,
    disk: Station,
    link: Station,
    copies: BTreeMap<CopyId, Copy>,
    responses: VecDeque<Response>,
    departures: VecDeque<Departure>,
}

const fn job_of(copy: CopyId) -> JobId {
    ((copy.request.0 as u64) << 8) | copy.copy as u64
}

const fn copy_of(job: JobId) -> CopyId {
    CopyId {
        request: RequestId((job >> 8) as u32),
        copy: job as u8,
    }
}

impl Server {
    /// Creates an idle server.
    pub fn new(config: ServerConfig) -> Self {
        let station = || Station::new(config.discipline, config.preemption);
        let chunk = config.chunk.max(1);
        Self {
            config: ServerConfig { chunk, ..config },
            cpu: station(),
            disk: station(),
            link: station(),
            copies: BTreeMap::new(),
            responses: VecDeque::new(),
            departures: VecDeque::new(),
        }
    }

    /// Processes a message from `client`. `demand` is used only for a new copy.
    /// A request for a copy that is already present, and a message about an unknown copy, have no effect.
    pub fn on_message(&mut self, now: Time, client: HostId, header: RequestHeader, demand: Demand) {
        self.on_timeout(now);
        match header.purpose {
            Purpose::Ask => self.ask(now, client, header, demand),
            Purpose::More => self.ask_more(now, header),
            Purpose::Cancel(scope) => self.cancel(now, header.copy, scope),
            Purpose::Reprioritise => self.reprioritise(now, header.copy, header.priority),
        }
        self.pump(now);
    }

    /// Serves all copies until `now`.
    pub fn on_timeout(&mut self, now: Time) {
        // The end of a unit at one station can give work to the next station at the same instant.
        while let Some(due) = self.next_timeout()
            && due <= now
        {
            self.cpu.advance(due);
            self.disk.advance(due);
            self.link.advance(due);
            self.pump(due);
        }
    }

    /// Returns the time at which the next unit at any station ends.
    pub fn next_timeout(&self) -> Option<Time> {
        let stations = [&self.cpu, &self.disk, &self.link];
        let timeouts = stations.into_iter().filter_map(Station::next_timeout);
        timeouts.min()
    }

    /// Returns the next part of an answer that was sent.
    pub fn poll_transmit(&mut self) -> Option<Response> {
        self.responses.pop_front()
    }

    /// Returns the next copy that has left the server.
    pub fn poll_departure(&mut self) -> Option<Departure> {
        self.departures.pop_front()
    }

    /// Number of copies at the server.
    pub fn len(&self) -> usize {
        self.copies.len()
    }

    /// Whether the server has no copy.
    pub fn is_empty(&self) -> bool {
        self.copies.is_empty()
    }

    fn ask(&mut self, now: Time, client: HostId, header: RequestHeader, demand: Demand) {
        if self.copies.contains_key(&header.copy) {
            return;
        }
        let bytes = header.range.to.saturating_sub(header.range.from).max(1);
        let copy = Copy {
            client,
            priority: header.priority,
            bytes,
            is_open: bytes < header.object,
            is_computed: false,
            demand,
            seeks: self.config.disk.is_some() && demand.seek > Duration::ZERO,
            read: 0,
            sent: 0,
            service: Duration::ZERO,
        };
        self.copies.insert(header.copy, copy);
        let job = job_of(header.copy);
        self.cpu
            .add(now, job, header.priority, demand.cpu, demand.cpu);
    }

    /// Adds another range to an open copy, after the earlier ranges.
    fn ask_more(&mut self, now: Time, header: RequestHeader) {
        let bytes = header.range.to.saturating_sub(header.range.from);
        let Some(copy) = self.copies.get_mut(&header.copy).filter(|c| c.is_open) else {
            return;
        };
        copy.bytes += bytes;
        // While the processor or the seek has not finished, the range waits.
        // `step` later reads or sends all bytes of the copy together.
        if copy.is_computed && !copy.seeks {
            match self.config.disk {
                Some(disk) => self.read(now, header.copy, disk, bytes),
                None => self.send(now, header.copy, bytes),
            }
        }
    }

    fn cancel(&mut self, now: Time, id: CopyId, scope: CancelScope) {
        let job = job_of(id);
        let stations = [&mut self.cpu, &mut self.disk, &mut self.link];
        let started = |station: &&mut Station| station.has_started(job) == Some(true);
        if scope == CancelScope::Queued && stations.iter().any(started) {
            // A copy in service is served to its end, but the client requests no further ranges.
            if let Some(copy) = self.copies.get_mut(&id) {
                copy.is_open = false;
            }
            return;
        }
        let Some(mut copy) = self.copies.remove(&id) else {
            return;
        };
        for (stage, station) in [Stage::Cpu, Stage::Disk, Stage::Link]
            .into_iter()
            .zip(stations)
        {
            let Some(removed) = station.remove(now, job) else {
                continue;
            };
            copy.service += removed.unfinished;
            if stage == Stage::Link {
                let chunk = self.config.chunk.min(copy.bytes - copy.sent);
                copy.sent += part_of(chunk, removed.unfinished, removed.unit);
            }
        }
        self.departures.push_back(Departure {
            time: now,
            copy: id,
            service: copy.service,
            sent: copy.sent,
            is_purged: true,
        });
    }

    fn reprioritise(&mut self, now: Time, id: CopyId, priority: u8) {
        let Some(copy) = self.copies.get_mut(&id) else {
            return;
        };
        copy.priority = priority;
        for station in [&mut self.cpu, &mut self.disk, &mut self.link] {
            station.set_class(now, job_of(id), priority);
        }
    }

    /// Passes finished units to the next stations, until no unit is left.
    fn pump(&mut self, now: Time) {
        loop {
            let progress = if let Some(progress) = self.link.poll_progress() {
                (Stage::Link, progress)
            } else if let Some(progress) = self.disk.poll_progress() {
                (Stage::Disk, progress)
            } else if let Some(progress) = self.cpu.poll_progress() {
                (Stage::Cpu, progress)
            } else {
                return;
            };
            self.step(now, progress.0, progress.1);
        }
    }

    fn step(&mut self, now: Time, stage: Stage, progress: Progress) {
        let id = copy_of(progress.job);
        let Some(copy) = self.copies.get_mut(&id) else {
            return;
        };
        copy.service += progress.unit;
        match stage {
            Stage::Cpu => {
                copy.is_computed = true;
                let bytes = copy.bytes;
                match (self.config.disk, copy.seeks) {
                    (Some(_), true) => {
                        let (class, seek) = (copy.priority, copy.demand.seek);
                        self.disk.add(now, progress.job, class, seek, seek);
                    }
                    (Some(disk), false) => self.read(now, id, disk, bytes),
                    (None, _) => self.send(now, id, bytes),
                }
            }
            Stage::Disk if copy.seeks => {
                copy.seeks = false;
                let bytes = copy.bytes;
                if let Some(disk) = self.config.disk {
                    self.read(now, id, disk, bytes);
                }
            }
            Stage::Disk => {
                let chunk = self.config.chunk.min(copy.bytes - copy.read);
                copy.read += chunk;
                self.send(now, id, chunk);
            }
            Stage::Link => {
                let chunk = self.config.chunk.min(copy.bytes - copy.sent);
                self.leave(now, id, chunk);
            }
        }
    }

    /// Adds `bytes` more bytes of an answer to the work of the disk.
    fn read(&mut self, now: Time, id: CopyId, disk: Rate, bytes: u64) {
        let Some(copy) = self.copies.get(&id) else {
            return;
        };
        let (work, unit) = in_chunks(disk, bytes, self.config.chunk);
        self.disk.add(now, job_of(id), copy.priority, work, unit);
    }

    /// Passes `bytes` bytes of the answer to the link.
    fn send(&mut self, now: Time, id: CopyId, bytes: u64) {
        let Some(copy) = self.copies.get_mut(&id) else {
            return;
        };
        match self.config.link {
            Some(link) => {
                let (work, unit) = in_chunks(link, bytes, self.config.chunk);
                self.link.add(now, job_of(id), copy.priority, work, unit);
            }
            None => self.leave(now, id, bytes),
        }
    }

    fn leave(&mut self, now: Time, id: CopyId, bytes: u64) {
        let Some(copy) = self.copies.get_mut(&id) else {
            return;
        };
        copy.sent += bytes;
        let is_last = copy.sent == copy.bytes && !copy.is_open;
        self.responses.push_back(Response {
            client: copy.client,
            copy: id,
            priority: copy.priority,
            bytes,
            is_last,
        });
        if is_last {
            self.departures.push_back(Departure {
                time: now,
                copy: id,
                service: copy.service,
                sent: copy.sent,
                is_purged: false,
            });
            self.copies.remove(&id);
        }
    }
}

/// Returns the time for sending `bytes` bytes in chunks, and the time for sending a whole chunk.
/// The first time is a whole number of chunk times, plus the time of the last, shorter chunk.
/// Both terms are rounded before they are added.
fn in_chunks(rate: Rate, bytes: u64, chunk: u64) -> (Duration, Duration) {
    let unit = rate.serialisation(chunk);
    let rest = rate.serialisation(bytes % chunk);
    (unit * (bytes / chunk) + rest, unit)
}

/// Returns the number of bytes of a chunk that are sent after the time `done`.
/// The chunk has `bytes` bytes and takes the time `whole`. A byte that is partly sent counts.
fn part_of(bytes: u64, done: Duration, whole: Duration) -> u64 {
    if whole == Duration::ZERO {
        return 0;
    }
    let part = u128::from(bytes) * u128::from(done.as_ps());
    part.div_ceil(u128::from(whole.as_ps())) as u64
}

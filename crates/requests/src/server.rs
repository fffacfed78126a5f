//! The server's side: copies go through its stations, one after the other.

use super::header::{CancelScope, CopyId, Purpose, RequestHeader, RequestId, Response};
use super::station::{Discipline, JobId, Preemption, Progress, Station};
use alloc::collections::{BTreeMap, VecDeque};
use tailcut_units::{Duration, HostId, Rate, Time};

/// A server's stations. Those that are off take no time.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct ServerConfig {
    /// The order among copies of one class, at every station.
    pub discipline: Discipline,
    /// When the high class interrupts the low one, at every station.
    pub preemption: Preemption,
    /// How fast the disk reads; `None`: no disk.
    pub disk: Option<Rate>,
    /// How fast the link sends; `None`: each chunk leaves as soon as the disk has read it (without a disk
    /// the whole answer at once), to a network that the driver has.
    pub link: Option<Rate>,
    /// Bytes that the disk and the link serve as one unit, and that leave together, at least 1.
    pub chunk: u64,
}

/// What one copy asks of a server beyond its bytes: drawn by the workload, so an argument.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Demand {
    /// Processor time.
    pub cpu: Duration,
    /// Time until the disk's first byte (seek and rotation), where there is a disk.
    pub seek: Duration,
}

/// A copy has left the server: its answer is out, or it was purged.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Departure {
    /// When.
    pub time: Time,
    /// Which copy.
    pub copy: CopyId,
    /// Time that stations spent on it, all together.
    pub service: Duration,
    /// Bytes of its answer that left, those of a chunk that was cut short included.
    pub sent: u64,
    /// Whether it was purged.
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
    /// Bytes that were asked for.
    bytes: u64,
    /// Whether more may be asked for.
    is_open: bool,
    /// Whether the processor has done its work.
    is_computed: bool,
    demand: Demand,
    /// The seek is still ahead.
    seeks: bool,
    /// Bytes that the disk has read.
    read: u64,
    /// Bytes that have left.
    sent: u64,
    service: Duration,
}

/// See the module. Inputs take the time; [`on_timeout`](Self::on_timeout) wants to be called at
/// [`next_timeout`](Self::next_timeout), and answers and departures are polled after every input.
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
    /// An idle server.
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

    /// A message of `client` arrived; `demand` counts where it asks for something. A copy that is here
    /// already, and a message about one that is not, change nothing.
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

    /// Serves until `now`.
    pub fn on_timeout(&mut self, now: Time) {
        // A unit of one station may be work for the next at the same instant.
        while let Some(due) = self.next_timeout()
            && due <= now
        {
            self.cpu.advance(due);
            self.disk.advance(due);
            self.link.advance(due);
            self.pump(due);
        }
    }

    /// When the next unit at any station ends.
    pub fn next_timeout(&self) -> Option<Time> {
        let stations = [&self.cpu, &self.disk, &self.link];
        let timeouts = stations.into_iter().filter_map(Station::next_timeout);
        timeouts.min()
    }

    /// The next part of an answer that left.
    pub fn poll_transmit(&mut self) -> Option<Response> {
        self.responses.pop_front()
    }

    /// The next copy that left.
    pub fn poll_departure(&mut self) -> Option<Departure> {
        self.departures.pop_front()
    }

    /// Copies here.
    pub fn len(&self) -> usize {
        self.copies.len()
    }

    /// Whether no copy is here.
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

    /// Another range of a copy that is open, after those before.
    fn ask_more(&mut self, now: Time, header: RequestHeader) {
        let bytes = header.range.to.saturating_sub(header.range.from);
        let Some(copy) = self.copies.get_mut(&header.copy).filter(|c| c.is_open) else {
            return;
        };
        copy.bytes += bytes;
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

    /// Takes what stations have finished to the next ones, until nothing moves.
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

    /// The disk has to read `bytes` more of an answer.
    fn read(&mut self, now: Time, id: CopyId, disk: Rate, bytes: u64) {
        let Some(copy) = self.copies.get(&id) else {
            return;
        };
        let (work, unit) = in_chunks(disk, bytes, self.config.chunk);
        self.disk.add(now, job_of(id), copy.priority, work, unit);
    }

    /// `bytes` of the answer are ready for the link.
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

/// The time that `bytes` take in chunks, and that of a whole chunk: as many units as there are chunks,
/// whatever the rate rounds to.
fn in_chunks(rate: Rate, bytes: u64, chunk: u64) -> (Duration, Duration) {
    let unit = rate.serialisation(chunk);
    let rest = rate.serialisation(bytes % chunk);
    (unit * (bytes / chunk) + rest, unit)
}

/// The part of `bytes` that has gone after `done` of `whole`, a begun byte counted.
fn part_of(bytes: u64, done: Duration, whole: Duration) -> u64 {
    if whole == Duration::ZERO {
        return 0;
    }
    let part = u128::from(bytes) * u128::from(done.as_ps());
    part.div_ceil(u128::from(whole.as_ps())) as u64
}

//! Admission queue of the guard: the order in which a service with a limited number of workers runs requests.
//!
//! Requests belong to three strict priority classes. Within a class, the oldest request runs first.
//! When a request ends or is purged, the next request starts.
//!
//! The gate does not need the service time of a request, and never interrupts a request: the caller reports its end.
//! For a server with known work that may be interrupted, see [`Station`](super::Station).

use super::station::JobId;
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::vec::Vec;

/// Priority class of a request, most urgent first.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub enum Class {
    /// First copy of a request for which a client waits.
    #[default]
    Primary,
    /// Further copy of a request for which a client waits.
    Duplicate,
    /// Optional work, for which no client waits. It runs only on idle workers, and is never queued.
    Optional,
}

impl Class {
    /// All classes, most urgent first.
    pub const ALL: [Self; 3] = [Self::Primary, Self::Duplicate, Self::Optional];
}

/// Limits of a gate.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct GateConfig {
    /// Largest number of jobs that run at the same time, at least 1.
    pub workers: u32,
    /// Upper bound of queued jobs, over all classes.
    pub queue: u32,
}

impl GateConfig {
    fn valid(self) -> Self {
        let workers = self.workers.max(1);
        Self { workers, ..self }
    }
}

/// Decision about a job that arrives.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Admission {
    /// The job starts now.
    Runs,
    /// The job is queued.
    Waits,
    /// The job is queued. The queued job with this number, the newest of the lowest class, is rejected to make room.
    Displaces(JobId),
    /// The job is rejected, because the queue is full or the class is never queued.
    Refused,
}

/// State of a job at the moment when it left the gate.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Left {
    /// Whether the job was running. If not, it was queued.
    pub ran: bool,
    /// Queued job that starts on the free worker.
    pub next: Option<JobId>,
}

/// Queue and workers of one service.
#[derive(Clone, Debug)]
pub struct Gate {
    config: GateConfig,
    /// Queued jobs in the order in which they will start: by class, then by arrival number.
    queue: BTreeSet<(Class, u64, JobId)>,
    /// All jobs, queued and running, with class and arrival number.
    jobs: BTreeMap<JobId, (Class, u64)>,
    running: u32,
    arrivals: u64,
}

impl Gate {
    /// Creates a gate without jobs. Zero workers would never run a job, so zero means one.
    pub fn new(config: GateConfig) -> Self {
        Self {
            config: config.valid(),
            queue: BTreeSet::new(),
            jobs: BTreeMap::new(),
            running: 0,
            arrivals: 0,
        }
    }

    /// Changes the limits, and returns the queued jobs that start now.
    /// With fewer workers, running jobs still run to their end. With a shorter queue, queued jobs stay queued.
    pub fn set(&mut self, config: GateConfig) -> Vec<JobId> {
        self.config = config.valid();
        let mut next = Vec::new();
        while self.running < self.config.workers
            && let Some((_, _, job)) = self.queue.pop_first()
        {
            self.running += 1;
            next.push(job);
        }
        next
    }

    /// Admits, queues or rejects a job. A job whose number is already present is rejected.
    pub fn arrive(&mut self, job: JobId, class: Class) -> Admission {
        if self.jobs.contains_key(&job) {
            return Admission::Refused;
        }
        let arrival = self.arrivals;
        self.arrivals += 1;
        if self.running < self.config.workers {
            self.running += 1;
            self.jobs.insert(job, (class, arrival));
            return Admission::Runs;
        }
        if class == Class::Optional {
            return Admission::Refused;
        }
        let mut admission = Admission::Waits;
        if self.queue.len() >= self.config.queue as usize {
            // Only a job of a lower class is displaced. Jobs of the same class keep their order of arrival.
            match self.queue.last().copied() {
                Some(last) if last.0 > class => {
                    self.queue.pop_last();
                    self.jobs.remove(&last.2);
                    admission = Admission::Displaces(last.2);
                }
                _ => return Admission::Refused,
            }
        }
        self.jobs.insert(job, (class, arrival));
        self.queue.insert((class, arrival, job));
        admission
    }

    /// Removes a job that has ended or was purged. Returns `None` if the job is unknown.
    pub fn leave(&mut self, job: JobId) -> Option<Left> {
        let (class, arrival) = self.jobs.remove(&job)?;
        if self.queue.remove(&(class, arrival, job)) {
            return Some(Left {
                ran: false,
                next: None,
            });
        }
        // If `set` has reduced the number of workers, there may be more running jobs than workers.
        // The end of such a job starts no other job.
        let next = match self.running <= self.config.workers {
            true => self.queue.pop_first().map(|(_, _, next)| next),
            false => None,
        };
        if next.is_none() {
            self.running -= 1;
        }
        Some(Left { ran: true, next })
    }

    /// Number of queued jobs of a class.
    pub fn waiting(&self, class: Class) -> usize {
        let from = (class, 0, JobId::default());
        let of_class = self.queue.range(from..);
        of_class.take_while(|(other, ..)| *other == class).count()
    }

    /// Number of running jobs.
    pub fn running(&self) -> u32 {
        self.running
    }
}

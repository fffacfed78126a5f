//! Admission queue of the guard: the order in which a service with a limited number of workers runs requests.
//!
//! Requests belong to three strict priority classes. Within a class, clients take turns.
//! The next client is the one with the fewest running requests. Among equals, it is the one whose last turn is oldest.
//! The requests of one client run in the order in which they came. So a single client has a simple queue.
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
    /// The job is queued. The queued job with this number is rejected to make room.
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

#[derive(Clone, Copy, Debug)]
struct Job<C> {
    client: C,
    class: Class,
    arrival: u64,
}

/// Jobs of one client.
#[derive(Clone, Debug, Default)]
struct Share {
    running: BTreeSet<JobId>,
    /// Queued jobs of each class, by arrival number.
    queued: [BTreeMap<u64, JobId>; Class::ALL.len()],
    /// Number of the client's latest turn.
    /// A client without queued jobs gets a new turn when a job is queued, so it does not overtake clients that wait.
    turn: u64,
}

impl Share {
    /// Number of queued jobs of a class, and the arrival number of the newest one.
    fn crowd(&self, class: Class) -> Option<(usize, u64)> {
        let of_class = &self.queued[class as usize];
        Some((of_class.len(), *of_class.last_key_value()?.0))
    }

    fn has_queued(&self) -> bool {
        self.queued.iter().any(|of_class| !of_class.is_empty())
    }
}

/// Queue and workers of one service. `C` identifies a client.
#[derive(Clone, Debug)]
pub struct Gate<C> {
    config: GateConfig,
    /// All jobs, queued and running.
    jobs: BTreeMap<JobId, Job<C>>,
    /// All clients that have jobs.
    shares: BTreeMap<C, Share>,
    /// Clients with queued jobs of a class, in the order of their turns:
    /// by class, by the number of running jobs, then by the latest turn.
    turns: BTreeSet<(Class, usize, u64, C)>,
    /// Clients with queued jobs of a class: by class, by the number of these jobs, then by the newest of them.
    crowds: BTreeSet<(Class, usize, u64, C)>,
    /// Clients with running jobs, by the number of these jobs.
    holders: BTreeSet<(usize, C)>,
    running: u32,
    queued: usize,
    arrivals: u64,
    latest_turn: u64,
}

impl<C: Ord + Copy> Gate<C> {
    /// Creates a gate without jobs. Zero workers would never run a job, so zero means one.
    pub fn new(config: GateConfig) -> Self {
        Self {
            config: config.valid(),
            jobs: BTreeMap::new(),
            shares: BTreeMap::new(),
            turns: BTreeSet::new(),
            crowds: BTreeSet::new(),
            holders: BTreeSet::new(),
            running: 0,
            queued: 0,
            arrivals: 0,
            latest_turn: 0,
        }
    }

    /// Changes the limits, and returns the queued jobs that start now.
    /// With fewer workers, running jobs still run to their end. With a shorter queue, queued jobs stay queued.
    pub fn set(&mut self, config: GateConfig) -> Vec<JobId> {
        self.config = config.valid();
        let mut started = Vec::new();
        while self.running < self.config.workers
            && let Some(job) = self.start_next()
        {
            started.push(job);
        }
        started
    }

    /// Admits, queues or rejects a job of a client. A job whose number is already present is rejected.
    pub fn arrive(&mut self, job: JobId, client: C, class: Class) -> Admission {
        if self.jobs.contains_key(&job) {
            return Admission::Refused;
        }
        let arrival = self.arrivals;
        self.arrivals += 1;
        let arriving = Job {
            client,
            class,
            arrival,
        };
        if self.running < self.config.workers {
            self.running += 1;
            self.jobs.insert(job, arriving);
            self.change(client, |share| {
                share.running.insert(job);
            });
            return Admission::Runs;
        }
        if class == Class::Optional {
            return Admission::Refused;
        }
        let mut admission = Admission::Waits;
        if self.queued >= self.config.queue as usize {
            let Some(displaced) = self.displaced_by(client, class) else {
                return Admission::Refused;
            };
            self.unqueue(displaced);
            admission = Admission::Displaces(displaced);
        }
        self.jobs.insert(job, arriving);
        self.queued += 1;
        self.latest_turn += 1;
        let turn = self.latest_turn;
        self.change(client, |share| {
            if !share.has_queued() {
                share.turn = turn;
            }
            share.queued[class as usize].insert(arrival, job);
        });
        admission
    }

    /// Removes a job that has ended or was purged. Returns `None` if the job is unknown.
    pub fn leave(&mut self, job: JobId) -> Option<Left> {
        let Job { client, .. } = *self.jobs.get(&job)?;
        if self.unqueue(job) {
            return Some(Left {
                ran: false,
                next: None,
            });
        }
        self.jobs.remove(&job);
        self.change(client, |share| {
            share.running.remove(&job);
        });
        self.running -= 1;
        // If `set` has reduced the number of workers, there may be more running jobs than workers.
        // The end of such a job starts no other job.
        let next = match self.running < self.config.workers {
            true => self.start_next(),
            false => None,
        };
        Some(Left { ran: true, next })
    }

    /// Returns a running job that the caller should end, so that the queued job `waiting` or another one can start.
    /// `stuck_since` returns the time since which a job waits for its own client; `None`: its service works for it.
    ///
    /// The job belongs to a client with more running jobs than the client of `waiting`.
    /// The client with the most running jobs comes first. Of its jobs, the one that waits for the longest time is returned.
    pub fn reclaim<T: Ord>(
        &self,
        waiting: JobId,
        stuck_since: impl Fn(JobId) -> Option<T>,
    ) -> Option<JobId> {
        let Job { client, .. } = *self.jobs.get(&waiting)?;
        let mine = match self.shares.get(&client) {
            Some(share) if share.running.contains(&waiting) => return None,
            Some(share) => share.running.len(),
            None => 0,
        };
        let holders = self.holders.iter().rev();
        holders
            .take_while(|(count, _)| *count > mine)
            .find_map(|(_, holder)| {
                let running = self.shares.get(holder)?.running.iter();
                let stuck = running.filter_map(|job| Some((stuck_since(*job)?, *job)));
                stuck.min().map(|(_, job)| job)
            })
    }

    /// Number of queued jobs of a class.
    pub fn waiting(&self, class: Class) -> usize {
        let crowds = self.crowds.iter();
        let of_class = crowds.filter(|(other, ..)| *other == class);
        of_class.map(|(_, count, ..)| count).sum()
    }

    /// Number of running jobs.
    pub fn running(&self) -> u32 {
        self.running
    }

    /// Returns the queued job that makes room for a new job of a client.
    /// A job of a lower class always makes room. A job of the same class makes room if its client has at least two more.
    /// With a difference of one, two clients would only exchange their places.
    fn displaced_by(&self, client: C, class: Class) -> Option<JobId> {
        let (lowest, most, newest, other) = *self.crowds.last()?;
        let mine = self.shares.get(&client);
        let mine = mine.map_or(0, |share| share.queued[class as usize].len());
        let gives_way = lowest > class || lowest == class && most > mine + 1;
        let share = self.shares.get(&other).filter(|_| gives_way)?;
        share.queued[lowest as usize].get(&newest).copied()
    }

    /// Removes a queued job. Returns `false` if the job is not queued.
    fn unqueue(&mut self, job: JobId) -> bool {
        let Some(Job {
            client,
            class,
            arrival,
        }) = self.jobs.get(&job).copied()
        else {
            return false;
        };
        let mut was_queued = false;
        self.change(client, |share| {
            was_queued = share.queued[class as usize].remove(&arrival).is_some();
        });
        if was_queued {
            self.jobs.remove(&job);
            self.queued -= 1;
        }
        was_queued
    }

    /// Starts the next queued job on a free worker.
    fn start_next(&mut self) -> Option<JobId> {
        let (class, .., client) = *self.turns.first()?;
        self.latest_turn += 1;
        let turn = self.latest_turn;
        let mut started = None;
        self.change(client, |share| {
            let first = share.queued[class as usize].pop_first();
            started = first.map(|(_, job)| job);
            share.running.extend(started);
            share.turn = turn;
        });
        if started.is_some() {
            self.queued -= 1;
            self.running += 1;
        }
        started
    }

    /// Changes the share of a client, and its entries in all orders.
    fn change(&mut self, client: C, change: impl FnOnce(&mut Share)) {
        let share = self.shares.entry(client).or_default();
        self.holders.remove(&(share.running.len(), client));
        for class in Class::ALL {
            if let Some((count, newest)) = share.crowd(class) {
                self.turns
                    .remove(&(class, share.running.len(), share.turn, client));
                self.crowds.remove(&(class, count, newest, client));
            }
        }
        change(share);
        if !share.running.is_empty() {
            self.holders.insert((share.running.len(), client));
        }
        for class in Class::ALL {
            if let Some((count, newest)) = share.crowd(class) {
                self.turns
                    .insert((class, share.running.len(), share.turn, client));
                self.crowds.insert((class, count, newest, client));
            }
        }
        if share.running.is_empty() && !share.has_queued() {
            self.shares.remove(&client);
        }
    }
}

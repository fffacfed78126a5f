//! Which request a server with a bounded number of workers runs next, where the work of each is not known:
//! the guard before a service. Three strict classes, first come, first served within each; work that is
//! purged gives its place to the next at once.
//!
//! [`Station`](super::Station) is a server whose work is known and that may interrupt it; a gate starts work
//! and is told when it ends.

use super::station::JobId;
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::vec::Vec;

/// The classes of a gate: primaries, duplicates, and work that may be refused at any time.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub enum Class {
    /// What somebody waits for.
    #[default]
    Primary,
    /// A copy of what somebody waits for.
    Duplicate,
    /// What nobody waits for. It runs on idle workers, and never waits.
    Optional,
}

impl Class {
    /// All of them, the most urgent first.
    pub const ALL: [Self; 3] = [Self::Primary, Self::Duplicate, Self::Optional];
}

/// The bounds of a gate.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct GateConfig {
    /// Jobs that run at once, at least 1.
    pub workers: u32,
    /// Jobs that wait, of all classes, at most.
    pub queue: u32,
}

impl GateConfig {
    fn valid(self) -> Self {
        let workers = self.workers.max(1);
        Self { workers, ..self }
    }
}

/// What becomes of a job that arrives.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Admission {
    /// It runs now.
    Runs,
    /// It waits.
    Waits,
    /// It waits in the place of another one, which is refused: the latest of the lowest class.
    Displaces(JobId),
    /// It is refused: there is no place for it.
    Refused,
}

/// What a job that left was doing.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Left {
    /// Whether it ran.
    pub ran: bool,
    /// The job that runs now in its place.
    pub next: Option<JobId>,
}

/// See the module.
#[derive(Clone, Debug)]
pub struct Gate {
    config: GateConfig,
    /// Who waits: by class, then by arrival.
    queue: BTreeSet<(Class, u64, JobId)>,
    /// Every job here: its class and its arrival.
    jobs: BTreeMap<JobId, (Class, u64)>,
    running: u32,
    arrivals: u64,
}

impl Gate {
    /// A gate without jobs. No worker is taken for one.
    pub fn new(config: GateConfig) -> Self {
        Self {
            config: config.valid(),
            queue: BTreeSet::new(),
            jobs: BTreeMap::new(),
            running: 0,
            arrivals: 0,
        }
    }

    /// Takes other bounds, and returns the waiting jobs that run now. Jobs beyond a smaller number of workers run to
    /// their end; jobs beyond a shorter queue wait on.
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

    /// A job comes. One whose number is here already is refused.
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

    /// A job is done, or was purged. `None` where it is not here.
    pub fn leave(&mut self, job: JobId) -> Option<Left> {
        let (class, arrival) = self.jobs.remove(&job)?;
        if self.queue.remove(&(class, arrival, job)) {
            return Some(Left {
                ran: false,
                next: None,
            });
        }
        let next = match self.running <= self.config.workers {
            true => self.queue.pop_first().map(|(_, _, next)| next),
            false => None,
        };
        if next.is_none() {
            self.running -= 1;
        }
        Some(Left { ran: true, next })
    }

    /// Jobs of a class that wait.
    pub fn waiting(&self, class: Class) -> usize {
        let from = (class, 0, JobId::default());
        let of_class = self.queue.range(from..);
        of_class.take_while(|(other, ..)| *other == class).count()
    }

    /// Jobs that run.
    pub fn running(&self) -> u32 {
        self.running
    }
}

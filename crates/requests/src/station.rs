//! A resource of a server: work-conserving, strict priority among classes, first come first served
//! or processor sharing within a class.

use alloc::collections::{BTreeMap, VecDeque};
use tailcut_units::{Duration, Time};

/// Classes that a station tells apart: 0, the high one, and 1, that of duplicates.
pub const CLASSES: usize = 2;

/// Fractions of a picosecond in the clock of processor sharing: 2 to this power a picosecond.
const FRACTION: u32 = 24;

/// How jobs of one class share a station.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub enum Discipline {
    /// First come, first served.
    #[default]
    Fifo,
    /// Processor sharing: all jobs of the class at once, each at an equal share, as TCP shares a link.
    ProcessorSharing,
}

/// When a job of the high class takes the station from one of the low class.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub enum Preemption {
    /// At once; the low job goes on later where it was (preemptive resume).
    #[default]
    Resume,
    /// After the unit in service: a chunk, as a packet in a network.
    Unit,
    /// After the job in service (one residual service time).
    Never,
}

/// A job's number at a station; the caller's choice.
pub type JobId = u64;

/// A unit of a job has been served.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Progress {
    /// When.
    pub time: Time,
    /// Of which job.
    pub job: JobId,
    /// How long the unit took of the station's time.
    pub unit: Duration,
    /// Whether the job has no more work here; it is forgotten then.
    pub is_done: bool,
}

/// What a job that was taken away had got.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Removed {
    /// Time that the station had spent on the unit that it did not finish.
    pub unfinished: Duration,
    /// How long that unit would have taken.
    pub unit: Duration,
}

#[derive(Clone, Copy, Debug)]
struct Job {
    class: usize,
    /// Place in the class: by virtual time for processor sharing, then by arrival.
    key: (u128, u64),
    /// Work of a unit, in picoseconds; the last one may be shorter.
    unit: u64,
    /// Work of the unit in service.
    current: u64,
    /// What is left of it, where jobs are served one by one.
    unit_left: u64,
    /// Work left, the unit in service counted whole.
    left: u64,
    started: bool,
}

#[derive(Clone, Debug, Default)]
struct Class {
    order: BTreeMap<(u128, u64), JobId>,
    /// Since when the class has the station; `None` while it waits. Settled only when the class itself
    /// changes, so that what happens in a lower class leaves no trace in the arithmetic of a higher one.
    since: Option<Time>,
    /// Service that each job of processor sharing has got so far, in fractions of a picosecond.
    clock: u128,
}

/// See the module. The caller brings work in, calls [`advance`](Self::advance) at
/// [`next_timeout`](Self::next_timeout) and takes [`Progress`] out. `now` never goes back.
#[derive(Clone, Debug)]
pub struct Station {
    discipline: Discipline,
    preemption: Preemption,
    classes: [Class; CLASSES],
    jobs: BTreeMap<JobId, Job>,
    running: Option<usize>,
    /// The job in service may not be interrupted now.
    locked: bool,
    arrivals: u64,
    progress: VecDeque<Progress>,
}

impl Station {
    /// An idle station. Processor sharing is always preemptive: it has no unit in service.
    pub fn new(discipline: Discipline, preemption: Preemption) -> Self {
        let preemption = match discipline {
            Discipline::Fifo => preemption,
            Discipline::ProcessorSharing => Preemption::Resume,
        };
        Self {
            discipline,
            preemption,
            classes: Default::default(),
            jobs: BTreeMap::new(),
            running: None,
            locked: false,
            arrivals: 0,
            progress: VecDeque::new(),
        }
    }

    /// Brings `work` for `job`, served in units of `unit`: a new job, or more work for one that is
    /// here, which keeps its place. Work of zero is served at once, without a turn.
    pub fn add(&mut self, now: Time, job: JobId, class: u8, work: Duration, unit: Duration) {
        self.advance(now);
        let (work, unit) = (work.as_ps(), unit.as_ps().max(1));
        if let Some(here) = self.jobs.get_mut(&job) {
            here.left += work;
            return;
        }
        if work == 0 {
            self.progress.push_back(Progress {
                time: now,
                job,
                unit: Duration::ZERO,
                is_done: true,
            });
            return;
        }
        let class = usize::from(class).min(CLASSES - 1);
        let current = unit.min(work);
        self.insert(
            now,
            job,
            Job {
                class,
                key: (0, 0),
                unit,
                current,
                unit_left: current,
                left: work,
                started: false,
            },
        );
        self.select(now);
    }

    /// Takes a job away with all its work. `None` where it is not here.
    pub fn remove(&mut self, now: Time, job: JobId) -> Option<Removed> {
        self.advance(now);
        let taken = self.take(now, job)?;
        self.select(now);
        Some(Removed {
            unfinished: Duration::from_ps(taken.current - taken.unit_left),
            unit: Duration::from_ps(taken.current),
        })
    }

    /// Whether the station has begun to serve a job that is here; `None` for one that is not.
    pub fn has_started(&self, job: JobId) -> Option<bool> {
        self.jobs.get(&job).map(|job| job.started)
    }

    /// Puts a job into another class, behind the jobs that are there. Service that it has got stays.
    pub fn set_class(&mut self, now: Time, job: JobId, class: u8) {
        self.advance(now);
        let class = usize::from(class).min(CLASSES - 1);
        if self.jobs.get(&job).is_none_or(|here| here.class == class) {
            return;
        }
        if let Some(mut moved) = self.take(now, job) {
            moved.class = class;
            self.insert(now, job, moved);
            self.select(now);
        }
    }

    /// Serves until `now`.
    pub fn advance(&mut self, now: Time) {
        while let Some(time) = self.next_timeout()
            && time <= now
        {
            self.finish_unit(time);
        }
    }

    /// When the unit in service ends, if any is.
    pub fn next_timeout(&self) -> Option<Time> {
        let class = &self.classes[self.running?];
        let (key, job) = class.order.first_key_value()?;
        let wait = match self.discipline {
            Discipline::Fifo => self.jobs.get(job)?.unit_left,
            Discipline::ProcessorSharing => {
                let ahead = key.0.saturating_sub(class.clock) * class.order.len() as u128;
                ahead.div_ceil(1 << FRACTION) as u64
            }
        };
        Some(class.since?.saturating_add(Duration::from_ps(wait)))
    }

    /// The next unit that has been served.
    pub fn poll_progress(&mut self) -> Option<Progress> {
        self.progress.pop_front()
    }

    /// Jobs here, waiting or in service.
    pub fn len(&self) -> usize {
        self.jobs.len()
    }

    /// Whether no job is here.
    pub fn is_empty(&self) -> bool {
        self.jobs.is_empty()
    }

    fn finish_unit(&mut self, now: Time) {
        let Some(running) = self.running else { return };
        self.settle(running, now);
        let Some((key, id)) = self.classes[running].order.pop_first() else {
            return;
        };
        let Some(job) = self.jobs.get_mut(&id) else {
            return;
        };
        job.left -= job.current;
        let unit = Duration::from_ps(job.current);
        job.current = job.unit.min(job.left);
        job.unit_left = job.current;
        let is_done = job.left == 0;
        if is_done {
            self.jobs.remove(&id);
        } else {
            let next = u128::from(job.current) << FRACTION;
            job.key = match self.discipline {
                Discipline::Fifo => key,
                Discipline::ProcessorSharing => (key.0 + next, key.1),
            };
            self.classes[running].order.insert(job.key, id);
        }
        self.progress.push_back(Progress {
            time: now,
            job: id,
            unit,
            is_done,
        });
        if is_done || self.preemption == Preemption::Unit {
            self.locked = false;
        }
        self.select(now);
    }

    /// Counts the service that the class has got up to `now`.
    fn settle(&mut self, class: usize, now: Time) {
        let state = &mut self.classes[class];
        let Some(since) = state.since else { return };
        state.since = Some(now);
        let span = now.since(since).as_ps();
        let Some((_, first)) = state.order.first_key_value() else {
            return;
        };
        match self.discipline {
            Discipline::Fifo => {
                if let Some(job) = self.jobs.get_mut(first) {
                    job.unit_left -= span.min(job.unit_left);
                    job.started |= span > 0;
                }
            }
            Discipline::ProcessorSharing => {
                let shared = (u128::from(span) << FRACTION) / state.order.len() as u128;
                state.clock += shared;
            }
        }
    }

    fn insert(&mut self, now: Time, id: JobId, mut job: Job) {
        self.settle(job.class, now);
        self.arrivals += 1;
        let class = &mut self.classes[job.class];
        job.key = match self.discipline {
            Discipline::Fifo => (0, self.arrivals),
            Discipline::ProcessorSharing => {
                job.started |= self.running.is_none_or(|running| running >= job.class);
                let left = u128::from(job.unit_left) << FRACTION;
                (class.clock + left, self.arrivals)
            }
        };
        class.order.insert(job.key, id);
        self.jobs.insert(id, job);
    }

    /// Takes a job out, with what is left of its unit up to date.
    fn take(&mut self, now: Time, id: JobId) -> Option<Job> {
        let class = self.jobs.get(&id)?.class;
        self.settle(class, now);
        let mut job = self.jobs.remove(&id)?;
        let state = &mut self.classes[class];
        let first = state.order.first_key_value().map(|(key, _)| *key);
        state.order.remove(&job.key);
        if self.discipline == Discipline::ProcessorSharing {
            let ahead = job.key.0.saturating_sub(state.clock);
            job.unit_left = (ahead.div_ceil(1 << FRACTION) as u64).min(job.current);
        }
        if self.running == Some(class) && first == Some(job.key) {
            self.locked = false;
        }
        Some(job)
    }

    /// Gives the station to the class whose turn it is.
    fn select(&mut self, now: Time) {
        let chosen = match self.running {
            Some(running) if self.locked => Some(running),
            _ => (0..CLASSES).find(|class| !self.classes[*class].order.is_empty()),
        };
        if chosen != self.running {
            if let Some(paused) = self.running {
                self.settle(paused, now);
                self.classes[paused].since = None;
            }
            if let Some(class) = chosen {
                self.classes[class].since = Some(now);
                if self.discipline == Discipline::ProcessorSharing {
                    self.mark_started(class);
                }
            }
            self.running = chosen;
        }
        self.locked = chosen.is_some() && self.preemption != Preemption::Resume;
    }

    fn mark_started(&mut self, class: usize) {
        for id in self.classes[class].order.values() {
            if let Some(job) = self.jobs.get_mut(id) {
                job.started = true;
            }
        }
    }
}

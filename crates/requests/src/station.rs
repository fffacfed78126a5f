//! Station: a resource of a server. A station is never idle while it has work, and its classes have strict priorities.
//! Within a class, jobs are served in order of arrival, or share the station equally.

use alloc::collections::{BTreeMap, VecDeque};
use tailcut_units::{Duration, Time};

/// Number of classes of a station: class 0 has high priority, class 1 is for duplicates.
pub const CLASSES: usize = 2;

/// Fraction bits of the clock for processor sharing. The clock counts in units of 2^-24 picoseconds.
const FRACTION: u32 = 24;

/// Sharing of a station among the jobs of one class.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub enum Discipline {
    /// First come, first served.
    #[default]
    Fifo,
    /// Processor sharing: all jobs of the class run at the same time and have equal shares, as TCP flows share a link.
    ProcessorSharing,
}

/// Time at which a job of the high class takes the station from a job of the low class.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub enum Preemption {
    /// Immediately. The low job later resumes where it stopped (preemptive resume).
    #[default]
    Resume,
    /// After the unit in service, which is a chunk. A network also interrupts only after a whole packet.
    Unit,
    /// After the end of the job in service. A job of the high class waits for the rest of this service.
    Never,
}

/// Number of a job at a station. The caller chooses it.
pub type JobId = u64;

/// Report of one served unit of a job.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Progress {
    /// Time of the unit's end.
    pub time: Time,
    /// Job of the unit.
    pub job: JobId,
    /// Work of the unit, as the time that the station needs for it.
    pub unit: Duration,
    /// Whether the job has no more work here. The station then removes it.
    pub is_done: bool,
}

/// State of a job at the moment when it was removed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Removed {
    /// Time that the station had spent on the unfinished unit.
    pub unfinished: Duration,
    /// Time that the whole unit would have taken.
    pub unit: Duration,
}

#[derive(Clone, Copy, Debug)]
struct Job {
    class: usize,
    /// Position in the class: clock at which the job's unit ends (only processor sharing), then arrival number.
    key: (u128, u64),
    /// Work of a unit in picoseconds. The last unit may be shorter.
    unit: u64,
    /// Work of the unit in service, in picoseconds.
    current: u64,
    /// Work left of the unit in service, in picoseconds. Used if jobs are served one by one.
    unit_left: u64,
    /// Work left of the job, in picoseconds. The unit in service counts as not served yet.
    left: u64,
    started: bool,
}

#[derive(Clone, Debug, Default)]
struct Class {
    order: BTreeMap<(u128, u64), JobId>,
    /// Time since which the class has the station; `None` while the class waits.
    /// The field is updated only when the class itself changes.
    /// Events of a lower class therefore do not change the rounding in a higher class.
    since: Option<Time>,
    /// Service that each job of processor sharing has received, in fractions of a picosecond.
    clock: u128,
}

/// One station. The caller adds work and polls [`Progress`]. `now` never decreases.
/// The caller calls [`advance`](Self::advance) at [`next_timeout`](Self::next_timeout).
#[derive(Clone, Debug)]
pub struct Station {
    discipline: Discipline,
    preemption: Preemption,
    classes: [Class; CLASSES],
    jobs: BTreeMap<JobId, Job>,
    running: Option<usize>,
    /// Whether the job in service cannot be interrupted now.
    locked: bool,
    arrivals: u64,
    progress: VecDeque<Progress>,
}

impl Station {
    /// Creates an idle station. Processor sharing is always preemptive, because it has no unit in service.
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

    /// Adds `work` for `job`, served in units of `unit`. A job that is present keeps its position and gets more work.
    /// Work of zero is complete immediately and does not wait.
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

    /// Removes a job with all its work. Returns `None` if the job is unknown.
    pub fn remove(&mut self, now: Time, job: JobId) -> Option<Removed> {
        self.advance(now);
        let taken = self.take(now, job)?;
        self.select(now);
        Some(Removed {
            unfinished: Duration::from_ps(taken.current - taken.unit_left),
            unit: Duration::from_ps(taken.current),
        })
    }

    /// Whether the station has begun to serve a job; `None` if the job is unknown.
    pub fn has_started(&self, job: JobId) -> Option<bool> {
        self.jobs.get(&job).map(|job| job.started)
    }

    /// Moves a job to another class, behind the jobs of that class. The service that it has received is kept.
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

    /// Serves jobs until `now`.
    pub fn advance(&mut self, now: Time) {
        while let Some(time) = self.next_timeout()
            && time <= now
        {
            self.finish_unit(time);
        }
    }

    /// Returns the time at which the unit in service ends, if there is one.
    pub fn next_timeout(&self) -> Option<Time> {
        let class = &self.classes[self.running?];
        let (key, job) = class.order.first_key_value()?;
        let wait = match self.discipline {
            Discipline::Fifo => self.jobs.get(job)?.unit_left,
            Discipline::ProcessorSharing => {
                // With n jobs, the clock of the class advances at 1/n of the station's rate.
                let ahead = key.0.saturating_sub(class.clock) * class.order.len() as u128;
                ahead.div_ceil(1 << FRACTION) as u64
            }
        };
        Some(class.since?.saturating_add(Duration::from_ps(wait)))
    }

    /// Returns the next unit that has been served.
    pub fn poll_progress(&mut self) -> Option<Progress> {
        self.progress.pop_front()
    }

    /// Number of jobs, waiting or in service.
    pub fn len(&self) -> usize {
        self.jobs.len()
    }

    /// Whether the station has no job.
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

    /// Counts the service that the class has received until `now`.
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
                // Processor sharing serves a new job immediately, unless a higher class has the station.
                job.started |= self.running.is_none_or(|running| running >= job.class);
                let left = u128::from(job.unit_left) << FRACTION;
                (class.clock + left, self.arrivals)
            }
        };
        class.order.insert(job.key, id);
        self.jobs.insert(id, job);
    }

    /// Removes a job. With processor sharing, also computes the remaining work of the job's unit.
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
        // If the removed job was in service, another class may take the station now.
        if self.running == Some(class) && first == Some(job.key) {
            self.locked = false;
        }
        Some(job)
    }

    /// Gives the station to the highest class with jobs, unless the job in service cannot be interrupted.
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

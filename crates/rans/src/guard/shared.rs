//! What all requests of a guard share: the gate, and who is waiting at it.

use super::config::{GuardConfig, OnCancel};
use super::counts::GuardCounts;
use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tailcut_requests::{Admission, Class, Gate, GateConfig, JobId};
use tokio::sync::oneshot;
use tokio::time::Instant;

/// Why a request is not run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Refusal {
    /// Optional work that found every worker taken.
    Optional,
    /// There were too many requests of its class or a higher one.
    Full,
}

struct State {
    config: GuardConfig,
    gate: Gate,
    /// Waiting requests, each with the channel that starts it.
    waiting: HashMap<JobId, oneshot::Sender<Result<(), Refusal>>>,
    classes: HashMap<JobId, Class>,
    counts: GuardCounts,
    next: JobId,
}

pub(super) struct Shared(Mutex<State>);

impl fmt::Debug for Shared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Guard")
            .field("config", &self.config())
            .finish_non_exhaustive()
    }
}

impl Shared {
    pub(super) fn new(config: GuardConfig) -> Self {
        let state = State {
            config,
            gate: Gate::new(bounds(&config)),
            waiting: HashMap::new(),
            classes: HashMap::new(),
            counts: GuardCounts::default(),
            next: 0,
        };
        Self(Mutex::new(state))
    }

    pub(super) fn config(&self) -> GuardConfig {
        self.lock().config
    }

    /// Takes another configuration. Requests that are here keep theirs.
    pub(super) fn set(&self, config: GuardConfig) {
        let mut state = self.lock();
        state.config = config;
        for next in state.gate.set(bounds(&config)) {
            state.start(next);
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn counts(&self) -> GuardCounts {
        let state = self.lock();
        let mut counts = state.counts;
        for (class, counted) in Class::ALL.iter().zip(&mut counts.classes) {
            counted.waiting = state.gate.waiting(*class) as u64;
        }
        counts.running = state.gate.running();
        counts
    }

    pub(super) fn arrive(self: &Arc<Self>, class: Class) -> Result<Ticket, Refusal> {
        let mut state = self.lock();
        let job = state.next;
        state.next += 1;
        state.counts.classes[class as usize].came += 1;
        let (tell, told) = oneshot::channel();
        let (told, since) = match state.gate.arrive(job, class) {
            Admission::Runs => (None, Some(Instant::now())),
            Admission::Waits => {
                state.waiting.insert(job, tell);
                (Some(told), None)
            }
            Admission::Displaces(other) => {
                state.waiting.insert(job, tell);
                state.refuse(other, Refusal::Full);
                (Some(told), None)
            }
            Admission::Refused => {
                state.counts.classes[class as usize].refused += 1;
                return Err(match class {
                    Class::Optional => Refusal::Optional,
                    _ => Refusal::Full,
                });
            }
        };
        state.classes.insert(job, class);
        Ok(Ticket {
            shared: Arc::clone(self),
            config: state.config,
            job,
            class,
            told,
            since,
            is_done: false,
        })
    }
}

fn bounds(config: &GuardConfig) -> GateConfig {
    GateConfig {
        workers: config.workers,
        queue: config.queue,
    }
}

impl State {
    /// A job that waits is not run: the gate has forgotten it already.
    fn refuse(&mut self, job: JobId, refusal: Refusal) {
        if let Some(class) = self.classes.remove(&job) {
            self.counts.classes[class as usize].refused += 1;
        }
        if let Some(tell) = self.waiting.remove(&job) {
            // Whoever has left in this moment needs no answer.
            let _ = tell.send(Err(refusal));
        }
    }

    /// A job goes; the next one gets its worker.
    fn leave(&mut self, job: JobId) {
        self.classes.remove(&job);
        self.waiting.remove(&job);
        let left = self.gate.leave(job);
        if let Some(next) = left.and_then(|left| left.next) {
            self.start(next);
        }
    }

    /// A job that waited gets a worker.
    fn start(&mut self, job: JobId) {
        if let Some(tell) = self.waiting.remove(&job) {
            // One that is leaving gives the worker on when its ticket is dropped.
            let _ = tell.send(Ok(()));
        }
    }
}

/// A request's place at the gate. Dropping it gives the place up.
pub(super) struct Ticket {
    shared: Arc<Shared>,
    config: GuardConfig,
    job: JobId,
    class: Class,
    /// Tells when it may run; `None`: it may.
    told: Option<oneshot::Receiver<Result<(), Refusal>>>,
    /// Since when it runs.
    since: Option<Instant>,
    is_done: bool,
}

impl Ticket {
    /// Resolves when the request may run, or is refused.
    pub(super) async fn turn(&mut self) -> Result<(), Refusal> {
        if let Some(told) = &mut self.told {
            // The sender is gone only with the guard.
            let verdict = told.await.unwrap_or(Err(Refusal::Full));
            self.told = None;
            if let Err(refusal) = verdict {
                self.is_done = true;
                return Err(refusal);
            }
            self.since = Some(Instant::now());
        }
        Ok(())
    }

    /// The answer went out whole.
    pub(super) fn done(&mut self) {
        if !std::mem::replace(&mut self.is_done, true) {
            let mut state = self.shared.lock();
            state.counts.classes[self.class as usize].done += 1;
        }
    }

    pub(super) fn hold(&self) -> Duration {
        self.config.hold
    }

    pub(super) fn on_cancel(&self) -> OnCancel {
        self.config.on_cancel
    }
}

impl Drop for Ticket {
    fn drop(&mut self) {
        let mut state = self.shared.lock();
        if !self.is_done {
            let on_cancel = self.config.on_cancel;
            let counts = &mut state.counts.classes[self.class as usize];
            match (self.since, on_cancel) {
                (None, _) => counts.purged += 1,
                (Some(since), OnCancel::Kill) => {
                    counts.killed += 1;
                    counts.wasted += since.elapsed();
                }
                (Some(since), OnCancel::HoldSlot) => {
                    counts.held += 1;
                    counts.wasted += since.elapsed();
                }
            }
        }
        state.leave(self.job);
    }
}

//! State that all requests of a guard share: the gate, and the requests that wait.

use super::config::{GuardConfig, OnCancel};
use super::counts::GuardCounts;
use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tailcut_requests::{Admission, Class, Gate, GateConfig, JobId};
use tokio::sync::oneshot;
use tokio::time::{Instant, timeout};

/// Reason why a guard refuses a request. The answer has it as an extension.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Refusal {
    /// The request is optional work, and all workers are busy.
    Optional,
    /// The queue is full, and contains no request of a lower class.
    Full,
    /// The request has waited too long for a free worker.
    Late,
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

    /// Changes the configuration. Requests that have already arrived keep the old configuration.
    pub(super) fn set(&self, config: GuardConfig) {
        let mut state = self.lock();
        state.config = config;
        for next in state.gate.set(bounds(&config)) {
            state.start(next);
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // A panic in one request must not stop all other requests.
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

    pub(super) fn arrive(self: &Arc<Self>, class: Class) -> Result<QueueTicket, Refusal> {
        let mut state = self.lock();
        let job = state.next;
        state.next += 1;
        // Refused requests count as arrived, too.
        state.counts.classes[class as usize].arrived += 1;
        let (sender, admission) = oneshot::channel();
        let (admission, since) = match state.gate.arrive(job, class) {
            Admission::Runs => (None, Some(Instant::now())),
            Admission::Waits => {
                state.waiting.insert(job, sender);
                (Some(admission), None)
            }
            Admission::Displaces(other) => {
                state.waiting.insert(job, sender);
                state.refuse(other, Refusal::Full);
                (Some(admission), None)
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
        Ok(QueueTicket {
            shared: Arc::clone(self),
            config: state.config,
            job,
            class,
            admission,
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
    /// Refuses a waiting job that the gate has already removed.
    fn refuse(&mut self, job: JobId, refusal: Refusal) {
        if let Some(class) = self.classes.remove(&job) {
            self.counts.classes[class as usize].refused += 1;
        }
        if let Some(sender) = self.waiting.remove(&job) {
            // The call fails only if the client cancels the request at this moment, and then no answer is needed.
            let _ = sender.send(Err(refusal));
        }
    }

    /// Removes a job, and starts the next one on its worker.
    fn leave(&mut self, job: JobId) {
        self.classes.remove(&job);
        self.waiting.remove(&job);
        let left = self.gate.leave(job);
        if let Some(next) = left.and_then(|left| left.next) {
            self.start(next);
        }
    }

    /// Starts a job that waited.
    fn start(&mut self, job: JobId) {
        if let Some(sender) = self.waiting.remove(&job) {
            // If the client cancels the request at this moment, the ticket is dropped, which frees the worker again.
            let _ = sender.send(Ok(()));
        }
    }
}

/// Ticket of a request in the gate. Dropping it removes the request from the gate.
pub(super) struct QueueTicket {
    shared: Arc<Shared>,
    config: GuardConfig,
    job: JobId,
    class: Class,
    /// Channel that reports when the request may run. `None`: the request may run now.
    admission: Option<oneshot::Receiver<Result<(), Refusal>>>,
    /// Time at which the request started to run.
    since: Option<Instant>,
    is_done: bool,
}

impl QueueTicket {
    /// Resolves when the request may run, or when it is refused.
    pub(super) async fn admitted(&mut self) -> Result<(), Refusal> {
        if let Some(admission) = &mut self.admission {
            let Ok(verdict) = timeout(self.config.queue_time, admission).await else {
                self.refused();
                return Err(Refusal::Late);
            };
            // The sender is dropped only together with the guard.
            let verdict = verdict.unwrap_or(Err(Refusal::Full));
            self.admission = None;
            if let Err(refusal) = verdict {
                // `State::refuse` has already counted this request. The drop of the ticket must not count it again.
                self.is_done = true;
                return Err(refusal);
            }
            self.since = Some(Instant::now());
        }
        Ok(())
    }

    /// Records that the request has waited too long. The drop of the ticket then frees its place.
    fn refused(&mut self) {
        self.is_done = true;
        let mut state = self.shared.lock();
        state.counts.classes[self.class as usize].refused += 1;
    }

    /// Records that the answer was sent to its end.
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

impl Drop for QueueTicket {
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

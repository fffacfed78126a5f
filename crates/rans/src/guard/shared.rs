//! State that all requests of a guard share: the gate, and the requests that wait.

use super::config::{GuardConfig, OnCancel};
use super::counts::GuardCounts;
use crate::client_wait::ClientWait;
use std::collections::HashMap;
use std::fmt;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tailcut_requests::{Admission, Class, Gate, GateConfig, JobId};
use tokio::sync::oneshot;
use tokio::time::{Instant, timeout_at};

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

/// Request in the gate.
struct Entry {
    class: Class,
    wait: Arc<ClientWait>,
    /// Channel that starts a waiting request.
    start: Option<oneshot::Sender<Result<(), Refusal>>>,
}

struct State {
    config: GuardConfig,
    /// Gate of requests from clients. `None`: requests whose client is not known share one turn.
    gate: Gate<Option<IpAddr>>,
    entries: HashMap<JobId, Entry>,
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
            entries: HashMap::new(),
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

    pub(super) fn arrive(
        self: &Arc<Self>,
        class: Class,
        client: Option<IpAddr>,
        wait: Arc<ClientWait>,
    ) -> Result<QueueTicket, Refusal> {
        let mut state = self.lock();
        let job = state.next;
        state.next += 1;
        // Refused requests count as arrived, too.
        state.counts.classes[class as usize].arrived += 1;
        let mut entry = Entry {
            class,
            wait: Arc::clone(&wait),
            start: None,
        };
        let mut admission = None;
        let mut since = None;
        match state.gate.arrive(job, client, class) {
            Admission::Runs => since = Some(Instant::now()),
            waits @ (Admission::Waits | Admission::Displaces(_)) => {
                let (start, started) = oneshot::channel();
                entry.start = Some(start);
                admission = Some(started);
                if let Admission::Displaces(other) = waits {
                    state.refuse(other, Refusal::Full);
                }
            }
            Admission::Refused => {
                state.counts.classes[class as usize].refused += 1;
                return Err(match class {
                    Class::Optional => Refusal::Optional,
                    _ => Refusal::Full,
                });
            }
        }
        state.entries.insert(job, entry);
        Ok(QueueTicket {
            shared: Arc::clone(self),
            config: state.config,
            job,
            class,
            wait,
            admission,
            since,
            is_done: false,
        })
    }

    /// Ends a running request that waits for its own client, so that the waiting request `job` gets a worker.
    fn reclaim(&self, job: JobId) {
        let state = self.lock();
        let stuck = |job| {
            let entry = state.entries.get(&job)?;
            entry.wait.stuck_since(state.config.yield_time)
        };
        let stuck = state.gate.reclaim(job, stuck);
        let entry = stuck.and_then(|stuck| state.entries.get(&stuck));
        let wait = entry.map(|entry| Arc::clone(&entry.wait));
        // The end of a request needs this lock.
        drop(state);
        if let Some(wait) = wait {
            wait.end();
        }
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
        if let Some(entry) = self.entries.remove(&job) {
            self.counts.classes[entry.class as usize].refused += 1;
            if let Some(start) = entry.start {
                // The call fails only if the client cancels the request at this moment, and then no answer is needed.
                let _ = start.send(Err(refusal));
            }
        }
    }

    /// Removes a job, and starts the next one on its worker.
    fn leave(&mut self, job: JobId) {
        self.entries.remove(&job);
        let left = self.gate.leave(job);
        if let Some(next) = left.and_then(|left| left.next) {
            self.start(next);
        }
    }

    /// Starts a job that waited.
    fn start(&mut self, job: JobId) {
        let entry = self.entries.get_mut(&job);
        if let Some(start) = entry.and_then(|entry| entry.start.take()) {
            // If the client cancels the request at this moment, the ticket is dropped, which frees the worker again.
            let _ = start.send(Ok(()));
        }
    }
}

/// Ticket of a request in the gate. Dropping it removes the request from the gate.
pub(super) struct QueueTicket {
    shared: Arc<Shared>,
    config: GuardConfig,
    job: JobId,
    class: Class,
    /// Time for which the request waits for its client.
    wait: Arc<ClientWait>,
    /// Channel that reports when the request may run. `None`: the request may run now.
    admission: Option<oneshot::Receiver<Result<(), Refusal>>>,
    /// Time at which the request started to run.
    since: Option<Instant>,
    is_done: bool,
}

impl QueueTicket {
    /// Resolves when the request may run, or when it is refused.
    pub(super) async fn admitted(&mut self) -> Result<(), Refusal> {
        let Some(mut admission) = self.admission.take() else {
            return Ok(());
        };
        let mut now = Instant::now();
        let due = now + self.config.queue_time;
        let verdict = loop {
            let next_look = (now + self.config.yield_time).min(due);
            if let Ok(verdict) = timeout_at(next_look, &mut admission).await {
                break verdict;
            }
            now = Instant::now();
            if now >= due {
                self.refused();
                return Err(Refusal::Late);
            }
            self.shared.reclaim(self.job);
        };
        // The sender is dropped only together with the guard.
        if let Err(refusal) = verdict.unwrap_or(Err(Refusal::Full)) {
            // `State::refuse` has already counted this request. The drop of the ticket must not count it again.
            self.is_done = true;
            return Err(refusal);
        }
        self.since = Some(Instant::now());
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

    /// Records that the request is ended in favour of another client.
    pub(super) fn displaced(&mut self) {
        let mut state = self.shared.lock();
        state.counts.classes[self.class as usize].displaced += 1;
    }

    /// Whether the request has waited for its client for so long that another client may get its worker.
    pub(super) fn is_stuck(&self) -> bool {
        self.wait.stuck_since(self.config.yield_time).is_some()
    }

    /// Time for which the request waits for its client.
    pub(super) fn wait(&self) -> &Arc<ClientWait> {
        &self.wait
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

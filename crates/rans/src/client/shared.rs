//! State that all requests of a client share: statistics of the replicas, and state of the policies.

use super::config::{ClientConfig, TrialSlots};
use super::replica::{ClientCounts, Purges};
use super::replica_stats::{Clock, ReplicaStats};
use crate::via::names_guard;
use http::Response;
use rand_core::RngCore;
use rand_xoshiro::Xoshiro256PlusPlus;
use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::task::Waker;
use std::time::{SystemTime, UNIX_EPOCH};
use tailcut_requests::{
    Client, CopyId, Policy, Purpose, RequestHeader, RequestId, Trial, TrialConfig, Trigger,
};
use tailcut_units::{Duration, HostId, Time};
use tokio::time::Instant;

/// One in this number of copies goes to a random replica. All other copies go to the least loaded replicas.
/// With a smaller number, more requests go to slow replicas.
/// With a larger number, the client notices later that a replica has become fast.
const EXPLORING: u64 = 8;

/// Request that begins, for the first time or again at other replicas.
#[derive(Clone, Copy, Debug)]
pub(super) struct Beginning<'a> {
    /// Whether the request may be copied.
    pub is_copied: bool,
    /// Replicas that have failed for this request.
    pub tried: &'a [usize],
    /// Whether none of these replicas has received the request.
    pub is_unsent: bool,
    /// Whether the request may have copies that are not sent because of a failure.
    pub may_copy: bool,
}

/// Messages to replicas that a request has to send now.
pub(super) type Messages = Vec<(usize, RequestHeader)>;

#[derive(Default)]
struct Inbox {
    messages: Messages,
    waker: Option<Waker>,
}

pub(super) struct State {
    pub stats: Vec<ReplicaStats>,
    pub counts: ClientCounts,
    policy: Client,
    /// Trial of copies. `None`: copies are always sent.
    pub trial: Option<Trial>,
    /// Messages for requests whose copy became due while another request polled the policy.
    inboxes: HashMap<RequestId, Inbox>,
    next: u32,
    random: Xoshiro256PlusPlus,
}

/// State that all requests of a client share.
pub(super) struct Shared {
    pub config: ClientConfig,
    began: Instant,
    state: Mutex<State>,
}

impl Shared {
    pub fn new(
        config: ClientConfig,
        replicas: impl Iterator<Item = Purges>,
        random: Xoshiro256PlusPlus,
    ) -> Result<Self, &'static str> {
        if let Some(fault) = config.fault() {
            return Err(fault);
        }
        let began = Instant::now();
        let stats = |purges: Purges| ReplicaStats::new(began, purges.known(), config.resets);
        let stats: Vec<_> = replicas.map(stats).collect();
        let slots = config.trial_slots(stats.len());
        let state = State {
            stats,
            counts: ClientCounts::default(),
            policy: Client::new(Policy {
                budget: config.budget,
                ..config.elsewhere
            })?,
            trial: slots.map(|slots| new_trial(slots, Time::ZERO)),
            inboxes: HashMap::new(),
            next: 0,
            random,
        };
        Ok(Self {
            config,
            began,
            state: Mutex::new(state),
        })
    }

    /// Returns the state for a client of other replicas. Each replica comes with its former index.
    /// Requests in flight continue to use this state.
    pub fn with_replicas(&self, replicas: impl Iterator<Item = (Purges, Option<usize>)>) -> Self {
        use rand_core::SeedableRng;
        let mut state = self.lock();
        // The old state continues to draw numbers, so the new state needs another seed.
        let seed = state.random.next_u64();
        let now = Instant::now();
        let stats = |(purges, index): (Purges, Option<usize>)| {
            let known = index.and_then(|index| state.stats.get(index));
            known.map_or_else(
                || ReplicaStats::new(now, purges.known(), self.config.resets),
                ReplicaStats::without_requests,
            )
        };
        let stats: Vec<_> = replicas.map(stats).collect();
        let slots = self.config.trial_slots(stats.len());
        let trial = state.trial.clone().map(|trial| trial.moved(0));
        let next = State {
            stats,
            counts: state.counts,
            // The new policy keeps the measured latencies and the budget. Requests in flight finish in the old state.
            policy: state.policy.without_requests(),
            trial: trial.or_else(|| slots.map(|slots| new_trial(slots, self.time(now)))),
            inboxes: HashMap::new(),
            next: 0,
            random: Xoshiro256PlusPlus::seed_from_u64(seed),
        };
        Self {
            config: self.config,
            began: self.began,
            state: Mutex::new(next),
        }
    }

    /// Takes over the knowledge of a former client with the same configuration.
    #[cfg(feature = "gateway")]
    pub fn continue_from(&self, former: &Self) {
        let (policy, trial) = {
            let former = former.lock();
            (former.policy.without_requests(), former.trial.clone())
        };
        let mut state = self.lock();
        state.policy = policy;
        // The times of both clients differ, so the trial gets the time at which this client began.
        let since = former.time(self.began).as_ns();
        state.trial = trial.map(|trial| trial.moved(since));
    }

    pub fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn time(&self, now: Instant) -> Time {
        let since = (now - self.began).as_nanos().min(u64::MAX.into()) as u64;
        Time::from_ns(since)
    }

    pub fn instant(&self, time: Time) -> Instant {
        self.began + std::time::Duration::from_nanos(time.as_ns())
    }
}

/// Creates a trial whose slots follow the system's clock.
fn new_trial(slots: TrialSlots, now: Time) -> Trial {
    let epoch = SystemTime::now().duration_since(UNIX_EPOCH);
    let epoch = epoch.map_or(0, |since| since.as_nanos().min(u64::MAX.into()) as u64);
    let epoch = epoch.saturating_sub(now.as_ns());
    let length = slots.length.as_nanos().min(u64::MAX.into()) as u64;
    let config = TrialConfig {
        slot: Duration::from_ns(length),
        seed: slots.seed,
        epoch,
    };
    Trial::new(config, now)
}

impl State {
    /// Begins a request. Its primary goes to the less loaded of two random replicas. Its copy goes to another replica.
    /// Returns `None` if no replica is left, or if the budget of copies is used up.
    pub fn begin(
        &mut self,
        (now, time): (Instant, Time),
        config: &ClientConfig,
        beginning: &Beginning<'_>,
    ) -> Option<(RequestId, Messages)> {
        let &Beginning {
            is_copied,
            tried,
            is_unsent,
            may_copy,
        } = beginning;
        let mut candidates = self.open(now);
        if !tried.is_empty() {
            candidates.retain(|replica| !tried.contains(replica));
        }
        if candidates.is_empty() {
            // No open replica is left, so closed replicas are tried, too.
            candidates.extend((0..self.stats.len()).filter(|replica| !tried.contains(replica)));
        }
        let (primary, other) = self.lighter_of_two(&mut candidates)?;
        // The replica that was not chosen may still get the copy.
        candidates.extend(other);
        let copy = match is_copied {
            true => self.draw(&mut candidates),
            false => None,
        };
        let mut policy = self.policy(config, primary, copy);
        if !may_copy {
            policy.trigger = Trigger::OnFailure;
        }
        let mut id = RequestId(self.next);
        while self.policy.is_pending(id) {
            id = RequestId(id.0.wrapping_add(1));
        }
        self.next = id.0.wrapping_add(1);
        let hosts = [primary, copy.unwrap_or(primary)].map(|index| HostId(index as u32));
        let hosts = &hosts[..1 + usize::from(copy.is_some())];
        // An HTTP answer counts only when it is complete, so the policy sees an object of one byte.
        if tried.is_empty() {
            self.policy.submit_with(time, id, 1, hosts, policy);
            self.counts.requests += 1;
        } else if is_unsent {
            // No replica has received the request, so this is not a copy.
            self.policy.submit_with(time, id, 1, hosts, policy);
        } else if self.policy.resubmit_with(time, id, 1, hosts, policy) {
            self.counts.copies += 1;
        } else {
            return None;
        }
        Some((id, self.messages(id)))
    }

    /// Returns the policy of a request to these replicas.
    fn policy(&self, config: &ClientConfig, primary: usize, copy: Option<usize>) -> Policy {
        let both = |property: fn(&ReplicaStats) -> bool| {
            let replicas = [Some(primary), copy].into_iter().flatten();
            copy.is_some()
                && replicas
                    .into_iter()
                    .all(|index| property(&self.stats[index]))
        };
        let policy = match both(|stats| stats.purges == Some(true)) {
            true => config.purging,
            false => config.elsewhere,
        };
        Policy {
            budget: config.budget,
            // Without a guard, a copy delays the requests that come after it.
            // Only an answer shows a guard. If the replica is said to purge, its first copies may use credit.
            uses_credit: both(|stats| stats.purges == Some(true) && stats.has_guard != Some(false)),
            ..policy
        }
    }

    /// Takes a copy that the policy does not know from the budget. Returns `false` if the budget is used up.
    pub fn may_send_copy(&mut self, config: &ClientConfig) -> bool {
        let policy = Policy {
            budget: config.budget,
            ..config.elsewhere
        };
        let may = self.policy.may_send_copy(&policy);
        self.counts.copies += u64::from(may);
        may
    }

    /// Updates the statistics of a replica from its answer, or from the reason why it gave no answer.
    pub fn note<R, E>(
        &mut self,
        replica: usize,
        (began, now): (Instant, Instant),
        learns: bool,
        config: &ClientConfig,
        answer: &Result<Response<R>, E>,
    ) {
        let clock = self.clock();
        let stats = &mut self.stats[replica];
        match answer {
            Ok(answer) if (config.acceptable)(answer.status()) => {
                stats.answered(now - began, clock);
            }
            // Such an answer is not a failure of the replica: for example, the object may not exist.
            Ok(answer) if !answer.status().is_server_error() => stats.answered_badly(clock),
            _ => stats.failed(now, config.breaker, clock),
        }
        if let Ok(answer) = answer {
            let has_guard = names_guard(answer.headers());
            stats.has_guard = Some(has_guard);
            if learns {
                stats.purges = Some(has_guard);
            }
        }
    }

    /// Records a good answer to a request that the policy does not know.
    pub fn on_success(&mut self) {
        self.policy.on_success();
    }

    /// Records that a request had no good answer, because its replicas are overloaded or unreachable.
    pub fn on_overload(&mut self) {
        self.policy.on_overload();
    }

    /// Counts a request or copy that is sent to a replica.
    pub fn on_sent(&mut self, replica: usize) {
        let requests = self.counts.requests;
        self.stats[replica].on_sent(requests);
    }

    /// Returns whether the replica `one` will probably answer earlier than the replica `other`.
    fn is_lighter(&self, one: usize, other: usize) -> bool {
        let clock = self.clock();
        self.stats[one].is_lighter_than(&self.stats[other], clock)
    }

    /// Returns the clock of the replicas' statistics.
    pub fn clock(&self) -> Clock {
        Clock {
            requests: self.counts.requests,
            replicas: self.stats.len(),
        }
    }

    /// Returns the indices of the open replicas.
    pub fn open(&self, now: Instant) -> Vec<usize> {
        let open = |(index, stats): (usize, &ReplicaStats)| stats.is_open(now).then_some(index);
        let mut candidates: Vec<usize> = self.stats.iter().enumerate().filter_map(open).collect();
        if candidates.is_empty() {
            // All replicas are closed. A request has to test whether one of them works again.
            candidates.extend(0..self.stats.len());
        }
        candidates
    }

    /// Removes two random candidates. Returns the less loaded one, and the other one if there is one.
    pub fn lighter_of_two(
        &mut self,
        candidates: &mut Vec<usize>,
    ) -> Option<(usize, Option<usize>)> {
        let first = self.draw(candidates)?;
        Some(match self.draw(candidates) {
            Some(second) if self.is_lighter(second, first) => (second, Some(first)),
            second => (first, second),
        })
    }

    /// Removes and returns the least loaded candidate. Equal candidates have equal chances.
    pub fn lightest(&mut self, candidates: &mut Vec<usize>) -> Option<usize> {
        let mut lightest = self.draw(candidates)?;
        let mut others = Vec::with_capacity(candidates.len());
        while let Some(next) = self.draw(candidates) {
            others.push(match self.is_lighter(next, lightest) {
                true => std::mem::replace(&mut lightest, next),
                false => next,
            });
        }
        *candidates = others;
        Some(lightest)
    }

    /// Returns whether this copy goes to a random replica.
    /// Some copies go to a random replica, so that a replica that was slow is tried again.
    pub fn explores(&mut self) -> bool {
        self.random.next_u64().is_multiple_of(EXPLORING)
    }

    /// Removes and returns a random candidate.
    pub fn draw(&mut self, candidates: &mut Vec<usize>) -> Option<usize> {
        let count = candidates.len() as u64;
        // The product maps the random number to an index below `count`. It needs no division.
        let drawn = (u128::from(self.random.next_u64()) * u128::from(count)) >> 64;
        (count > 0).then(|| candidates.swap_remove(drawn as usize))
    }

    /// Returns the messages that a request has to send now.
    pub fn messages(&mut self, id: RequestId) -> Messages {
        let mut messages = match self.inboxes.get_mut(&id) {
            Some(inbox) => std::mem::take(&mut inbox.messages),
            None => Messages::new(),
        };
        let client = &mut self.policy;
        while let Some((server, header)) = client.poll_transmit() {
            let message = (server.0 as usize, header);
            let is_copy = header.purpose == Purpose::Ask && header.copy.copy > 0;
            self.counts.copies += u64::from(is_copy);
            if header.copy.request == id {
                messages.push(message);
            } else if let Some(inbox) = self.inboxes.get_mut(&header.copy.request) {
                inbox.messages.push(message);
                if let Some(waker) = inbox.waker.take() {
                    waker.wake();
                }
            }
        }
        // A completion contains nothing that the messages do not contain, so it is dropped.
        while client.poll_completion().is_some() {}
        messages
    }

    /// Stores the waker of a request that waits. Returns the time at which its next copy is due.
    pub fn wait(&mut self, id: RequestId, waker: &Waker) -> Option<Time> {
        let due = self.policy.due(id)?;
        let inbox = self.inboxes.entry(id).or_default();
        inbox.waker = Some(waker.clone());
        Some(due)
    }

    pub fn on_timeout(&mut self, time: Time) {
        self.policy.on_timeout(time);
    }

    /// Records a good answer to a copy.
    pub fn on_answer(&mut self, time: Time, copy: CopyId) {
        self.policy.on_bytes(time, copy, 1);
        self.close_inbox(copy.request);
    }

    /// Records that a copy will have no good answer. Returns `false` if no other copy is left.
    pub fn on_failure(&mut self, time: Time, copy: CopyId) -> bool {
        let goes_on = self.policy.on_failure(time, copy);
        if !goes_on {
            self.close_inbox(copy.request);
        }
        goes_on
    }

    fn close_inbox(&mut self, id: RequestId) {
        // The map is empty if no request has a late copy. The check then saves the time to hash the key.
        if !self.inboxes.is_empty() {
            self.inboxes.remove(&id);
        }
    }

    /// Removes a request that the application has dropped.
    pub fn abandon(&mut self, id: RequestId) {
        self.policy.abandon(id);
        self.close_inbox(id);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand_core::SeedableRng;

    #[test]
    fn the_least_loaded_replicas_are_taken_first_and_of_equal_ones_any() {
        let replicas = [Purges::Yes; 5].into_iter();
        let random = Xoshiro256PlusPlus::seed_from_u64(1);
        let shared = Shared::new(ClientConfig::default(), replicas, random);
        let shared = shared.expect("a configuration");
        let mut state = shared.lock();
        for (stats, in_flight) in state.stats.iter_mut().zip([2, 0, 1, 0, 3]) {
            stats.in_flight = in_flight;
        }
        let mut firsts = [0; 5];
        for _ in 0..100 {
            let mut rest: Vec<usize> = (0..5).collect();
            let order: Vec<usize> = std::iter::from_fn(|| state.lightest(&mut rest)).collect();
            assert_eq!(order[2..], [2, 0, 4]);
            firsts[order[0]] += 1;
        }
        assert!(firsts[1] > 20 && firsts[3] > 20, "{firsts:?}");
    }
}

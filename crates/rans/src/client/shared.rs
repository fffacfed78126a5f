//! State that all requests of a client share: statistics of the replicas, and state of the policies.

use super::config::ClientConfig;
use super::replica::{ClientCounts, Purges};
use super::replica_stats::ReplicaStats;
use rand_core::RngCore;
use rand_xoshiro::Xoshiro256PlusPlus;
use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::task::Waker;
use tailcut_requests::{Client, CopyId, Purpose, RequestHeader, RequestId};
use tailcut_units::{HostId, Time};
use tokio::time::Instant;

/// One in this number of copies goes to a random replica. All other copies go to the least loaded replicas.
/// With a smaller number, more requests go to slow replicas.
/// With a larger number, the client notices later that a replica has become fast.
const EXPLORING: u64 = 8;

/// Policy that a request follows.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum PolicyChoice {
    Purging,
    Elsewhere,
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
    policies: [Client; 2],
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
        let state = State {
            stats: replicas.map(stats).collect(),
            counts: ClientCounts::default(),
            policies: [Client::new(config.purging)?, Client::new(config.elsewhere)?],
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
        let next = State {
            stats: replicas.map(stats).collect(),
            counts: state.counts,
            // The new policies keep the measured latencies and budgets. Requests in flight finish in the old state.
            policies: state.policies.each_ref().map(Client::without_requests),
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

impl State {
    /// Begins a request. Its primary goes to the less loaded of two random replicas. Its copy goes to another replica.
    /// The replicas in `tried` have failed for this request. Returns `None` if no replica is left.
    pub fn begin(
        &mut self,
        (now, time): (Instant, Time),
        is_copied: bool,
        tried: &[usize],
    ) -> Option<(RequestId, PolicyChoice, Messages)> {
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
        let purges = |replica: usize| self.stats[replica].purges == Some(true);
        let policy = match copy {
            Some(copy) if purges(copy) && purges(primary) => PolicyChoice::Purging,
            _ => PolicyChoice::Elsewhere,
        };
        let mut id = RequestId(self.next);
        // Both policies share the inboxes, so a number must be free in both policies.
        while self.policies.iter().any(|client| client.is_pending(id)) {
            id = RequestId(id.0.wrapping_add(1));
        }
        self.next = id.0.wrapping_add(1);
        let hosts = [primary, copy.unwrap_or(primary)].map(|index| HostId(index as u32));
        let hosts = &hosts[..1 + usize::from(copy.is_some())];
        // An HTTP answer counts only when it is complete, so the policy sees an object of one byte.
        self.policies[policy as usize].submit(time, id, 1, hosts);
        self.counts.requests += u64::from(tried.is_empty());
        Some((id, policy, self.messages(id, policy)))
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
            Some(second) if self.stats[second].is_lighter_than(&self.stats[first]) => {
                (second, Some(first))
            }
            second => (first, second),
        })
    }

    /// Removes and returns the least loaded candidate. Equal candidates have equal chances.
    pub fn lightest(&mut self, candidates: &mut Vec<usize>) -> Option<usize> {
        let mut lightest = self.draw(candidates)?;
        let mut others = Vec::with_capacity(candidates.len());
        while let Some(next) = self.draw(candidates) {
            let is_lighter = self.stats[next].is_lighter_than(&self.stats[lightest]);
            others.push(match is_lighter {
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
    pub fn messages(&mut self, id: RequestId, policy: PolicyChoice) -> Messages {
        let mut messages = match self.inboxes.get_mut(&id) {
            Some(inbox) => std::mem::take(&mut inbox.messages),
            None => Messages::new(),
        };
        let client = &mut self.policies[policy as usize];
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
    pub fn wait(&mut self, id: RequestId, policy: PolicyChoice, waker: &Waker) -> Option<Time> {
        let due = self.policies[policy as usize].due(id)?;
        let inbox = self.inboxes.entry(id).or_default();
        inbox.waker = Some(waker.clone());
        Some(due)
    }

    pub fn on_timeout(&mut self, time: Time, policy: PolicyChoice) {
        self.policies[policy as usize].on_timeout(time);
    }

    /// Records a good answer to a copy.
    pub fn on_answer(&mut self, time: Time, copy: CopyId, policy: PolicyChoice) {
        self.policies[policy as usize].on_bytes(time, copy, 1);
        self.close_inbox(copy.request);
    }

    /// Records that a copy will have no good answer. Returns `false` if no other copy is left.
    pub fn on_failure(&mut self, time: Time, copy: CopyId, policy: PolicyChoice) -> bool {
        let goes_on = self.policies[policy as usize].on_failure(time, copy);
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
    pub fn abandon(&mut self, id: RequestId, policy: PolicyChoice) {
        self.policies[policy as usize].abandon(id);
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

//! What all requests of a client share: the replicas' standing, and the policy's state.

use super::config::ClientConfig;
use super::replica::{ClientCounts, Purges};
use super::standing::Standing;
use rand_core::RngCore;
use rand_xoshiro::Xoshiro256PlusPlus;
use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::task::Waker;
use tailcut_requests::{Client, CopyId, Purpose, RequestHeader, RequestId};
use tailcut_units::{HostId, Time};
use tokio::time::Instant;

/// One copy of this number goes to a random replica, where the others go to the least loaded replicas.
const EXPLORING: u64 = 8;

/// Which of the client's policies a request follows.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Follows {
    Purging,
    Elsewhere,
}

/// Messages to replicas that a request sends next.
pub(super) type Orders = Vec<(usize, RequestHeader)>;

#[derive(Default)]
struct Inbox {
    orders: Orders,
    waker: Option<Waker>,
}

pub(super) struct State {
    pub standings: Vec<Standing>,
    pub counts: ClientCounts,
    policies: [Client; 2],
    /// Orders for requests that another one has asked for, when it was their time too.
    inboxes: HashMap<RequestId, Inbox>,
    next: u32,
    random: Xoshiro256PlusPlus,
}

/// The state of a client.
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
        let standing = |purges: Purges| Standing::new(began, purges.known(), config.resets);
        let state = State {
            standings: replicas.map(standing).collect(),
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

    /// The state of a client of other replicas, each with its place in this one. What is on its way stays here.
    pub fn succeeded(&self, replicas: impl Iterator<Item = (Purges, Option<usize>)>) -> Self {
        use rand_core::SeedableRng;
        let mut state = self.lock();
        let seed = state.random.next_u64();
        let now = Instant::now();
        let standing = |(purges, place): (Purges, Option<usize>)| {
            let known = place.and_then(|place| state.standings.get(place));
            known.map_or_else(
                || Standing::new(now, purges.known(), self.config.resets),
                Standing::without_requests,
            )
        };
        let succeeding = State {
            standings: replicas.map(standing).collect(),
            counts: state.counts,
            policies: state.policies.each_ref().map(Client::without_requests),
            inboxes: HashMap::new(),
            next: 0,
            random: Xoshiro256PlusPlus::seed_from_u64(seed),
        };
        Self {
            config: self.config,
            began: self.began,
            state: Mutex::new(succeeding),
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
    /// A request begins: its primary goes to the less loaded of two replicas that were drawn, its copy to
    /// any other one. Those of `asked` have failed it already. `None` where no replica is left.
    pub fn begin(
        &mut self,
        (now, time): (Instant, Time),
        is_copied: bool,
        asked: &[usize],
    ) -> Option<(RequestId, Follows, Orders)> {
        let mut candidates = self.open(now);
        if !asked.is_empty() {
            candidates.retain(|replica| !asked.contains(replica));
        }
        if candidates.is_empty() {
            // Also those that fail others.
            candidates.extend((0..self.standings.len()).filter(|replica| !asked.contains(replica)));
        }
        let (primary, other) = self.lighter_of_two(&mut candidates)?;
        candidates.extend(other);
        let copy = match is_copied {
            true => self.draw(&mut candidates),
            false => None,
        };
        let purges = |replica: usize| self.standings[replica].purges == Some(true);
        let follows = match copy {
            Some(copy) if purges(copy) && purges(primary) => Follows::Purging,
            _ => Follows::Elsewhere,
        };
        let mut id = RequestId(self.next);
        // The two policies share the inboxes, so their numbers differ.
        while self.policies.iter().any(|client| client.is_pending(id)) {
            id = RequestId(id.0.wrapping_add(1));
        }
        self.next = id.0.wrapping_add(1);
        let hosts = [primary, copy.unwrap_or(primary)].map(|index| HostId(index as u32));
        let hosts = &hosts[..1 + usize::from(copy.is_some())];
        self.policies[follows as usize].submit(time, id, 1, hosts);
        self.counts.requests += u64::from(asked.is_empty());
        Some((id, follows, self.orders(id, follows)))
    }

    /// Indices of the open replicas.
    pub fn open(&self, now: Instant) -> Vec<usize> {
        let open = |(index, standing): (usize, &Standing)| standing.is_open(now).then_some(index);
        let mut candidates: Vec<usize> =
            self.standings.iter().enumerate().filter_map(open).collect();
        if candidates.is_empty() {
            // All of them fail: one of them has to show that it is well again.
            candidates.extend(0..self.standings.len());
        }
        candidates
    }

    /// Takes two of the candidates at random: the less loaded one, and the other one if there is one.
    pub fn lighter_of_two(
        &mut self,
        candidates: &mut Vec<usize>,
    ) -> Option<(usize, Option<usize>)> {
        let first = self.draw(candidates)?;
        Some(match self.draw(candidates) {
            Some(second) if self.standings[second].is_lighter_than(&self.standings[first]) => {
                (second, Some(first))
            }
            second => (first, second),
        })
    }

    /// Takes the least loaded of the candidates; of several, any.
    pub fn lightest(&mut self, candidates: &mut Vec<usize>) -> Option<usize> {
        let mut lightest = self.draw(candidates)?;
        let mut others = Vec::with_capacity(candidates.len());
        while let Some(next) = self.draw(candidates) {
            let is_lighter = self.standings[next].is_lighter_than(&self.standings[lightest]);
            others.push(match is_lighter {
                true => std::mem::replace(&mut lightest, next),
                false => next,
            });
        }
        *candidates = others;
        Some(lightest)
    }

    /// Whether a copy goes anywhere now and then, so that a replica which was slow once is tried again.
    pub fn explores(&mut self) -> bool {
        self.random.next_u64().is_multiple_of(EXPLORING)
    }

    /// Takes one of the candidates at random.
    pub fn draw(&mut self, candidates: &mut Vec<usize>) -> Option<usize> {
        let count = candidates.len() as u64;
        let drawn = (u128::from(self.random.next_u64()) * u128::from(count)) >> 64;
        (count > 0).then(|| candidates.swap_remove(drawn as usize))
    }

    /// Messages that a request sends now.
    pub fn orders(&mut self, id: RequestId, follows: Follows) -> Orders {
        let mut orders = match self.inboxes.get_mut(&id) {
            Some(inbox) => std::mem::take(&mut inbox.orders),
            None => Orders::new(),
        };
        let client = &mut self.policies[follows as usize];
        while let Some((server, header)) = client.poll_transmit() {
            let order = (server.0 as usize, header);
            let is_copy = header.purpose == Purpose::Ask && header.copy.copy > 0;
            self.counts.copies += u64::from(is_copy);
            if header.copy.request == id {
                orders.push(order);
            } else if let Some(inbox) = self.inboxes.get_mut(&header.copy.request) {
                inbox.orders.push(order);
                if let Some(waker) = inbox.waker.take() {
                    waker.wake();
                }
            }
        }
        // Completions say no more than the orders.
        while client.poll_completion().is_some() {}
        orders
    }

    /// A request waits. Gives when its next copy is due.
    pub fn wait(&mut self, id: RequestId, follows: Follows, waker: &Waker) -> Option<Time> {
        let due = self.policies[follows as usize].due(id)?;
        let inbox = self.inboxes.entry(id).or_default();
        inbox.waker = Some(waker.clone());
        Some(due)
    }

    pub fn on_timeout(&mut self, time: Time, follows: Follows) {
        self.policies[follows as usize].on_timeout(time);
    }

    /// A copy has been answered well.
    pub fn on_answer(&mut self, time: Time, copy: CopyId, follows: Follows) {
        self.policies[follows as usize].on_bytes(time, copy, 1);
        self.close_inbox(copy.request);
    }

    /// A copy will not be answered well. `false`: no other one is left.
    pub fn on_failure(&mut self, time: Time, copy: CopyId, follows: Follows) -> bool {
        let goes_on = self.policies[follows as usize].on_failure(time, copy);
        if !goes_on {
            self.close_inbox(copy.request);
        }
        goes_on
    }

    fn close_inbox(&mut self, id: RequestId) {
        // Without late copies there is none, and a number costs a hash.
        if !self.inboxes.is_empty() {
            self.inboxes.remove(&id);
        }
    }

    /// Nobody waits for a request any more.
    pub fn abandon(&mut self, id: RequestId, follows: Follows) {
        self.policies[follows as usize].abandon(id);
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
        for (standing, in_flight) in state.standings.iter_mut().zip([2, 0, 1, 0, 3]) {
            standing.in_flight = in_flight;
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

//! Places for requests, shared fairly among clients. A client may take all places while no other client waits.
//! When a client with fewer requests comes, it takes the place of another client's request.

use super::client::client_prefix;
use super::exchange::current_reset;
use std::collections::HashMap;
use std::fmt;
use std::future::Future;
use std::net::IpAddr;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::Notify;

/// Request that has a place.
struct Holder {
    /// Number of the request's latest progress. All requests share one sequence of numbers.
    progress: AtomicU64,
    is_answered: AtomicBool,
    /// Signal that refuses a request without an answer.
    evicted: Notify,
    /// Signal that ends a request whose answer has begun.
    reset: Option<Arc<Notify>>,
}

impl Holder {
    fn evict(&self) {
        match &self.reset {
            Some(reset) if self.is_answered.load(Relaxed) => reset.notify_one(),
            _ => self.evicted.notify_one(),
        }
    }
}

#[derive(Default)]
struct Places {
    /// Requests of each client, by their number.
    clients: HashMap<IpAddr, HashMap<u64, Arc<Holder>>>,
    taken: usize,
    next: u64,
}

impl Places {
    /// Removes a request of the client with the most requests: the one without progress for the longest time.
    /// Returns `false` if no client has at least two requests more than `mine`.
    /// With a difference of one, two clients would only exchange their places.
    fn evict(&mut self, mine: usize) -> bool {
        let most = self.clients.values_mut().max_by_key(|held| held.len());
        let Some(most) = most.filter(|held| held.len() > mine + 1) else {
            return false;
        };
        let oldest = most
            .iter()
            .min_by_key(|(_, holder)| holder.progress.load(Relaxed));
        let oldest = oldest.map(|(number, _)| *number);
        if let Some(holder) = oldest.and_then(|number| most.remove(&number)) {
            holder.evict();
            self.taken -= 1;
        }
        true
    }
}

struct Shared {
    capacity: usize,
    /// Number for the next progress of any request.
    latest: AtomicU64,
    places: Mutex<Places>,
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, Places> {
        self.places.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Places for requests.
#[derive(Clone)]
pub struct RequestSlots(Arc<Shared>);

impl fmt::Debug for RequestSlots {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RequestSlots")
            .field("capacity", &self.0.capacity)
            .finish_non_exhaustive()
    }
}

impl RequestSlots {
    /// Creates this number of free places.
    pub fn new(capacity: usize) -> Self {
        Self(Arc::new(Shared {
            capacity,
            latest: AtomicU64::new(0),
            places: Mutex::default(),
        }))
    }

    /// Takes a place for a request of this client. Call it in the task of the request.
    /// Returns `None` if all places are taken and no other client has to give one up.
    pub fn take(&self, address: IpAddr) -> Option<RequestSlot> {
        let client = client_prefix(address);
        let mut places = self.0.lock();
        let mine = places.clients.get(&client).map_or(0, HashMap::len);
        if places.taken >= self.0.capacity && !places.evict(mine) {
            return None;
        }
        let number = places.next;
        let holder = Arc::new(Holder {
            progress: AtomicU64::new(self.0.latest.fetch_add(1, Relaxed)),
            is_answered: AtomicBool::new(false),
            evicted: Notify::new(),
            reset: current_reset(),
        });
        places.next += 1;
        places.taken += 1;
        let held = places.clients.entry(client).or_default();
        held.insert(number, Arc::clone(&holder));
        drop(places);
        Some(RequestSlot {
            shared: Arc::clone(&self.0),
            client,
            number,
            holder,
        })
    }
}

/// Place of a request. Dropping it frees the place.
pub struct RequestSlot {
    shared: Arc<Shared>,
    client: IpAddr,
    number: u64,
    holder: Arc<Holder>,
}

impl fmt::Debug for RequestSlot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RequestSlot")
            .field("client", &self.client)
            .finish_non_exhaustive()
    }
}

impl RequestSlot {
    /// Waits for an answer. Returns `None` if another client takes the place before the answer.
    /// If another client takes the place later, the request's stream or connection is reset.
    pub async fn answer<F: Future>(&self, answering: F) -> Option<F::Output> {
        let answer = tokio::select! {
            biased;
            answer = answering => answer,
            () = self.holder.evicted.notified() => return None,
        };
        self.holder.is_answered.store(true, Relaxed);
        Some(answer)
    }

    /// Records that the client has taken a part of the answer.
    pub fn moved(&self) {
        let latest = self.shared.latest.fetch_add(1, Relaxed);
        self.holder.progress.store(latest, Relaxed);
    }
}

impl Drop for RequestSlot {
    fn drop(&mut self) {
        let mut places = self.shared.lock();
        if let Some(held) = places.clients.get_mut(&self.client) {
            let was_held = held.remove(&self.number).is_some();
            if held.is_empty() {
                places.clients.remove(&self.client);
            }
            places.taken -= usize::from(was_held);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FLOOD: IpAddr = IpAddr::V4(std::net::Ipv4Addr::new(192, 0, 2, 1));
    const OTHER: IpAddr = IpAddr::V4(std::net::Ipv4Addr::new(192, 0, 2, 2));

    #[tokio::test]
    async fn a_client_takes_all_places_until_another_one_comes() {
        let slots = RequestSlots::new(4);
        let mut flood: Vec<_> = (0..4).filter_map(|_| slots.take(FLOOD)).collect();
        assert_eq!(flood.len(), 4);
        assert!(slots.take(FLOOD).is_none());
        // The request without progress for the longest time loses its place.
        flood[0].moved();
        let other = slots.take(OTHER).expect("a place");
        assert_eq!(flood[1].answer(std::future::pending::<()>()).await, None);
        let second = slots.take(OTHER).expect("a place");
        assert_eq!(flood[2].answer(std::future::pending::<()>()).await, None);
        // Both clients have two places now.
        assert!(slots.take(OTHER).is_none());
        assert!(slots.take(FLOOD).is_none());
        drop(flood.pop());
        assert!(slots.take(FLOOD).is_some());
        drop((other, second, flood));
        let all = (0..5).filter_map(|_| slots.take(FLOOD));
        assert_eq!(all.collect::<Vec<_>>().len(), 4);
    }
}

//! The client: a service that sends a request to one of several replicas, and a low-priority copy of it to
//! another one; the first good answer is the answer, and the loser is purged by dropping it.
//!
//! When copies are sent and what ends them is [`tailcut_requests::Client`]'s; this is its driver.

mod config;
mod direct;
mod discovered;
mod flight;
mod race;
mod replay;
mod replica;
mod sending;
mod shared;
mod standing;

pub use config::{Breaker, ClientConfig, Methods, ResetBudget, acceptable};
pub use discovered::{Discovered, DiscoveredError};
pub use flight::AnswerBody;
pub(crate) use flight::Flight;
pub use replay::{Once, Replay};
pub use replica::{ClientCounts, Purges, Replica, ReplicaState};
pub(crate) use sending::{Answering, Sent};

use http::{Request, Response};
use http_body::Body;
use race::Race;
use rand_core::SeedableRng;
use rand_xoshiro::Xoshiro256PlusPlus;
use shared::Shared;
use std::fmt;
use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use tokio::time::Instant;
use tower_service::Service;

/// A client that sends each request to several replicas. Cheap to clone; clones share their state.
pub struct Client<S> {
    replicas: Arc<[Replica<S>]>,
    shared: Arc<Shared>,
}

impl<S> Clone for Client<S> {
    fn clone(&self) -> Self {
        Self {
            replicas: Arc::clone(&self.replicas),
            shared: Arc::clone(&self.shared),
        }
    }
}

impl<S> fmt::Debug for Client<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Client")
            .field("replicas", &self.replicas.len())
            .finish_non_exhaustive()
    }
}

impl<S> Client<S> {
    /// A client of these replicas, at least one. `seed` draws the replicas of each request.
    ///
    /// # Errors
    /// The reason why the configuration is wrong.
    pub fn new(
        replicas: Vec<Replica<S>>,
        config: ClientConfig,
        seed: u64,
    ) -> Result<Self, &'static str> {
        if replicas.is_empty() {
            return Err("a client needs a replica");
        }
        let purges = replicas.iter().map(|replica| replica.purges);
        let random = Xoshiro256PlusPlus::seed_from_u64(seed);
        let shared = Arc::new(Shared::new(config, purges, random)?);
        Ok(Self {
            replicas: replicas.into(),
            shared,
        })
    }

    /// A client of other replicas with the statistics of this client. `places` has the former index of each replica.
    fn succeeded(&self, replicas: Vec<Replica<S>>, places: &[Option<usize>]) -> Self {
        let purges = replicas.iter().map(|replica| replica.purges);
        let shared = self.shared.succeeded(purges.zip(places.iter().copied()));
        Self {
            replicas: replicas.into(),
            shared: Arc::new(shared),
        }
    }

    /// Counters of the client.
    pub fn counts(&self) -> ClientCounts {
        self.shared.lock().counts
    }

    /// What it knows of its replicas now, in their order.
    pub fn states(&self) -> Vec<ReplicaState> {
        let now = Instant::now();
        let state = self.shared.lock();
        let standings = state.standings.iter();
        let states = standings.map(|standing| ReplicaState {
            in_flight: standing.in_flight,
            latency: standing.latency(),
            is_open: standing.is_open(now),
            purges: standing.purges,
        });
        states.collect()
    }

    /// Sets whether a replica is well. The client avoids a replica that is not, unless no replica is well. The
    /// results of answers count in addition.
    pub fn set_well(&self, replica: usize, is_well: bool) {
        if let Some(standing) = self.shared.lock().standings.get_mut(replica) {
            standing.is_well = is_well;
        }
    }
}

impl<S, B, R> Service<Request<B>> for Client<S>
where
    S: Service<Request<B>, Response = Response<R>> + Clone + Send + Sync + 'static,
    S::Future: Send + 'static,
    S::Error: Send + 'static,
    B: Replay + Send + Sync + 'static,
    R: Body + Send + 'static,
{
    type Response = Response<AnswerBody<R>>;
    type Error = S::Error;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, S::Error>> + Send>>;

    /// Always ready: a copy polls the way to its replica when it needs it.
    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        let mut race = Race::new(
            Arc::clone(&self.replicas),
            Arc::clone(&self.shared),
            request,
        );
        Box::pin(poll_fn(move |cx| race.poll(cx)))
    }
}

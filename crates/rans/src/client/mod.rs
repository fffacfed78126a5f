//! Client: a service that sends each request to one of several replicas, and a low-priority copy to another replica.
//! The client returns the first good answer, and purges the slower copy by dropping it.
//!
//! [`tailcut_requests::Client`] decides when a copy is sent and when it ends. This module is the driver of that client.

mod config;
mod direct;
mod discovered;
mod in_flight;
mod race;
mod replay;
mod replica;
mod replica_stats;
mod sending;
mod shared;

pub use config::{Breaker, ClientConfig, Methods, ResetBudget, TrialSlots, acceptable};
pub use discovered::{Discovered, DiscoveredError};
pub use in_flight::AnswerBody;
pub(crate) use in_flight::InFlight;
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
use tailcut_requests::{Trial, TrialReport};
use tokio::time::Instant;
use tower_service::Service;

/// Client that sends each request to several replicas. Clones are cheap and share their state.
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
    /// Creates a client of `replicas`, at least one. `seed` determines the random choice of replicas.
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

    /// Returns a client of other replicas that keeps the statistics of this client.
    /// `former_indices` contains, for each replica, the index that it had in this client.
    fn with_replicas(&self, replicas: Vec<Replica<S>>, former_indices: &[Option<usize>]) -> Self {
        let purges = replicas.iter().map(|replica| replica.purges);
        let shared = self
            .shared
            .with_replicas(purges.zip(former_indices.iter().copied()));
        Self {
            replicas: replicas.into(),
            shared: Arc::new(shared),
        }
    }

    /// Returns the counters of the client.
    pub fn counts(&self) -> ClientCounts {
        self.shared.lock().counts
    }

    /// Returns what the trial of copies has found so far, or `None` if there is no trial.
    pub fn trial(&self) -> Option<TrialReport> {
        self.shared.lock().trial.as_ref().map(Trial::report)
    }

    /// Takes over what a former client of the same route knows: latencies, the budget, and the trial of copies.
    /// Both clients need the same configuration. Call it before the first request.
    #[cfg(feature = "gateway")]
    pub(crate) fn continue_from(&self, former: &Self) {
        self.shared.continue_from(&former.shared);
    }

    /// Returns the present state of each replica, in the order of the replicas.
    pub fn states(&self) -> Vec<ReplicaState> {
        let now = Instant::now();
        let state = self.shared.lock();
        let stats = state.stats.iter();
        let states = stats.map(|stats| ReplicaState {
            in_flight: stats.in_flight,
            latency: stats.latency(),
            is_open: stats.is_open(now),
            purges: stats.purges,
        });
        states.collect()
    }

    /// Sets whether a replica is healthy. The client avoids unhealthy replicas, unless all are unhealthy.
    /// The client also avoids replicas whose answers failed.
    pub fn set_healthy(&self, replica: usize, is_healthy: bool) {
        if let Some(stats) = self.shared.lock().stats.get_mut(replica) {
            stats.is_healthy = is_healthy;
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

    /// Always returns ready. A copy waits for the connection to its replica when it is sent.
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

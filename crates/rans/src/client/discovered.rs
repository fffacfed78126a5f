//! Client whose set of replicas changes, as [`tower::discover`] reports it.

use super::{AnswerBody, Client, ClientConfig, Replay, Replica};
use http::{Request, Response};
use http_body::Body;
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};
use tower::discover::{Change, Discover};
use tower_service::Service;

/// Client of the replicas that `D` reports. It is ready when it has a replica.
///
/// When the replicas change, requests in flight finish at the replicas that received them.
/// A replica that stays in the set keeps its statistics.
/// A clone of [`client`](Self::client) keeps the replicas that it has.
pub struct Discovered<D: Discover, S> {
    discover: Pin<Box<D>>,
    has_ended: bool,
    /// Keys of the replicas, in the order of the client's replicas.
    keys: Vec<D::Key>,
    replicas: Vec<Replica<S>>,
    client: Option<Client<S>>,
    config: ClientConfig,
    seed: u64,
}

/// Reason why a request got no answer.
#[derive(Debug, thiserror::Error)]
pub enum DiscoveredError<D, E> {
    /// The discovery of the replicas has failed.
    #[error("the discovery of the replicas failed: {0}")]
    Discover(D),
    /// There is no replica.
    #[error("there is no replica")]
    NoReplica,
    /// A replica has failed.
    #[error("{0}")]
    Replica(E),
}

impl<D, S> Discovered<D, S>
where
    D: Discover<Service = Replica<S>>,
{
    /// Creates a client without replicas. `seed` chooses the replicas of each request.
    ///
    /// # Errors
    /// The reason why the configuration is wrong.
    pub fn new(discover: D, config: ClientConfig, seed: u64) -> Result<Self, &'static str> {
        match config.fault() {
            Some(fault) => Err(fault),
            None => Ok(Self {
                discover: Box::pin(discover),
                has_ended: false,
                keys: Vec::new(),
                replicas: Vec::new(),
                client: None,
                config,
                seed,
            }),
        }
    }

    /// Returns the client of the present replicas, or `None` if there is no replica.
    pub const fn client(&self) -> Option<&Client<S>> {
        self.client.as_ref()
    }
}

impl<D, S> Discovered<D, S>
where
    D: Discover<Service = Replica<S>>,
    S: Clone,
{
    /// Applies all changes that the discovery reports now.
    fn follow(&mut self, cx: &mut Context<'_>) -> Result<(), D::Error> {
        // Index of each replica before the changes. A replica that stays keeps the statistics of its index.
        let mut former_indices: Vec<Option<usize>> = (0..self.keys.len()).map(Some).collect();
        let (mut has_changed, mut outcome) = (false, Ok(()));
        while !self.has_ended
            && let Poll::Ready(reported) = self.discover.as_mut().poll_discover(cx)
        {
            let change = match reported {
                Some(Ok(change)) => change,
                Some(Err(error)) => {
                    outcome = Err(error);
                    break;
                }
                None => {
                    self.has_ended = true;
                    break;
                }
            };
            has_changed = true;
            let (Change::Insert(key, _) | Change::Remove(key)) = &change;
            if let Some(at) = self.keys.iter().position(|known| known == key) {
                // The three lists must keep the same order, so elements are removed without a swap.
                // A replica that is inserted again may be another server, so its statistics start again.
                self.keys.remove(at);
                self.replicas.remove(at);
                former_indices.remove(at);
            }
            if let Change::Insert(key, replica) = change {
                self.keys.push(key);
                self.replicas.push(replica);
                former_indices.push(None);
            }
        }
        // If the discovery fails, the changes before the error still apply.
        if has_changed {
            self.client = match (&self.client, self.replicas.is_empty()) {
                (_, true) => None,
                (Some(before), _) => {
                    Some(before.with_replicas(self.replicas.clone(), &former_indices))
                }
                // The configuration was checked in `new`, and there is a replica, so this cannot fail.
                (None, _) => Client::new(self.replicas.clone(), self.config, self.seed).ok(),
            };
        }
        outcome
    }
}

type Answering<R, E> = Pin<Box<dyn Future<Output = Result<Response<AnswerBody<R>>, E>> + Send>>;

impl<D, S, B, R> Service<Request<B>> for Discovered<D, S>
where
    D: Discover<Service = Replica<S>>,
    D::Error: Send + 'static,
    S: Service<Request<B>, Response = Response<R>> + Clone + Send + Sync + 'static,
    S::Future: Send + 'static,
    S::Error: Send + 'static,
    B: Replay + Send + Sync + 'static,
    R: Body + Send + 'static,
{
    type Response = Response<AnswerBody<R>>;
    type Error = DiscoveredError<D::Error, S::Error>;
    type Future = Answering<R, Self::Error>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        if let Err(error) = self.follow(cx) {
            return Poll::Ready(Err(DiscoveredError::Discover(error)));
        }
        match (&self.client, self.has_ended) {
            (Some(_), _) => Poll::Ready(Ok(())),
            (None, true) => Poll::Ready(Err(DiscoveredError::NoReplica)),
            (None, false) => Poll::Pending,
        }
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        let Some(client) = &mut self.client else {
            return Box::pin(std::future::ready(Err(DiscoveredError::NoReplica)));
        };
        let answering = client.call(request);
        Box::pin(async move { answering.await.map_err(DiscoveredError::Replica) })
    }
}

impl<D: Discover, S> fmt::Debug for Discovered<D, S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Discovered")
            .field("replicas", &self.replicas.len())
            .finish_non_exhaustive()
    }
}

//! Guard: a layer in front of a service that may receive the same request twice.
//! Each worker runs one request at a time. Other requests wait in three strict classes.
//! Within a class, clients take turns.
//! A request that waits for its own client gives its worker to another client that waits.
//! If a client cancels a request, the request is purged, whether it waits or runs.

mod answer;
mod config;
mod counts;
#[cfg(feature = "guard")]
pub mod program;
mod shared;

pub use answer::{AnswerError, Chunk, GuardedBody};
pub use config::{GuardConfig, OnCancel};
pub use counts::{ClassCounts, GuardCounts};

use crate::client_wait::ClientWait;
use crate::priority::class_of;
use crate::via;
use http::{Request, Response, StatusCode, header};
use http_body::Body;
pub use shared::Refusal;
use shared::{QueueTicket, Shared};
use std::future::{Future, poll_fn};
use std::net::IpAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::sync::oneshot;
use tower_layer::Layer;
use tower_service::Service;

/// Layer that puts a [`Guard`] in front of a service. All services of one layer share its workers.
#[derive(Clone, Debug)]
pub struct GuardLayer {
    shared: Arc<Shared>,
}

impl GuardLayer {
    /// Creates a layer with its own workers.
    pub fn new(config: GuardConfig) -> Self {
        let shared = Arc::new(Shared::new(config));
        Self { shared }
    }

    /// Changes the configuration for requests that arrive later.
    pub fn set(&self, config: GuardConfig) {
        self.shared.set(config);
    }

    /// Returns the counters of all services of this layer.
    pub fn counts(&self) -> GuardCounts {
        self.shared.counts()
    }
}

impl<S> Layer<S> for GuardLayer {
    type Service = Guard<S>;

    fn layer(&self, inner: S) -> Guard<S> {
        Guard {
            inner,
            shared: Arc::clone(&self.shared),
        }
    }
}

/// Extension of a request that names its client. Clients share workers and queue fairly.
/// Requests without this extension count as requests of one client.
/// A provider gives a customer a whole IPv6 prefix of 64 bits. So the last 64 bits of an IPv6 address should be 0.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct ClientId(pub IpAddr);

/// Service behind a guard.
/// The answers contain `via: ... tailcut-guard`, which shows clients that the service purges requests.
#[derive(Clone, Debug)]
pub struct Guard<S> {
    inner: S,
    shared: Arc<Shared>,
}

impl<S, B, R> Service<Request<B>> for Guard<S>
where
    S: Service<Request<B>, Response = Response<R>> + Clone + Send + 'static,
    S::Future: Send + 'static,
    S::Error: Send + 'static,
    B: Send + 'static,
    R: Body + Send + 'static,
    R::Data: Send,
{
    type Response = Response<GuardedBody<R>>;
    type Error = S::Error;
    type Future = Guarded<Self::Response, S::Error>;

    /// Always returns ready. A request without a free worker waits in the queue of its class, not here.
    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, mut request: Request<B>) -> Self::Future {
        let class = class_of(request.headers());
        let client = request.extensions().get::<ClientId>();
        let client = client.map(|client| client.0);
        let wait = request.extensions_mut().remove::<Arc<ClientWait>>();
        let (shared, inner) = (Arc::clone(&self.shared), self.inner.clone());
        let retry_after = shared.config().retry_after;
        // The request arrives at the gate at this call, not when the future is polled for the first time.
        let ticket = shared.arrive(class, client, wait.unwrap_or_default());
        Guarded(Box::pin(async move {
            let mut ticket = match ticket {
                Ok(ticket) => ticket,
                Err(refusal) => return Ok(refused(refusal, retry_after)),
            };
            if let Err(refusal) = ticket.admitted().await {
                return Ok(refused(refusal, retry_after));
            }
            let held = ticket.on_cancel() == OnCancel::HoldSlot;
            let hold = ticket.hold();
            let answering = answer(inner, request, ticket);
            if !held {
                return answering.await;
            }
            // The task continues after its client has cancelled the request.
            // The channel is then closed, which the task notices.
            let (_waits, left) = oneshot::channel::<()>();
            match tokio::spawn(at_most(answering, left, hold)).await {
                Ok(Some(answer)) => answer,
                // The task drops the work only after this future was dropped, so no client waits here.
                Ok(None) => std::future::pending().await,
                Err(died) => match died.try_into_panic() {
                    Ok(panic) => std::panic::resume_unwind(panic),
                    // The task was cancelled, because the runtime ends.
                    Err(_) => std::future::pending().await,
                },
            }
        }))
    }
}

/// Returns the output of `work`.
/// Returns `None` if `work` runs for longer than `hold` after the client has cancelled the request.
/// `left` resolves when the client cancels.
async fn at_most<F: Future>(
    work: F,
    left: oneshot::Receiver<()>,
    hold: Duration,
) -> Option<F::Output> {
    let (mut work, mut left) = (std::pin::pin!(work), std::pin::pin!(left));
    // The work is polled before the channel, so that a finished answer is not dropped when the client cancels.
    let ended = poll_fn(|cx| match work.as_mut().poll(cx) {
        Poll::Ready(output) => Poll::Ready(Some(output)),
        Poll::Pending => left.as_mut().poll(cx).map(|_| None),
    });
    if let Some(output) = ended.await {
        return Some(output);
    }
    tokio::time::timeout(hold, work).await.ok()
}

/// Calls the service. The answer occupies the request's worker.
async fn answer<S, B, R>(
    mut service: S,
    request: Request<B>,
    mut ticket: QueueTicket,
) -> Result<Response<GuardedBody<R>>, S::Error>
where
    S: Service<Request<B>, Response = Response<R>>,
    R: Body + Send + 'static,
    R::Data: Send,
{
    let answering = async {
        poll_fn(|cx| service.poll_ready(cx)).await?;
        service.call(request).await
    };
    match answering.await {
        Ok(response) => {
            let mut response = response.map(|body| GuardedBody::new(body, ticket));
            via::add_guard(response.headers_mut());
            Ok(response)
        }
        Err(error) => {
            // The service has finished the request with an error.
            ticket.done();
            Err(error)
        }
    }
}

/// Returns the answer to a request that the guard refuses.
fn refused<R>(refusal: Refusal, retry_after: Duration) -> Response<GuardedBody<R>>
where
    R: Body + Send + 'static,
    R::Data: Send,
{
    let mut response = Response::new(GuardedBody::refusal(refusal));
    *response.status_mut() = StatusCode::SERVICE_UNAVAILABLE;
    response.extensions_mut().insert(refusal);
    let headers = response.headers_mut();
    // The field contains whole seconds. A shorter time would become 0, and clients would retry immediately.
    headers.insert(header::RETRY_AFTER, retry_after.as_secs().max(1).into());
    via::add_guard(headers);
    response
}

type Answering<T, E> = dyn Future<Output = Result<T, E>> + Send;

/// Answer of a guarded service that has not arrived yet. Dropping it purges the request.
pub struct Guarded<T, E>(Pin<Box<Answering<T, E>>>);

impl<T, E> std::fmt::Debug for Guarded<T, E> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Guarded").finish_non_exhaustive()
    }
}

impl<T, E> Future for Guarded<T, E> {
    type Output = Result<T, E>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        self.0.as_mut().poll(cx)
    }
}

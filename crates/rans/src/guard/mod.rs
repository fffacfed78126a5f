//! The guard: a layer before a service that may get the same request twice. Each worker runs one request at
//! a time; the others wait in three strict classes; a request whose client leaves is
//! purged, whether it waits or runs.

mod answer;
mod config;
mod counts;
#[cfg(feature = "guard")]
pub mod program;
mod shared;

pub use answer::{Chunk, GuardedBody};
pub use config::{GuardConfig, OnCancel};
pub use counts::{ClassCounts, GuardCounts};

use crate::priority::class_of;
use crate::via;
use http::{Request, Response, StatusCode, header};
use http_body::Body;
use shared::{Refusal, Shared, Ticket};
use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::sync::oneshot;
use tower_layer::Layer;
use tower_service::Service;

/// Puts a [`Guard`] before a service. All services of one layer share its workers.
#[derive(Clone, Debug)]
pub struct GuardLayer {
    shared: Arc<Shared>,
}

impl GuardLayer {
    /// A guard with its own workers.
    pub fn new(config: GuardConfig) -> Self {
        let shared = Arc::new(Shared::new(config));
        Self { shared }
    }

    /// Takes another configuration, for the requests that come next.
    pub fn set(&self, config: GuardConfig) {
        self.shared.set(config);
    }

    /// Counters of all services of this layer.
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

/// A service behind a guard. Answers say `via: ... tailcut-guard`, so that clients learn that it purges.
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

    /// Always ready: a request that finds no worker waits in its class, not here.
    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        let class = class_of(request.headers());
        let (shared, inner) = (Arc::clone(&self.shared), self.inner.clone());
        let retry_after = shared.config().retry_after;
        // It takes its place now, not when it is polled first.
        let ticket = shared.arrive(class);
        Guarded(Box::pin(async move {
            let mut ticket = match ticket {
                Ok(ticket) => ticket,
                Err(refusal) => return Ok(refused(refusal, retry_after)),
            };
            if let Err(refusal) = ticket.turn().await {
                return Ok(refused(refusal, retry_after));
            }
            let held = ticket.on_cancel() == OnCancel::HoldSlot;
            let hold = ticket.hold();
            let answering = answer(inner, request, ticket);
            if !held {
                return answering.await;
            }
            // The task continues when its client has left; the closed channel shows that.
            let (_waits, left) = oneshot::channel::<()>();
            match tokio::spawn(at_most(answering, left, hold)).await {
                Ok(Some(answer)) => answer,
                // It was given up only after this had left.
                Ok(None) => std::future::pending().await,
                Err(died) => match died.try_into_panic() {
                    Ok(panic) => std::panic::resume_unwind(panic),
                    // The runtime is ending.
                    Err(_) => std::future::pending().await,
                },
            }
        }))
    }
}

/// What `work` comes to; `None` where it goes on for longer than `hold` after who waits for it has `left`.
async fn at_most<F: Future>(
    work: F,
    left: oneshot::Receiver<()>,
    hold: Duration,
) -> Option<F::Output> {
    let (mut work, mut left) = (std::pin::pin!(work), std::pin::pin!(left));
    let ended = poll_fn(|cx| match work.as_mut().poll(cx) {
        Poll::Ready(output) => Poll::Ready(Some(output)),
        Poll::Pending => left.as_mut().poll(cx).map(|_| None),
    });
    if let Some(output) = ended.await {
        return Some(output);
    }
    tokio::time::timeout(hold, work).await.ok()
}

/// Asks the service. The answer holds the request's place.
async fn answer<S, B, R>(
    mut service: S,
    request: Request<B>,
    mut ticket: Ticket,
) -> Result<Response<GuardedBody<R>>, S::Error>
where
    S: Service<Request<B>, Response = Response<R>>,
    R: Body + Send + 'static,
    R::Data: Send,
{
    let asking = async {
        poll_fn(|cx| service.poll_ready(cx)).await?;
        service.call(request).await
    };
    match asking.await {
        Ok(response) => {
            let mut response = response.map(|body| GuardedBody::new(body, ticket));
            via::say(response.headers_mut());
            Ok(response)
        }
        Err(error) => {
            // It was run to its end, a bad one.
            ticket.done();
            Err(error)
        }
    }
}

/// The answer to a request that is not run.
fn refused<R>(refusal: Refusal, retry_after: Duration) -> Response<GuardedBody<R>>
where
    R: Body + Send + 'static,
    R::Data: Send,
{
    let mut response = Response::new(GuardedBody::refusal(refusal));
    *response.status_mut() = StatusCode::SERVICE_UNAVAILABLE;
    let headers = response.headers_mut();
    headers.insert(header::RETRY_AFTER, retry_after.as_secs().max(1).into());
    via::say(headers);
    response
}

type Answering<T, E> = dyn Future<Output = Result<T, E>> + Send;

/// An answer that is to come. Dropping it purges the request.
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

//! Sending one request to one replica.

use super::flight::Flight;
use super::replica::Replica;
use super::shared::Shared;
use crate::priority::{PRIORITY, field};
use http::request::Parts;
use http::{HeaderName, HeaderValue, Request, Response};
use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use tailcut_requests::Class;
use tokio::time::Instant;
use tower_service::Service;

/// The field that says which copy of a request this is.
const COPY: HeaderName = HeaderName::from_static("tailcut-copy");

pub(crate) type Answering<R, E> = Pin<Box<dyn Future<Output = Result<Response<R>, E>> + Send>>;

/// A request that is on its way to a replica.
pub(crate) struct Sent<R, E> {
    pub replica: usize,
    pub began: Instant,
    pub answering: Answering<R, E>,
    /// To be kept until the answer's body was taken.
    pub flight: Flight,
}

/// Sends a request to a replica, in its class. Copy 0 is the primary.
pub(super) fn send<S, B, R, E>(
    (replicas, shared): (&[Replica<S>], &Arc<Shared>),
    (replica, copy, class): (usize, u8, Class),
    mut parts: Parts,
    body: B,
) -> Sent<R, E>
where
    S: Service<Request<B>, Response = Response<R>, Error = E> + Clone + Send + 'static,
    S::Future: Send + 'static,
    B: Send + 'static,
{
    if shared.config.tells_copies {
        let copy = match copy {
            0 => HeaderValue::from_static("0"),
            1 => HeaderValue::from_static("1"),
            more => HeaderValue::from(u16::from(more)),
        };
        parts.headers.insert(COPY, copy);
    }
    let ways = &replicas[replica];
    let mut way = match class {
        Class::Primary => ways.primary.clone(),
        Class::Duplicate | Class::Optional => {
            parts.headers.insert(PRIORITY, field(class));
            ways.copy.clone()
        }
    };
    let request = Request::from_parts(parts, body);
    // Most ways are always ready, and cost one box less then.
    let mut nobody = Context::from_waker(Waker::noop());
    let answering: Answering<R, E> = match way.poll_ready(&mut nobody) {
        Poll::Ready(Ok(())) => Box::pin(way.call(request)),
        _ => Box::pin(async move {
            poll_fn(|cx| way.poll_ready(cx)).await?;
            way.call(request).await
        }),
    };
    Sent {
        replica,
        began: Instant::now(),
        answering,
        flight: Flight::begin(Arc::clone(shared), replica),
    }
}

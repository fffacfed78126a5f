//! Sender of one request to one replica.

use super::in_flight::InFlight;
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

/// Header field with the number of the copy.
const COPY: HeaderName = HeaderName::from_static("tailcut-copy");

pub(crate) type Answering<R, E> = Pin<Box<dyn Future<Output = Result<Response<R>, E>> + Send>>;

/// Request that was sent to a replica.
pub(crate) struct Sent<R, E> {
    pub replica: usize,
    pub began: Instant,
    pub answering: Answering<R, E>,
    /// Value that counts this copy as in flight. Keep it until the body of the answer has been read.
    pub flight: InFlight,
}

/// Sends a request to a replica, in the class of the copy. Copy 0 is the primary.
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
    if shared.config.marks_copies {
        let copy = match copy {
            0 => HeaderValue::from_static("0"),
            1 => HeaderValue::from_static("1"),
            more => HeaderValue::from(u16::from(more)),
        };
        parts.headers.insert(COPY, copy);
    }
    let connections = &replicas[replica];
    let mut connection = match class {
        // A primary keeps the `Priority` field that the application has set.
        Class::Primary => connections.primary.clone(),
        Class::Duplicate | Class::Optional => {
            parts.headers.insert(PRIORITY, field(class));
            connections.copy.clone()
        }
    };
    let request = Request::from_parts(parts, body);
    // Most connections are always ready. If the connection is ready, the future needs one allocation less.
    let mut nobody = Context::from_waker(Waker::noop());
    let answering: Answering<R, E> = match connection.poll_ready(&mut nobody) {
        Poll::Ready(Ok(())) => Box::pin(connection.call(request)),
        _ => Box::pin(async move {
            poll_fn(|cx| connection.poll_ready(cx)).await?;
            connection.call(request).await
        }),
    };
    Sent {
        replica,
        began: Instant::now(),
        answering,
        flight: InFlight::begin(Arc::clone(shared), replica),
    }
}

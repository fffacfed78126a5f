//! Service whose work is to sleep. For `/NANOSECONDS/BYTES` it sleeps, and answers with this number of zeros.
//! `/NANOSECONDS` has no body.

use bytes::Bytes;
use http::{Request, Response, StatusCode};
use http_body_util::Full;
use hyper::body::Incoming;
use std::convert::Infallible;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::sync::Semaphore;
use tower_service::Service;

/// Function that returns the factor of a request's work. `None`: the work never ends.
pub type Factor = Arc<dyn Fn() -> Option<u32> + Send + Sync>;

/// Service whose work is to sleep.
#[derive(Clone)]
pub struct Work {
    pub factor: Factor,
    /// Queue of the service, first come first served.
    /// As in most services, the work continues after its client has cancelled the request.
    /// `None`: a guard in front of the service has the queue.
    pub own_queue: Option<Arc<Semaphore>>,
}

/// Returns the time and the number of bytes from a path.
fn parse_path(path: &str) -> Option<(Duration, usize)> {
    let mut parts = path.trim_start_matches('/').split('/');
    let time = Duration::from_nanos(parts.next()?.parse().ok()?);
    let bytes = parts.next().map_or(Ok(0), str::parse);
    Some((time, bytes.ok()?))
}

impl Service<Request<Incoming>> for Work {
    type Response = Response<Full<Bytes>>;
    type Error = Infallible;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, Infallible>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<Incoming>) -> Self::Future {
        let Some((time, bytes)) = parse_path(request.uri().path()) else {
            let mut answer = Response::new(Full::default());
            *answer.status_mut() = StatusCode::BAD_REQUEST;
            return Box::pin(std::future::ready(Ok(answer)));
        };
        let Some(factor) = (self.factor)() else {
            return Box::pin(std::future::pending());
        };
        let own_queue = self.own_queue.clone();
        Box::pin(async move {
            match own_queue {
                None => tokio::time::sleep(time * factor).await,
                Some(queue) => {
                    let worked = tokio::spawn(async move {
                        let _worker = queue.acquire().await;
                        tokio::time::sleep(time * factor).await;
                    });
                    // The task fails only when the runtime ends.
                    let _ = worked.await;
                }
            }
            Ok(Response::new(Full::from(vec![0; bytes])))
        })
    }
}

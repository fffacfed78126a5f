//! A service of some workers: `/NANOSECONDS/BYTES` sleeps and answers with zeros.

use super::Combination;
use bytes::Bytes;
use http::{Request, Response, StatusCode};
use http_body_util::Full;
use hyper::body::Incoming;
use hyper_util::rt::{TokioExecutor, TokioIo};
use hyper_util::server::conn::auto::Builder;
use std::convert::Infallible;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;
use tailcut_rans::guard::{GuardConfig, GuardLayer};
use tailcut_rans::socket::{ClassMarks, ConnectionMark, MarkedStream, SocketOptions};
use tokio::net::TcpListener;
use tokio::sync::Semaphore;
use tower_layer::Layer;
use tower_service::Service;

/// Requests that the service runs at once.
const WORKERS: u32 = 32;

/// The service. Without a guard it has its own queue, first come first served, and works on when its client has
/// left, as most services do.
#[derive(Clone)]
struct Work {
    own_queue: Option<Arc<Semaphore>>,
}

/// The time and the bytes that a path tells.
fn told(path: &str) -> Option<(Duration, usize)> {
    let mut parts = path.trim_start_matches('/').split('/');
    let time = Duration::from_nanos(parts.next()?.parse().ok()?);
    Some((time, parts.next()?.parse().ok()?))
}

impl Service<Request<Incoming>> for Work {
    type Response = Response<Full<Bytes>>;
    type Error = Infallible;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, Infallible>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<Incoming>) -> Self::Future {
        let own_queue = self.own_queue.clone();
        Box::pin(async move {
            let mut response = Response::new(Full::default());
            let Some((time, bytes)) = told(request.uri().path()) else {
                *response.status_mut() = StatusCode::BAD_REQUEST;
                return Ok(response);
            };
            match own_queue {
                None => tokio::time::sleep(time).await,
                Some(queue) => {
                    let worked = tokio::spawn(async move {
                        let _worker = queue.acquire().await;
                        tokio::time::sleep(time).await;
                    });
                    let _ = worked.await;
                }
            }
            *response.body_mut() = Full::new(Bytes::from(vec![0; bytes]));
            Ok(response)
        })
    }
}

/// Serves for ever.
pub async fn run(combination: Combination) -> std::io::Result<()> {
    let guard = GuardLayer::new(GuardConfig {
        workers: WORKERS,
        queue: 100_000,
        ..GuardConfig::default()
    });
    let marks = combination
        .marks
        .map_or_else(ClassMarks::default, ClassMarks);
    let queue = Arc::new(Semaphore::new(WORKERS as usize));
    let listener = TcpListener::bind("0.0.0.0:80").await?;
    println!("ready");
    loop {
        let (stream, _) = listener.accept().await?;
        SocketOptions::default().set(&stream);
        let (stream, mark) = MarkedStream::new(stream, marks);
        let stream = TokioIo::new(stream);
        match combination.guards {
            true => {
                let work = Work { own_queue: None };
                tokio::spawn(serve(stream, guard.layer(work), mark));
            }
            false => {
                let own_queue = Some(Arc::clone(&queue));
                tokio::spawn(serve(stream, Work { own_queue }, mark));
            }
        }
    }
}

async fn serve<S, B>(stream: TokioIo<MarkedStream>, service: S, mark: ConnectionMark)
where
    S: Service<Request<Incoming>, Response = Response<B>, Error = Infallible>
        + Clone
        + Send
        + 'static,
    S::Future: Send + 'static,
    B: http_body::Body + Send + 'static,
    B::Data: Send,
    B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
{
    let answer = hyper::service::service_fn(move |request| {
        mark.on_request(&request);
        service.clone().call(request)
    });
    let connections = Builder::new(TokioExecutor::new());
    // It ends with its client.
    let _ = connections.serve_connection(stream, answer).await;
}

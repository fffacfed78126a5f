//! Servers on real sockets for tests.
#![allow(dead_code, reason = "each test file uses its own part")]

use bytes::Bytes;
use http::{Request, Response};
use http_body_util::Full;
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo};
use std::convert::Infallible;
use std::future::Future;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use tokio::net::TcpListener;
use tokio::sync::{Semaphore, watch};
use tower_service::Service;

/// HTTP version of a connection.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Version {
    One,
    Two,
}

pub const VERSIONS: [Version; 2] = [Version::One, Version::Two];

type Answering = Pin<Box<dyn Future<Output = Result<Response<Full<Bytes>>, Infallible>> + Send>>;

/// Service that works on a request until `allow` permits it to end.
/// The service records which requests began and which were dropped.
#[derive(Clone, Debug)]
pub struct BlockingService {
    pub seen: Arc<watch::Sender<RequestLog>>,
    allowed: Arc<Semaphore>,
}

#[derive(Clone, Default, Debug)]
pub struct RequestLog {
    pub began: Vec<String>,
    pub dropped: Vec<String>,
    pub ended: Vec<String>,
}

impl BlockingService {
    pub fn new() -> Self {
        Self {
            seen: Arc::new(watch::Sender::new(RequestLog::default())),
            allowed: Arc::new(Semaphore::new(0)),
        }
    }

    /// Permits `count` further requests to end.
    pub fn allow(&self, count: usize) {
        self.allowed.add_permits(count);
    }

    /// Resolves when the record fulfils the condition `is_so`.
    pub async fn until(&self, is_so: impl Fn(&RequestLog) -> bool) {
        let mut seen = self.seen.subscribe();
        seen.wait_for(|seen| is_so(seen)).await.expect("held here");
    }
}

/// Recorder of one request. When it is dropped, the request counts as dropped unless it has ended.
struct DropRecorder {
    path: Option<String>,
    seen: Arc<watch::Sender<RequestLog>>,
}

impl Drop for DropRecorder {
    fn drop(&mut self) {
        if let Some(path) = self.path.take() {
            self.seen.send_modify(|seen| seen.dropped.push(path));
        }
    }
}

impl<B: Send + 'static> Service<Request<B>> for BlockingService {
    type Response = Response<Full<Bytes>>;
    type Error = Infallible;
    type Future = Answering;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<B>) -> Answering {
        let path = request.uri().path().to_owned();
        let (seen, allowed) = (Arc::clone(&self.seen), Arc::clone(&self.allowed));
        Box::pin(async move {
            seen.send_modify(|seen| seen.began.push(path.clone()));
            let mut recorder = DropRecorder {
                path: Some(path.clone()),
                seen: Arc::clone(&seen),
            };
            allowed.acquire().await.expect("never closed").forget();
            recorder.path = None;
            seen.send_modify(|seen| seen.ended.push(path.clone()));
            Ok(Response::new(Full::from(path)))
        })
    }
}

/// Serves any number of connections over HTTP/1.1 and HTTP/2.
pub async fn serve<S, R>(version: Version, service: S) -> SocketAddr
where
    S: Service<Request<Incoming>, Response = Response<R>> + Clone + Send + Sync + 'static,
    S::Future: Send + 'static,
    S::Error: std::error::Error + Send + Sync,
    R: http_body::Body + Send + 'static,
    R::Data: Send,
    R::Error: std::error::Error + Send + Sync,
{
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let address = listener.local_addr().expect("an address");
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let service = service.clone();
            let answering = service_fn(move |request| service.clone().call(request));
            let stream = TokioIo::new(stream);
            tokio::spawn(async move {
                // Clients of these tests disconnect on purpose, so errors are ignored.
                let _ = match version {
                    Version::One => {
                        let serving = hyper::server::conn::http1::Builder::new();
                        serving.serve_connection(stream, answering).await
                    }
                    Version::Two => {
                        let runtime = TokioExecutor::new();
                        let serving = hyper::server::conn::http2::Builder::new(runtime);
                        serving.serve_connection(stream, answering).await
                    }
                };
            });
        }
    });
    address
}

pub fn get(path: &str) -> Request<Full<Bytes>> {
    let uri = format!("http://service{path}");
    let request = Request::get(uri).header(http::header::HOST, "service");
    request.body(Full::default()).expect("a request")
}

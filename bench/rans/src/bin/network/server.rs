//! Service whose workers sleep, with or without a guard.

use super::Combination;
use super::work::{Factor, Work};
use http::{Request, Response};
use hyper::body::Incoming;
use hyper_util::rt::{TokioExecutor, TokioIo};
use hyper_util::server::conn::auto::Builder;
use std::convert::Infallible;
use std::sync::Arc;
use tailcut_rans::guard::{GuardConfig, GuardLayer};
use tailcut_rans::socket::{ClassMarks, ConnectionMark, MarkedStream, SocketOptions};
use tokio::net::TcpListener;
use tokio::sync::Semaphore;
use tower_layer::Layer;
use tower_service::Service;

/// Number of requests that the service processes at the same time.
const WORKERS: u32 = 32;

/// Runs the service until the process is killed.
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
    let factor: Factor = Arc::new(|| Some(1));
    let listener = TcpListener::bind("0.0.0.0:80").await?;
    println!("ready");
    loop {
        let (stream, _) = listener.accept().await?;
        SocketOptions::default().set(&stream);
        let (stream, mark) = MarkedStream::new(stream, marks);
        let stream = TokioIo::new(stream);
        let work = Work {
            factor: Arc::clone(&factor),
            own_queue: (!combination.guards).then(|| Arc::clone(&queue)),
        };
        match combination.guards {
            true => tokio::spawn(serve(stream, guard.layer(work), mark)),
            false => tokio::spawn(serve(stream, work, mark)),
        };
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
    // The client may close the connection at any time, so errors are ignored.
    let _ = connections.serve_connection(stream, answer).await;
}

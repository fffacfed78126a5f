//! HTTP connections to servers. They use no code of this project, so they can test it.

use super::common::Version;
use bytes::Bytes;
use http::{Request, Response};
use http_body_util::Full;
use hyper::body::Incoming;
use hyper_util::rt::{TokioExecutor, TokioIo};
use std::future::Future;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};
use tokio::net::TcpStream;
use tower_service::Service;

enum Sender {
    One(Mutex<Option<hyper::client::conn::http1::SendRequest<Full<Bytes>>>>),
    Two(hyper::client::conn::http2::SendRequest<Full<Bytes>>),
}

/// Client of one server. It uses one connection with HTTP/2, and one connection for each request with HTTP/1.1.
#[derive(Clone)]
pub struct PlainClient {
    address: SocketAddr,
    sender: Option<Arc<Sender>>,
}

impl PlainClient {
    pub async fn to(version: Version, address: SocketAddr) -> Self {
        let sender = match version {
            Version::One => None,
            Version::Two => Some(Arc::new(
                open(version, address).await.expect("a connection"),
            )),
        };
        Self { address, sender }
    }
}

async fn open(version: Version, address: SocketAddr) -> hyper::Result<Sender> {
    let stream = TcpStream::connect(address).await.expect("a server");
    let stream = TokioIo::new(stream);
    Ok(match version {
        Version::One => {
            let (sender, connection) = hyper::client::conn::http1::handshake(stream).await?;
            tokio::spawn(connection);
            Sender::One(Mutex::new(Some(sender)))
        }
        Version::Two => {
            let runtime = TokioExecutor::new();
            let (sender, connection) =
                hyper::client::conn::http2::handshake(runtime, stream).await?;
            tokio::spawn(connection);
            Sender::Two(sender)
        }
    })
}

impl Service<Request<Full<Bytes>>> for PlainClient {
    type Response = Response<Incoming>;
    type Error = hyper::Error;
    type Future = Pin<Box<dyn Future<Output = hyper::Result<Self::Response>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<hyper::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<Full<Bytes>>) -> Self::Future {
        let (sender, address) = (self.sender.clone(), self.address);
        Box::pin(async move {
            let sender = match sender {
                Some(sender) => sender,
                None => Arc::new(open(Version::One, address).await?),
            };
            match &*sender {
                Sender::One(one) => {
                    let own = one.lock().expect("a lock").take();
                    own.expect("one request").send_request(request).await
                }
                Sender::Two(two) => two.clone().send_request(request).await,
            }
        })
    }
}

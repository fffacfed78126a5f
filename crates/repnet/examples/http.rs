//! HTTP over RepNet: a hyper server behind a `TcpListener`, and hyper-util's pooled client with a RepNet `Connector`.
//! If a pooled connection was idle, its next request races on two connections again.
//!
//! ```sh
//! cargo run -p tailcut-repnet --example http
//! ```

use bytes::Bytes;
use http_body_util::{BodyExt, Empty, Full};
use hyper::body::Incoming;
use hyper::rt::{Read, ReadBufCursor, Write};
use hyper::{Request, Response, Uri};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::{Connected, Connection};
use hyper_util::rt::{TokioExecutor, TokioIo};
use std::convert::Infallible;
use std::future::Future;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};
use tailcut_repnet::{Connector, FlowSettings, Settings, TcpListener, TcpStream};

/// Connector that gives RepNet connections to hyper-util's client.
#[derive(Clone)]
struct OverRepNet(Connector);

impl tower_service::Service<Uri> for OverRepNet {
    type Response = Io;
    type Error = io::Error;
    type Future = Pin<Box<dyn Future<Output = io::Result<Io>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, to: Uri) -> Self::Future {
        let connector = self.0.clone();
        Box::pin(async move {
            let host = to.host().ok_or(io::ErrorKind::InvalidInput)?;
            let stream = connector.connect(host, to.port_u16().unwrap_or(80)).await?;
            Ok(Io(TokioIo::new(stream)))
        })
    }
}

/// Connection with the traits that hyper needs.
struct Io(TokioIo<TcpStream>);

impl Connection for Io {
    fn connected(&self) -> Connected {
        Connected::new()
    }
}

impl Read for Io {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: ReadBufCursor<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_read(cx, buffer)
    }
}

impl Write for Io {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.0).poll_write(cx, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_shutdown(cx)
    }
}

async fn hello(request: Request<Incoming>) -> Result<Response<Full<Bytes>>, Infallible> {
    let answer = format!("hello from {}\n", request.uri().path());
    Ok(Response::new(Full::new(Bytes::from(answer))))
}

async fn serve(listener: TcpListener) {
    while let Ok((stream, _)) = listener.accept().await {
        tokio::spawn(async move {
            let service = hyper::service::service_fn(hello);
            let server = hyper::server::conn::http1::Builder::new();
            // An error ends only this client's connection, so it is ignored.
            let _ = server.serve_connection(TokioIo::new(stream), service).await;
        });
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let listener = TcpListener::bind("127.0.0.1:0".parse()?).await?;
    let port = listener.local_addr()?.port();
    tokio::spawn(serve(listener));
    let connector = Connector::new(Settings {
        flow: FlowSettings {
            assume_capable: true,
            ..FlowSettings::default()
        },
        ..Settings::default()
    })?;
    let client = Client::builder(TokioExecutor::new());
    let client = client.build::<_, Empty<Bytes>>(OverRepNet(connector.clone()));
    for number in 0..100 {
        let uri: Uri = format!("http://127.0.0.1:{port}/{number}").parse()?;
        let body = client
            .get(uri)
            .await?
            .into_body()
            .collect()
            .await?
            .to_bytes();
        assert_eq!(body, format!("hello from /{number}\n"));
    }
    let stats = connector.stats();
    println!(
        "100 requests over {} replicated connections; the second leg was ahead in {}",
        stats.opened, stats.won_second
    );
    Ok(())
}

//! HTTP server for health and metrics. It serves only `/healthz` and `/metrics`, and one request per connection.

use crate::BACK_OFF;
use crate::endpoint::Endpoint;
use anyhow::{Context, Result};
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;

/// Maximum size of a request's head in bytes. Without a limit, a client that never ends its head could fill the memory.
const MOST_BYTES: usize = 8_192;
/// Time limit for reading a request and writing its response.
/// Without this limit, a few silent clients could use up all permits for requests.
const TIMEOUT: Duration = Duration::from_secs(5);
/// Maximum number of concurrent requests. Each request builds a page in memory.
const MOST_REQUESTS: usize = 64;

/// Contents of the pages that the admin server serves.
pub trait Pages: Send + Sync + 'static {
    /// Whether the process accepts new work.
    fn is_healthy(&self) -> bool;
    /// Returns the page of metrics.
    fn metrics(&self) -> String;
}

/// HTTP server for health and metrics. Dropping it closes its port.
#[derive(Debug)]
pub struct Admin {
    endpoint: Endpoint,
    address: SocketAddr,
    serving: JoinHandle<()>,
}

impl Admin {
    /// Opens the address `endpoint` for listening and starts the server.
    ///
    /// # Errors
    /// The address cannot be opened for listening.
    pub async fn start(endpoint: &Endpoint, pages: Arc<dyn Pages>) -> Result<Self> {
        let listening = endpoint.listen().await;
        let listener = listening.with_context(|| format!("admin: cannot listen on {endpoint}"))?;
        Ok(Self {
            endpoint: endpoint.clone(),
            address: listener.local_addr()?,
            serving: tokio::spawn(serve(listener, pages)),
        })
    }

    /// Returns the address of the server.
    pub const fn address(&self) -> SocketAddr {
        self.address
    }

    /// Starts a server at the address `endpoint`.
    /// Returns `None` if `open` already serves this address, or if there is no address.
    ///
    /// # Errors
    /// The address cannot be opened for listening.
    pub async fn start_if_changed(
        open: Option<&Self>,
        endpoint: Option<&Endpoint>,
        pages: &Arc<impl Pages>,
    ) -> Result<Option<Self>> {
        match endpoint {
            Some(endpoint) if open.is_none_or(|open| open.endpoint != *endpoint) => {
                Ok(Some(Self::start(endpoint, Arc::clone(pages) as _).await?))
            }
            _ => Ok(None),
        }
    }
}

impl Drop for Admin {
    fn drop(&mut self) {
        self.serving.abort();
    }
}

async fn serve(listener: TcpListener, pages: Arc<dyn Pages>) {
    let permits = Arc::new(tokio::sync::Semaphore::new(MOST_REQUESTS));
    loop {
        // A permit is acquired before the connection is accepted.
        // Further clients then wait in the kernel and use no memory of this process.
        let Ok(permit) = Arc::clone(&permits).acquire_owned().await else {
            return;
        };
        match listener.accept().await {
            Ok((stream, _)) => {
                let pages = Arc::clone(&pages);
                tokio::spawn(async move {
                    // A client that is too slow, or that disconnects, gets no response.
                    let _ = tokio::time::timeout(TIMEOUT, answer(stream, &*pages)).await;
                    // The task owns the permit until the response is sent.
                    drop(permit);
                });
            }
            // The process has no free file descriptors.
            Err(_) => tokio::time::sleep(BACK_OFF).await,
        }
    }
}

async fn answer(mut stream: TcpStream, pages: &dyn Pages) -> io::Result<()> {
    let mut head = Vec::new();
    while !head.windows(4).any(|bytes| bytes == b"\r\n\r\n") {
        if head.len() > MOST_BYTES || stream.read_buf(&mut head).await? == 0 {
            return Ok(());
        }
    }
    let text = String::from_utf8_lossy(&head);
    let mut words = text.split_ascii_whitespace();
    let (method, target) = (words.next().unwrap_or(""), words.next().unwrap_or("/"));
    let path = target.split('?').next().unwrap_or("/");
    let plain = "text/plain; charset=utf-8";
    let (status, kind, body) = match (method, path) {
        ("GET" | "HEAD", "/healthz") if pages.is_healthy() => ("200 OK", plain, "ok\n".to_owned()),
        ("GET" | "HEAD", "/healthz") => ("503 Service Unavailable", plain, "draining\n".to_owned()),
        ("GET" | "HEAD", "/metrics") => (
            "200 OK",
            "text/plain; version=0.0.4; charset=utf-8",
            pages.metrics(),
        ),
        ("GET" | "HEAD", _) => (
            "404 Not Found",
            plain,
            "known here: /healthz, /metrics\n".to_owned(),
        ),
        _ => (
            // This status requires the field `Allow` (RFC 9110, section 15.5.6).
            "405 Method Not Allowed\r\nallow: GET, HEAD",
            plain,
            "only GET and HEAD\n".to_owned(),
        ),
    };
    let head = format!(
        "HTTP/1.1 {status}\r\ncontent-type: {kind}\r\ncontent-length: {}\r\n\
         connection: close\r\n\r\n",
        body.len()
    );
    stream.write_all(head.as_bytes()).await?;
    if method != "HEAD" {
        stream.write_all(body.as_bytes()).await?;
    }
    stream.shutdown().await
}

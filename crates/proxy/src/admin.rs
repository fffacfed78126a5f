//! Health and metrics over HTTP: `/healthz` and `/metrics`, nothing else. One request a
//! connection.

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

/// A request's head at most.
const MOST_BYTES: usize = 8_192;
/// In which a request has to be there, and its answer to be taken.
const PATIENCE: Duration = Duration::from_secs(5);
/// Requests at a time.
const MOST_REQUESTS: usize = 64;

/// What is served.
pub trait Pages: Send + Sync + 'static {
    /// Whether the process takes new work.
    fn is_healthy(&self) -> bool;
    /// The page of metrics.
    fn metrics(&self) -> String;
}

/// Health and metrics. Dropping it closes its port.
#[derive(Debug)]
pub struct Admin {
    asked: Endpoint,
    address: SocketAddr,
    serving: JoinHandle<()>,
}

impl Admin {
    /// Serves them.
    ///
    /// # Errors
    /// An address that cannot be listened on.
    pub async fn start(asked: &Endpoint, pages: Arc<dyn Pages>) -> Result<Self> {
        let listening = asked.listen().await;
        let listener = listening.with_context(|| format!("admin: cannot listen on {asked}"))?;
        Ok(Self {
            asked: asked.clone(),
            address: listener.local_addr()?,
            serving: tokio::spawn(serve(listener, pages)),
        })
    }

    /// Where it listens.
    pub const fn address(&self) -> SocketAddr {
        self.address
    }

    /// Serves them at another address, unless they are served there already.
    ///
    /// # Errors
    /// An address that cannot be listened on.
    pub async fn other(
        open: Option<&Self>,
        asked: Option<&Endpoint>,
        pages: &Arc<impl Pages>,
    ) -> Result<Option<Self>> {
        match asked {
            Some(asked) if open.is_none_or(|open| open.asked != *asked) => {
                Ok(Some(Self::start(asked, Arc::clone(pages) as _).await?))
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
    let places = Arc::new(tokio::sync::Semaphore::new(MOST_REQUESTS));
    loop {
        let Ok(place) = Arc::clone(&places).acquire_owned().await else {
            return;
        };
        match listener.accept().await {
            Ok((stream, _)) => {
                let pages = Arc::clone(&pages);
                tokio::spawn(async move {
                    // Whoever asks too slowly, or hangs up, gets no answer.
                    let _ = tokio::time::timeout(PATIENCE, answer(stream, &*pages)).await;
                    drop(place);
                });
            }
            // Out of descriptors.
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

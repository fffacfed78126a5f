//! The HTTP/2 connection to a server: one at a time, replaced when the server says goodbye, and before it
//! has been reset so often that the server would defend itself.

use super::error::{WayError, is_accusation};
use hyper::client::conn::http2::SendRequest;
use std::future::Future;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use tokio::sync::watch;

/// A connection, and how many of its streams were reset.
pub(super) struct Connection<B> {
    pub sender: SendRequest<B>,
    resets: Arc<AtomicU32>,
}

impl<B> Clone for Connection<B> {
    fn clone(&self) -> Self {
        Self {
            sender: self.sender.clone(),
            resets: Arc::clone(&self.resets),
        }
    }
}

impl<B> Connection<B> {
    pub fn new(sender: SendRequest<B>) -> Self {
        let resets = Arc::default();
        Self { sender, resets }
    }

    /// A request on it.
    pub fn begin(&self) -> Stream {
        Stream(Some(Arc::clone(&self.resets)))
    }
}

/// A request on a connection. Dropping it before its end resets it.
pub(super) struct Stream(Option<Arc<AtomicU32>>);

impl Stream {
    /// It ended by itself.
    pub fn end(mut self) {
        self.0 = None;
    }
}

impl Drop for Stream {
    fn drop(&mut self) {
        if let Some(resets) = &self.0 {
            resets.fetch_add(1, Ordering::Relaxed);
        }
    }
}

/// A try to connect: `None` while it goes on.
type Attempt<B> = watch::Receiver<Option<Result<Connection<B>, WayError>>>;

/// What became of the connections of a way.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub struct ConnectionCounts {
    /// Connections that were begun.
    pub opened: u64,
    /// HTTP/1.1: losers whose connection was kept, since their answers came at once.
    pub kept: u64,
    /// How often the server was seen to end one with an error code in GOAWAY, as servers do that count
    /// too many resets.
    pub accused: u64,
}

/// The connection that requests take now.
pub(super) struct Current<B> {
    attempt: Mutex<Option<Attempt<B>>>,
    opened: AtomicU64,
    accused: AtomicU64,
    /// Resets after which another connection takes its place.
    most_resets: u32,
}

impl<B: Send + Sync + 'static> Current<B> {
    pub fn new(most_resets: u32) -> Arc<Self> {
        let attempt = Mutex::new(None);
        Arc::new(Self {
            attempt,
            opened: AtomicU64::new(0),
            accused: AtomicU64::new(0),
            most_resets,
        })
    }

    pub fn counts(&self) -> ConnectionCounts {
        ConnectionCounts {
            opened: self.opened.load(Ordering::Relaxed),
            kept: 0,
            accused: self.accused.load(Ordering::Relaxed),
        }
    }

    /// A request, or its connection, ended so.
    pub fn on_error(&self, error: &hyper::Error) {
        if is_accusation(error) {
            self.accused.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// An open connection. One that is needed is opened by a task of its own, so that a request that is
    /// purged meanwhile does not take the connection from those that wait for it, too.
    pub async fn get<F>(&self, open: impl FnOnce() -> F) -> Result<Connection<B>, WayError>
    where
        F: Future<Output = Result<Connection<B>, WayError>> + Send + 'static,
    {
        let mut attempt = match self.now(open) {
            Now::Open(connection) => return Ok(connection),
            Now::Opening(attempt) => attempt,
        };
        let outcome = attempt.wait_for(Option::is_some).await;
        match outcome.as_deref() {
            Ok(Some(outcome)) => outcome.clone(),
            // The task was ended with its runtime.
            _ => Err(WayError::Connect(Arc::new(std::io::Error::from(
                std::io::ErrorKind::Interrupted,
            )))),
        }
    }

    fn now<F>(&self, open: impl FnOnce() -> F) -> Now<B>
    where
        F: Future<Output = Result<Connection<B>, WayError>> + Send + 'static,
    {
        let mut current = self.attempt.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(attempt) = &*current {
            match &*attempt.borrow() {
                None if attempt.has_changed().is_ok() => return Now::Opening(attempt.clone()),
                Some(Ok(connection))
                    if !connection.sender.is_closed()
                        && connection.resets.load(Ordering::Relaxed) < self.most_resets =>
                {
                    return Now::Open(connection.clone());
                }
                _ => {}
            }
        }
        self.opened.fetch_add(1, Ordering::Relaxed);
        let (tell, attempt) = watch::channel(None);
        let opening = open();
        tokio::spawn(async move {
            let outcome = opening.await;
            // Whoever waited may have left.
            tell.send_replace(Some(outcome));
        });
        *current = Some(attempt.clone());
        Now::Opening(attempt)
    }
}

/// What there is for a request.
enum Now<B> {
    Open(Connection<B>),
    Opening(Attempt<B>),
}

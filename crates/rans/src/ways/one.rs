//! HTTP/1.1 connections to a server: one for each request that is on its way; those that have none wait
//! for the next.
//!
//! HTTP/1.1 does not number its answers. A server that answers twice would answer the next request with its second
//! answer. So a connection is used again only where nothing has come on it since ([`Wire`](super::wire::Wire)). A loser's
//! connection is kept where its answer is small and almost there.

use super::config::WayConfig;
use super::two::ConnectionCounts;
use super::wire::{Watch, is_quiet};
use http::{Request, Response};
use http_body::Body;
use http_body_util::BodyExt;
use hyper::body::Incoming;
use hyper::client::conn::TrySendError;
use hyper::client::conn::http1::SendRequest;
use std::collections::VecDeque;
use std::future::Future;
use std::pin::Pin;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};
use tokio::runtime::Handle;
use tokio::time::{Instant, timeout};

/// Bytes of a loser's answer that are read to keep its connection, at most.
const MOST_LINGERING: u64 = 16 << 10;

struct Waiting<B> {
    sender: SendRequest<B>,
    watch: Watch,
    since: Instant,
}

/// Connections that wait for a request.
pub(super) struct Idle<B> {
    /// The longest idle first.
    waiting: Mutex<VecDeque<Waiting<B>>>,
    config: WayConfig,
    pub opened: AtomicU64,
    /// Losers whose connection was kept.
    kept: AtomicU64,
}

impl<B> Idle<B> {
    pub fn new(config: WayConfig) -> Arc<Self> {
        Arc::new(Self {
            waiting: Mutex::default(),
            config,
            opened: AtomicU64::new(0),
            kept: AtomicU64::new(0),
        })
    }

    pub fn counts(&self) -> ConnectionCounts {
        ConnectionCounts {
            opened: self.opened.load(Ordering::Relaxed),
            kept: self.kept.load(Ordering::Relaxed),
            accused: 0,
        }
    }

    fn lock(&self) -> MutexGuard<'_, VecDeque<Waiting<B>>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn pop(&self) -> Option<Waiting<B>> {
        self.lock().pop_back()
    }

    /// The one that was used last, if one is open and quiet.
    pub async fn take(self: &Arc<Self>) -> Option<Borrowed<B>> {
        loop {
            let mut waiting = self.pop()?;
            // It is ready at once, or in the moment in which the last answer's end is noted.
            if waiting.since.elapsed() < self.config.idle_time
                && waiting.sender.ready().await.is_ok()
                && is_quiet(&waiting.watch)
            {
                return Some(self.lend(waiting.sender, waiting.watch));
            }
        }
    }

    pub fn lend(self: &Arc<Self>, sender: SendRequest<B>, watch: Watch) -> Borrowed<B> {
        let home = Arc::clone(self);
        Borrowed {
            sender,
            watch,
            home,
        }
    }
}

/// A connection that a request has. Dropping it closes the connection.
pub(super) struct Borrowed<B> {
    sender: SendRequest<B>,
    watch: Watch,
    home: Arc<Idle<B>>,
}

impl<B> Borrowed<B> {
    /// The answer was taken whole.
    pub fn give_back(self) {
        let now = Instant::now();
        let mut waiting = self.home.lock();
        while let Some(first) = waiting.front()
            && (first.sender.is_closed() || now - first.since >= self.home.config.idle_time)
        {
            waiting.pop_front();
        }
        if waiting.len() < self.home.config.idle && !self.sender.is_closed() {
            waiting.push_back(Waiting {
                sender: self.sender,
                watch: self.watch,
                since: now,
            });
        }
    }
}

impl<B: Send + 'static> Borrowed<B> {
    /// Nobody waits for the answer any more. Where it comes within a short time and is small, the connection is kept.
    /// Else it is closed, so that the server stops.
    pub fn linger(self, answering: impl Future<Output = Option<Incoming>> + Send + 'static) {
        let time = self.home.config.linger;
        if time.is_zero() || self.sender.is_closed() {
            return;
        }
        // Without a runtime nothing can wait.
        let Ok(runtime) = Handle::try_current() else {
            return;
        };
        runtime.spawn(async move {
            let ending = async { read_small(answering.await?).await };
            if let Ok(Some(())) = timeout(time, ending).await {
                self.home.kept.fetch_add(1, Ordering::Relaxed);
                self.give_back();
            }
        });
    }
}

/// Reads a body to its end. `None`: it has too many bytes, or fails.
async fn read_small(mut body: Incoming) -> Option<()> {
    let mut left = MOST_LINGERING;
    if body.size_hint().upper().is_some_and(|most| most > left) {
        return None;
    }
    while let Some(frame) = body.frame().await {
        let bytes = frame.ok()?.data_ref().map_or(0, |data| data.len() as u64);
        left = left.checked_sub(bytes)?;
    }
    Some(())
}

impl<B: Body + Send + 'static> Borrowed<B> {
    /// Sends a request on it.
    pub fn send(mut self, request: Request<B>) -> Asked<B> {
        let answering = Box::pin(self.sender.try_send_request(request));
        Asked(Some((answering, self)))
    }
}

type Answering<B> =
    Pin<Box<dyn Future<Output = Result<Response<Incoming>, TrySendError<Request<B>>>> + Send>>;

/// A request on a connection. Where it is dropped before its answer came, the answer has a short time to come; then
/// the connection is closed.
pub(super) struct Asked<B: Body + Send + 'static>(Option<(Answering<B>, Borrowed<B>)>);

impl<B: Body + Send + 'static> Future for Asked<B> {
    type Output = (
        Result<Response<Incoming>, TrySendError<Request<B>>>,
        Borrowed<B>,
    );

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let (answering, _) = self.0.as_mut().expect("it has not answered");
        let answer = std::task::ready!(answering.as_mut().poll(cx));
        let (_, borrowed) = self.0.take().expect("it was there");
        Poll::Ready((answer, borrowed))
    }
}

impl<B: Body + Send + 'static> Drop for Asked<B> {
    fn drop(&mut self) {
        if let Some((answering, borrowed)) = self.0.take() {
            borrowed.linger(async move { answering.await.ok().map(Response::into_body) });
        }
    }
}

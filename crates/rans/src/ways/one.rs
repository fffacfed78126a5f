//! HTTP/1.1 connections to a server: one for each request that is on its way; those that have none wait
//! for the next.

use hyper::client::conn::http1::SendRequest;
use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::time::Instant;

/// Connections that wait for a request.
pub(super) struct Idle<B> {
    /// The longest idle first.
    waiting: Mutex<VecDeque<(SendRequest<B>, Instant)>>,
    most: usize,
    time: Duration,
}

impl<B> Idle<B> {
    pub fn new(most: usize, time: Duration) -> Arc<Self> {
        let waiting = Mutex::default();
        Arc::new(Self {
            waiting,
            most,
            time,
        })
    }

    fn lock(&self) -> MutexGuard<'_, VecDeque<(SendRequest<B>, Instant)>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The one that was used last, if one is open.
    pub async fn take(self: &Arc<Self>) -> Option<Borrowed<B>> {
        if !self.lock().is_empty() {
            // Lets idle connections find out that they were closed, or that bytes came which nobody asked for.
            tokio::task::yield_now().await;
        }
        loop {
            let (mut sender, since) = self.lock().pop_back()?;
            // It is ready at once, or in the moment in which the last answer's end is noted.
            if since.elapsed() < self.time && sender.ready().await.is_ok() {
                return Some(self.lend(sender));
            }
        }
    }

    pub fn lend(self: &Arc<Self>, sender: SendRequest<B>) -> Borrowed<B> {
        let home = Arc::clone(self);
        Borrowed { sender, home }
    }
}

/// A connection that a request has. Dropping it closes the connection.
pub(super) struct Borrowed<B> {
    pub sender: SendRequest<B>,
    home: Arc<Idle<B>>,
}

impl<B> Borrowed<B> {
    /// The answer was taken whole.
    pub fn give_back(self) {
        let now = Instant::now();
        let mut waiting = self.home.lock();
        while let Some((sender, since)) = waiting.front()
            && (sender.is_closed() || now - *since >= self.home.time)
        {
            waiting.pop_front();
        }
        if waiting.len() < self.home.most && !self.sender.is_closed() {
            waiting.push_back((self.sender, now));
        }
    }
}

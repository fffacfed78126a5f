//! Legs that no flow needs any more: of ended flows, with all bytes in the kernel, and losers that
//! the peer ends. Each may finish by itself, and what still comes is discarded: closing at once,
//! with unread bytes, would send a reset and could destroy bytes on their way. One whose path
//! stands still would never finish, so there is a limit to their time and to their number.

use crate::counters::Counters;
use crate::line::{Connecting, reset};
use std::collections::VecDeque;
use std::future::Future;
use std::mem::MaybeUninit;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, ready};
use std::time::Duration;
use tokio::io::{AsyncRead, ReadBuf};
use tokio::net::TcpStream;
use tokio::runtime::Handle;
use tokio::task::AbortHandle;

/// How long a leg may take.
const LINGER: Duration = Duration::from_secs(5);
/// How many may linger; beyond it the oldest one is closed.
const MOST: usize = 128;

/// The lingering legs of a connector or a listener.
#[derive(Clone, Debug)]
pub(crate) struct Lingering {
    tasks: Arc<Mutex<VecDeque<AbortHandle>>>,
    counters: Counters,
}

impl Lingering {
    pub fn new(counters: Counters) -> Self {
        Self {
            tasks: Arc::default(),
            counters,
        }
    }

    /// Lets an attempt to connect come to its end, and resets what comes of it: a server that
    /// knows flows by their addresses waits for this leg, or remembers that it may come.
    pub fn give_up(&self, on: &Handle, attempt: Connecting) {
        self.spawn(on, async move {
            if let Ok(leg) = attempt.await {
                reset(leg);
            }
        });
    }

    /// Lets a leg end by itself. `is_finished`: it was given the end of our direction; any other
    /// one is reset, so that the peer does not take its end for the flow's.
    pub fn add(&self, on: &Handle, leg: TcpStream, is_finished: bool) {
        if !is_finished {
            // A failure means that the connection is gone already.
            let _ = leg.set_zero_linger();
        }
        self.spawn(on, async move {
            let mut leg = leg;
            std::future::poll_fn(|cx| discard(&mut leg, cx)).await;
        });
    }

    /// On the flow's runtime: whoever drops a flow may be outside of it.
    fn spawn(&self, on: &Handle, ends: impl Future<Output = ()> + Send + 'static) {
        let held = Held::new(self.counters.clone());
        let task = on.spawn(async move {
            // One that is not done by then is dropped.
            let _ = tokio::time::timeout(LINGER, ends).await;
            drop(held);
        });
        let mut tasks = self.tasks.lock().unwrap_or_else(PoisonError::into_inner);
        while tasks.front().is_some_and(AbortHandle::is_finished) {
            tasks.pop_front();
        }
        tasks.push_back(task.abort_handle());
        if tasks.len() > MOST {
            tasks.retain(|task| !task.is_finished());
        }
        while tasks.len() > MOST {
            if let Some(oldest) = tasks.pop_front() {
                oldest.abort();
            }
        }
    }
}

/// Reads until the end of the stream, or an error.
pub(crate) fn discard(leg: &mut TcpStream, cx: &mut Context<'_>) -> Poll<()> {
    loop {
        let mut scrap = [const { MaybeUninit::uninit() }; 4_096];
        let mut scrap = ReadBuf::uninit(&mut scrap);
        let read = ready!(Pin::new(&mut *leg).poll_read(cx, &mut scrap));
        if read.is_err() || scrap.filled().is_empty() {
            return Poll::Ready(());
        }
    }
}

/// Counts a leg while it lingers.
struct Held(Counters);

impl Held {
    fn new(counters: Counters) -> Self {
        counters.0.lingering.up();
        Self(counters)
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        self.0.0.lingering.down();
    }
}

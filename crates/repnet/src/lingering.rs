//! Connections that no flow needs any more. Some belong to ended flows, and all their bytes are in the kernel.
//! Other connections lost a race, and the peer closes them.
//! Each connection may finish by itself, and its further bytes are discarded.
//! An immediate close with unread bytes would send a reset, and could destroy bytes in flight.
//! A connection on a stalled path would never finish. The time and the number of such connections are limited.

use crate::connection::{Connecting, reset};
use crate::counters::Counters;
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

/// Longest time that a connection lingers.
const LINGER: Duration = Duration::from_secs(5);
/// Largest number of lingering connections. If there are more, the oldest one is closed.
const MOST: usize = 128;

/// Lingering connections of a connector or a listener.
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

    /// Waits until the connection is established, and then resets it.
    /// A server that identifies flows by their addresses may still wait for this connection.
    pub fn give_up(&self, on: &Handle, attempt: Connecting) {
        self.spawn(on, async move {
            if let Ok(leg) = attempt.await {
                reset(leg);
            }
        });
    }

    /// Lets a connection end by itself. `is_finished` means that its FIN was sent.
    /// Any other connection ends with a reset, because the peer would take a FIN for the end of the flow.
    pub fn add(&self, on: &Handle, leg: TcpStream, is_finished: bool) {
        if !is_finished {
            // The call fails only if the connection has ended already.
            let _ = leg.set_zero_linger();
        }
        self.spawn(on, async move {
            let mut leg = leg;
            std::future::poll_fn(|cx| discard(&mut leg, cx)).await;
        });
    }

    /// Starts a task on the flow's runtime, because a flow may be dropped outside a runtime.
    fn spawn(&self, on: &Handle, ends: impl Future<Output = ()> + Send + 'static) {
        let count = LingerCount::new(self.counters.clone());
        let task = on.spawn(async move {
            // A connection that has not ended after `LINGER` is dropped.
            let _ = tokio::time::timeout(LINGER, ends).await;
            drop(count);
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

/// Reads and discards bytes until the end of the stream or an error.
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

/// Counts a connection while it lingers.
struct LingerCount(Counters);

impl LingerCount {
    fn new(counters: Counters) -> Self {
        counters.0.lingering.up();
        Self(counters)
    }
}

impl Drop for LingerCount {
    fn drop(&mut self) {
        self.0.0.lingering.down();
    }
}

//! Events that the thread of a transfer waits for: objects that arrive, objects that are sent,
//! other threads, the user, and time. Each event wakes the thread, which then checks all of them.

use super::error::Error;
use super::message::Message;
use crate::driver::{Endpoint, Failure, Sending, Sent};
use std::future::Future;
use std::net::SocketAddr;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, Wake, Waker};
use std::thread::{self, Thread};
use std::time::{Duration, Instant};

/// Silence after which an end that waits for nothing else sends a ping.
const SILENCE: Duration = Duration::from_secs(2);
/// Time to deliver the last messages. After that time an end leaves anyway.
pub(super) const FAREWELL: Duration = Duration::from_secs(2);
/// Interval at which a thread checks whether it must stop.
const TICK: Duration = Duration::from_millis(100);

struct Unpark(Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

/// Endpoint with the messages of one transfer, for the thread that runs the transfer.
pub(super) struct Line<'a> {
    endpoint: &'a Endpoint,
    stop: &'a AtomicBool,
    waker: Waker,
    /// Messages that are being sent, with their receivers.
    messages: Vec<(SocketAddr, Sending)>,
}

impl<'a> Line<'a> {
    /// Creates a line for the calling thread.
    pub(super) fn new(endpoint: &'a Endpoint, stop: &'a AtomicBool) -> Self {
        Self {
            endpoint,
            stop,
            waker: Waker::from(Arc::new(Unpark(thread::current()))),
            messages: Vec::new(),
        }
    }

    pub(super) fn endpoint(&self) -> &'a Endpoint {
        self.endpoint
    }

    /// Returns an error if the user has interrupted the transfer.
    pub(super) fn check(&self) -> Result<(), Error> {
        match self.stop.load(Ordering::Relaxed) {
            true => Err(Error::Interrupted),
            false => Ok(()),
        }
    }

    /// Sends a message to an end with the session number `number`.
    pub(super) fn say(&mut self, to: SocketAddr, number: u64, message: &Message) {
        let sending = self.endpoint.send(to, message.encode(number));
        self.messages.push((to, sending));
    }

    /// Returns whether a message to this end is being sent. Its result will show whether the end is
    /// still there.
    pub(super) fn is_asking(&self, peer: SocketAddr) -> bool {
        self.messages.iter().any(|(to, _)| *to == peer)
    }

    /// Returns the messages that could not be delivered.
    pub(super) fn lost(&mut self) -> Vec<(SocketAddr, Failure)> {
        let mut lost = Vec::new();
        let waker = &self.waker;
        self.messages.retain_mut(|(to, sending)| {
            match Pin::new(sending).poll(&mut Context::from_waker(waker)) {
                Poll::Pending => true,
                Poll::Ready(Ok(_)) => false,
                Poll::Ready(Err(failure)) => {
                    lost.push((*to, failure));
                    false
                }
            }
        });
        lost
    }

    /// Returns the next message that has arrived, if there is one. Other objects are dropped.
    pub(super) fn next(&self) -> Result<Option<(SocketAddr, u64, Message)>, Error> {
        loop {
            let arrival = pin!(self.endpoint.arrival());
            let received = match arrival.poll(&mut Context::from_waker(&self.waker)) {
                Poll::Pending => return Ok(None),
                Poll::Ready(None) => return Err(Error::Closed),
                Poll::Ready(Some(received)) => received,
            };
            let from = received.from;
            if let Ok((to, message)) = Message::decode(received.into_bytes()) {
                return Ok(Some((from, to, message)));
            }
        }
    }

    /// Returns the result of sending an object, or `None` if it is not known yet.
    pub(super) fn fate(&self, sending: &mut Sending) -> Option<Result<Sent, Failure>> {
        match Pin::new(sending).poll(&mut Context::from_waker(&self.waker)) {
            Poll::Ready(result) => Some(result),
            Poll::Pending => None,
        }
    }

    /// Sleeps until an event occurs, at most for one tick.
    pub(super) fn sleep(&self) {
        thread::park_timeout(TICK);
    }

    /// Waits a limited time until all messages are delivered.
    pub(super) fn farewell(&mut self) {
        self.farewell_to(|_| FAREWELL);
    }

    /// Same as [`Self::farewell`], with a time limit for each end.
    pub(super) fn farewell_to(&mut self, patience: impl Fn(SocketAddr) -> Duration) {
        let begun = Instant::now();
        loop {
            let _ = self.lost();
            let open = |(to, _): &(SocketAddr, Sending)| begun.elapsed() < patience(*to);
            if !self.messages.iter().any(open) {
                return;
            }
            thread::park_timeout(TICK / 4);
        }
    }
}

/// Time of the last message from another end.
#[derive(Clone, Copy, Debug)]
pub(super) struct Heard(Instant);

impl Heard {
    pub(super) fn now() -> Self {
        Self(Instant::now())
    }

    /// Returns whether a ping is due.
    pub(super) fn is_silent(&self) -> bool {
        self.is_older_than(SILENCE)
    }

    pub(super) fn is_older_than(&self, time: Duration) -> bool {
        self.0.elapsed() >= time
    }
}

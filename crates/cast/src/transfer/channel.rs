//! Events that the thread of a transfer waits for: arrivals of objects, ends of sent objects, results of
//! other threads, interruptions by the user, and time limits. After each event the thread wakes up and
//! checks all of them.

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

/// Time without a message from the other end after which this end sends a ping. With a shorter time, idle
/// ends send more pings. With a longer time, an end notices a crash later.
const SILENCE: Duration = Duration::from_secs(2);
/// Time limit for the delivery of the last messages. After this time an end leaves anyway. With a longer
/// time, an end that has crashed delays the exit of the other end.
pub(super) const FAREWELL: Duration = Duration::from_secs(2);
/// Interval at which a thread checks whether it must stop. No event reports that the user has set `stop`,
/// so the thread reads it at this interval.
const TICK: Duration = Duration::from_millis(100);

/// Waker that unparks a thread.
struct Unpark(Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

/// Channel for the messages of a transfer. The thread that runs the transfer uses it.
pub(super) struct Channel<'a> {
    endpoint: &'a Endpoint,
    stop: &'a AtomicBool,
    waker: Waker,
    /// Messages that are being sent, with their receivers.
    messages: Vec<(SocketAddr, Sending)>,
}

impl<'a> Channel<'a> {
    /// Creates a channel for the calling thread.
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
    pub(super) fn send(&mut self, to: SocketAddr, number: u64, message: &Message) {
        let sending = self.endpoint.send(to, message.encode(number));
        self.messages.push((to, sending));
    }

    /// Returns whether a message to this end is being sent. The result of the message will show whether
    /// the end is reachable.
    pub(super) fn is_sending_to(&self, peer: SocketAddr) -> bool {
        self.messages.iter().any(|(to, _)| *to == peer)
    }

    /// Returns the messages that could not be delivered.
    pub(super) fn lost(&mut self) -> Vec<(SocketAddr, Failure)> {
        let mut lost = Vec::new();
        let waker = &self.waker;
        // The poll also registers the waker, so that the thread wakes up when a message ends.
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

    /// Returns the next message that has arrived, or `None`. Objects that are not messages are dropped.
    pub(super) fn next(&self) -> Result<Option<(SocketAddr, u64, Message)>, Error> {
        loop {
            let arrival = pin!(self.endpoint.arrival());
            let received = match arrival.poll(&mut Context::from_waker(&self.waker)) {
                Poll::Pending => return Ok(None),
                Poll::Ready(None) => return Err(Error::Closed),
                Poll::Ready(Some(received)) => received,
            };
            let from = received.from;
            // Any host can send an object that is no message, and that must not end the transfer.
            if let Ok((to, message)) = Message::decode(received.into_bytes()) {
                return Ok(Some((from, to, message)));
            }
        }
    }

    /// Returns the result of sending an object, or `None` if it is not known yet.
    pub(super) fn result_of(&self, sending: &mut Sending) -> Option<Result<Sent, Failure>> {
        match Pin::new(sending).poll(&mut Context::from_waker(&self.waker)) {
            Poll::Ready(result) => Some(result),
            Poll::Pending => None,
        }
    }

    /// Waits until an event occurs, but at most for one tick.
    pub(super) fn sleep(&self) {
        thread::park_timeout(TICK);
    }

    /// Waits a limited time until all messages are delivered.
    pub(super) fn farewell(&mut self) {
        self.farewell_to(|_| FAREWELL);
    }

    /// Does the same as [`Self::farewell`], with a time limit for each end.
    pub(super) fn farewell_to(&mut self, patience: impl Fn(SocketAddr) -> Duration) {
        let begun = Instant::now();
        loop {
            // `lost` removes the delivered messages. Losses do not matter any more.
            let _ = self.lost();
            let open = |(to, _): &(SocketAddr, Sending)| begun.elapsed() < patience(*to);
            if !self.messages.iter().any(open) {
                return;
            }
            // The result of a message wakes the thread. Only the time limits need the interval.
            thread::park_timeout(TICK / 4);
        }
    }
}

/// Time of the last message from another end.
#[derive(Clone, Copy, Debug)]
pub(super) struct LastHeard(Instant);

impl LastHeard {
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

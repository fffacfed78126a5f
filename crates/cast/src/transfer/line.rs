//! What a thread of a transfer waits for: objects that arrive, objects on their way, other threads,
//! the user, and time. It is woken by all of them, and looks at everything then.

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

/// How long an end that has nothing to wait for is silent before the other one asks whether it is there.
const SILENCE: Duration = Duration::from_secs(2);
/// How long a last message may take, before an end leaves anyway.
pub(super) const FAREWELL: Duration = Duration::from_secs(2);
/// How often a thread looks whether it is to stop, and tells how far it is.
const TICK: Duration = Duration::from_millis(100);

struct Unpark(Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

/// An endpoint, as the thread that runs a transfer sees it.
pub(super) struct Line<'a> {
    endpoint: &'a Endpoint,
    stop: &'a AtomicBool,
    waker: Waker,
    /// Messages on their way, with their receivers.
    messages: Vec<(SocketAddr, Sending)>,
}

impl<'a> Line<'a> {
    /// For the thread that calls this.
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

    /// Whether the user wants it to stop.
    pub(super) fn check(&self) -> Result<(), Error> {
        match self.stop.load(Ordering::Relaxed) {
            true => Err(Error::Interrupted),
            false => Ok(()),
        }
    }

    /// Sends a message to an end that has drawn `number`.
    pub(super) fn say(&mut self, to: SocketAddr, number: u64, message: &Message) {
        let sending = self.endpoint.send(to, message.encode(number));
        self.messages.push((to, sending));
    }

    /// Whether a message to this end is on its way: its fate tells whether the end is there.
    pub(super) fn is_asking(&self, peer: SocketAddr) -> bool {
        self.messages.iter().any(|(to, _)| *to == peer)
    }

    /// Messages that did not get through.
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

    /// The next message that has arrived, if there is one. What is no message is dropped.
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

    /// What has become of an object, once that is known.
    pub(super) fn fate(&self, sending: &mut Sending) -> Option<Result<Sent, Failure>> {
        match Pin::new(sending).poll(&mut Context::from_waker(&self.waker)) {
            Poll::Ready(result) => Some(result),
            Poll::Pending => None,
        }
    }

    /// Sleeps until something happens, or for a tick.
    pub(super) fn sleep(&self) {
        thread::park_timeout(TICK);
    }

    /// Gives messages some time to get through.
    pub(super) fn farewell(&mut self) {
        self.farewell_to(|_| FAREWELL);
    }

    /// The same, with a time for each end.
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

/// When something was heard of another end.
#[derive(Clone, Copy, Debug)]
pub(super) struct Heard(Instant);

impl Heard {
    pub(super) fn now() -> Self {
        Self(Instant::now())
    }

    /// Whether it is time to ask whether the end is there.
    pub(super) fn is_silent(&self) -> bool {
        self.is_older_than(SILENCE)
    }

    pub(super) fn is_older_than(&self, time: Duration) -> bool {
        self.0.elapsed() >= time
    }
}

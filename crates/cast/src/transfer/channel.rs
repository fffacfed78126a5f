//! Events for the thread of a transfer. After each event, the thread wakes up and checks for all kinds of events.
//! Events are arrived objects, finished sends, results of other threads, interruptions by the user, and time limits.

use super::error::Error;
use super::message::{Footer, Message};
use crate::driver::{Endpoint, Failure, Route, Sending, Sent};
use std::future::Future;
use std::net::SocketAddr;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, Wake, Waker};
use std::thread::{self, Thread};
use std::time::{Duration, Instant};

/// Time without a message from the other end, after which this end sends a ping.
/// With a shorter time, idle ends send more pings. With a longer time, an end detects the crash of the other end later.
const SILENCE: Duration = Duration::from_secs(2);
/// Time limit for the delivery of the last messages. After this time, an end exits without their delivery.
/// With a longer time, an end that has crashed would delay the exit of the other end.
pub(super) const FAREWELL: Duration = Duration::from_secs(2);
/// Interval at which a thread tests whether the user has set `stop`. No event reports this.
const TICK: Duration = Duration::from_millis(100);

/// Number of unfinished outgoing messages at which this end stops answering messages of unknown sessions.
/// Any host can send such messages, also with a forged address.
/// So the memory and the bytes for the answers have a limit.
/// A message that is not confirmed ends after about 10 seconds.
const MOST_ANSWERS: usize = 64;

/// Message that has arrived.
#[derive(Debug)]
pub(super) struct Post {
    /// Address of the other end, and the address of this end that it uses.
    pub(super) from: Route,
    /// Session number in the footer.
    pub(super) to: u64,
    /// Number of the other end's process.
    pub(super) process: u64,
    pub(super) message: Message,
}

/// Waker of a task that unparks a thread.
struct Unpark(Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

/// Channel for the messages of a transfer. Only the thread of the transfer uses it.
pub(super) struct Channel<'a> {
    endpoint: &'a Endpoint,
    stop: &'a AtomicBool,
    waker: Waker,
    messages: Vec<Outgoing>,
}

/// Message that is being sent.
struct Outgoing {
    to: SocketAddr,
    /// Bytes of the message. If the address of the other end changes, they are sent again.
    bytes: Arc<[u8]>,
    sending: Sending,
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

    /// Returns an error if the user has interrupted the transfer. Otherwise returns `Ok`.
    pub(super) fn check(&self) -> Result<(), Error> {
        match self.stop.load(Ordering::Relaxed) {
            true => Err(Error::Interrupted),
            false => Ok(()),
        }
    }

    /// Returns the footer of a message to the end with the session number `number`.
    pub(super) fn footer(&self, number: u64) -> Footer {
        Footer {
            to: number,
            process: self.endpoint.process(),
        }
    }

    /// Sends a message to the end with the session number `number`.
    pub(super) fn send(&mut self, to: impl Into<Route>, number: u64, message: &Message) {
        let (to, bytes) = (to.into(), self.encode(number, message));
        let sending = self.endpoint.send(to, Arc::clone(&bytes));
        let to = to.to;
        self.messages.push(Outgoing { to, bytes, sending });
    }

    /// Sends a message like [`Self::send`], and returns the transfer of the message.
    /// [`Self::lost`] does not report its failure.
    pub(super) fn post(&self, to: Route, number: u64, message: &Message) -> Sending {
        self.endpoint.send(to, self.encode(number, message))
    }

    fn encode(&self, number: u64, message: &Message) -> Arc<[u8]> {
        message.encode(self.footer(number)).into()
    }

    /// Sends all unfinished messages to the address `old` again to another address.
    pub(super) fn redirect(&mut self, old: SocketAddr, new: Route) {
        for message in self.messages.iter_mut().filter(|one| one.to == old) {
            message.sending.cancel();
            message.sending = self.endpoint.send(new, Arc::clone(&message.bytes));
            message.to = new.to;
        }
    }

    /// Returns whether [`MOST_ANSWERS`] messages are not confirmed. Unknown hosts then get no answer.
    pub(super) fn is_crowded(&self) -> bool {
        self.messages.len() >= MOST_ANSWERS
    }

    /// Sends the first message to an end that has not answered yet.
    /// If an ICMP message reports that the end cannot be reached, the message fails immediately.
    pub(super) fn greet(&mut self, to: SocketAddr, message: &Message) {
        let bytes = self.encode(0, message);
        let sending = self.endpoint.greet(to, Arc::clone(&bytes));
        self.messages.push(Outgoing { to, bytes, sending });
    }

    /// Answers a message whose session this end does not know. So the other end need not wait.
    /// Either the process of this end has restarted, or the transfer has ended here.
    pub(super) fn deny(&mut self, post: &Post) {
        // An answer to an answer could go on forever. With the number 0, the message belongs to no session.
        if post.to == 0 || matches!(post.message, Message::Unknown(_)) {
            return;
        }
        // If the other end gets no answer, it sends a ping later.
        if !self.is_crowded() && !self.is_sending_to(post.from.to) {
            self.send(post.from, 0, &Message::Unknown(post.to));
        }
    }

    /// Returns whether a message to this end is being sent.
    /// The result of the message will show whether the end can be reached.
    pub(super) fn is_sending_to(&self, peer: SocketAddr) -> bool {
        self.messages.iter().any(|one| one.to == peer)
    }

    /// Returns the failed messages: the address of the other end and the reason. Forgets all messages that have ended.
    pub(super) fn lost(&mut self) -> Vec<(SocketAddr, Failure)> {
        let mut lost = Vec::new();
        let waker = &self.waker;
        // The poll also registers the waker. So the thread wakes up when a message has ended.
        self.messages.retain_mut(|one| {
            match Pin::new(&mut one.sending).poll(&mut Context::from_waker(waker)) {
                Poll::Pending => true,
                Poll::Ready(Ok(_)) => false,
                Poll::Ready(Err(failure)) => {
                    lost.push((one.to, failure));
                    false
                }
            }
        });
        lost
    }

    /// Returns the next message that has arrived, or `None` if there is none.
    /// Objects that are not messages are dropped.
    pub(super) fn next(&self) -> Result<Option<Post>, Error> {
        loop {
            let arrival = pin!(self.endpoint.arrival());
            let received = match arrival.poll(&mut Context::from_waker(&self.waker)) {
                Poll::Pending => return Ok(None),
                Poll::Ready(None) => return Err(Error::Closed),
                Poll::Ready(Some(received)) => received,
            };
            let from = received.route();
            // Any host can send an object that is not a message. Such an object must not end the transfer.
            if let Ok((footer, message)) = Message::decode(received.into_bytes()) {
                return Ok(Some(Post {
                    from,
                    to: footer.to,
                    process: footer.process,
                    message,
                }));
            }
        }
    }

    /// Returns the result of sending an object. Returns `None` if the transfer of the object has not ended.
    pub(super) fn result_of(&self, sending: &mut Sending) -> Option<Result<Sent, Failure>> {
        match Pin::new(sending).poll(&mut Context::from_waker(&self.waker)) {
            Poll::Ready(result) => Some(result),
            Poll::Pending => None,
        }
    }

    /// Waits until an event occurs, at most for [`TICK`].
    pub(super) fn sleep(&self) {
        thread::park_timeout(TICK);
    }

    /// Waits until all messages are delivered, at most for [`FAREWELL`].
    pub(super) fn farewell(&mut self) {
        self.farewell_to(|_| FAREWELL);
    }

    /// Waits until all messages are delivered. `patience` returns the time limit for each end.
    pub(super) fn farewell_to(&mut self, patience: impl Fn(SocketAddr) -> Duration) {
        let begun = Instant::now();
        loop {
            // `lost` removes the messages that have ended. Their failures are not important any more.
            let _ = self.lost();
            let open = |one: &Outgoing| begun.elapsed() < patience(one.to);
            if !self.messages.iter().any(open) {
                return;
            }
            // When a message ends, the thread wakes up. The interval is needed only for the time limits.
            thread::park_timeout(TICK / 4);
        }
    }
}

/// Time at which the last message from another end arrived.
#[derive(Clone, Copy, Debug)]
pub(super) struct LastHeard(Instant);

impl LastHeard {
    pub(super) fn now() -> Self {
        Self(Instant::now())
    }

    /// Returns whether the end has been silent so long that a ping is due.
    pub(super) fn is_silent(&self) -> bool {
        self.is_older_than(SILENCE)
    }

    pub(super) fn is_older_than(&self, time: Duration) -> bool {
        self.0.elapsed() >= time
    }
}

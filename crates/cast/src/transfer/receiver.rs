//! Receiver of transfers that senders offer. It runs one transfer at a time.

use super::channel::Channel;
use super::error::Error;
use super::fetch::{Fetch, Post, Taken};
use super::holder::Holder;
use super::message::{Code, Message, Offer};
use super::progress::Event;
use crate::driver::{Endpoint, new_session};
use crate::files::Sink;
use std::collections::VecDeque;
use std::net::SocketAddr;
use std::sync::atomic::AtomicBool;

/// Largest number of offers that wait. Further offers are refused. Any host can send offers, so the memory for them has
/// a limit.
const MOST_WAITING: usize = 16;

/// Transfer that a sender has offered.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Offered {
    /// Address of the sender.
    pub from: SocketAddr,
    /// Offer of the sender. It contains session numbers and the layout of the slabs.
    pub offer: Offer,
}

/// Queue of offers from senders. The offered transfers are received one after another.
pub struct Listener<'a> {
    channel: Channel<'a>,
    waiting: VecDeque<Offered>,
}

impl<'a> Listener<'a> {
    /// Creates a listener at an endpoint. It works until `stop` is set. All further calls must come from the calling
    /// thread.
    pub fn new(endpoint: &'a Endpoint, stop: &'a AtomicBool) -> Self {
        Self {
            channel: Channel::new(endpoint, stop),
            waiting: VecDeque::new(),
        }
    }

    /// Waits for the next offer and returns it.
    ///
    /// # Errors
    /// The user has set `stop`, or the socket has failed.
    pub fn accept(&mut self) -> Result<Offered, Error> {
        loop {
            self.channel.check()?;
            if let Some(offered) = self.waiting.pop_front() {
                return Ok(offered);
            }
            // Messages that were not delivered are only refusals and acceptances. So nothing has to be done.
            let _ = self.channel.lost();
            match self.channel.next()? {
                Some((from, to, message)) => {
                    let post = Post { from, to, message };
                    wait_or_refuse(&mut self.channel, &mut self.waiting, post);
                }
                None => self.channel.sleep(),
            }
        }
    }

    /// Refuses an offer with a reason.
    pub fn refuse(&mut self, offered: &Offered, error: &Error) {
        let fail = Message::Fail(error.code(), error.to_string());
        self.channel.send(offered.from, offered.offer.from, &fail);
        self.channel.farewell();
    }

    /// Receives an offered transfer. The offers of other senders wait during this time.
    ///
    /// # Errors
    /// One of the two ends has failed or has ended the transfer. The sender has been informed.
    pub fn receive(
        &mut self,
        offered: Offered,
        sink: &mut dyn Sink,
        notify: &mut dyn FnMut(Event),
    ) -> Result<Taken, Error> {
        let Offered { from, offer } = offered;
        let mine = new_session().map_err(Error::System)?;
        self.channel.send(from, offer.from, &Message::Accept(mine));
        notify(Event::Joined(from));
        let holders = vec![Holder::new(from, offer)];
        let mut fetch = Fetch::new(&mut self.channel, sink, notify, holders, None, Vec::new());
        let waiting = &mut self.waiting;
        fetch.run(mine, &mut |channel, _, post| {
            wait_or_refuse(channel, waiting, post);
            None
        })
    }
}

/// Handles a message that does not belong to the running transfer. An offer is queued, or refused if the queue is full.
fn wait_or_refuse(channel: &mut Channel<'_>, waiting: &mut VecDeque<Offered>, post: Post) {
    let Post { from, to, message } = post;
    match message {
        Message::Offer(offer) if to == 0 => {
            if waiting.len() < MOST_WAITING {
                waiting.push_back(Offered { from, offer });
            } else {
                let why = format!("{MOST_WAITING} other senders wait already");
                channel.send(from, offer.from, &Message::Fail(Code::Refused, why));
            }
        }
        // A sender whose offer is queued has left. It does not know a session number of this end, so it uses 0.
        Message::Fail(..) if to == 0 => waiting.retain(|other| other.from != from),
        _ => {}
    }
}

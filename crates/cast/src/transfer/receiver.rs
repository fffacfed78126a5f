//! Receiver of transfers that senders offer. It runs one transfer at a time.

use super::channel::{Channel, Post};
use super::error::Error;
use super::fetch::{Fetch, Taken};
use super::holder::Holder;
use super::message::{Code, Message, Offer};
use super::progress::Event;
use crate::driver::{Endpoint, Route, new_session};
use crate::files::Sink;
use std::collections::VecDeque;
use std::net::{IpAddr, SocketAddr};
use std::sync::atomic::AtomicBool;

/// Largest number of offers that wait. Further offers are refused.
/// Any host can send offers, so the memory for them has a limit.
const MOST_WAITING: usize = 16;
/// Number of ended transfers whose results are kept. A sender that has not got the result asks for it.
const MOST_ENDED: usize = 64;

/// Transfer that a sender has offered.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Offered {
    /// Address of the sender.
    pub from: SocketAddr,
    /// Address of this host that the sender has used. `None`: the endpoint has only one address.
    pub at: Option<IpAddr>,
    /// Number of the sender's process.
    pub process: u64,
    /// Offer of the sender. It contains session numbers and the layout of the slabs.
    pub offer: Offer,
}

impl Offered {
    fn route(&self) -> Route {
        Route {
            to: self.from,
            from: self.at,
        }
    }

    /// Returns whether this offer comes from the address `from` and has the session number `number`.
    fn is(&self, from: SocketAddr, number: u64) -> bool {
        self.from == from && self.offer.from == number
    }
}

/// Transfer that has ended, with its result as a message to the sender.
struct Ended {
    offered: Offered,
    /// Session number that messages to this end have.
    mine: u64,
    result: Message,
}

/// Offers of senders, in the order of their arrival.
#[derive(Default)]
struct Queue {
    waiting: VecDeque<Offered>,
    /// Offer of the running transfer.
    current: Option<Offered>,
    /// Transfers that have ended, oldest first.
    ended: VecDeque<Ended>,
}

impl Queue {
    fn end(&mut self, offered: Offered, mine: u64, result: Message) {
        self.current = None;
        if self.ended.len() >= MOST_ENDED {
            self.ended.pop_front();
        }
        self.ended.push_back(Ended {
            offered,
            mine,
            result,
        });
    }

    /// Handles a message that does not belong to the running transfer.
    /// An offer is queued, or refused if the queue is full.
    fn on_message(&mut self, channel: &mut Channel<'_>, post: &Post) {
        let from = post.from.to;
        // The sender has not got the result of a transfer, or has sent this message before it got the result.
        let asked = self.ended.iter().find(|ended| match post.message {
            Message::Offer(offer) => ended.offered.is(from, offer.from),
            Message::Ping | Message::Root(_) | Message::Slab(..) => {
                let is_its = post.to == ended.mine || post.to == ended.offered.offer.slabs;
                ended.offered.from == from && is_its
            }
            _ => false,
        });
        if let Some(ended) = asked {
            if !channel.is_sending_to(from) {
                channel.send(post.from, ended.offered.offer.from, &ended.result);
            }
            return;
        }
        match post.message {
            Message::Offer(offer) if post.to == 0 => {
                let mut known = self.waiting.iter().chain(&self.current);
                // A sender that waits for an answer sends its offer again.
                if known.any(|known| known.is(from, offer.from)) {
                    return;
                }
                if self.waiting.len() < MOST_WAITING {
                    self.waiting.push_back(Offered {
                        from,
                        at: post.from.from,
                        process: post.process,
                        offer,
                    });
                } else {
                    let why = format!("{MOST_WAITING} other senders wait already");
                    channel.send(post.from, offer.from, &Message::Fail(Code::Refused, why));
                }
            }
            // A sender whose offer is queued has left. It does not know a session number of this end, so it uses 0.
            Message::Fail(..) if post.to == 0 => self.waiting.retain(|other| other.from != from),
            _ => channel.deny(post),
        }
    }
}

/// Queue of offers from senders. The offered transfers are received one after another.
pub struct Listener<'a> {
    channel: Channel<'a>,
    queue: Queue,
}

impl<'a> Listener<'a> {
    /// Creates a listener at an endpoint. It works until `stop` is set.
    /// All further calls must come from the calling thread.
    pub fn new(endpoint: &'a Endpoint, stop: &'a AtomicBool) -> Self {
        Self {
            channel: Channel::new(endpoint, stop),
            queue: Queue::default(),
        }
    }

    /// Waits for the next offer and returns it.
    ///
    /// # Errors
    /// The user has set `stop`, or the socket has failed.
    pub fn accept(&mut self) -> Result<Offered, Error> {
        loop {
            self.channel.check()?;
            if let Some(offered) = self.queue.waiting.pop_front() {
                return Ok(offered);
            }
            // Messages that were not delivered are only refusals and acceptances. So nothing has to be done.
            let _ = self.channel.lost();
            match self.channel.next()? {
                Some(post) => self.queue.on_message(&mut self.channel, &post),
                None => self.channel.sleep(),
            }
        }
    }

    /// Refuses an offer with a reason.
    pub fn refuse(&mut self, offered: &Offered, error: &Error) {
        let fail = Message::Fail(error.code(), error.to_string());
        self.channel
            .send(offered.route(), offered.offer.from, &fail);
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
        let Offered { from, offer, .. } = offered;
        let mine = new_session().map_err(Error::System)?;
        let accept = Message::Accept(mine);
        self.channel.send(offered.route(), offer.from, &accept);
        notify(Event::Joined(from));
        let holders = vec![Holder::new(offered.route(), offered.process, offer)];
        let mut fetch = Fetch::new(&mut self.channel, sink, notify, holders, None, Vec::new());
        let queue = &mut self.queue;
        queue.current = Some(offered);
        let result = fetch.run(mine, &mut |channel, holders, post| {
            queue.on_message(channel, &post);
            let is_offer = matches!(post.message, Message::Offer(_));
            let mut holders = holders.iter();
            let same = holders.find(|holder| is_offer && holder.address() == post.from.to);
            // The process of the sender may have restarted at the same port. The answer to a ping shows this.
            if let Some(holder) = same
                && holder.process != post.process
                && !channel.is_sending_to(holder.address())
            {
                channel.send(holder.route, holder.offer.from, &Message::Ping);
            }
            None
        });
        let end = match &result {
            Ok(_) => Message::Done,
            Err(error) => Message::Fail(error.code(), error.to_string()),
        };
        self.queue.end(offered, mine, end);
        result
    }
}

//! Receiver of transfers that senders offer, one after the other.

use super::error::Error;
use super::fetch::{Fetch, Post, Taken};
use super::holder::Holder;
use super::line::Line;
use super::message::{Code, Message, Offer};
use super::progress::Event;
use crate::driver::{Endpoint, new_session};
use crate::files::Sink;
use std::collections::VecDeque;
use std::net::SocketAddr;
use std::sync::atomic::AtomicBool;

/// Offers that wait, at most. Further offers are refused.
const MOST_WAITING: usize = 16;

/// Transfer that a sender offers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Offered {
    /// Address of the sender.
    pub from: SocketAddr,
    /// Offer.
    pub offer: Offer,
}

/// Accepts offers of senders.
pub struct Listener<'a> {
    line: Line<'a>,
    waiting: VecDeque<Offered>,
}

impl<'a> Listener<'a> {
    /// Creates a listener at an endpoint. It runs until `stop` is set. The calling thread must make
    /// all further calls.
    pub fn new(endpoint: &'a Endpoint, stop: &'a AtomicBool) -> Self {
        Self {
            line: Line::new(endpoint, stop),
            waiting: VecDeque::new(),
        }
    }

    /// Waits for the next offer.
    ///
    /// # Errors
    /// The user has set `stop`, or the socket has failed.
    pub fn accept(&mut self) -> Result<Offered, Error> {
        loop {
            self.line.check()?;
            if let Some(offered) = self.waiting.pop_front() {
                return Ok(offered);
            }
            let _ = self.line.lost();
            match self.line.next()? {
                Some((from, to, message)) => {
                    let post = Post { from, to, message };
                    wait_or_refuse(&mut self.line, &mut self.waiting, post);
                }
                None => self.line.sleep(),
            }
        }
    }

    /// Refuses an offer with a reason.
    pub fn refuse(&mut self, offered: &Offered, error: &Error) {
        let fail = Message::Fail(error.code(), error.to_string());
        self.line.say(offered.from, offered.offer.from, &fail);
        self.line.farewell();
    }

    /// Receives an offered transfer. Offers of other senders wait meanwhile.
    ///
    /// # Errors
    /// One end has failed or ended the transfer. The sender has been informed.
    pub fn receive(
        &mut self,
        offered: Offered,
        sink: &mut dyn Sink,
        tell: &mut dyn FnMut(Event),
    ) -> Result<Taken, Error> {
        let Offered { from, offer } = offered;
        let mine = new_session().map_err(Error::System)?;
        self.line.say(from, offer.from, &Message::Accept(mine));
        tell(Event::Joined(from));
        let holders = vec![Holder::new(from, offer)];
        let mut fetch = Fetch::new(&mut self.line, sink, tell, holders, None, Vec::new());
        let waiting = &mut self.waiting;
        fetch.run(mine, &mut |line, _, post| {
            wait_or_refuse(line, waiting, post);
            None
        })
    }
}

/// Handles a message that does not belong to the running transfer. An offer waits if the queue has
/// space, or is refused.
fn wait_or_refuse(line: &mut Line<'_>, waiting: &mut VecDeque<Offered>, post: Post) {
    let Post { from, to, message } = post;
    match message {
        Message::Offer(offer) if to == 0 => {
            if waiting.len() < MOST_WAITING {
                waiting.push_back(Offered { from, offer });
            } else {
                let why = format!("{MOST_WAITING} other senders wait already");
                line.say(from, offer.from, &Message::Fail(Code::Refused, why));
            }
        }
        // A waiting sender has left. It uses the number 0, because it has no number of this end
        // yet.
        Message::Fail(..) if to == 0 => waiting.retain(|other| other.from != from),
        _ => {}
    }
}

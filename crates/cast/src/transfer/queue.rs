//! Offers that wait at a receiver, and the results of transfers that have ended.

use super::channel::{Channel, Post};
use super::message::{Code, Message};
use super::receiver::Offered;
use crate::driver::Sending;
use std::collections::VecDeque;
use std::net::{IpAddr, SocketAddr};

/// Largest number of offers that wait. Any host can send offers, so the memory for them has a limit.
const MOST_WAITING: usize = 32;
/// Largest number of offers of one address that wait.
const MOST_OF_ONE: usize = 8;
/// Number of ended transfers whose results are kept. A sender that has not got the result asks for it.
const MOST_ENDED: usize = 64;

/// Transfer that has ended, with its result as a message to the sender.
struct Ended {
    offered: Offered,
    /// Session number that messages to this end have.
    mine: u64,
    result: Message,
}

/// Offer that waits for a place.
struct Waiting {
    offered: Offered,
    /// Message with the reason why the sender waits. `None`: it was not sent, or it has ended.
    notice: Option<Sending>,
    /// Whether the sender has confirmed the message. So its address is not forged.
    is_proven: bool,
}

/// Offers of senders, in the order of their arrival.
#[derive(Default)]
pub(super) struct Queue {
    waiting: VecDeque<Waiting>,
    /// Transfers that have ended, oldest first.
    ended: VecDeque<Ended>,
}

impl Queue {
    /// Stores the result of a transfer.
    pub(super) fn end(&mut self, offered: Offered, mine: u64, result: Message) {
        if self.ended.len() >= MOST_ENDED {
            self.ended.pop_front();
        }
        self.ended.push_back(Ended {
            offered,
            mine,
            result,
        });
    }

    /// Handles a message that does not belong to a running transfer. An offer is added to the queue.
    /// `running` are the offers of the running transfers.
    pub(super) fn on_message(
        &mut self,
        channel: &mut Channel<'_>,
        post: &Post,
        running: &[Offered],
    ) {
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
                let waiting = self.waiting.iter().map(|one| &one.offered);
                // A sender that waits for an answer sends its offer again.
                let mut known = waiting.chain(running);
                if known.any(|known| known.is(from, offer.from)) {
                    return;
                }
                self.enter(
                    channel,
                    Offered {
                        from,
                        at: post.from.from,
                        process: post.process,
                        offer,
                    },
                );
            }
            // A sender whose offer is queued has left. It does not know a session number of this end, so it uses 0.
            Message::Fail(..) if post.to == 0 => {
                self.waiting.retain(|other| other.offered.from != from);
            }
            _ => channel.deny(post),
        }
    }

    /// Adds an offer, unless too many wait. Offers with a forged address make way for it.
    fn enter(&mut self, channel: &mut Channel<'_>, offered: Offered) {
        let all = self.waiting.iter();
        let of_one = all.filter(|one| one.is_proven && one.offered.from.ip() == offered.from.ip());
        let is_refused = of_one.count() >= MOST_OF_ONE;
        if self.waiting.len() >= MOST_WAITING {
            match self.waiting.iter().position(|one| !one.is_proven) {
                Some(oldest) if !is_refused => drop(self.waiting.remove(oldest)),
                _ => return refuse(channel, &offered),
            }
        } else if is_refused {
            return refuse(channel, &offered);
        }
        self.waiting.push_back(Waiting {
            offered,
            notice: None,
            is_proven: false,
        });
    }

    /// Sends each new sender in the queue the reason why it waits.
    pub(super) fn give_notice(&mut self, channel: &Channel<'_>, why: &str) {
        self.waiting.retain_mut(|one| {
            let result = one.notice.as_mut().map(|notice| channel.result_of(notice));
            match result {
                None if !one.is_proven && !channel.is_crowded() => {
                    let (route, number) = (one.offered.route(), one.offered.offer.from);
                    let notice = channel.post(route, number, &Message::Wait(why.to_owned()));
                    one.notice = Some(notice);
                    true
                }
                None | Some(None) => true,
                Some(Some(Ok(_))) => {
                    one.is_proven = true;
                    one.notice = None;
                    true
                }
                // A sender that does not confirm the message has gone.
                Some(Some(Err(_))) => false,
            }
        });
    }

    /// Removes and returns the next offer that `may_begin` accepts.
    /// The host with the fewest running transfers comes first. `running` are the hosts of the running transfers.
    pub(super) fn take(
        &mut self,
        running: &[SocketAddr],
        may_begin: impl Fn(&Offered) -> bool,
    ) -> Option<Offered> {
        let of = |host: IpAddr| running.iter().filter(|one| one.ip() == host).count();
        let able = self.waiting.iter().enumerate();
        let able = able.filter(|(_, one)| may_begin(&one.offered));
        // `min_by_key` returns the first of several equal ones, which is the oldest.
        let (at, _) = able.min_by_key(|(_, one)| of(one.offered.from.ip()))?;
        self.waiting.remove(at).map(|one| one.offered)
    }

    /// Returns whether no offer waits.
    pub(super) fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }
}

fn refuse(channel: &mut Channel<'_>, offered: &Offered) {
    if !channel.is_crowded() {
        let why = "too many other senders wait already".to_owned();
        let fail = Message::Fail(Code::Refused, why);
        channel.send(offered.route(), offered.offer.from, &fail);
    }
}

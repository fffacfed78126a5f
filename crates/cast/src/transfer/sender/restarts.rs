//! Receivers that are silent, and receivers whose processes have restarted.
//! A new process of a receiver does not know the session numbers of the old process. It reports each unknown number.

use super::super::channel::LastHeard;
use super::super::error::Error;
use super::super::message::{Message, Offer};
use super::super::peer::{Peer, Stage};
use super::super::progress::Event;
use super::Sender;
use crate::driver::new_session;
use std::net::SocketAddr;

impl Sender<'_> {
    /// Handles the answer of a receiver that does not know the session with this number.
    pub(super) fn on_unknown(
        &mut self,
        from: SocketAddr,
        process: u64,
        number: u64,
    ) -> Result<(), Error> {
        let slabs = self.slabs;
        let is_it = |peer: &Peer| {
            let is_theirs = number == peer.theirs || number == slabs;
            // A receiver that has not accepted the offer knows none of the numbers.
            let is_begun = matches!(peer.stage, Stage::Receiving | Stage::Closing);
            peer.address() == from && is_theirs && is_begun
        };
        let Some(at) = self.peers.iter().position(is_it) else {
            return Ok(());
        };
        let error = Error::unknown(from, self.peers[at].process, process);
        match error {
            // The answer to a slab may be late, so it may be older than the offer that this process has accepted.
            Error::Forgotten(_) if number == slabs => Ok(()),
            Error::Forgotten(_) => {
                self.end(at, Err(error));
                Ok(())
            }
            _ => self.offer_again(at),
        }
    }

    /// Offers the data again to a receiver whose process has restarted.
    /// A stream cannot be read again, so its transfer ends.
    fn offer_again(&mut self, at: usize) -> Result<(), Error> {
        let number = new_session().map_err(Error::System)?;
        let peer = &mut self.peers[at];
        let (route, address) = (peer.route, peer.address());
        if !peer.restart(number) || self.offer.total.is_none() {
            self.end(at, Err(Error::Restarted(address)));
            return Ok(());
        }
        for (_, to) in &mut self.reading {
            to.retain(|&other| other != at);
        }
        self.cancel_needless();
        let offer = Offer {
            from: number,
            ..self.offer
        };
        self.channel.send(route, 0, &Message::Offer(offer));
        (self.notify)(Event::Restarted(address));
        Ok(())
    }

    /// Handles a receiver that has forgotten a slab while it was sent. Its process has probably restarted.
    /// The answer to a ping shows whether it has restarted. If not, the receiver needs the slab again.
    pub(super) fn on_forgotten(&mut self, at: usize, slab: u32) {
        let peer = &mut self.peers[at];
        if peer.is_over() {
            return;
        }
        if self.offer.total.is_none() {
            let error = Error::Restarted(peer.address());
            self.end(at, Err(error));
            return;
        }
        peer.wants.insert(slab);
        self.ping(at);
    }

    /// Sends a ping to each receiver that is silent. The ping is also sent while a slab is in flight.
    /// Otherwise a restart of the receiver's process would be found only after the whole slab.
    pub(super) fn ping_silent_peers(&mut self) {
        for at in 0..self.peers.len() {
            let peer = &self.peers[at];
            if !peer.is_over() && peer.last_heard.is_silent() {
                self.ping(at);
            }
        }
    }

    /// Sends a ping to a receiver, unless another message to it is being sent.
    fn ping(&mut self, at: usize) {
        let peer = &mut self.peers[at];
        if self.channel.is_sending_to(peer.address()) {
            return;
        }
        let message = match peer.stage {
            // The process that has got the offer may have restarted, and a ping has no session yet.
            // So the offer is sent again. A receiver that knows the offer ignores it.
            Stage::Offered => Message::Offer(Offer {
                from: peer.number,
                ..self.offer
            }),
            _ => Message::Ping,
        };
        self.channel.send(peer.route, peer.theirs, &message);
        // The time of silence starts again. So the next ping follows only after another such time.
        peer.last_heard = LastHeard::now();
    }
}

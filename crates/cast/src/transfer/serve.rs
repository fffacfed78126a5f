//! Replica: a sender that serves one source. It sends slabs to all receivers that request the root of the source.
//! Each receiver sets its own pace.

use super::channel::{Channel, LastHeard, Post};
use super::error::Error;
use super::message::{Code, MOST_WANTED, Message, Offer};
use super::moves::Moves;
use super::peer::{Peer, Stage};
use super::progress::Event;
use super::proof;
use super::reader::{Read, Reader};
use crate::driver::{Endpoint, Sending, new_session};
use crate::files::{Hash, SlabHashes, Source};
use std::sync::atomic::AtomicBool;

/// Limit for the slabs in memory, in bytes. It is the size of three of the largest slabs.
/// Three slabs are always allowed.
const MEMORY: u64 = 48 << 20;
/// Largest number of receivers at the same time. Further receivers are refused. All receivers share the buffers.
/// So with more receivers, each of them would wait longer.
const MOST_RECEIVERS: usize = 64;
/// Largest number of slabs that are read or sent for one receiver at the same time.
/// With a larger number, one receiver could use most of the buffers.
const MOST_FLIGHTS: usize = 8;

/// Slab that is being read or sent for one receiver.
struct Flight {
    slab: u32,
    /// Session number that messages from the receiver have.
    number: u64,
    /// Object with the slab that is being sent. `None` while the slab is being read.
    sending: Option<Sending>,
}

/// Serves a source that has this root, until `stop` is set.
///
/// # Errors
/// [`Error::Interrupted`] is the normal end.
/// Any other error means that the source cannot be read, or that the socket has failed.
pub fn serve(
    endpoint: &Endpoint,
    mut source: Box<dyn Source>,
    root: Hash,
    stop: &AtomicBool,
    notify: &mut dyn FnMut(Event),
) -> Result<(), Error> {
    let header = *source.header();
    let offer = Offer {
        // The session number is different for each receiver. `on_get` sets it.
        from: 0,
        slabs: new_session().map_err(Error::System)?,
        total: source.total(),
        manifest: header.length,
        slab_log2: header.slab_log2,
    };
    // A file that changes later gets other hashes when it is read. So these hashes are kept from the start.
    let hashes = source.slab_hashes()?;
    // With fewer buffers, no slab could be read while another slab is sent.
    let buffers = (MEMORY >> header.slab_log2).max(3) as usize;
    let mut server = Server {
        channel: Channel::new(endpoint, stop),
        reader: Reader::start(source, buffers).map_err(Error::System)?,
        buffers,
        root,
        hashes,
        offer,
        notify,
        peers: Vec::new(),
        flights: Vec::new(),
        moves: Moves::default(),
    };
    let result = server.run();
    if let Err(error) = &result {
        let fail = Message::Fail(error.code(), error.to_string());
        for peer in &server.peers {
            server.channel.send(peer.route, peer.theirs, &fail);
        }
        server.channel.farewell();
    }
    result
}

/// State of a replica that serves a source.
struct Server<'a> {
    channel: Channel<'a>,
    reader: Reader,
    buffers: usize,
    root: Hash,
    hashes: SlabHashes,
    offer: Offer,
    notify: &'a mut dyn FnMut(Event),
    peers: Vec<Peer>,
    flights: Vec<Flight>,
    /// Addresses from which receivers have sent, and which are not validated.
    moves: Moves,
}

impl Server<'_> {
    fn run(&mut self) -> Result<(), Error> {
        loop {
            self.channel.check()?;
            let mut moved = false;
            while let Some(post) = self.channel.next()? {
                moved = true;
                match post.message {
                    // A new receiver does not know a session number of this end. So it uses 0.
                    Message::Get(number, root) if post.to == 0 => {
                        self.on_get(&post, number, root)?;
                    }
                    _ => self.on_message(post),
                }
            }
            while let Some(read) = self.reader.next() {
                moved = true;
                self.on_read(read)?;
            }
            moved |= self.poll_flights();
            for (peer, _) in self.channel.lost() {
                self.peers.retain(|other| other.address() != peer);
            }
            self.ping_silent_peers();
            self.schedule();
            if !moved {
                self.channel.sleep();
            }
        }
    }

    fn on_get(&mut self, post: &Post, theirs: u64, root: Hash) -> Result<(), Error> {
        let from = post.from;
        // A receiver without an answer sends its request again.
        let is_known = |peer: &Peer| peer.address() == from.to && peer.theirs == theirs;
        if self.peers.iter().any(is_known) {
            return Ok(());
        }
        let refusal = if root != self.root {
            Some((Code::NotFound, format!("it has {}, not {root}", self.root)))
        } else if self.peers.len() >= MOST_RECEIVERS {
            let why = format!("{MOST_RECEIVERS} others receive already");
            Some((Code::Refused, why))
        } else {
            None
        };
        if let Some((code, why)) = refusal {
            self.channel.send(from, theirs, &Message::Fail(code, why));
            return Ok(());
        }
        let number = new_session().map_err(Error::System)?;
        let mut peer = Peer::new(from, number);
        peer.theirs = theirs;
        peer.process = Some(post.process);
        peer.stage = Stage::Receiving;
        // The receiver has restarted at the same port. So its earlier request is removed.
        self.peers.retain(|other| other.address() != from.to);
        self.peers.push(peer);
        let offer = Offer {
            from: number,
            ..self.offer
        };
        self.channel.send(from, theirs, &Message::Offer(offer));
        (self.notify)(Event::Joined(from.to));
        Ok(())
    }

    fn on_message(&mut self, post: Post) {
        let (from, to) = (post.from.to, post.to);
        if let Message::Unknown(number) = post.message {
            // The process of the receiver has restarted, or it has ended the transfer.
            self.peers
                .retain(|peer| peer.address() != from || peer.theirs != number);
            return;
        }
        let known = |peer: &Peer| peer.is_sender_of(&post);
        let Some(at) = self.peers.iter().position(known) else {
            self.channel.deny(&post);
            return;
        };
        let peer = &mut self.peers[at];
        peer.last_heard = LastHeard::now();
        let before = peer.address();
        let ends = (&mut peer.route, peer.theirs);
        if self.moves.on_post(&mut self.channel, &post, ends) {
            // The slabs in flight go to the old address.
            for flight in self.flights.iter().filter(|flight| flight.number == to) {
                if let Some(sending) = &flight.sending {
                    sending.cancel();
                    peer.wants.insert(flight.slab);
                }
            }
            (self.notify)(Event::Moved(before, from));
        }
        match post.message {
            Message::Want {
                received, slabs, ..
            } => {
                peer.received = received;
                peer.wants.extend(slabs);
                // The queue has a limit. Otherwise a receiver could fill the memory of this host.
                while peer.wants.len() > MOST_WANTED {
                    peer.wants.pop_last();
                }
            }
            Message::Skip(slabs) => {
                for slab in slabs {
                    peer.wants.remove(&slab);
                    let of = |flight: &&Flight| flight.slab == slab && flight.number == to;
                    for flight in self.flights.iter().filter(of) {
                        if let Some(sending) = &flight.sending {
                            sending.cancel();
                        }
                    }
                }
            }
            Message::Prove(first) => {
                let (route, theirs) = (peer.route, peer.theirs);
                let page = proof::page(&self.hashes, first);
                self.channel.send(route, theirs, &page);
            }
            Message::Close(_) => {
                let (route, theirs) = (peer.route, peer.theirs);
                self.channel.send(route, theirs, &Message::Root(self.root));
            }
            Message::Done | Message::Fail(..) => {
                self.peers.remove(at);
                for flight in self.flights.iter().filter(|flight| flight.number == to) {
                    if let Some(sending) = &flight.sending {
                        sending.cancel();
                    }
                }
            }
            _ => {}
        }
    }

    /// Starts to read slabs.
    /// Always chooses the receiver with the fewest flights, so that all receivers get slabs in turn.
    fn schedule(&mut self) {
        while self.flights.len() < self.buffers {
            let flights_of = |peer: &Peer| {
                let mine = self.flights.iter();
                mine.filter(|flight| flight.number == peer.number).count()
            };
            let waits = self.peers.iter_mut().filter(|peer| !peer.wants.is_empty());
            let next = waits.min_by_key(|peer| flights_of(peer));
            let Some(peer) = next.filter(|peer| flights_of(peer) < MOST_FLIGHTS) else {
                return;
            };
            let number = peer.number;
            let Some(slab) = peer.wants.pop_first() else {
                return;
            };
            self.reader
                .slab(slab, self.channel.footer(self.offer.slabs));
            self.flights.push(Flight {
                slab,
                number,
                sending: None,
            });
        }
    }

    fn on_read(&mut self, read: Read) -> Result<(), Error> {
        let (label, object) = match read {
            Read::Failed(error) => return Err(error.into()),
            // A replica has the root already, so it never requests the root from the reader.
            Read::Root(_) => return Ok(()),
            Read::Slab(label, object) => (label, object),
        };
        // Several receivers may have requested this slab. The reader keeps the order of the requests.
        // So the slab belongs to the first flight that matches.
        let reads = |flight: &Flight| flight.slab == label.slab && flight.sending.is_none();
        let Some(at) = self.flights.iter().position(reads) else {
            return Ok(());
        };
        let number = self.flights[at].number;
        match self.peers.iter().find(|peer| peer.number == number) {
            Some(peer) => {
                let sending = self.channel.endpoint().send(peer.route, object);
                self.flights[at].sending = Some(sending);
            }
            None => {
                self.flights.remove(at);
            }
        }
        Ok(())
    }

    fn poll_flights(&mut self) -> bool {
        let before = self.flights.len();
        let (channel, peers) = (&self.channel, &mut self.peers);
        self.flights.retain_mut(|flight| {
            let fate = flight
                .sending
                .as_mut()
                .and_then(|sending| channel.result_of(sending));
            // A flight is cancelled if the receiver does not need the slab any more.
            // A cancelled flight is not a failure of the receiver.
            if let Some(Err(failure)) = fate
                && failure != crate::driver::Failure::Cancelled
            {
                // The receiver cannot be reached any more. So it is removed.
                peers.retain(|peer| peer.number != flight.number);
            }
            fate.is_none()
        });
        self.flights.len() < before
    }

    fn ping_silent_peers(&mut self) {
        for peer in &mut self.peers {
            let has_flight = self.flights.iter().any(|one| one.number == peer.number);
            if peer.last_heard.is_silent()
                && !has_flight
                && !self.channel.is_sending_to(peer.address())
            {
                // The time of silence starts again. So the next ping follows only after another such time.
                self.channel.send(peer.route, peer.theirs, &Message::Ping);
                peer.last_heard = LastHeard::now();
            }
        }
    }
}

//! Replica: it sends the slabs of one source to all receivers that request its root, to each at the
//! receiver's pace.

use super::error::Error;
use super::line::{Heard, Line};
use super::message::{Code, MOST_WANTED, Message, Offer};
use super::peer::{Peer, Stage};
use super::progress::Event;
use super::reader::{Read, Reader};
use crate::driver::{Endpoint, Sending, new_session};
use crate::files::{Hash, Source};
use std::net::SocketAddr;
use std::sync::atomic::AtomicBool;

/// Bytes of slabs in memory at the same time, at most. At least three slabs are allowed.
const MEMORY: u64 = 48 << 20;
/// Receivers at the same time. Further ones are refused.
const MOST_RECEIVERS: usize = 64;
/// Slabs of one receiver that are being read or sent, at most.
const MOST_FLIGHTS: usize = 8;

/// Slab that is being read or sent, for the receiver with this session number.
struct Flight {
    slab: u32,
    number: u64,
    /// `None` while the slab is being read.
    sending: Option<Sending>,
}

/// Serves a source with this root, until `stop` is set.
///
/// # Errors
/// [`Error::Interrupted`] at the normal end. Otherwise the source cannot be read, or the socket
/// fails.
pub fn serve(
    endpoint: &Endpoint,
    source: Box<dyn Source>,
    root: Hash,
    stop: &AtomicBool,
    tell: &mut dyn FnMut(Event),
) -> Result<(), Error> {
    let header = *source.header();
    let offer = Offer {
        from: 0,
        slabs: new_session().map_err(Error::System)?,
        total: source.total(),
        manifest: header.length,
        slab_log2: header.slab_log2,
    };
    let buffers = (MEMORY >> header.slab_log2).max(3) as usize;
    let mut server = Server {
        line: Line::new(endpoint, stop),
        reader: Reader::start(source, buffers).map_err(Error::System)?,
        buffers,
        root,
        offer,
        tell,
        peers: Vec::new(),
        flights: Vec::new(),
    };
    let result = server.run();
    if let Err(error) = &result {
        let fail = Message::Fail(error.code(), error.to_string());
        for peer in &server.peers {
            server.line.say(peer.address, peer.theirs, &fail);
        }
        server.line.farewell();
    }
    result
}

struct Server<'a> {
    line: Line<'a>,
    reader: Reader,
    buffers: usize,
    root: Hash,
    offer: Offer,
    tell: &'a mut dyn FnMut(Event),
    peers: Vec<Peer>,
    flights: Vec<Flight>,
}

impl Server<'_> {
    fn run(&mut self) -> Result<(), Error> {
        loop {
            self.line.check()?;
            let mut moved = false;
            while let Some((from, to, message)) = self.line.next()? {
                moved = true;
                match message {
                    Message::Get(number, root) if to == 0 => self.on_get(from, number, root)?,
                    message => self.on_message(from, to, message),
                }
            }
            while let Some(read) = self.reader.next() {
                moved = true;
                self.on_read(read)?;
            }
            moved |= self.look_at_flights();
            for (peer, _) in self.line.lost() {
                self.peers.retain(|other| other.address != peer);
            }
            self.ask_the_silent();
            self.schedule();
            if !moved {
                self.line.sleep();
            }
        }
    }

    fn on_get(&mut self, from: SocketAddr, theirs: u64, root: Hash) -> Result<(), Error> {
        let refusal = if root != self.root {
            Some((Code::NotFound, format!("it has {}, not {root}", self.root)))
        } else if self.peers.len() >= MOST_RECEIVERS {
            let why = format!("{MOST_RECEIVERS} others receive already");
            Some((Code::Refused, why))
        } else {
            None
        };
        if let Some((code, why)) = refusal {
            self.line.say(from, theirs, &Message::Fail(code, why));
            return Ok(());
        }
        let number = new_session().map_err(Error::System)?;
        let mut peer = Peer::new(from, number);
        peer.theirs = theirs;
        peer.stage = Stage::Receiving;
        // A receiver that starts again at the same port has given up its earlier request.
        self.peers.retain(|other| other.address != from);
        self.peers.push(peer);
        let offer = Offer {
            from: number,
            ..self.offer
        };
        self.line.say(from, theirs, &Message::Offer(offer));
        (self.tell)(Event::Joined(from));
        Ok(())
    }

    fn on_message(&mut self, from: SocketAddr, to: u64, message: Message) {
        let known = |peer: &Peer| peer.address == from && peer.number == to;
        let Some(at) = self.peers.iter().position(known) else {
            return;
        };
        let peer = &mut self.peers[at];
        peer.heard = Heard::now();
        match message {
            Message::Want {
                standing, slabs, ..
            } => {
                peer.standing = standing;
                peer.wants.extend(slabs);
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
            Message::Close(_) => {
                let theirs = peer.theirs;
                self.line.say(from, theirs, &Message::Root(self.root));
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

    /// Reads slabs for the receivers in turn: the next slab is for the receiver with the fewest
    /// flights.
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
            self.reader.slab(slab, self.offer.slabs);
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
            Read::Root(_) => return Ok(()),
            Read::Slab(label, object) => (label, object),
        };
        // The reader answers requests in order, so the first match is the right one.
        let reads = |flight: &Flight| flight.slab == label.slab && flight.sending.is_none();
        let Some(at) = self.flights.iter().position(reads) else {
            return Ok(());
        };
        let number = self.flights[at].number;
        match self.peers.iter().find(|peer| peer.number == number) {
            Some(peer) => {
                let sending = self.line.endpoint().send(peer.address, object);
                self.flights[at].sending = Some(sending);
            }
            None => {
                self.flights.remove(at);
            }
        }
        Ok(())
    }

    fn look_at_flights(&mut self) -> bool {
        let before = self.flights.len();
        let (line, peers) = (&self.line, &mut self.peers);
        self.flights.retain_mut(|flight| {
            let fate = flight
                .sending
                .as_mut()
                .and_then(|sending| line.fate(sending));
            if let Some(Err(failure)) = fate
                && failure != crate::driver::Failure::Cancelled
            {
                peers.retain(|peer| peer.number != flight.number);
            }
            fate.is_none()
        });
        self.flights.len() < before
    }

    fn ask_the_silent(&mut self) {
        for peer in &mut self.peers {
            let has_flight = self.flights.iter().any(|one| one.number == peer.number);
            if peer.heard.is_silent() && !has_flight && !self.line.is_asking(peer.address) {
                self.line.say(peer.address, peer.theirs, &Message::Ping);
                peer.heard = Heard::now();
            }
        }
    }
}

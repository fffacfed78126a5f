//! Sender: it offers a source to receivers and sends the slabs that they request.
//!
//! A slab is read once and sent to all receivers that need it at the same time. So the sender
//! processes slabs in ascending order. Before each slab it waits until every receiver has decided
//! whether it needs the slab.

use super::error::Error;
use super::flights::{Flights, Over, To};
use super::line::Line;
use super::message::{Code, Message, Offer, Standing};
use super::peer::{Peer, Stage};
use super::progress::{Event, Progress, TOLD_EVERY};
use super::reader::{Read, Reader, SlabObject};
use crate::driver::{self, Endpoint, new_session};
use crate::files::{self, Hash, Label, Source};
use std::net::{IpAddr, SocketAddr};
use std::sync::atomic::AtomicBool;
use std::time::Instant;

/// Slabs in memory at the same time, at most.
const BUFFERS: usize = 3;

/// Options for sending.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct SendOptions {
    /// Time that the others wait for a slow receiver before it is dropped. `None`: they wait as
    /// long as the receiver answers.
    pub drop_after: Option<std::time::Duration>,
    /// Multicast group, at the port of the receivers. Receivers that hear it share one copy of the
    /// data. The others get a copy each. `None`: every receiver gets a copy.
    pub group: Option<IpAddr>,
}

/// Result of a transfer.
#[derive(Debug)]
pub struct Summary {
    /// Root, if a receiver has requested it.
    pub root: Option<Hash>,
    /// Result of each receiver, in the order of the addresses in the call.
    pub receivers: Vec<(SocketAddr, Result<(), Error>)>,
    /// Final progress.
    pub progress: Progress,
}

/// Sends a source to several receivers. Returns when the transfers to all of them have ended.
///
/// # Errors
/// The source cannot be read, the user has set `stop`, or the socket fails. Failures of single
/// receivers are in the summary.
pub fn send(
    endpoint: &Endpoint,
    source: Box<dyn Source>,
    to: &[SocketAddr],
    options: SendOptions,
    stop: &AtomicBool,
    tell: &mut dyn FnMut(Event),
) -> Result<Summary, Error> {
    let mut sender = Sender::new(endpoint, source, to, options, stop, tell)?;
    match sender.run() {
        Ok(()) => Ok(sender.summary()),
        Err(error) => {
            sender.give_up(&error);
            Err(error)
        }
    }
}

struct Sender<'a> {
    line: Line<'a>,
    reader: Reader,
    options: SendOptions,
    tell: &'a mut dyn FnMut(Event),
    peers: Vec<Peer>,
    /// Session number of slabs.
    slabs: u64,
    /// Slabs that are being read, with the indexes of the receivers that need them.
    reading: Vec<(u32, Vec<usize>)>,
    flights: Flights,
    /// Last slab, once it has been read.
    last: Option<u32>,
    root: Option<Hash>,
    asked_root: bool,
    hashes_ahead: bool,
    /// Time since which a slab waits for receivers that have not decided.
    waits_since: Option<Instant>,
    progress: Progress,
    told: Option<Progress>,
    told_at: Instant,
}

impl<'a> Sender<'a> {
    fn new(
        endpoint: &'a Endpoint,
        source: Box<dyn Source>,
        to: &[SocketAddr],
        options: SendOptions,
        stop: &'a AtomicBool,
        tell: &'a mut dyn FnMut(Event),
    ) -> Result<Self, Error> {
        let number = || new_session().map_err(Error::System);
        let slabs = number()?;
        let mut line = Line::new(endpoint, stop);
        let mut peers = Vec::with_capacity(to.len());
        let header = *source.header();
        for &address in to {
            let peer = Peer::new(address, number()?);
            let offer = Offer {
                from: peer.number,
                slabs,
                total: source.total(),
                manifest: header.length,
                slab_log2: header.slab_log2,
            };
            line.say(address, 0, &Message::Offer(offer));
            peers.push(peer);
        }
        let port = to.first().map_or(0, SocketAddr::port);
        let group = options.group.map(|group| SocketAddr::new(group, port));
        let progress = Progress {
            total: source.total(),
            receivers: peers.len(),
            ..Progress::default()
        };
        Ok(Self {
            line,
            reader: Reader::start(source, BUFFERS).map_err(Error::System)?,
            options,
            tell,
            peers,
            slabs,
            reading: Vec::new(),
            flights: Flights::new(group, options.drop_after),
            last: None,
            root: None,
            asked_root: false,
            hashes_ahead: false,
            waits_since: None,
            progress,
            told: None,
            told_at: Instant::now(),
        })
    }

    fn run(&mut self) -> Result<(), Error> {
        loop {
            self.line.check()?;
            let mut moved = false;
            while let Some((from, to, message)) = self.line.next()? {
                self.on_message(from, to, message);
                moved = true;
            }
            while let Some(read) = self.reader.next() {
                self.on_read(read)?;
                moved = true;
            }
            moved |= self.look_at_flights();
            for (peer, failure) in self.line.lost() {
                let at = self.peers.iter().position(|other| other.address == peer);
                if let Some(at) = at {
                    self.unreachable(at, failure);
                }
            }
            self.ask_the_silent();
            self.schedule();
            self.show();
            let is_over = self.peers.iter().all(Peer::is_over);
            if is_over {
                self.line.farewell();
                return Ok(());
            }
            if !moved {
                self.line.sleep();
            }
        }
    }

    /// Reads the next slabs if all receivers have decided about them.
    fn schedule(&mut self) {
        while self.flights.slabs() + self.reading.len() < BUFFERS {
            let active = || self.peers.iter().filter(|peer| !peer.is_over());
            let Some(slab) = active().filter_map(|peer| peer.wants.first()).min() else {
                self.waits_since = None;
                return;
            };
            let slab = *slab;
            let late: Vec<usize> = (0..self.peers.len())
                .filter(|&at| !self.peers[at].has_decided(slab))
                .collect();
            if !late.is_empty() {
                let since = *self.waits_since.get_or_insert_with(Instant::now);
                let patience = self.options.drop_after;
                // While slabs are in flight, receivers are busy. The driver detects slow ones among
                // them.
                let is_idle = self.flights.slabs() == 0 && self.reading.is_empty();
                if is_idle && patience.is_some_and(|patience| since.elapsed() > patience) {
                    for at in late {
                        self.drop_peer(at);
                    }
                    continue;
                }
                return;
            }
            self.waits_since = None;
            let active = self.peers.iter().filter(|peer| !peer.is_over());
            let addresses: Vec<SocketAddr> = active.map(|peer| peer.address).collect();
            if !self.flights.settle(&self.line, &addresses) {
                return;
            }
            let mut to = Vec::new();
            for (at, peer) in self.peers.iter_mut().enumerate() {
                if !peer.is_over() && peer.wants.remove(&slab) {
                    to.push(at);
                }
            }
            self.reader.slab(slab, self.slabs);
            self.reading.push((slab, to));
        }
    }

    fn on_message(&mut self, from: SocketAddr, to: u64, message: Message) {
        let known = |peer: &Peer| peer.address == from && peer.number == to;
        let Some(at) = self.peers.iter().position(known) else {
            return;
        };
        let last = self.last;
        let peer = &mut self.peers[at];
        if peer.is_over() {
            return;
        }
        peer.heard = super::line::Heard::now();
        match message {
            Message::Accept(theirs) => {
                if matches!(peer.stage, Stage::Offered) {
                    peer.theirs = theirs;
                    peer.stage = Stage::Receiving;
                    (self.tell)(Event::Joined(from));
                }
            }
            Message::Want {
                below,
                standing,
                slabs,
            } => {
                let slabs = slabs.into_iter();
                peer.wants
                    .extend(slabs.filter(|slab| last.is_none_or(|last| *slab <= last)));
                // The queue is bounded, so that a receiver cannot fill this host's memory.
                while peer.wants.len() > super::message::MOST_WANTED {
                    peer.wants.pop_last();
                }
                peer.below = peer.below.max(below);
                self.on_standing(at, standing);
            }
            Message::Skip(slabs) => {
                for slab in slabs {
                    peer.wants.remove(&slab);
                    self.flights.skip(slab, at);
                }
            }
            Message::Close(standing) => {
                peer.stage = Stage::Closing;
                peer.wants.clear();
                self.on_standing(at, standing);
                match self.root {
                    Some(root) => self.say_root(at, root),
                    None if !self.asked_root => {
                        self.asked_root = true;
                        self.reader.root();
                    }
                    None => {}
                }
            }
            Message::Done => self.end(at, Ok(())),
            Message::Fail(code, why) => {
                let peer = from;
                self.end(at, Err(Error::Peer { peer, code, why }));
            }
            _ => {}
        }
    }

    fn on_standing(&mut self, at: usize, standing: Standing) {
        self.peers[at].standing = standing;
        if standing.kept > 0 && !self.hashes_ahead {
            self.hashes_ahead = true;
            self.reader.ahead();
        }
    }

    fn say_root(&mut self, at: usize, root: Hash) {
        let peer = &self.peers[at];
        let (address, theirs) = (peer.address, peer.theirs);
        self.line.say(address, theirs, &Message::Root(root));
    }

    fn on_read(&mut self, read: Read) -> Result<(), Error> {
        match read {
            // The slab was requested before the end of the stream was known.
            Read::Failed(files::Error::Gone(slab)) if self.last.is_some_and(|last| slab > last) => {
                self.reading.retain(|(reading, _)| *reading != slab);
                Ok(())
            }
            Read::Failed(error) => Err(error.into()),
            Read::Root(root) => {
                self.root = Some(root);
                for at in 0..self.peers.len() {
                    if matches!(self.peers[at].stage, Stage::Closing) {
                        self.say_root(at, root);
                    }
                }
                Ok(())
            }
            Read::Slab(label, object) => {
                self.on_slab(label, object);
                Ok(())
            }
        }
    }

    fn on_slab(&mut self, label: Label, object: SlabObject) {
        if label.last {
            self.last = Some(label.slab);
            for peer in &mut self.peers {
                peer.wants.retain(|&slab| slab <= label.slab);
            }
        }
        let reading = self
            .reading
            .iter()
            .position(|(slab, _)| *slab == label.slab);
        let Some(reading) = reading else { return };
        let (slab, mut to) = self.reading.remove(reading);
        to.retain(|&at| !self.peers[at].is_over());
        let to = to.into_iter().map(|at| To {
            at,
            address: self.peers[at].address,
        });
        self.flights.launch(&self.line, slab, to.collect(), object);
    }

    /// Handles flights that have ended. Returns whether there were any.
    fn look_at_flights(&mut self) -> bool {
        let over = self.flights.look(&self.line);
        for peer in self.flights.take_deaf() {
            (self.tell)(Event::Deaf(peer));
        }
        let moved = !over.is_empty();
        for one in over {
            let (settled, lost) = one.losses();
            self.progress.settled += settled;
            self.progress.lost += lost;
            let Over { to, board, fate } = one;
            if let Ok(sent) = fate {
                self.progress.sent += sent.bytes;
                self.progress.repair += sent.repair_bytes;
            }
            for (&To { at, .. }, one) in to.iter().zip(&board) {
                match (one.stage, fate) {
                    (driver::Stage::Dropped, _) => self.drop_peer(at),
                    (driver::Stage::Failed(driver::Failure::Cancelled), _)
                    | (_, Err(driver::Failure::Cancelled)) => {}
                    (driver::Stage::Failed(failure), _) | (_, Err(failure)) => {
                        self.unreachable(at, failure);
                    }
                    _ => {}
                }
            }
        }
        moved
    }

    fn unreachable(&mut self, at: usize, failure: driver::Failure) {
        let peer = self.peers[at].address;
        let has_key = self.line.endpoint().has_key();
        let error = match self.peers[at].stage {
            Stage::Offered => Error::Unreachable {
                peer,
                failure,
                has_key,
            },
            _ => Error::Lost { peer, failure },
        };
        self.end(at, Err(error));
    }

    fn drop_peer(&mut self, at: usize) {
        let peer = &self.peers[at];
        if peer.is_over() {
            return;
        }
        let (address, theirs) = (peer.address, peer.theirs);
        let fail = Message::Fail(Code::Dropped, "the others waited too long".to_owned());
        self.line.say(address, theirs, &fail);
        self.end(at, Err(Error::Dropped(address)));
    }

    /// Ends the transfer to a receiver.
    fn end(&mut self, at: usize, result: Result<(), Error>) {
        let peer = &mut self.peers[at];
        if peer.is_over() {
            return;
        }
        if let Err(error) = &result {
            (self.tell)(Event::Left(peer.address, error.to_string()));
        }
        peer.stage = Stage::Over(result);
        let peers = &self.peers;
        self.flights.cancel_to(|at| peers[at].is_over());
    }

    /// Sends a ping to receivers that are silent and have no slab in flight.
    fn ask_the_silent(&mut self) {
        for at in 0..self.peers.len() {
            let peer = &self.peers[at];
            if peer.is_over() || !peer.heard.is_silent() || self.flights.are_to(at) {
                continue;
            }
            let (address, theirs) = (peer.address, peer.theirs);
            if !self.line.is_asking(address) {
                self.line.say(address, theirs, &Message::Ping);
                self.peers[at].heard = super::line::Heard::now();
            }
        }
    }

    /// Returns the progress of the slowest receiver.
    fn look(&self) -> Progress {
        let active = self.peers.iter().filter(|peer| !peer.is_over());
        let slowest = active.clone().min_by_key(|peer| peer.standing.verified);
        let furthest = self.peers.iter().map(|peer| peer.standing);
        let furthest = furthest.max_by_key(|standing| standing.verified);
        let (settled, lost) = self.flights.losses();
        Progress {
            settled: self.progress.settled + settled,
            lost: self.progress.lost + lost,
            standing: slowest
                .map(|peer| peer.standing)
                .or(furthest)
                .unwrap_or_default(),
            receivers: active.count(),
            slowest: slowest
                .filter(|_| self.peers.len() > 1)
                .map(|peer| peer.address),
            ..self.progress
        }
    }

    fn show(&mut self) {
        let progress = self.look();
        let is_due = self.told_at.elapsed() >= TOLD_EVERY;
        if is_due && self.told != Some(progress) {
            self.told = Some(progress);
            self.told_at = Instant::now();
            (self.tell)(Event::Progress(progress));
        }
    }

    fn give_up(&mut self, error: &Error) {
        let fail = Message::Fail(error.code(), error.to_string());
        for peer in self.peers.iter().filter(|peer| !peer.is_over()) {
            // A receiver that has not answered gets the number 0.
            self.line.say(peer.address, peer.theirs, &fail);
        }
        self.line.farewell();
    }

    fn summary(self) -> Summary {
        let progress = self.look();
        let receivers = self.peers.into_iter().map(|peer| {
            let result = match peer.stage {
                Stage::Over(result) => result,
                _ => Err(Error::Interrupted),
            };
            (peer.address, result)
        });
        Summary {
            root: self.root,
            receivers: receivers.collect(),
            progress,
        }
    }
}

//! Sender of a transfer. It offers the data of a source to receivers, and sends the slabs that they request.
//!
//! The sender reads each slab once.
//! It sends the slab to all receivers that need it at the same time, and processes slabs in ascending order.
//! Before each slab, it waits for all receivers.
//! Each receiver must either request the slab or show that it does not need it.

use super::channel::{Channel, LastHeard, Post};
use super::error::Error;
use super::flights::{Flights, Over, To};
use super::laggards::Laggards;
use super::message::{Code, Message, Offer, ReceivedBytes};
use super::moves::Moves;
use super::peer::{Peer, Stage};
use super::progress::{Event, Progress, REPORT_INTERVAL};
use super::reader::{Read, Reader, SlabObject};
use crate::driver::{self, Endpoint, new_session};
use crate::files::{self, Hash, Label, Source};
use std::net::{IpAddr, SocketAddr};
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

mod restarts;

/// Largest number of slabs in memory. While some slabs are being sent, a thread reads the next slab.
/// Each further slab would need up to 16 MiB.
const BUFFERS: usize = 3;

/// Options for sending.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct SendOptions {
    /// Time for which other receivers wait for a slow receiver. After this time, the slow receiver is dropped.
    /// `None`: the others wait as long as the slow receiver answers.
    pub drop_after: Option<Duration>,
    /// Time limit of the whole transfer. After this time, the transfer ends with [`Error::TimedOut`].
    pub timeout: Option<Duration>,
    /// Multicast group, at the port of the receivers.
    /// The data is sent once for all members of the group, and separately to each receiver that is not a member.
    /// `None`: the data is sent separately to each receiver.
    pub group: Option<IpAddr>,
}

/// Result of a transfer to all receivers.
#[derive(Debug)]
pub struct Summary {
    /// Root of the data, if a receiver has requested it.
    pub root: Option<Hash>,
    /// Result of each receiver. The order is the order of the addresses in the call.
    pub receivers: Vec<(SocketAddr, Result<(), Error>)>,
    /// Progress at the end of the transfer.
    pub progress: Progress,
}

/// Sends a source to one or several receivers. Returns when the transfer to each receiver has ended.
///
/// # Errors
/// The source cannot be read, the user has set `stop`, or the socket has failed.
/// If the transfer to one receiver fails, the summary contains its error.
pub fn send(
    endpoint: &Endpoint,
    source: Box<dyn Source>,
    to: &[SocketAddr],
    options: SendOptions,
    stop: &AtomicBool,
    notify: &mut dyn FnMut(Event),
) -> Result<Summary, Error> {
    let mut sender = Sender::new(endpoint, source, to, options, stop, notify)?;
    match sender.run() {
        Ok(()) => Ok(sender.summary()),
        Err(error) => {
            sender.give_up(&error);
            Err(error)
        }
    }
}

/// State of a transfer to all receivers.
struct Sender<'a> {
    channel: Channel<'a>,
    reader: Reader,
    options: SendOptions,
    notify: &'a mut dyn FnMut(Event),
    peers: Vec<Peer>,
    /// Session number in messages with slabs. It is the same for all receivers.
    slabs: u64,
    /// Slabs that are being read. The second element contains the indexes of the receivers that need the slab.
    reading: Vec<(u32, Vec<usize>)>,
    flights: Flights,
    /// Number of the last slab. `None` until this slab is read.
    last: Option<u32>,
    /// Offer to each receiver. Its session number is 0 here and different for each receiver.
    offer: Offer,
    root: Option<Hash>,
    /// Whether this sender has asked the reader for the root.
    asked_root: bool,
    /// Whether the reader hashes slabs that no receiver has requested.
    hashes_ahead: bool,
    /// Time at which the wait for the next slab began. [`Peer::has_decided`] ends the wait.
    waits_since: Option<Instant>,
    /// Addresses from which receivers have sent, and which are not validated.
    moves: Moves,
    laggards: Laggards,
    begun: Instant,
    progress: Progress,
    reported: Option<Progress>,
    reported_at: Instant,
}

impl<'a> Sender<'a> {
    fn new(
        endpoint: &'a Endpoint,
        source: Box<dyn Source>,
        to: &[SocketAddr],
        options: SendOptions,
        stop: &'a AtomicBool,
        notify: &'a mut dyn FnMut(Event),
    ) -> Result<Self, Error> {
        let number = || new_session().map_err(Error::System);
        let slabs = number()?;
        let mut channel = Channel::new(endpoint, stop);
        let mut peers = Vec::with_capacity(to.len());
        let header = *source.header();
        let offer = Offer {
            from: 0,
            slabs,
            total: source.total(),
            manifest: header.length,
            slab_log2: header.slab_log2,
        };
        for &address in to {
            let from = number()?;
            channel.greet(address, &Message::Offer(Offer { from, ..offer }));
            peers.push(Peer::new(address.into(), from));
        }
        // All receivers of a group have the same port. So the port of the first receiver is used.
        let port = to.first().map_or(0, SocketAddr::port);
        let group = options.group.map(|group| SocketAddr::new(group, port));
        let progress = Progress {
            total: source.total(),
            receivers: peers.len(),
            ..Progress::default()
        };
        Ok(Self {
            channel,
            reader: Reader::start(source, BUFFERS).map_err(Error::System)?,
            options,
            notify,
            peers,
            slabs,
            reading: Vec::new(),
            flights: Flights::new(group, options.drop_after),
            last: None,
            offer,
            root: None,
            asked_root: false,
            hashes_ahead: false,
            waits_since: None,
            moves: Moves::default(),
            laggards: Laggards::new(options.drop_after),
            begun: Instant::now(),
            progress,
            reported: None,
            reported_at: Instant::now(),
        })
    }

    fn run(&mut self) -> Result<(), Error> {
        loop {
            self.channel.check()?;
            let timeout = self.options.timeout;
            if let Some(timeout) = timeout.filter(|timeout| self.begun.elapsed() > *timeout) {
                return Err(Error::TimedOut(timeout));
            }
            let mut moved = false;
            while let Some(post) = self.channel.next()? {
                self.on_message(post)?;
                moved = true;
            }
            while let Some(read) = self.reader.next() {
                self.on_read(read)?;
                moved = true;
            }
            moved |= self.poll_flights();
            for (peer, failure) in self.channel.lost() {
                let at = self.peers.iter().position(|other| other.address() == peer);
                if let Some(at) = at {
                    self.unreachable(at, failure);
                }
            }
            self.ping_silent_peers();
            self.drop_laggards();
            self.schedule();
            self.show();
            let is_over = self.peers.iter().all(Peer::is_over);
            if is_over {
                self.channel.farewell();
                return Ok(());
            }
            if !moved {
                self.channel.sleep();
            }
        }
    }

    /// Reads the next slabs, as long as all receivers have decided about them ([`Peer::has_decided`]).
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
                // If slabs are in flight, their receivers are busy. The driver then detects slow receivers.
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
            let addresses: Vec<SocketAddr> = active.map(Peer::address).collect();
            if !self.flights.settle(&self.channel, &addresses) {
                return;
            }
            let mut to = Vec::new();
            for (at, peer) in self.peers.iter_mut().enumerate() {
                if !peer.is_over() && peer.wants.remove(&slab) {
                    to.push(at);
                }
            }
            self.reader.slab(slab, self.channel.footer(self.slabs));
            self.reading.push((slab, to));
        }
    }

    fn on_message(&mut self, post: Post) -> Result<(), Error> {
        let from = post.from.to;
        if let Message::Unknown(number) = post.message {
            return self.on_unknown(from, post.process, number);
        }
        let known = |peer: &Peer| peer.is_sender_of(&post);
        let Some(at) = self.peers.iter().position(known) else {
            self.channel.deny(&post);
            return Ok(());
        };
        let last = self.last;
        let peer = &mut self.peers[at];
        if peer.is_over() {
            return Ok(());
        }
        peer.last_heard = LastHeard::now();
        let before = peer.address();
        let ends = (&mut peer.route, peer.theirs);
        if self.moves.on_post(&mut self.channel, &post, ends) {
            // The slabs in flight go to the old address.
            peer.wants.extend(self.flights.stop_to(at));
            (self.notify)(Event::Moved(before, from));
        }
        match post.message {
            Message::Accept(theirs) => {
                if matches!(peer.stage, Stage::Offered) {
                    peer.theirs = theirs;
                    peer.process = Some(post.process);
                    peer.stage = Stage::Receiving;
                    (self.notify)(Event::Joined(from));
                }
            }
            Message::Wait(why) => {
                (self.notify)(Event::Waiting(from, why));
            }
            Message::Want {
                below,
                received,
                slabs,
            } => {
                let slabs = slabs.into_iter();
                // There are no slabs after the last one, so such requests are dropped.
                peer.wants
                    .extend(slabs.filter(|slab| last.is_none_or(|last| *slab <= last)));
                // The queue has a limit. Otherwise a receiver could fill the memory of this host.
                while peer.wants.len() > super::message::MOST_WANTED {
                    peer.wants.pop_last();
                }
                peer.below = peer.below.max(below);
                self.on_received(at, received);
            }
            Message::Skip(slabs) => {
                for slab in slabs {
                    peer.wants.remove(&slab);
                    self.flights.skip(slab, at);
                }
            }
            Message::Close(received) => {
                peer.stage = Stage::Closing;
                peer.wants.clear();
                self.on_received(at, received);
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
        Ok(())
    }

    /// Stops the flights that no receiver needs any more.
    fn cancel_needless(&self) {
        let peers = &self.peers;
        self.flights.cancel_to(|to| {
            let peer = &peers[to.at];
            peer.is_over() || peer.number != to.number
        });
    }

    fn on_received(&mut self, at: usize, received: ReceivedBytes) {
        self.peers[at].received = received;
        // The receiver does not request slabs that it has kept. But the root needs their hashes too.
        if received.kept > 0 && !self.hashes_ahead {
            self.hashes_ahead = true;
            self.reader.ahead();
        }
    }

    fn say_root(&mut self, at: usize, root: Hash) {
        let peer = &self.peers[at];
        let (route, theirs) = (peer.route, peer.theirs);
        self.channel.send(route, theirs, &Message::Root(root));
    }

    fn on_read(&mut self, read: Read) -> Result<(), Error> {
        match read {
            // A receiver requested this slab before the end of the stream was known. So the failure is ignored.
            Read::Failed(files::Error::Gone(slab)) if self.last.is_some_and(|last| slab > last) => {
                self.reading.retain(|(reading, _)| *reading != slab);
                Ok(())
            }
            Read::Failed(error) => Err(error.into()),
            // Several receivers may have asked for the root while it was computed.
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
            number: self.peers[at].number,
            address: self.peers[at].address(),
        });
        self.flights
            .launch(&self.channel, slab, to.collect(), object);
    }

    /// Handles the flights that have ended. Returns whether any flight has ended.
    fn poll_flights(&mut self) -> bool {
        let over = self.flights.poll(&self.channel);
        for peer in self.flights.take_deaf() {
            (self.notify)(Event::Deaf(peer));
        }
        let moved = !over.is_empty();
        for one in over {
            let (settled, lost) = one.losses();
            self.progress.settled += settled;
            self.progress.lost += lost;
            let Over {
                slab,
                to,
                progress,
                fate,
            } = one;
            if let Ok(sent) = fate {
                self.progress.sent += sent.bytes;
                self.progress.repair += sent.repair_bytes;
            }
            for (
                &To {
                    at,
                    number,
                    address,
                },
                one,
            ) in to.iter().zip(&progress)
            {
                // The receiver's process has restarted since. So it will request the slab again if it needs it.
                if self.peers[at].number != number {
                    continue;
                }
                let has_moved = self.peers[at].address() != address;
                // The slab was sent to the old address of the receiver.
                if has_moved && matches!(one.stage, driver::Stage::Failed(_)) {
                    self.peers[at].wants.insert(slab);
                    continue;
                }
                match (one.stage, fate) {
                    (driver::Stage::Dropped, _) => self.drop_peer(at),
                    // This end has cancelled the flight itself.
                    (driver::Stage::Failed(driver::Failure::Cancelled), _)
                    | (_, Err(driver::Failure::Cancelled)) => {}
                    (driver::Stage::Failed(driver::Failure::Forgotten), _)
                    | (_, Err(driver::Failure::Forgotten)) => self.on_forgotten(at, slab),
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
        let peer = self.peers[at].address();
        let has_key = self.channel.endpoint().has_key();
        let error = match self.peers[at].has_answered() {
            false => Error::Unreachable {
                peer,
                failure,
                has_key,
            },
            true => Error::Lost { peer, failure },
        };
        self.end(at, Err(error));
    }

    /// Drops the receivers that slow down all others for too long.
    fn drop_laggards(&mut self) {
        let waits = self.flights.hold_ups();
        for at in self.laggards.find(self.begun.elapsed(), waits) {
            self.drop_peer(at);
        }
        let peers = &self.peers;
        self.flights.leave_out(|to| peers[to.at].is_over());
    }

    fn drop_peer(&mut self, at: usize) {
        let peer = &self.peers[at];
        if peer.is_over() {
            return;
        }
        let (route, theirs) = (peer.route, peer.theirs);
        let fail = Message::Fail(Code::Dropped, "the others waited too long".to_owned());
        self.channel.send(route, theirs, &fail);
        self.end(at, Err(Error::Dropped(route.to)));
    }

    /// Ends the transfer to one receiver.
    fn end(&mut self, at: usize, result: Result<(), Error>) {
        let peer = &mut self.peers[at];
        if peer.is_over() {
            return;
        }
        if let Err(error) = &result {
            (self.notify)(Event::left(peer.address(), error));
        }
        peer.stage = Stage::Over(result);
        self.cancel_needless();
    }

    /// Returns the progress of the slowest receiver that has not finished.
    /// If all have finished, returns the progress of the receiver with the most verified bytes.
    fn progress(&self) -> Progress {
        let active = self.peers.iter().filter(|peer| !peer.is_over());
        // All receivers get the same slab at the same time, so the bytes of this slab decide.
        let arrived = self.flights.arrived();
        let has = |at: usize, peer: &Peer| {
            let in_flight = arrived.get(&at).copied().unwrap_or(0);
            peer.received.verified.saturating_add(in_flight)
        };
        // The transfer ends when the slowest receiver has all data. So its progress is reported.
        let numbered = self.peers.iter().enumerate();
        let numbered = numbered.filter(|(_, peer)| !peer.is_over());
        // If several have the same number of bytes, the others may wait for one of them.
        let key = |(at, peer): &(usize, &Peer)| {
            let held = self.laggards.held(*at);
            (has(*at, peer), std::cmp::Reverse(held))
        };
        let slowest = numbered.min_by_key(key);
        let slowest = slowest.map(|(_, peer)| peer);
        let furthest = self.peers.iter().map(|peer| peer.received);
        let furthest = furthest.max_by_key(|received| received.verified);
        let (settled, lost) = self.flights.losses();
        Progress {
            settled: self.progress.settled + settled,
            lost: self.progress.lost + lost,
            received: slowest
                .map(|peer| peer.received)
                .or(furthest)
                .unwrap_or_default(),
            receivers: active.count(),
            slowest: slowest
                .filter(|_| self.peers.len() > 1)
                .map(|peer| peer.address()),
            ..self.progress
        }
    }

    fn show(&mut self) {
        let progress = self.progress();
        let is_due = self.reported_at.elapsed() >= REPORT_INTERVAL;
        if is_due && self.reported != Some(progress) {
            self.reported = Some(progress);
            self.reported_at = Instant::now();
            (self.notify)(Event::Progress(progress));
        }
    }

    fn give_up(&mut self, error: &Error) {
        let fail = Message::Fail(error.code(), error.to_string());
        for peer in self.peers.iter().filter(|peer| !peer.is_over()) {
            // A receiver that has not answered has no session number yet. `theirs` is then 0.
            self.channel.send(peer.route, peer.theirs, &fail);
        }
        self.channel.farewell();
    }

    fn summary(self) -> Summary {
        let progress = self.progress();
        let receivers = self.peers.into_iter().map(|peer| {
            let address = peer.address();
            let result = match peer.stage {
                Stage::Over(result) => result,
                _ => Err(Error::Interrupted),
            };
            (address, result)
        });
        Summary {
            root: self.root,
            receivers: receivers.collect(),
            progress,
        }
    }
}

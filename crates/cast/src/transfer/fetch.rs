//! Download of slabs into a sink, from one sender or from several replicas.
//!
//! The receiver requests a few slabs ahead from each holder (a sender or replica).
//! It requests fewer slabs from a slow holder.
//! A holder without open requests gets a request for the oldest slab that another holder has not sent yet.
//! So a slow holder delays the transfer by at most the time that another holder needs for this slab.

use super::channel::{Channel, FAREWELL, LastHeard, Post};
use super::error::Error;
use super::holder::{FEWEST, Holder};
use super::message::{Message, ReceivedBytes};
use super::progress::{Event, Progress, REPORT_INTERVAL};
use super::proof::{Proof, Step};
use crate::files::{Delivered, Hash, Label, Next, Pool, Sink};
use std::collections::{HashMap, VecDeque};
use std::net::SocketAddr;
use std::time::{Duration, Instant};

/// Number of bytes that are requested ahead from all holders together.
/// The number is half of the default memory limit of an endpoint.
const AHEAD: u64 = 32 << 20;
/// Largest number of slabs that are requested ahead from one holder.
/// With more requests, a holder that becomes slow or leaves would delay more slabs.
const MOST: u64 = 16;
/// Largest number of slabs with a wrong hash. If one more arrives, its holder is given up.
/// A wrong slab is requested again. Without a limit, a faulty holder could keep the transfer running forever.
const MOST_MISMATCHES: u32 = 16;

/// Time limit for the delivery of the last message to a replica that has been silent for a while.
/// The transfer has already ended, and the replica also detects the end without the message. So the time is short.
const FAREWELL_TO_THE_QUIET: Duration = Duration::from_millis(50);

/// Result of a transfer that is complete.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Taken {
    /// Root of the data, which is verified.
    pub root: Hash,
    /// Progress at the end of the transfer.
    pub progress: Progress,
}

/// Largest number of times that a replica may forget the transfer before it sends its next slab.
/// Without a limit, a faulty replica could keep the transfer running forever.
const MOST_RESTARTS: u32 = 10;

/// Replica that got the request for the data and has not answered yet.
#[derive(Clone, Copy, Debug)]
pub(super) struct Unheard {
    pub(super) address: SocketAddr,
    /// Time of the last request.
    asked: LastHeard,
}

impl Unheard {
    /// Creates the entry of a replica that has just got the request.
    pub(super) fn now(address: SocketAddr) -> Self {
        let asked = LastHeard::now();
        Self { address, asked }
    }

    /// Sends the request again if the replica is silent. A process that got it may have restarted before its answer.
    /// A replica that knows the request ignores it.
    pub(super) fn ask_again(&mut self, channel: &mut Channel<'_>, mine: u64, root: Hash) {
        if self.asked.is_silent() && !channel.is_sending_to(self.address) {
            channel.send(self.address, 0, &Message::Get(mine, root));
            self.asked = LastHeard::now();
        }
    }
}

/// Handler of messages that do not belong to the running transfer. It may return an event to report.
pub(super) type Elsewhere<'e, 'l> =
    dyn FnMut(&mut Channel<'l>, &mut Vec<Holder>, Post) -> Option<Event> + 'e;

/// State of a transfer into a sink.
pub(super) struct Fetch<'f, 'l> {
    channel: &'f mut Channel<'l>,
    sink: &'f mut dyn Sink,
    notify: &'f mut dyn FnMut(Event),
    holders: Vec<Holder>,
    /// Replicas that have not answered the request yet. They may answer later and become holders.
    unheard: Vec<Unheard>,
    /// Number of times that each replica has forgotten the transfer since its last slab.
    restarts: HashMap<SocketAddr, u32>,
    /// Errors of the holders that have left.
    gone: Vec<Error>,
    /// Addresses of the holders that have left and of the replicas that never answered.
    left: Vec<SocketAddr>,
    /// Root that the data must have. `None`: there is only one sender, and it sends the root at the end.
    root: Option<Hash>,
    /// Hashes of the slabs. With the root, they prove that the slabs are right. `None`: there is only one sender.
    proof: Option<Proof>,
    /// Largest number of slabs that may be requested ahead from one holder.
    ahead: usize,
    /// Slabs that must be requested again, because their holder has left.
    again: VecDeque<u32>,
    /// Slabs below this number have arrived, were kept from an earlier transfer, or are requested.
    below: u32,
    /// Whether the sink needs a requested slab before it returns further slabs to request.
    is_waiting: bool,
    /// Whether the sink has no further slab to request.
    is_ended: bool,
    /// Whether all slabs have arrived, and only the end of the transfer is missing.
    is_closing: bool,
    /// Number of slabs with a wrong hash. The count is set to 0 when a holder is given up because of such slabs.
    mismatches: u32,
    pool: Pool,
    /// Whether `below` or the number of verified bytes has changed since the last report to the holders.
    is_news: bool,
    /// Progress that the last event has reported.
    reported: Option<Progress>,
    reported_at: Instant,
}

impl<'f, 'l> Fetch<'f, 'l> {
    /// Creates a transfer. `holders` have answered the request of this end.
    /// The replicas in `unheard` got the request too, but have not answered yet.
    /// `root` is the expected root, if it is known.
    pub(super) fn new(
        channel: &'f mut Channel<'l>,
        sink: &'f mut dyn Sink,
        notify: &'f mut dyn FnMut(Event),
        holders: Vec<Holder>,
        root: Option<Hash>,
        unheard: Vec<Unheard>,
    ) -> Self {
        let most = (holders.len() + unheard.len()) as u64;
        let slab_log2 = holders.first().map_or(24, |holder| holder.offer.slab_log2);
        Self {
            channel,
            sink,
            notify,
            holders,
            unheard,
            restarts: HashMap::new(),
            gone: Vec::new(),
            left: Vec::new(),
            root,
            proof: root.map(Proof::new),
            // All replicas may still answer. So the limit in bytes is divided by the number of all replicas.
            ahead: ((AHEAD >> slab_log2) / most.max(1)).clamp(FEWEST as u64, MOST) as usize,
            again: VecDeque::new(),
            below: 0,
            is_waiting: false,
            is_ended: false,
            is_closing: false,
            mismatches: 0,
            // This thread needs only one buffer at a time.
            // The other buffers contain slabs that a slow pipe has not accepted yet.
            pool: Pool::new(1_024),
            is_news: true,
            reported: None,
            reported_at: Instant::now(),
        }
    }

    /// Runs the transfer to its end. `other` handles the messages that do not belong to this transfer.
    pub(super) fn run(&mut self, mine: u64, other: &mut Elsewhere<'_, 'l>) -> Result<Taken, Error> {
        let mut result = self.work(mine, other);
        if result.is_err() {
            // If the user has interrupted the transfer, a waiting sink may have returned another error.
            // The interruption is the true cause.
            result = self.channel.check().and(result);
        }
        match &result {
            Ok(_) => self.send_to_all(&Message::Done),
            Err(error) => self.send_to_all(&Message::Fail(error.code(), error.to_string())),
        }
        let holders = &self.holders;
        let is_of_replicas = self.root.is_some();
        self.channel.farewell_to(|peer| {
            let mut all = holders.iter();
            match all.find(|one| one.address() == peer) {
                _ if !is_of_replicas => FAREWELL,
                Some(holder) if !holder.is_quiet() => FAREWELL,
                Some(_) => FAREWELL_TO_THE_QUIET,
                // `peer` is not a holder, because it never answered or has left. So no message must reach it.
                None => Duration::ZERO,
            }
        });
        result
    }

    fn send_to_all(&mut self, message: &Message) {
        for holder in &self.holders {
            self.channel.send(holder.route, holder.offer.from, message);
        }
    }

    fn work(&mut self, mine: u64, other: &mut Elsewhere<'_, 'l>) -> Result<Taken, Error> {
        loop {
            self.channel.check()?;
            let mut moved = false;
            while let Some(post) = self.channel.next()? {
                moved = true;
                let from = post.from.to;
                match self.at(from) {
                    Some(at) if matches!(post.message, Message::Unknown(_)) => {
                        self.on_unknown(at, &post, mine)?;
                    }
                    // All receivers get the same slabs. So slabs have another session number than other messages.
                    Some(at) if post.to == mine || post.to == self.holders[at].offer.slabs => {
                        if let Some(taken) = self.on_message(at, post.to == mine, post.message)? {
                            return Ok(taken);
                        }
                    }
                    _ => {
                        let answers = matches!(post.message, Message::Offer(_) | Message::Fail(..));
                        if post.to == mine && answers {
                            self.unheard.retain(|one| one.address != from);
                        }
                        if let Some(event) = other(self.channel, &mut self.holders, post) {
                            (self.notify)(event);
                        }
                    }
                }
            }
            for (peer, failure) in self.channel.lost() {
                match self.at(peer) {
                    Some(at) => self.lose(at, Error::Lost { peer, failure })?,
                    None if self.root.is_some() && !self.left.contains(&peer) => {
                        self.left.push(peer);
                        self.unheard.retain(|one| one.address != peer);
                        let has_key = self.channel.endpoint().has_key();
                        let error = Error::Unreachable {
                            peer,
                            failure,
                            has_key,
                        };
                        (self.notify)(Event::Left(peer, error.to_string()));
                        self.gone.push(error);
                    }
                    None => {}
                }
            }
            if self.holders.is_empty() && self.unheard.is_empty() {
                return Err(Error::NoReplica(std::mem::take(&mut self.gone)));
            }
            moved |= self.hand_out()?;
            self.ping_silent_peers(mine);
            self.send_requests();
            if let Some(taken) = self.close()? {
                return Ok(taken);
            }
            if !moved {
                self.channel.sleep();
            }
        }
    }

    fn at(&self, address: SocketAddr) -> Option<usize> {
        self.holders.iter().position(|one| one.address() == address)
    }

    /// Handles the answer of a holder that does not know a session number. A replica gets the request again.
    /// A sender must offer its data again, so its transfer ends here.
    fn on_unknown(&mut self, at: usize, post: &Post, mine: u64) -> Result<(), Error> {
        let holder = &self.holders[at];
        let peer = holder.address();
        if !matches!(post.message, Message::Unknown(number) if number == holder.offer.from) {
            return Ok(());
        }
        let error = Error::unknown(peer, Some(holder.process), post.process);
        let Some(root) = self.root else {
            return Err(error);
        };
        let restarts = self.restarts.entry(peer).or_default();
        *restarts += 1;
        if *restarts > MOST_RESTARTS {
            return self.lose(at, error);
        }
        self.release(at);
        self.channel.send(peer, 0, &Message::Get(mine, root));
        self.unheard.push(Unheard::now(peer));
        (self.notify)(Event::Restarted(peer));
        Ok(())
    }

    /// Removes a holder. Its open requests go to other holders.
    fn release(&mut self, at: usize) {
        let lost = self.holders.remove(at);
        if let Some(proof) = &mut self.proof {
            proof.forget(lost.address());
        }
        for asked in lost.requests {
            if !self.holders.iter().any(|one| one.has_requested(asked.slab)) {
                self.again.push_back(asked.slab);
            }
        }
    }

    fn on_message(
        &mut self,
        at: usize,
        is_mine: bool,
        message: Message,
    ) -> Result<Option<Taken>, Error> {
        let holder = &mut self.holders[at];
        holder.last_heard = LastHeard::now();
        let peer = holder.address();
        match message {
            Message::Slab(label, bytes) => self.on_slab(at, label, bytes)?,
            Message::Hashes(page) if is_mine => {
                let holder = &self.holders[at];
                let step = self
                    .proof
                    .as_mut()
                    .map(|proof| proof.add(self.channel, holder, page));
                if step == Some(Step::Wrong) {
                    self.lose(at, Error::Rotten(peer))?;
                }
            }
            // The receiver's own number shows that the sender means this transfer.
            Message::Root(root) if is_mine => {
                if !self.is_closing {
                    let why = "it sent a root without a request";
                    return Err(Error::Broken { peer, why });
                }
                self.sink.finish(&root)?;
                return Ok(Some(self.taken(root)));
            }
            Message::Fail(code, why) if is_mine => {
                self.lose(at, Error::Peer { peer, code, why })?;
            }
            _ => {}
        }
        Ok(None)
    }

    fn taken(&self, root: Hash) -> Taken {
        let progress = self.progress();
        Taken { root, progress }
    }

    fn on_slab(&mut self, at: usize, label: Label, bytes: Vec<u8>) -> Result<(), Error> {
        let slab = label.slab;
        if !self.holders.iter().any(|holder| holder.has_requested(slab)) {
            // This slab has already arrived, from another holder.
            return Ok(());
        }
        let manifest = self.holders[at].offer.manifest;
        if let Some(proof) = &self.proof
            && !proof.proves(&label, &bytes, manifest)
        {
            let peer = self.holders[at].address();
            return self.lose(at, Error::Rotten(peer));
        }
        self.holders[at].on_slab(slab, self.ahead);
        self.restarts.remove(&self.holders[at].address());
        for index in 0..self.holders.len() {
            let holder = &mut self.holders[index];
            if holder.retain(|asked| asked != slab) && index != at {
                let (route, number) = (holder.route, holder.offer.from);
                self.channel.send(route, number, &Message::Skip(vec![slab]));
            }
        }
        // There are no slabs after the last one. So the requests for them are cancelled.
        if label.last {
            for holder in &mut self.holders {
                holder.retain(|asked| asked < slab);
            }
            self.again.retain(|asked| *asked < slab);
        }
        let mut buffer = self.pool.take();
        *buffer = bytes;
        let delivered = self.sink.deliver(label, buffer)?;
        // A slow pipe may still need the buffer.
        // Only a buffer that the sink has released can be given back to the endpoint.
        if let Some(mut buffer) = self.pool.try_take() {
            self.channel
                .endpoint()
                .recycle(std::mem::take(&mut *buffer));
        }
        match delivered {
            Delivered::Verified => {}
            Delivered::Mismatch => {
                self.mismatches += 1;
                // The sink will request this slab again.
                self.is_ended = false;
                // The label of the slab is proven, so the bytes are wrong. Another replica can send the slab.
                if self.proof.is_some() && self.holders.len() > 1 {
                    let peer = self.holders[at].address();
                    self.is_waiting = false;
                    return self.lose(at, Error::Rotten(peer));
                }
                if self.mismatches > MOST_MISMATCHES {
                    let peer = self.holders[at].address();
                    let why = "its slabs do not agree with their hashes";
                    self.mismatches = 0;
                    self.is_waiting = false;
                    return self.lose(at, Error::Broken { peer, why });
                }
            }
        }
        self.is_waiting = false;
        self.is_news = true;
        Ok(())
    }

    /// Removes a holder that has failed.
    fn lose(&mut self, at: usize, error: Error) -> Result<(), Error> {
        // If no root is known, this holder is the only sender. So the transfer has failed.
        if self.root.is_none() {
            return Err(error);
        }
        let peer = self.holders[at].address();
        self.release(at);
        (self.notify)(Event::Left(peer, error.to_string()));
        self.left.push(peer);
        self.gone.push(error);
        Ok(())
    }

    /// Adds requests to holders that have few open requests.
    /// Returns whether the caller should call this function again soon.
    fn hand_out(&mut self) -> Result<bool, Error> {
        if let Some(proof) = &mut self.proof {
            proof.ask(self.channel, &self.holders);
            // A slab without a proof could come from a replica with other data.
            if !proof.is_known() {
                return Ok(false);
            }
        }
        loop {
            let free = self.holders.iter().enumerate();
            let is_only = self.holders.len() == 1;
            let free = free.filter(|(_, one)| match self.root {
                // If there is only one holder, it always gets at least two requests, even if it is slow.
                // No other holder needs the bandwidth.
                Some(_) if is_only => one.requests.len() < FEWEST || one.has_room(self.ahead),
                Some(_) => one.has_room(self.ahead),
                // If no root is known, the only sender gets all requests.
                None => one.requests.len() < self.ahead,
            });
            let Some((at, _)) = free.min_by_key(|(_, one)| one.requests.len()) else {
                return Ok(false);
            };
            if let Some(slab) = self.again.pop_front() {
                self.request(at, slab);
                continue;
            }
            // The sink has no slab to request now. So an idle holder may take over a request of a slow holder.
            if self.is_ended || self.is_waiting {
                if let Some((at, slab)) = self.overtaken() {
                    self.request(at, slab);
                    continue;
                }
                return Ok(false);
            }
            match self.sink.next()? {
                Next::Fetch(slab) => {
                    self.below = self.below.max(slab + 1);
                    self.request(at, slab);
                }
                Next::Kept { slab, .. } => {
                    self.below = self.below.max(slab + 1);
                    self.is_news = true;
                    // To verify a kept slab takes time, and messages must wait during this time.
                    // So each call verifies only one slab.
                    return Ok(true);
                }
                Next::Wait => self.is_waiting = true,
                Next::End => {
                    self.is_ended = true;
                    self.below = u32::MAX;
                    self.is_news = true;
                }
            }
        }
    }

    fn request(&mut self, at: usize, slab: u32) {
        self.holders[at].request(slab);
    }

    /// Returns a nearly idle holder, and the slab that it should take over.
    /// The slab is the oldest one that was requested from exactly one other holder and has not arrived.
    fn overtaken(&self) -> Option<(usize, u32)> {
        let has_requested = |slab: u32| {
            self.holders
                .iter()
                .filter(|one| one.has_requested(slab))
                .count()
        };
        let all = self.holders.iter().enumerate();
        let owed = all.flat_map(|(at, one)| one.requests.iter().map(move |asked| (at, asked)));
        let mut owed: Vec<_> = owed
            .filter(|(_, asked)| has_requested(asked.slab) == 1)
            .collect();
        owed.sort_by_key(|(_, asked)| (asked.since, asked.slab));
        owed.into_iter().find_map(|(of, asked)| {
            let others = self.holders.iter().enumerate().filter(|(at, _)| *at != of);
            let mut able = others.filter(|(_, one)| one.can_overtake(asked.since));
            able.next().map(|(at, _)| (at, asked.slab))
        })
    }

    /// Sends the new requests to the holders, and reports the progress.
    fn send_requests(&mut self) {
        let progress = self.progress();
        let is_due =
            self.reported_at.elapsed() >= REPORT_INTERVAL && self.reported != Some(progress);
        // The end of the requests is reported immediately, because the holders may wait for it.
        let reports_to_all = self.is_news && (is_due || self.is_ended);
        for holder in &mut self.holders {
            if holder.unsent.is_empty() && !reports_to_all {
                continue;
            }
            let want = Message::Want {
                below: self.below,
                received: progress.received,
                slabs: std::mem::take(&mut holder.unsent),
            };
            self.channel.send(holder.route, holder.offer.from, &want);
        }
        if reports_to_all {
            self.is_news = false;
        }
        if is_due {
            self.reported = Some(progress);
            self.reported_at = Instant::now();
            (self.notify)(Event::Progress(progress));
        }
    }

    fn progress(&self) -> Progress {
        let amount = self.sink.amount();
        Progress {
            total: amount.total,
            received: ReceivedBytes {
                verified: amount.verified,
                kept: amount.kept,
            },
            receivers: 1,
            ..Progress::default()
        }
    }

    /// Starts the end of the transfer when all slabs have arrived. Returns the result if the root is already known.
    fn close(&mut self) -> Result<Option<Taken>, Error> {
        let is_owed = self.holders.iter().any(|one| !one.requests.is_empty());
        if !self.is_ended || is_owed || !self.again.is_empty() || self.is_closing {
            return Ok(None);
        }
        self.is_closing = true;
        if let Some(root) = self.root {
            self.sink.finish(&root)?;
            return Ok(Some(self.taken(root)));
        }
        let received = self.progress().received;
        self.send_to_all(&Message::Close(received));
        Ok(None)
    }

    fn ping_silent_peers(&mut self, mine: u64) {
        if let Some(root) = self.root {
            for replica in &mut self.unheard {
                replica.ask_again(self.channel, mine, root);
            }
        }
        for holder in &mut self.holders {
            // If a message is being sent, its result will show whether the holder can be reached. So no ping is needed.
            if holder.last_heard.is_silent() && !self.channel.is_sending_to(holder.address()) {
                let (route, number) = (holder.route, holder.offer.from);
                // The time of silence starts again. So the next ping follows only after another such time.
                self.channel.send(route, number, &Message::Ping);
                holder.last_heard = LastHeard::now();
            }
        }
    }
}

//! Download of slabs into a sink, from one sender or from several replicas.
//!
//! The receiver requests a few slabs ahead from each holder (a sender or replica).
//! It requests fewer slabs from a slow holder.
//! A holder without open requests gets a request for the oldest slab that another holder has not sent yet.
//! So a slow holder delays the transfer by at most the time that another holder needs for this slab.

use super::channel::{Channel, FAREWELL, LastHeard, Post};
use super::error::Error;
use super::holder::{FEWEST, Holder, Unheard};
use super::message::{Message, ReceivedBytes};
use super::moves::Moves;
use super::progress::{Event, Progress, REPORT_INTERVAL};
use super::proof::{self, Proof};
use crate::driver::Failure;
use crate::files::{Delivered, Hash, Label, Next, Pool, RETRY, Sink};
use std::collections::{HashMap, VecDeque};
use std::net::SocketAddr;
use std::time::{Duration, Instant};

mod state;

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

/// State of a transfer into a sink.
pub(super) struct State {
    /// Session number that messages to this end have.
    mine: u64,
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
    /// Number of slabs that may be requested ahead from one holder at this moment.
    ahead: usize,
    /// Largest value of `ahead`.
    most_ahead: usize,
    /// Time before which nothing is requested, because the files of the transfer are in use.
    retry_at: Option<Instant>,
    /// Whether the sender knows that the files of the transfer are in use.
    has_told_wait: bool,
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
    /// Time of the last slab that was verified.
    progress_at: Instant,
    /// Addresses from which holders have sent, and which are not validated.
    moves: Moves,
}

/// Result of a step of a transfer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Step {
    /// Nothing is left to do until the next message.
    Idle,
    /// The next step can do more.
    Busy,
    /// The transfer is complete.
    Taken(Taken),
}

/// Returns the message with the result of a transfer.
pub(super) fn outcome(result: Result<&Taken, &Error>) -> Message {
    match result {
        Ok(_) => Message::Done,
        Err(error) => Message::Fail(error.code(), error.to_string()),
    }
}

/// Handler of messages that do not belong to the running transfer. It may return an event to report.
pub(super) type Elsewhere<'e, 'l> =
    dyn FnMut(&mut Channel<'l>, &mut Vec<Holder>, Post) -> Option<Event> + 'e;

/// Transfer into a sink, with everything that a step of it needs.
pub(super) struct Fetch<'f, 'l> {
    pub(super) channel: &'f mut Channel<'l>,
    pub(super) sink: &'f mut dyn Sink,
    pub(super) notify: &'f mut dyn FnMut(Event),
    pub(super) state: &'f mut State,
}

impl<'l> Fetch<'_, 'l> {
    /// Runs the transfer to its end. `other` handles the messages that do not belong to this transfer.
    pub(super) fn run(&mut self, other: &mut Elsewhere<'_, 'l>) -> Result<Taken, Error> {
        let mut result = self.work(other);
        if result.is_err() {
            // If the user has interrupted the transfer, a waiting sink may have returned another error.
            // The interruption is the true cause.
            result = self.channel.check().and(result);
        }
        self.report(&result);
        let holders = &self.state.holders;
        self.channel.farewell_to(|peer| {
            let mut all = holders.iter();
            match all.find(|one| one.address() == peer) {
                Some(holder) if !holder.is_quiet() => FAREWELL,
                Some(_) => FAREWELL_TO_THE_QUIET,
                // `peer` is not a holder, because it never answered or has left. So no message must reach it.
                None => Duration::ZERO,
            }
        });
        result
    }

    /// Sends the result of the transfer to all holders.
    pub(super) fn report(&mut self, result: &Result<Taken, Error>) {
        self.send_to_all(&outcome(result.as_ref()));
    }

    /// Tells all holders that the transfer ends for this reason.
    pub(super) fn give_up(&mut self, error: &Error) {
        self.send_to_all(&outcome(Err(error)));
    }

    fn send_to_all(&mut self, message: &Message) {
        for holder in &self.state.holders {
            self.channel.send(holder.route, holder.offer.from, message);
        }
    }

    fn work(&mut self, other: &mut Elsewhere<'_, 'l>) -> Result<Taken, Error> {
        loop {
            self.channel.check()?;
            let mut moved = false;
            while let Some(post) = self.channel.next()? {
                moved = true;
                if self.state.owns(&post) {
                    if let Some(taken) = self.on_post(post)? {
                        return Ok(taken);
                    }
                    continue;
                }
                let answers = matches!(post.message, Message::Offer(_) | Message::Fail(..));
                if post.to == self.state.mine && answers {
                    self.state.unheard.retain(|one| one.address != post.from.to);
                }
                if let Some(event) = other(self.channel, &mut self.state.holders, post) {
                    (self.notify)(event);
                }
            }
            for (peer, failure) in self.channel.lost() {
                self.on_lost(peer, failure)?;
            }
            if self.state.holders.is_empty() && self.state.unheard.is_empty() {
                return Err(Error::NoReplica(std::mem::take(&mut self.state.gone)));
            }
            let step = self.step()?;
            if let Step::Taken(taken) = step {
                return Ok(taken);
            }
            if !moved && step == Step::Idle {
                self.channel.sleep();
            }
        }
    }

    /// Handles a message of a holder ([`State::owns`]).
    pub(super) fn on_post(&mut self, post: Post) -> Result<Option<Taken>, Error> {
        let Some(at) = self.state.holder_of(&post) else {
            return Ok(None);
        };
        if matches!(post.message, Message::Unknown(_)) {
            self.on_unknown(at, &post)?;
            return Ok(None);
        }
        let holder = &mut self.state.holders[at];
        let before = holder.address();
        let ends = (&mut holder.route, holder.offer.from);
        if self.state.moves.on_post(self.channel, &post, ends) {
            (self.notify)(Event::Moved(before, post.from.to));
        }
        self.on_message(at, post.to == self.state.mine, post.message)
    }

    /// Handles the failure of a message to this address.
    pub(super) fn on_lost(&mut self, peer: SocketAddr, failure: Failure) -> Result<(), Error> {
        match self.state.at(peer) {
            Some(at) => self.lose(at, Error::Lost { peer, failure })?,
            None if self.state.root.is_some() && !self.state.left.contains(&peer) => {
                self.state.left.push(peer);
                self.state.unheard.retain(|one| one.address != peer);
                let has_key = self.channel.endpoint().has_key();
                let error = Error::Unreachable {
                    peer,
                    failure,
                    has_key,
                };
                (self.notify)(Event::left(peer, &error));
                self.state.gone.push(error);
            }
            None => {}
        }
        Ok(())
    }

    /// Requests slabs, reports the progress, and ends the transfer if all slabs have arrived.
    pub(super) fn step(&mut self) -> Result<Step, Error> {
        let moved = self.hand_out()?;
        self.ping_silent_peers();
        self.send_requests();
        Ok(match (self.close()?, moved) {
            (Some(taken), _) => Step::Taken(taken),
            (None, true) => Step::Busy,
            (None, false) => Step::Idle,
        })
    }

    /// Handles the answer of a holder that does not know a session number. A replica gets the request again.
    /// A sender must offer its data again, so its transfer ends here.
    fn on_unknown(&mut self, at: usize, post: &Post) -> Result<(), Error> {
        let holder = &self.state.holders[at];
        let peer = holder.address();
        if !matches!(post.message, Message::Unknown(number) if number == holder.offer.from) {
            return Ok(());
        }
        let error = Error::unknown(peer, Some(holder.process), post.process);
        let Some(root) = self.state.root else {
            return Err(error);
        };
        let restarts = self.state.restarts.entry(peer).or_default();
        *restarts += 1;
        if *restarts > MOST_RESTARTS {
            return self.lose(at, error);
        }
        self.release(at);
        let mine = self.state.mine;
        self.channel.send(peer, 0, &Message::Get(mine, root));
        self.state.unheard.push(Unheard::now(peer));
        (self.notify)(Event::Restarted(peer));
        Ok(())
    }

    /// Removes a holder. Its open requests go to other holders.
    fn release(&mut self, at: usize) {
        let lost = self.state.holders.remove(at);
        if let Some(proof) = &mut self.state.proof {
            proof.forget(lost.address());
        }
        for asked in lost.requests {
            if !self
                .state
                .holders
                .iter()
                .any(|one| one.has_requested(asked.slab))
            {
                self.state.again.push_back(asked.slab);
            }
        }
    }

    fn on_message(
        &mut self,
        at: usize,
        is_mine: bool,
        message: Message,
    ) -> Result<Option<Taken>, Error> {
        let holder = &mut self.state.holders[at];
        holder.last_heard = LastHeard::now();
        let peer = holder.address();
        match message {
            Message::Slab(label, bytes) => self.on_slab(at, label, bytes)?,
            Message::Hashes(page) if is_mine => {
                let holder = &self.state.holders[at];
                let step = self
                    .state
                    .proof
                    .as_mut()
                    .map(|proof| proof.add(self.channel, holder, page));
                if step == Some(proof::Step::Wrong) {
                    self.lose(at, Error::Rotten(peer))?;
                }
            }
            // The receiver's own number shows that the sender means this transfer.
            Message::Root(root) if is_mine => {
                if !self.state.is_closing {
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
        if !self
            .state
            .holders
            .iter()
            .any(|holder| holder.has_requested(slab))
        {
            // This slab has already arrived, from another holder.
            return Ok(());
        }
        let manifest = self.state.holders[at].offer.manifest;
        if let Some(proof) = &self.state.proof
            && !proof.proves(&label, &bytes, manifest)
        {
            let peer = self.state.holders[at].address();
            return self.lose(at, Error::Rotten(peer));
        }
        self.state.holders[at].on_slab(slab, self.state.ahead);
        self.state
            .restarts
            .remove(&self.state.holders[at].address());
        for index in 0..self.state.holders.len() {
            let holder = &mut self.state.holders[index];
            if holder.retain(|asked| asked != slab) && index != at {
                let (route, number) = (holder.route, holder.offer.from);
                self.channel.send(route, number, &Message::Skip(vec![slab]));
            }
        }
        // There are no slabs after the last one. So the requests for them are cancelled.
        if label.last {
            for holder in &mut self.state.holders {
                holder.retain(|asked| asked < slab);
            }
            self.state.again.retain(|asked| *asked < slab);
        }
        let mut buffer = self.state.pool.take();
        *buffer = bytes;
        let delivered = self.sink.deliver(label, buffer)?;
        // A slow pipe may still need the buffer.
        // Only a buffer that the sink has released can be given back to the endpoint.
        if let Some(mut buffer) = self.state.pool.try_take() {
            self.channel
                .endpoint()
                .recycle(std::mem::take(&mut *buffer));
        }
        match delivered {
            Delivered::Verified => self.state.progress_at = Instant::now(),
            Delivered::InUse => {
                self.state.retry_at = Some(Instant::now() + RETRY);
                self.state.is_ended = false;
                if self.state.root.is_none() && !self.state.has_told_wait {
                    self.state.has_told_wait = true;
                    let why = "another transfer there writes the same data".to_owned();
                    self.send_to_all(&Message::Wait(why));
                }
            }
            Delivered::Mismatch => {
                self.state.mismatches += 1;
                // The sink will request this slab again.
                self.state.is_ended = false;
                // The label of the slab is proven, so the bytes are wrong. Another replica can send the slab.
                if self.state.proof.is_some() && self.state.holders.len() > 1 {
                    let peer = self.state.holders[at].address();
                    self.state.is_waiting = false;
                    return self.lose(at, Error::Rotten(peer));
                }
                if self.state.mismatches > MOST_MISMATCHES {
                    let peer = self.state.holders[at].address();
                    let why = "its slabs do not agree with their hashes";
                    self.state.mismatches = 0;
                    self.state.is_waiting = false;
                    return self.lose(at, Error::Broken { peer, why });
                }
            }
        }
        self.state.is_waiting = false;
        self.state.is_news = true;
        Ok(())
    }

    /// Removes a holder that has failed.
    fn lose(&mut self, at: usize, error: Error) -> Result<(), Error> {
        // If no root is known, this holder is the only sender. So the transfer has failed.
        if self.state.root.is_none() {
            return Err(error);
        }
        let peer = self.state.holders[at].address();
        self.release(at);
        (self.notify)(Event::left(peer, &error));
        self.state.left.push(peer);
        self.state.gone.push(error);
        Ok(())
    }

    /// Adds requests to holders that have few open requests.
    /// Returns whether the caller should call this function again soon.
    fn hand_out(&mut self) -> Result<bool, Error> {
        if let Some(proof) = &mut self.state.proof {
            proof.ask(self.channel, &self.state.holders);
            // A slab without a proof could come from a replica with other data.
            if !proof.is_known() {
                return Ok(false);
            }
        }
        if self.state.retry_at.is_some_and(|at| at > Instant::now()) {
            return Ok(false);
        }
        self.state.retry_at = None;
        loop {
            let free = self.state.holders.iter().enumerate();
            let is_only = self.state.holders.len() == 1;
            let free = free.filter(|(_, one)| match self.state.root {
                // If there is only one holder, it always gets at least two requests, even if it is slow.
                // No other holder needs the bandwidth.
                Some(_) if is_only => one.requests.len() < FEWEST || one.has_room(self.state.ahead),
                Some(_) => one.has_room(self.state.ahead),
                // If no root is known, the only sender gets all requests.
                None => one.requests.len() < self.state.ahead,
            });
            let Some((at, _)) = free.min_by_key(|(_, one)| one.requests.len()) else {
                return Ok(false);
            };
            if let Some(slab) = self.state.again.pop_front() {
                self.request(at, slab);
                continue;
            }
            // The sink has no slab to request now. So an idle holder may take over a request of a slow holder.
            if self.state.is_ended || self.state.is_waiting {
                if let Some((at, slab)) = self.state.overtaken() {
                    self.request(at, slab);
                    continue;
                }
                return Ok(false);
            }
            match self.sink.next()? {
                Next::Fetch(slab) => {
                    self.state.below = self.state.below.max(slab + 1);
                    self.request(at, slab);
                }
                Next::Kept { slab, .. } => {
                    self.state.progress_at = Instant::now();
                    self.state.below = self.state.below.max(slab + 1);
                    self.state.is_news = true;
                    // To verify a kept slab takes time, and messages must wait during this time.
                    // So each call verifies only one slab.
                    return Ok(true);
                }
                Next::Wait => self.state.is_waiting = true,
                Next::End => {
                    self.state.is_ended = true;
                    self.state.below = u32::MAX;
                    self.state.is_news = true;
                }
            }
        }
    }

    fn request(&mut self, at: usize, slab: u32) {
        self.state.holders[at].request(slab);
    }

    /// Sends the new requests to the holders, and reports the progress.
    fn send_requests(&mut self) {
        let progress = self.progress();
        let is_due = self.state.reported_at.elapsed() >= REPORT_INTERVAL
            && self.state.reported != Some(progress);
        // The end of the requests is reported immediately, because the holders may wait for it.
        let reports_to_all = self.state.is_news && (is_due || self.state.is_ended);
        for holder in &mut self.state.holders {
            if holder.unsent.is_empty() && !reports_to_all {
                continue;
            }
            let want = Message::Want {
                below: self.state.below,
                received: progress.received,
                slabs: std::mem::take(&mut holder.unsent),
            };
            self.channel.send(holder.route, holder.offer.from, &want);
        }
        if reports_to_all {
            self.state.is_news = false;
        }
        if is_due {
            self.state.reported = Some(progress);
            self.state.reported_at = Instant::now();
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
        let is_owed = self
            .state
            .holders
            .iter()
            .any(|one| !one.requests.is_empty());
        if !self.state.is_ended || is_owed || !self.state.again.is_empty() || self.state.is_closing
        {
            return Ok(None);
        }
        self.state.is_closing = true;
        if let Some(root) = self.state.root {
            self.sink.finish(&root)?;
            return Ok(Some(self.taken(root)));
        }
        let received = self.progress().received;
        self.send_to_all(&Message::Close(received));
        Ok(None)
    }

    fn ping_silent_peers(&mut self) {
        if let Some(root) = self.state.root {
            for replica in &mut self.state.unheard {
                replica.ask_again(self.channel, self.state.mine, root);
            }
        }
        for holder in &mut self.state.holders {
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

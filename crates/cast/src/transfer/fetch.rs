//! Download of slabs from one sender, or from several replicas, into a sink.
//!
//! The receiver requests a few slabs ahead from each holder, and fewer from a slow one. A holder
//! without pending requests gets a request for the oldest slab that another holder still has to
//! send. So a slow holder delays the transfer by at most the time that another holder needs for
//! this slab.

use super::error::Error;
use super::holder::{FEWEST, Holder};
use super::line::{FAREWELL, Heard, Line};
use super::message::{Message, Standing};
use super::progress::{Event, Progress, TOLD_EVERY};
use crate::files::{Delivered, Hash, Label, Next, Pool, Sink};
use std::collections::VecDeque;
use std::net::SocketAddr;
use std::time::{Duration, Instant};

/// Bytes that are requested ahead, from all holders together.
const AHEAD: u64 = 32 << 20;
/// Slabs that are requested ahead from one holder, at most.
const MOST: u64 = 16;
/// Slabs with a wrong hash before a holder is given up.
const MOST_MISMATCHES: u32 = 16;

/// Time to deliver the last message to a replica that has been silent for a while. It is short,
/// because other replicas have sent the missing slabs, and the silent replica detects the end by
/// itself.
const FAREWELL_TO_THE_QUIET: Duration = Duration::from_millis(50);

/// Result of a complete transfer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Taken {
    /// Root hash, which is verified.
    pub root: Hash,
    /// Final progress.
    pub progress: Progress,
}

/// Message with its sender and the session number in its footer.
pub(super) struct Post {
    pub(super) from: SocketAddr,
    pub(super) to: u64,
    pub(super) message: Message,
}

/// Handler of messages that do not belong to the running transfer. Returns an event to report, if
/// there is one.
pub(super) type Elsewhere<'e, 'l> =
    dyn FnMut(&mut Line<'l>, &mut Vec<Holder>, Post) -> Option<Event> + 'e;

/// Transfer into a sink.
pub(super) struct Fetch<'f, 'l> {
    line: &'f mut Line<'l>,
    sink: &'f mut dyn Sink,
    tell: &'f mut dyn FnMut(Event),
    holders: Vec<Holder>,
    /// Replicas that have not answered the request yet. They may become holders.
    unheard: Vec<SocketAddr>,
    /// Reasons why holders have left.
    gone: Vec<Error>,
    /// Addresses of holders that have left, and of replicas that never answered.
    left: Vec<SocketAddr>,
    /// Expected root. `None`: the transfer has one sender only, which sends the root at the end.
    root: Option<Hash>,
    /// Slabs that are requested ahead from one holder, at most.
    ahead: usize,
    /// Slabs to request again, because their holder has left.
    again: VecDeque<u32>,
    /// All slabs below this number have arrived, were kept, or were requested.
    below: u32,
    /// Whether the sink waits for slabs that were requested.
    is_waiting: bool,
    is_ended: bool,
    is_closing: bool,
    mismatches: u32,
    pool: Pool,
    /// Whether the holders have old values of `below` or of the standing.
    is_news: bool,
    told: Option<Progress>,
    told_at: Instant,
}

impl<'f, 'l> Fetch<'f, 'l> {
    /// Creates a transfer. `holders` have this end's number. `unheard` are replicas that have the
    /// number too, but have not answered yet. `root` is the expected root, if it is known.
    pub(super) fn new(
        line: &'f mut Line<'l>,
        sink: &'f mut dyn Sink,
        tell: &'f mut dyn FnMut(Event),
        holders: Vec<Holder>,
        root: Option<Hash>,
        unheard: Vec<SocketAddr>,
    ) -> Self {
        let most = (holders.len() + unheard.len()) as u64;
        let slab_log2 = holders.first().map_or(24, |holder| holder.offer.slab_log2);
        Self {
            line,
            sink,
            tell,
            holders,
            unheard,
            gone: Vec::new(),
            left: Vec::new(),
            root,
            ahead: ((AHEAD >> slab_log2) / most.max(1)).clamp(FEWEST as u64, MOST) as usize,
            again: VecDeque::new(),
            below: 0,
            is_waiting: false,
            is_ended: false,
            is_closing: false,
            mismatches: 0,
            // One buffer is in use here. The others are buffers that a pipe has not consumed yet.
            pool: Pool::new(1_024),
            is_news: true,
            told: None,
            told_at: Instant::now(),
        }
    }

    /// Runs the transfer to its end. `other` handles messages that do not belong to it.
    pub(super) fn run(&mut self, mine: u64, other: &mut Elsewhere<'_, 'l>) -> Result<Taken, Error> {
        let mut result = self.work(mine, other);
        if result.is_err() {
            // If the user interrupts, a waiting sink may return another error. The interruption is
            // the true cause.
            result = self.line.check().and(result);
        }
        match &result {
            Ok(_) => self.say_all(&Message::Done),
            Err(error) => self.say_all(&Message::Fail(error.code(), error.to_string())),
        }
        let holders = &self.holders;
        let is_of_replicas = self.root.is_some();
        self.line.farewell_to(|peer| {
            let mut all = holders.iter();
            match all.find(|one| one.address == peer) {
                _ if !is_of_replicas => FAREWELL,
                Some(holder) if !holder.is_quiet() => FAREWELL,
                Some(_) => FAREWELL_TO_THE_QUIET,
                // This end has never answered or has left, so no message has to reach it.
                None => Duration::ZERO,
            }
        });
        result
    }

    fn say_all(&mut self, message: &Message) {
        for holder in &self.holders {
            self.line.say(holder.address, holder.offer.from, message);
        }
    }

    fn work(&mut self, mine: u64, other: &mut Elsewhere<'_, 'l>) -> Result<Taken, Error> {
        loop {
            self.line.check()?;
            let mut moved = false;
            while let Some((from, to, message)) = self.line.next()? {
                moved = true;
                match self.at(from) {
                    Some(at) if to == mine || to == self.holders[at].offer.slabs => {
                        if let Some(taken) = self.on_message(at, to == mine, message)? {
                            return Ok(taken);
                        }
                    }
                    _ => {
                        let answers = matches!(message, Message::Offer(_) | Message::Fail(..));
                        if to == mine && answers {
                            self.unheard.retain(|one| *one != from);
                        }
                        let post = Post { from, to, message };
                        if let Some(event) = other(self.line, &mut self.holders, post) {
                            (self.tell)(event);
                        }
                    }
                }
            }
            for (peer, failure) in self.line.lost() {
                match self.at(peer) {
                    Some(at) => self.lose(at, Error::Lost { peer, failure })?,
                    None if self.root.is_some() && !self.left.contains(&peer) => {
                        self.left.push(peer);
                        self.unheard.retain(|one| *one != peer);
                        let has_key = self.line.endpoint().has_key();
                        let error = Error::Unreachable {
                            peer,
                            failure,
                            has_key,
                        };
                        (self.tell)(Event::Left(peer, error.to_string()));
                    }
                    None => {}
                }
            }
            if self.holders.is_empty() && self.unheard.is_empty() {
                return Err(Error::NoReplica(std::mem::take(&mut self.gone)));
            }
            moved |= self.hand_out()?;
            self.ask_the_silent();
            self.inform();
            if let Some(taken) = self.close()? {
                return Ok(taken);
            }
            if !moved {
                self.line.sleep();
            }
        }
    }

    fn at(&self, address: SocketAddr) -> Option<usize> {
        self.holders.iter().position(|one| one.address == address)
    }

    fn on_message(
        &mut self,
        at: usize,
        is_mine: bool,
        message: Message,
    ) -> Result<Option<Taken>, Error> {
        let holder = &mut self.holders[at];
        holder.heard = Heard::now();
        let peer = holder.address;
        match message {
            Message::Slab(label, bytes) => self.on_slab(at, label, bytes)?,
            // Only the receiver's own number shows that the sender means this transfer.
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
        let progress = self.look();
        Taken { root, progress }
    }

    fn on_slab(&mut self, at: usize, label: Label, bytes: Vec<u8>) -> Result<(), Error> {
        let slab = label.slab;
        if !self.holders.iter().any(|holder| holder.owes(slab)) {
            // Another holder was faster.
            return Ok(());
        }
        self.holders[at].on_slab(slab, self.ahead);
        for index in 0..self.holders.len() {
            let holder = &mut self.holders[index];
            if holder.retain(|asked| asked != slab) && index != at {
                let (address, number) = (holder.address, holder.offer.from);
                self.line.say(address, number, &Message::Skip(vec![slab]));
            }
        }
        if label.last {
            for holder in &mut self.holders {
                holder.retain(|asked| asked < slab);
            }
            self.again.retain(|asked| *asked < slab);
        }
        let mut buffer = self.pool.take();
        *buffer = bytes;
        let delivered = self.sink.deliver(label, buffer)?;
        // The buffer returns only if the sink has consumed it. A pipe may need more time.
        if let Some(mut buffer) = self.pool.try_take() {
            self.line.endpoint().recycle(std::mem::take(&mut *buffer));
        }
        match delivered {
            Delivered::Verified => {}
            Delivered::Mismatch => {
                self.mismatches += 1;
                self.is_ended = false;
                if self.mismatches > MOST_MISMATCHES {
                    let peer = self.holders[at].address;
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

    /// Removes a holder. Its missing slabs are requested from others.
    fn lose(&mut self, at: usize, error: Error) -> Result<(), Error> {
        let lost = self.holders.remove(at);
        if self.root.is_none() {
            return Err(error);
        }
        for asked in lost.asked {
            if !self.holders.iter().any(|one| one.owes(asked.slab)) {
                self.again.push_back(asked.slab);
            }
        }
        (self.tell)(Event::Left(lost.address, error.to_string()));
        self.left.push(lost.address);
        self.gone.push(error);
        Ok(())
    }

    /// Requests slabs from holders with few pending requests. Returns whether there is more to do
    /// at once.
    fn hand_out(&mut self) -> Result<bool, Error> {
        loop {
            let free = self.holders.iter().enumerate();
            let is_only = self.holders.len() == 1;
            let free = free.filter(|(_, one)| match self.root {
                Some(_) if is_only => one.asked.len() < FEWEST || one.has_room(self.ahead),
                Some(_) => one.has_room(self.ahead),
                // A transfer without a known root has one sender only, which gets all requests.
                None => one.asked.len() < self.ahead,
            });
            let Some((at, _)) = free.min_by_key(|(_, one)| one.asked.len()) else {
                return Ok(false);
            };
            if let Some(slab) = self.again.pop_front() {
                self.ask(at, slab);
                continue;
            }
            if self.is_ended || self.is_waiting {
                if let Some((at, slab)) = self.overtaken() {
                    self.ask(at, slab);
                    continue;
                }
                return Ok(false);
            }
            match self.sink.next()? {
                Next::Fetch(slab) => {
                    self.below = self.below.max(slab + 1);
                    self.ask(at, slab);
                }
                Next::Kept { slab, .. } => {
                    self.below = self.below.max(slab + 1);
                    self.is_news = true;
                    // One slab per call, because its verification takes time while messages wait.
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

    fn ask(&mut self, at: usize, slab: u32) {
        self.holders[at].ask(slab);
    }

    /// Returns a nearly idle holder and a slab for it: the slab that is missing from one other
    /// holder for the longest time.
    fn overtaken(&self) -> Option<(usize, u32)> {
        let owes = |slab: u32| self.holders.iter().filter(|one| one.owes(slab)).count();
        let all = self.holders.iter().enumerate();
        let owed = all.flat_map(|(at, one)| one.asked.iter().map(move |asked| (at, asked)));
        let mut owed: Vec<_> = owed.filter(|(_, asked)| owes(asked.slab) == 1).collect();
        owed.sort_by_key(|(_, asked)| (asked.since, asked.slab));
        owed.into_iter().find_map(|(of, asked)| {
            let others = self.holders.iter().enumerate().filter(|(at, _)| *at != of);
            let mut able = others.filter(|(_, one)| one.can_overtake(asked.since));
            able.next().map(|(at, _)| (at, asked.slab))
        })
    }

    /// Sends new requests to the holders, and reports the progress.
    fn inform(&mut self) {
        let progress = self.look();
        let is_due = self.told_at.elapsed() >= TOLD_EVERY && self.told != Some(progress);
        let tells_all = self.is_news && (is_due || self.is_ended);
        for holder in &mut self.holders {
            if holder.untold.is_empty() && !tells_all {
                continue;
            }
            let want = Message::Want {
                below: self.below,
                standing: progress.standing,
                slabs: std::mem::take(&mut holder.untold),
            };
            self.line.say(holder.address, holder.offer.from, &want);
        }
        if tells_all {
            self.is_news = false;
        }
        if is_due {
            self.told = Some(progress);
            self.told_at = Instant::now();
            (self.tell)(Event::Progress(progress));
        }
    }

    fn look(&self) -> Progress {
        let amount = self.sink.amount();
        Progress {
            total: amount.total,
            standing: Standing {
                verified: amount.verified,
                kept: amount.kept,
            },
            receivers: 1,
            ..Progress::default()
        }
    }

    /// Ends the transfer if all slabs have arrived.
    fn close(&mut self) -> Result<Option<Taken>, Error> {
        let is_owed = self.holders.iter().any(|one| !one.asked.is_empty());
        if !self.is_ended || is_owed || !self.again.is_empty() || self.is_closing {
            return Ok(None);
        }
        self.is_closing = true;
        if let Some(root) = self.root {
            self.sink.finish(&root)?;
            return Ok(Some(self.taken(root)));
        }
        let standing = self.look().standing;
        self.say_all(&Message::Close(standing));
        Ok(None)
    }

    fn ask_the_silent(&mut self) {
        for holder in &mut self.holders {
            // A message that is being sent shows whether the holder is there, so no ping is needed.
            if holder.heard.is_silent() && !self.line.is_asking(holder.address) {
                let (address, number) = (holder.address, holder.offer.from);
                self.line.say(address, number, &Message::Ping);
                holder.heard = Heard::now();
            }
        }
    }
}

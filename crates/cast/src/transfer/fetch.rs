//! Slabs of one sender, or of several replicas, into a sink.
//!
//! Each holder is asked for a few slabs ahead. A holder that has nothing left to do is asked for the
//! oldest slab that another one still owes, so that a slow one costs no more than that slab takes
//! elsewhere.

use super::error::Error;
use super::holder::Holder;
use super::line::{Heard, Line};
use super::message::{Message, Standing};
use super::progress::{Event, Progress, TOLD_EVERY};
use crate::files::{Delivered, Hash, Label, Next, Pool, Sink};
use std::collections::VecDeque;
use std::net::SocketAddr;
use std::time::Instant;

/// Bytes that are asked for ahead.
const AHEAD: u64 = 32 << 20;
/// Slabs of one holder that are asked for ahead.
const FEWEST: u64 = 2;
const MOST: u64 = 16;
/// Slabs whose hash did not agree, before the transfer is given up.
const MOST_MISMATCHES: u32 = 16;

/// What was received.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Taken {
    /// The root, which agrees.
    pub root: Hash,
    /// How much.
    pub progress: Progress,
}

/// A message with its sender and the number that it carries.
pub(super) struct Post {
    pub(super) from: SocketAddr,
    pub(super) to: u64,
    pub(super) message: Message,
}

/// Takes messages that are not for a transfer that goes on.
pub(super) type Elsewhere<'e, 'l> = dyn FnMut(&mut Line<'l>, &mut Vec<Holder>, Post) + 'e;

/// A transfer into a sink.
pub(super) struct Fetch<'f, 'l> {
    line: &'f mut Line<'l>,
    sink: &'f mut dyn Sink,
    tell: &'f mut dyn FnMut(Event),
    holders: Vec<Holder>,
    /// Why others are no holders any more.
    gone: Vec<Error>,
    /// Whether there may be several holders; the root is known then.
    root: Option<Hash>,
    /// Slabs at once of one holder.
    ahead: usize,
    /// Slabs that holders have owed who are gone.
    again: VecDeque<u32>,
    /// All slabs below this one are here or have been asked for.
    below: u32,
    /// The sink waits for slabs that were asked for.
    is_waiting: bool,
    is_ended: bool,
    is_closing: bool,
    mismatches: u32,
    pool: Pool,
    /// Whether holders have to be told of `below` or the standing.
    is_news: bool,
    told: Option<Progress>,
    told_at: Instant,
}

impl<'f, 'l> Fetch<'f, 'l> {
    /// From holders that have been told this end's number, `most` of them at most. `root`: what is fetched,
    /// if that is known.
    pub(super) fn new(
        line: &'f mut Line<'l>,
        sink: &'f mut dyn Sink,
        tell: &'f mut dyn FnMut(Event),
        holders: Vec<Holder>,
        root: Option<Hash>,
        most: usize,
    ) -> Self {
        let slab_log2 = holders.first().map_or(24, |holder| holder.offer.slab_log2);
        Self {
            line,
            sink,
            tell,
            holders,
            gone: Vec::new(),
            root,
            ahead: ((AHEAD >> slab_log2) / most.max(1) as u64).clamp(FEWEST, MOST) as usize,
            again: VecDeque::new(),
            below: 0,
            is_waiting: false,
            is_ended: false,
            is_closing: false,
            mismatches: 0,
            // One buffer at a time is here, and those that a pipe has not taken yet.
            pool: Pool::new(1_024),
            is_news: true,
            told: None,
            told_at: Instant::now(),
        }
    }

    /// Receives everything. `other` takes messages that are not for this transfer.
    pub(super) fn run(&mut self, mine: u64, other: &mut Elsewhere<'_, 'l>) -> Result<Taken, Error> {
        let result = self.work(mine, other);
        match &result {
            Ok(_) => self.say_all(&Message::Done),
            Err(error) => self.say_all(&Message::Fail(error.code(), error.to_string())),
        }
        self.line.farewell();
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
                    _ => other(self.line, &mut self.holders, Post { from, to, message }),
                }
            }
            for (peer, failure) in self.line.lost() {
                if let Some(at) = self.at(peer) {
                    let error = Error::Lost { peer, failure };
                    self.lose(at, error)?;
                }
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
            // A number that others have drawn proves nothing.
            Message::Root(root) if is_mine => {
                if !self.is_closing {
                    let why = "a root that nobody has asked for";
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
        let is_wanted = |holder: &Holder| holder.asked.contains(&slab);
        if !self.holders.iter().any(is_wanted) {
            // Somebody else was faster.
            return Ok(());
        }
        let number = |holder: &Holder| (holder.address, holder.offer.from);
        for index in 0..self.holders.len() {
            let holder = &mut self.holders[index];
            let before = holder.asked.len();
            holder.asked.retain(|asked| *asked != slab);
            holder.untold.retain(|asked| *asked != slab);
            if index != at && holder.asked.len() < before {
                let (address, number) = number(holder);
                self.line.say(address, number, &Message::Skip(vec![slab]));
            }
        }
        if label.last {
            for holder in &mut self.holders {
                holder.asked.retain(|asked| *asked < slab);
                holder.untold.retain(|asked| *asked < slab);
            }
            self.again.retain(|asked| *asked < slab);
        }
        let mut buffer = self.pool.take();
        *buffer = bytes;
        let delivered = self.sink.deliver(label, buffer)?;
        // A pipe may not have taken it yet.
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
                    return Err(Error::Broken { peer, why });
                }
            }
        }
        self.is_waiting = false;
        self.is_news = true;
        Ok(())
    }

    /// Nothing more comes of a holder: others have to send what it owes.
    fn lose(&mut self, at: usize, error: Error) -> Result<(), Error> {
        let lost = self.holders.remove(at);
        if self.root.is_none() {
            return Err(error);
        }
        for slab in lost.asked {
            if !self.holders.iter().any(|one| one.asked.contains(&slab)) {
                self.again.push_back(slab);
            }
        }
        (self.tell)(Event::Left(lost.address, error.to_string()));
        self.gone.push(error);
        match self.holders[..] {
            [] => Err(Error::NoReplica(
                self.gone.iter().map(ToString::to_string).collect(),
            )),
            _ => Ok(()),
        }
    }

    /// Asks holders that have little to do for more. Says whether there is more to do at once.
    fn hand_out(&mut self) -> Result<bool, Error> {
        loop {
            let free = self.holders.iter().enumerate();
            let free = free.filter(|(_, one)| one.asked.len() < self.ahead);
            let Some((at, _)) = free.min_by_key(|(_, one)| one.asked.len()) else {
                return Ok(false);
            };
            if let Some(slab) = self.again.pop_front() {
                self.ask(at, slab);
                continue;
            }
            if self.is_ended || self.is_waiting {
                match self.owed_elsewhere(at) {
                    Some(slab) => self.ask(at, slab),
                    None => return Ok(false),
                }
                continue;
            }
            match self.sink.next()? {
                Next::Fetch(slab) => {
                    self.below = self.below.max(slab + 1);
                    self.ask(at, slab);
                }
                Next::Kept { slab, .. } => {
                    self.below = self.below.max(slab + 1);
                    self.is_news = true;
                    // One at a time: it takes a while, and messages wait.
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
        self.holders[at].asked.push(slab);
        self.holders[at].untold.push(slab);
    }

    /// A slab for a holder with nothing to do: the one that another has owed longest, and only it.
    fn owed_elsewhere(&self, at: usize) -> Option<u32> {
        if !self.holders[at].asked.is_empty() {
            return None;
        }
        let owes = |slab: &u32| {
            let all = self.holders.iter();
            all.filter(|one| one.asked.contains(slab)).count()
        };
        let owed = self.holders.iter().filter_map(|one| {
            let mut asked = one.asked.iter();
            asked.find(|slab| owes(slab) == 1).copied()
        });
        owed.min()
    }

    /// Tells holders what is wanted of them, and how far this end is.
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

    /// Closes the transfer once all slabs are here.
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
            if holder.heard.is_silent() && !self.line.is_asking(holder.address) {
                let (address, number) = (holder.address, holder.offer.from);
                self.line.say(address, number, &Message::Ping);
                holder.heard = Heard::now();
            }
        }
    }
}

//! Which side is asked for which bytes of an object, where a server sends forwards only, and what was asked
//! for cannot be changed: HTTP's ranges.
//!
//! The first open side takes pieces from the front, every other one from the back, until they meet. Each byte
//! is asked of one side. A side is asked for its next piece when half a piece is left to come, so that it
//! does not stop between two.
//!
//! When nothing is left to ask for, a side without work takes back what another side was asked for and has not
//! begun to answer: that waits in a queue, and costs no work. What a side has begun stays with it. Sides that ask
//! again for what others are sending do the work twice, and with it the load grows when it is high.
//!
//! A reader that takes the bytes in order and slowly bounds what is asked for ([`Ranges::windowed`]): the
//! object is cut into segments, the sides meet in each of them, and no more than two are asked for
//! beyond what the reader has taken.

use super::coverage::Coverage;
use super::header::ByteRange;
use alloc::vec::Vec;
use tailcut_units::{Duration, Time};

/// An answer may take so long to begin without having waited: programs do not run at once.
const LEAST_PATIENCE: Duration = Duration::from_ms(1);

/// Something that a side was asked for.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct AskId(pub u64);

/// What a side without work may do.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Idle {
    /// This may be taken back from another side ([`Ranges::take_back`]).
    TakeBack(AskId),
    /// There may be something to take back from this moment on.
    Until(Time),
}

#[derive(Clone, Copy, Debug)]
struct Ask {
    id: AskId,
    side: usize,
    /// What has not come.
    left: ByteRange,
    asked_at: Time,
    has_begun: bool,
}

/// See the module.
#[derive(Clone, Debug)]
pub struct Ranges {
    bytes: u64,
    piece: u64,
    /// Bytes of a segment; the whole object where there is no window.
    segment: u64,
    /// Bytes from the front that the reader has taken.
    taken: u64,
    come: Coverage,
    /// What has come or was asked for.
    asked: Coverage,
    /// What was taken back once: it stays where it is then.
    moved: Coverage,
    asks: Vec<Ask>,
    /// Whether each side is open.
    sides: Vec<bool>,
    next: u64,
    /// The shortest time from an ask to its answer's begin.
    soonest: Option<Duration>,
}

impl Ranges {
    /// An object of `bytes`, in pieces of `piece` bytes (at least 1).
    pub fn new(bytes: u64, piece: u64) -> Self {
        Self {
            bytes,
            piece: piece.max(1),
            segment: bytes.max(1),
            taken: 0,
            come: Coverage::of(bytes),
            asked: Coverage::of(bytes),
            moved: Coverage::of(bytes),
            asks: Vec::new(),
            sides: Vec::new(),
            next: 0,
            soonest: None,
        }
    }

    /// An object that is read in order: no more than `window` bytes beyond what was [`take`](Self::take)n are
    /// asked for. A window of less than two pieces counts as two.
    pub fn windowed(bytes: u64, piece: u64, window: u64) -> Self {
        let whole = Self::new(bytes, piece);
        let segment = match bytes <= window {
            true => whole.segment,
            false => (window / 2).max(whole.piece),
        };
        Self { segment, ..whole }
    }

    /// Another server that has the object.
    pub fn open(&mut self) -> usize {
        self.sides.push(true);
        self.sides.len() - 1
    }

    /// A side is not asked any more. What it was asked for and has not sent is to be asked of others.
    pub fn close(&mut self, side: usize) {
        if let Some(is_open) = self.sides.get_mut(side) {
            *is_open = false;
        }
        self.asks.retain(|ask| ask.side != side);
        self.count_asked();
    }

    /// Whether a side is the first open one, which takes from the front.
    pub fn is_front(&self, side: usize) -> bool {
        self.sides.iter().position(|is_open| *is_open) == Some(side)
    }

    /// A side was asked for these bytes before the object's size was known.
    pub fn note(&mut self, now: Time, side: usize, range: ByteRange) -> AskId {
        let id = AskId(self.next);
        self.next += 1;
        self.asked.add(range);
        self.asks.push(Ask {
            id,
            side,
            left: range,
            asked_at: now,
            has_begun: false,
        });
        id
    }

    /// What a side is to be asked for now, if it is for anything.
    pub fn ask(&mut self, now: Time, side: usize) -> Option<(AskId, ByteRange)> {
        if !self.is_open(side) || self.owed(side) > self.piece / 2 {
            return None;
        }
        let range = match self.is_front(side) {
            true => self.front(),
            false => self.back(),
        }?;
        Some((self.note(now, side, range), range))
    }

    fn front(&self) -> Option<ByteRange> {
        let gap = self.asked.first_gap(ByteRange {
            from: self.taken,
            to: self.limit(),
        })?;
        let from = gap.from;
        let to = gap.to.min(from.saturating_add(self.piece));
        Some(ByteRange { from, to })
    }

    fn back(&self) -> Option<ByteRange> {
        let mut from = self.taken - self.taken % self.segment;
        while from < self.limit() {
            let to = from.saturating_add(self.segment).min(self.bytes);
            if let Some(gap) = self.asked.last_gap(ByteRange { from, to }) {
                let to = gap.to;
                let from = gap.from.max(to.saturating_sub(self.piece));
                return Some(ByteRange { from, to });
            }
            from = to;
        }
        None
    }

    /// One past the last byte that may be asked for: the end of the segment after that of the reader.
    fn limit(&self) -> u64 {
        let segments = self.taken / self.segment + 2;
        self.segment.saturating_mul(segments).min(self.bytes)
    }

    fn is_open(&self, side: usize) -> bool {
        self.sides.get(side).copied().unwrap_or(false)
    }

    fn owed(&self, side: usize) -> u64 {
        let of_side = self.asks.iter().filter(|ask| ask.side == side);
        of_side.map(|ask| ask.left.to - ask.left.from).sum()
    }

    /// What a side that has nothing to do may take back from another one, if there is anything: what has
    /// waited twice as long as the quickest answer took to begin, and 1 ms at least, and was not taken back
    /// before.
    pub fn idle(&self, now: Time, side: usize) -> Option<Idle> {
        if !self.is_open(side) || self.owed(side) > 0 {
            return None;
        }
        let patience = (self.soonest? * 2).max(LEAST_PATIENCE);
        let waits = |ask: &&Ask| ask.side != side && !ask.has_begun && !self.moved.has(ask.left);
        let waiting = self.asks.iter().filter(waits);
        let place = |ask: &&Ask| ask.left.from;
        let ask = match self.is_front(side) {
            true => waiting.min_by_key(place),
            false => waiting.max_by_key(place),
        }?;
        let due = ask.asked_at.saturating_add(patience);
        Some(match due > now {
            true => Idle::Until(due),
            false => Idle::TakeBack(ask.id),
        })
    }

    /// An ask is purged, and what it was for is to be asked of another side; once only.
    pub fn take_back(&mut self, id: AskId) {
        self.keep(id);
        self.end(id);
    }

    /// An ask stays where it is, however long it waits.
    pub fn keep(&mut self, id: AskId) {
        if let Some(left) = self.left(id) {
            self.moved.add(left);
        }
    }

    /// The answer to an ask has begun.
    pub fn begun(&mut self, now: Time, id: AskId) {
        if let Some(ask) = self.asks.iter_mut().find(|ask| ask.id == id) {
            ask.has_begun = true;
            let took = now.since(ask.asked_at);
            self.soonest = Some(self.soonest.map_or(took, |least| least.min(took)));
        }
    }

    /// The next `bytes` of an ask have come. Gives those of them that were not there yet, in order.
    pub fn arrived(&mut self, id: AskId, bytes: u64) -> Vec<ByteRange> {
        let mut fresh = Vec::new();
        let Some(ask) = self.asks.iter_mut().find(|ask| ask.id == id) else {
            return fresh;
        };
        let from = ask.left.from;
        let to = from.saturating_add(bytes).min(ask.left.to);
        ask.left.from = to;
        let mut rest = ByteRange { from, to };
        while let Some(gap) = self.come.first_gap(rest) {
            fresh.push(gap);
            rest.from = gap.to;
        }
        self.come.add(ByteRange { from, to });
        fresh
    }

    /// Nothing more comes of an ask. What has not come may be asked for again.
    pub fn end(&mut self, id: AskId) {
        self.asks.retain(|ask| ask.id != id);
        self.count_asked();
    }

    fn count_asked(&mut self) {
        self.asked.clone_from(&self.come);
        for ask in &self.asks {
            self.asked.add(ask.left);
        }
    }

    /// The reader has taken the bytes before this one.
    pub fn take(&mut self, position: u64) {
        self.taken = self.taken.max(position.min(self.bytes));
    }

    /// What an ask still lacks.
    pub fn left(&self, id: AskId) -> Option<ByteRange> {
        let ask = self.asks.iter().find(|ask| ask.id == id)?;
        Some(ask.left)
    }

    /// Bytes of the object.
    pub const fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Whether every byte has come.
    pub fn is_whole(&self) -> bool {
        self.come.is_whole()
    }
}

//! Choice of the byte ranges that several servers send of one object.
//! As with HTTP range requests, servers send bytes only in ascending order, and a request cannot be changed.
//!
//! A side is one server and its connection. Each byte is requested from one side.
//! The first open side takes pieces from the front, all other sides from the back, until they meet.
//! A side gets its next request when at most half a piece is left to arrive.
//! The server of the side is then not idle between two pieces.
//!
//! When no byte is left to request, a side without work takes a request back from another side.
//! The answer to such a request has not begun. The request waits in a queue, so the server loses no work.
//! An answer that has begun stays with its side.
//! A second request for the same bytes would make two servers do the same work, and add load when the load is high.
//!
//! A slow reader that reads the bytes in order limits the requests ([`Ranges::windowed`]).
//! The object is cut into segments, and the sides meet in each segment.
//! Requests reach to the end of the segment after the reader's segment.

use super::coverage::Coverage;
use super::header::ByteRange;
use alloc::vec::Vec;
use tailcut_units::{Duration, Time};

/// A request counts as queued only if its answer has not begun after this time.
/// A server program needs up to 1 ms to start its work.
const LEAST_PATIENCE: Duration = Duration::from_ms(1);

/// Identifier of one request to a side.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct AskId(pub u64);

/// Action that a side without work may take.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Idle {
    /// Take this request back from another side ([`Ranges::take_back`]).
    TakeBack(AskId),
    /// Wait until this time. Then the side may take a request back.
    Until(Time),
}

#[derive(Clone, Copy, Debug)]
struct Ask {
    id: AskId,
    side: usize,
    /// Bytes of the request that have not arrived.
    left: ByteRange,
    asked_at: Time,
    has_begun: bool,
}

/// Requests for one object to several servers, and the received bytes of the object.
#[derive(Clone, Debug)]
pub struct Ranges {
    bytes: u64,
    piece: u64,
    /// Bytes of a segment. Without a window, the segment is the whole object.
    segment: u64,
    /// Bytes from the front that the reader has read.
    taken: u64,
    come: Coverage,
    /// Bytes of the object that have arrived or were requested.
    asked: Coverage,
    /// Bytes that no side may take back, because they were taken back once or [`keep`](Self::keep) excluded them.
    moved: Coverage,
    asks: Vec<Ask>,
    /// For each side, whether it is open.
    sides: Vec<bool>,
    next: u64,
    /// Shortest time from a request to the first byte of its answer.
    soonest: Option<Duration>,
}

impl Ranges {
    /// Creates the state of an object of `bytes` bytes, in pieces of `piece` bytes (at least 1).
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

    /// Creates the state of an object that is read in order.
    /// Requests reach at most `window` bytes beyond the last position of [`take`](Self::take).
    /// A window of less than two pieces counts as two pieces.
    pub fn windowed(bytes: u64, piece: u64, window: u64) -> Self {
        let whole = Self::new(bytes, piece);
        let segment = match bytes <= window {
            true => whole.segment,
            false => (window / 2).max(whole.piece),
        };
        Self { segment, ..whole }
    }

    /// Adds a server that has the object. Returns the number of its side.
    pub fn open(&mut self) -> usize {
        self.sides.push(true);
        self.sides.len() - 1
    }

    /// Closes a side. Other sides request the bytes that it has not sent.
    pub fn close(&mut self, side: usize) {
        if let Some(is_open) = self.sides.get_mut(side) {
            *is_open = false;
        }
        self.asks.retain(|ask| ask.side != side);
        self.count_asked();
    }

    /// Whether a side is the first open side. The first open side takes pieces from the front.
    pub fn is_front(&self, side: usize) -> bool {
        self.sides.iter().position(|is_open| *is_open) == Some(side)
    }

    /// Records a request for these bytes that was sent to a side before the object's size was known.
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

    /// Returns the next request for a side, or `None` if the side has enough pending bytes or no byte is left.
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

    /// Whether bytes are left to request, as far as the reader's window allows.
    pub fn has_unrequested(&self) -> bool {
        self.front().is_some()
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

    /// Returns the end of the bytes that may be requested: the end of the segment after the reader's segment.
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

    /// Returns the action of a side without work: to take a request back from another side, or to wait.
    /// A side may take a request back if the answer has not begun within twice the time of the quickest answer.
    /// The wait is at least 1 ms. A request for bytes that were taken back once is not taken back again.
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

    /// Takes a request back, so that other sides may request its bytes. The bytes cannot be taken back a second time.
    pub fn take_back(&mut self, id: AskId) {
        self.keep(id);
        self.end(id);
    }

    /// Excludes a request from being taken back, even if its answer begins late.
    pub fn keep(&mut self, id: AskId) {
        if let Some(left) = self.left(id) {
            self.moved.add(left);
        }
    }

    /// Records that the answer to a request has begun.
    pub fn begun(&mut self, now: Time, id: AskId) {
        if let Some(ask) = self.asks.iter_mut().find(|ask| ask.id == id) {
            ask.has_begun = true;
            let took = now.since(ask.asked_at);
            self.soonest = Some(self.soonest.map_or(took, |least| least.min(took)));
        }
    }

    /// Counts the next `bytes` bytes of an answer. Returns the ranges that are new for the object, in order.
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

    /// Ends a request. Sides may request its missing bytes again.
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

    /// Records that the reader has read all bytes before `position`.
    pub fn take(&mut self, position: u64) {
        self.taken = self.taken.max(position.min(self.bytes));
    }

    /// Returns the missing bytes of a request.
    pub fn left(&self, id: AskId) -> Option<ByteRange> {
        let ask = self.asks.iter().find(|ask| ask.id == id)?;
        Some(ask.left)
    }

    /// Size of the object in bytes.
    pub const fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Whether all bytes have arrived.
    pub fn is_whole(&self) -> bool {
        self.come.is_whole()
    }
}

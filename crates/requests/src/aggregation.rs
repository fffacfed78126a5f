//! Which copy is asked for which bytes, where the bytes of all copies count.
//!
//! The first copy is asked for the whole object, from its front: it alone would do. Of two copies the second
//! is asked for it from the tail, and they meet. Further copies share the tail: it is cut into pieces, and
//! each copy but the first is asked for the next one, from the last down, when it has little left to send.
//! Once all are asked for, a copy is asked for pieces that others have not sent, so that a slow server holds
//! nothing up.

use super::coverage::Coverage;
use super::header::{ByteRange, Order};
use alloc::collections::VecDeque;
use alloc::vec::Vec;

/// What one copy is asked for.
#[derive(Clone, Debug, Default)]
struct Stream {
    /// What has not come whole, in the order in which it was asked for.
    coming: VecDeque<ByteRange>,
    /// Bytes of the first of them that have come.
    come: u64,
    /// Bytes asked for that have not come.
    owed: u64,
    /// Pieces that were asked for.
    pieces: Vec<u64>,
}

/// See the module.
#[derive(Clone, Debug)]
pub(super) struct Aggregation {
    bytes: u64,
    piece: u64,
    /// Whether all copies are asked for the whole object.
    whole: bool,
    coverage: Coverage,
    copies: Vec<Stream>,
    /// The first piece that nobody was asked for.
    next: u64,
}

impl Aggregation {
    /// An object of `bytes` from so many copies, in pieces of `piece` bytes.
    pub fn new(bytes: u64, copies: u8, piece: u64) -> Self {
        Self {
            bytes,
            piece: piece.max(1),
            whole: copies <= 2,
            coverage: Coverage::of(bytes),
            copies: (0..copies).map(|_| Stream::default()).collect(),
            next: 0,
        }
    }

    /// The end of its range that a copy starts from.
    pub const fn order(copy: u8) -> Order {
        match copy {
            0 => Order::Forwards,
            _ => Order::Backwards,
        }
    }

    /// The bytes of a piece; pieces are numbered from the tail, and that of the object's start may be short.
    fn range(&self, piece: u64) -> ByteRange {
        let to = self.bytes - piece * self.piece;
        let from = to.saturating_sub(self.piece);
        ByteRange { from, to }
    }

    /// What a copy is to be asked for now, if it is for anything.
    pub fn ask(&mut self, copy: u8) -> Option<ByteRange> {
        let stream = self.copies.get(usize::from(copy))?;
        if self.whole || copy == 0 {
            let (from, to) = (0, self.bytes);
            let is_new = stream.pieces.is_empty();
            return is_new.then(|| self.note(copy, 0, ByteRange { from, to }));
        }
        // A piece and a half, so that it does not stop between one and the next.
        if stream.owed > self.piece + self.piece / 2 {
            return None;
        }
        // A short piece comes last: servers serve whole chunks.
        let (full, all) = (self.bytes / self.piece, self.bytes.div_ceil(self.piece));
        let lacks = |piece: &u64| !self.coverage.has(self.range(*piece));
        let others = |piece: &u64| lacks(piece) && !stream.pieces.contains(piece);
        let piece = (self.next..full)
            .find(lacks)
            .or_else(|| (0..all).find(others))?;
        self.next = self.next.max((piece + 1).min(full));
        Some(self.note(copy, piece, self.range(piece)))
    }

    fn note(&mut self, copy: u8, piece: u64, range: ByteRange) -> ByteRange {
        let stream = &mut self.copies[usize::from(copy)];
        stream.pieces.push(piece);
        stream.coming.push_back(range);
        stream.owed += range.to - range.from;
        range
    }

    /// `bytes` more of a copy have come. Gives how many of them the object had not had yet.
    pub fn arrived(&mut self, copy: u8, bytes: u64) -> u64 {
        let Some(stream) = self.copies.get_mut(usize::from(copy)) else {
            return 0;
        };
        let (mut left, mut fresh) = (bytes, 0);
        while let Some(&first) = stream.coming.front()
            && left > 0
        {
            let length = first.to - first.from;
            let taken = left.min(length - stream.come);
            let (start, end) = (stream.come, stream.come + taken);
            fresh += self.coverage.add(match Self::order(copy) {
                Order::Forwards => ByteRange {
                    from: first.from + start,
                    to: first.from + end,
                },
                Order::Backwards => ByteRange {
                    from: first.to - end,
                    to: first.to - start,
                },
            });
            left -= taken;
            stream.owed -= taken;
            stream.come = end;
            if end == length {
                stream.coming.pop_front();
                stream.come = 0;
            }
        }
        fresh
    }

    /// Whether every byte has come.
    pub fn is_whole(&self) -> bool {
        self.coverage.is_whole()
    }
}

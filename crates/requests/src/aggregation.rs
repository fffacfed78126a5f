//! Byte aggregation: the bytes of every copy count towards the object.
//! This module chooses the byte range that each copy requests next.
//!
//! - The first copy requests the whole object from its front. This copy could complete the object alone.
//! - With two copies, the second copy requests the whole object from its tail, until the two copies meet.
//! - With more copies, all copies except the first share the tail, which is cut into pieces.
//!   A copy with few pending bytes requests the last piece that no copy has requested yet.
//!   When no such piece is left, the copy requests pieces that other copies have not delivered.
//!   One slow server therefore does not delay the end.

use super::coverage::Coverage;
use super::header::{ByteRange, Order};
use alloc::collections::VecDeque;
use alloc::vec::Vec;

/// Requests of one copy, and the bytes that it has delivered.
#[derive(Clone, Debug, Default)]
struct Stream {
    /// Requested ranges that are not complete, oldest first. The server answers in this order.
    coming: VecDeque<ByteRange>,
    /// Received bytes of the oldest range in `coming`.
    come: u64,
    /// Bytes that were requested and have not arrived, over all ranges.
    owed: u64,
    /// Numbers of the pieces that this copy has requested.
    pieces: Vec<u64>,
}

/// Requests of all copies of one object.
#[derive(Clone, Debug)]
pub(super) struct Aggregation {
    bytes: u64,
    piece: u64,
    /// Whether each copy requests the whole object. True with at most two copies.
    whole: bool,
    coverage: Coverage,
    copies: Vec<Stream>,
    /// Number of the first piece that no copy has requested. Piece 0 is at the tail.
    next: u64,
}

impl Aggregation {
    /// Creates the state of an object of `bytes` bytes that `copies` servers send, in pieces of `piece` bytes.
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

    /// Returns the order in which a copy sends the bytes of a range.
    pub const fn order(copy: u8) -> Order {
        match copy {
            0 => Order::Forwards,
            _ => Order::Backwards,
        }
    }

    /// Returns the range of a piece. Piece 0 is at the tail. The piece at the front of the object may be shorter.
    fn range(&self, piece: u64) -> ByteRange {
        let to = self.bytes - piece * self.piece;
        let from = to.saturating_sub(self.piece);
        ByteRange { from, to }
    }

    /// Returns the range that a copy has to request now.
    /// Returns `None` if the copy has enough pending bytes, or if no piece is left.
    pub fn ask(&mut self, copy: u8) -> Option<ByteRange> {
        let stream = self.copies.get(usize::from(copy))?;
        if self.whole || copy == 0 {
            let (from, to) = (0, self.bytes);
            let is_new = stream.pieces.is_empty();
            return is_new.then(|| self.note(copy, 0, ByteRange { from, to }));
        }
        // A copy requests its next piece when at most one and a half pieces are pending.
        // With a limit of one piece, the server would be idle for a round trip after each piece.
        if stream.owed > self.piece + self.piece / 2 {
            return None;
        }
        // The short piece at the front comes last.
        // Servers deliver whole chunks, so a short range costs more for each byte.
        let (full, all) = (self.bytes / self.piece, self.bytes.div_ceil(self.piece));
        let lacks = |piece: &u64| !self.coverage.has(self.range(*piece));
        let others = |piece: &u64| lacks(piece) && !stream.pieces.contains(piece);
        let piece = (self.next..full)
            .find(lacks)
            .or_else(|| (0..all).find(others))?;
        self.next = self.next.max((piece + 1).min(full));
        Some(self.note(copy, piece, self.range(piece)))
    }

    // `ask` marks the piece as requested and adds its bytes to the pending bytes in one step.
    fn note(&mut self, copy: u8, piece: u64, range: ByteRange) -> ByteRange {
        let stream = &mut self.copies[usize::from(copy)];
        stream.pieces.push(piece);
        stream.coming.push_back(range);
        stream.owed += range.to - range.from;
        range
    }

    /// Counts `bytes` more bytes of a copy. Returns how many of them are new for the object.
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

    /// Whether all bytes have arrived.
    pub fn is_whole(&self) -> bool {
        self.coverage.is_whole()
    }
}

//! Objects of servers. A byte of an answer has a position in its object.

use tailcut_requests::{ByteRange, Order, RequestHeader};
use tailcut_units::mix64;

/// Returns the byte at a position of a request's object.
pub fn byte_at(request: u32, place: u64) -> u8 {
    mix64(u64::from(request) << 40 ^ place) as u8
}

/// Requested ranges of a copy, in order.
#[derive(Default)]
pub struct Asked {
    ranges: Vec<(ByteRange, Order)>,
    /// Bytes of the answer that have been read.
    read: u64,
}

impl Asked {
    pub fn add(&mut self, header: &RequestHeader) {
        self.ranges.push((header.range, header.order));
    }

    /// Returns the positions in the object of the answer's next `bytes` bytes.
    pub fn places(&mut self, bytes: u64) -> Vec<u64> {
        let from = self.read;
        self.read += bytes;
        (from..from + bytes).map(|at| self.place(at)).collect()
    }

    fn place(&self, mut at: u64) -> u64 {
        for (range, order) in &self.ranges {
            let length = range.to - range.from;
            if at < length {
                return match order {
                    Order::Forwards => range.from + at,
                    Order::Backwards => range.to - 1 - at,
                };
            }
            at -= length;
        }
        panic!("more than requested");
    }
}

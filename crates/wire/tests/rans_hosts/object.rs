//! Objects of servers, and the position of each byte of an answer in its object.

use tailcut_requests::{ByteRange, Order, RequestHeader};
use tailcut_units::mix64;

/// Returns the byte at position `place` of the object of a request.
pub fn byte_at(request: u32, place: u64) -> u8 {
    mix64(u64::from(request) << 40 ^ place) as u8
}

/// Requested ranges of a copy, in the order of the requests.
#[derive(Default)]
pub struct Asked {
    ranges: Vec<(ByteRange, Order)>,
    /// Number of bytes of the answer that have been read.
    read: u64,
}

impl Asked {
    pub fn add(&mut self, header: &RequestHeader) {
        self.ranges.push((header.range, header.order));
    }

    /// Returns, for each of the next `bytes` bytes of the answer, its position in the object.
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

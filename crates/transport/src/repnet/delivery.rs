//! Merge of two copies of a stream. Each connection counts the bytes that it has delivered in order.
//! When a count exceeds the bytes that the application has, the application receives the difference.

/// Amount of data that the application of a flow has received.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub struct Delivery {
    delivered: u64,
    finished: bool,
}

/// Error: the two connections of a flow transferred streams of different lengths.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Diverged;

impl Delivery {
    /// Returns the number of bytes that the application has received.
    pub const fn delivered(&self) -> u64 {
        self.delivered
    }
    /// Returns whether a connection has delivered the end of the stream.
    pub const fn is_finished(&self) -> bool {
        self.finished
    }

    /// Records that a connection has delivered `total` bytes so far.
    /// Returns the new number of bytes that the application has, if this number has grown.
    ///
    /// # Errors
    /// The stream has already ended with fewer bytes.
    pub fn advance(&mut self, total: u64) -> Result<Option<u64>, Diverged> {
        if total <= self.delivered {
            return Ok(None);
        }
        if self.finished {
            return Err(Diverged);
        }
        self.delivered = total;
        Ok(Some(total))
    }

    /// Records that a connection has delivered the end of the stream after `total` bytes.
    /// Returns whether no other connection had delivered the end before.
    ///
    /// # Errors
    /// The other connection delivered more bytes, or ended with fewer bytes.
    pub fn finish(&mut self, total: u64) -> Result<bool, Diverged> {
        if total < self.delivered {
            return Err(Diverged);
        }
        self.advance(total)?;
        Ok(!core::mem::replace(&mut self.finished, true))
    }
}

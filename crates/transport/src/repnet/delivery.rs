//! One stream out of two: each leg counts the bytes that it has brought in order, and the
//! application gets those by which a count exceeds what it has.

/// What the application of a flow has been given.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub struct Delivery {
    delivered: u64,
    finished: bool,
}

/// The legs brought streams of different lengths.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Diverged;

impl Delivery {
    /// Bytes that the application has.
    pub const fn delivered(&self) -> u64 {
        self.delivered
    }
    /// Whether a leg has brought the end of the stream.
    pub const fn is_finished(&self) -> bool {
        self.finished
    }

    /// A leg has brought `total` bytes so far. How many the application has then, if they are more
    /// than before.
    ///
    /// # Errors
    /// The stream has ended with less.
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

    /// A leg has brought the end of the stream after `total` bytes. Whether it is the first to.
    ///
    /// # Errors
    /// The other leg brought more, or ended with less.
    pub fn finish(&mut self, total: u64) -> Result<bool, Diverged> {
        if total < self.delivered {
            return Err(Diverged);
        }
        self.advance(total)?;
        Ok(!core::mem::replace(&mut self.finished, true))
    }
}

//! Merge of two copies of a stream. Each leg counts the bytes that it has delivered in order. The application
//! receives the bytes by which a count exceeds the bytes delivered so far.

/// Amount of data that the application of a flow has received.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub struct Delivery {
    delivered: u64,
    finished: bool,
}

/// Error: the legs carried streams of different lengths.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Diverged;

impl Delivery {
    /// Returns the number of bytes that the application has received.
    pub const fn delivered(&self) -> u64 {
        self.delivered
    }
    /// Returns whether a leg has delivered the end of the stream.
    pub const fn is_finished(&self) -> bool {
        self.finished
    }

    /// Records that a leg has delivered `total` bytes so far. Returns the new number of bytes of the
    /// application, if it has grown.
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

    /// Records that a leg has delivered the end of the stream after `total` bytes. Returns whether it is the
    /// first leg to do so.
    ///
    /// # Errors
    /// The other leg delivered more, or ended with fewer bytes.
    pub fn finish(&mut self, total: u64) -> Result<bool, Diverged> {
        if total < self.delivered {
            return Err(Diverged);
        }
        self.advance(total)?;
        Ok(!core::mem::replace(&mut self.finished, true))
    }
}

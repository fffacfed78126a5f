//! Reader of a stream: it turns a number of received bytes into headers and body bytes.

use super::framed::Framed;

/// Source of a [`Reader`]'s headers, in the order of the stream.
pub trait Headers {
    /// Type of the stream's headers.
    type Header: Framed;
    /// Reason why bytes are not a header.
    type Error;

    /// Returns the next header after all its bytes have arrived. The header begins at the end of the last body.
    /// `there` is the number of bytes that have arrived after this position.
    ///
    /// # Errors
    /// The received bytes cannot be the start of a header.
    fn next(&mut self, there: u64) -> Result<Option<Self::Header>, Self::Error>;

    /// Skips `bytes` more bytes of a body, all of which have arrived.
    fn body(&mut self, _bytes: u64) {}
}

/// Part of a stream that has been read.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Read<H> {
    /// A header.
    Header(H),
    /// Number of further bytes of the body that the last header announced.
    Body(u64),
}

/// Reader of one direction of a stream.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Reader<H> {
    /// Bytes that have arrived in order.
    arrived: u64,
    /// Bytes that have been read.
    read: u64,
    /// Bytes of the current body that have not been read.
    body: u64,
    /// Header of a message whose body is not complete.
    begun: Option<H>,
}

impl<H> Default for Reader<H> {
    fn default() -> Self {
        Self {
            arrived: 0,
            read: 0,
            body: 0,
            begun: None,
        }
    }
}

impl<H: Framed> Reader<H> {
    /// Records that the first `total` bytes of the stream have arrived.
    pub fn arrived(&mut self, total: u64) {
        self.arrived = self.arrived.max(total);
    }

    /// Records that `bytes` more bytes have arrived.
    pub fn arrived_more(&mut self, bytes: u64) {
        self.arrived = self.arrived.saturating_add(bytes);
    }

    /// Returns the next header or body bytes, or `None` until more bytes arrive.
    ///
    /// # Errors
    /// The errors of [`Headers::next`]. After an error, the stream cannot be read further.
    pub fn read<S>(&mut self, headers: &mut S) -> Result<Option<Read<H>>, S::Error>
    where
        S: Headers<Header = H>,
    {
        let there = self.arrived.saturating_sub(self.read);
        if self.body > 0 {
            let bytes = there.min(self.body);
            self.body -= bytes;
            self.read += bytes;
            headers.body(bytes);
            return Ok((bytes > 0).then_some(Read::Body(bytes)));
        }
        let header = headers.next(there)?;
        if let Some(header) = &header {
            self.read += header.header_bytes();
            self.body = header.body_bytes();
        }
        Ok(header.map(Read::Header))
    }

    /// Returns the next header after its whole body has arrived, or `None` until more bytes arrive.
    /// A stream of messages needs this function in place of [`read`](Self::read).
    ///
    /// # Errors
    /// The errors of [`read`](Self::read).
    pub fn read_whole<S>(&mut self, headers: &mut S) -> Result<Option<H>, S::Error>
    where
        S: Headers<Header = H>,
    {
        loop {
            if self.body == 0
                && let Some(header) = self.begun.take()
            {
                return Ok(Some(header));
            }
            match self.read(headers)? {
                Some(Read::Header(header)) => self.begun = Some(header),
                Some(Read::Body(_)) => {}
                None => return Ok(None),
            }
        }
    }
}

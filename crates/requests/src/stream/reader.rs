//! Reading: from so many bytes in order to headers and what follows them.

use super::framed::Framed;

/// Where a [`Reader`] takes headers from, in the order of the stream.
pub trait Headers {
    /// The headers of the stream.
    type Header: Framed;
    /// Why something is no header.
    type Error;

    /// The next header, which begins where the last one's body ends, if it is whole; then it is taken. Of
    /// what begins there, `there` bytes have arrived.
    ///
    /// # Errors
    /// What has arrived cannot begin a header.
    fn next(&mut self, there: u64) -> Result<Option<Self::Header>, Self::Error>;

    /// `bytes` more of a body, all of which have arrived, are read.
    fn body(&mut self, _bytes: u64) {}
}

/// Something that has been read.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Read<H> {
    /// A header.
    Header(H),
    /// So many bytes more of what the last header announced.
    Body(u64),
}

/// Reads one direction of a stream.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Reader<H> {
    /// Bytes that have arrived in order.
    arrived: u64,
    /// Bytes of them that have been read.
    read: u64,
    /// Bytes of the body that are still to be read.
    body: u64,
    /// The header of a message that is not whole.
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
    /// The first `total` bytes of the stream have arrived.
    pub fn arrived(&mut self, total: u64) {
        self.arrived = self.arrived.max(total);
    }

    /// The first `bytes` bytes that had not arrived have.
    pub fn arrived_more(&mut self, bytes: u64) {
        self.arrived = self.arrived.saturating_add(bytes);
    }

    /// What can be read next; `None` until more arrives.
    ///
    /// # Errors
    /// Those of [`Headers::next`]. The stream cannot be read any further then.
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

    /// The next header once all that it announces is there, too; `None` until more arrives. For a stream of
    /// messages, in place of [`read`](Self::read).
    ///
    /// # Errors
    /// As [`read`](Self::read).
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

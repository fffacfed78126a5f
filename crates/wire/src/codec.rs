//! Decoder and encoder of fields in network byte order, and their errors.

/// Reason why bytes cannot be decoded as a header.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum DecodeError {
    /// The bytes end before the end of the header.
    #[error("a header of {needed} bytes: found {found} bytes")]
    Short {
        /// Smallest possible length of the header in bytes, according to the bytes found.
        needed: usize,
        /// Number of bytes found.
        found: usize,
    },
    /// The first byte belongs to another protocol.
    #[error("first byte: found {found:#04x}, expected {expected:#04x}")]
    Magic {
        /// First byte of a header of the expected protocol.
        expected: u8,
        /// First byte found.
        found: u8,
    },
    /// The first byte belongs to no known protocol.
    #[error("first byte: found {found:#04x}, which no protocol has")]
    Unknown {
        /// First byte found.
        found: u8,
    },
    /// The version is not supported.
    #[error("version: found {found}, expected {expected}")]
    Version {
        /// Supported version.
        expected: u8,
        /// Version of the header.
        found: u8,
    },
    /// The length of the header is wrong for its kind.
    #[error("header length: found {found}, expected {expected}")]
    Length {
        /// Length of a header of this kind.
        expected: usize,
        /// Length in the header.
        found: usize,
    },
    /// A field has a value that is not allowed.
    #[error("{name}: found {found}, which is not allowed")]
    Field {
        /// Name of the field.
        name: &'static str,
        /// Value of the field.
        found: u64,
    },
    /// The payload is neither complete nor completely removed.
    #[error("payload: found {found} bytes, expected {expected} or none")]
    Payload {
        /// Bytes of payload according to the header.
        expected: usize,
        /// Number of bytes found after the header.
        found: usize,
    },
}

/// Reason why a header cannot be encoded.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum EncodeError {
    /// The buffer is too small.
    #[error("buffer: found {found} bytes, the header has {needed}")]
    Short {
        /// Number of bytes that the header needs.
        needed: usize,
        /// Number of bytes in the buffer.
        found: usize,
    },
    /// The value of a field is too large for the wire format.
    #[error("{name}: found {found}, which is too large for the wire format")]
    Field {
        /// Name of the field.
        name: &'static str,
        /// Value of the field.
        found: u64,
    },
    /// A field has a value, but a header of this kind does not contain the field.
    #[error("a field is set that a header of kind {kind} does not contain")]
    NotCarried {
        /// Kind of the header.
        kind: &'static str,
    },
    /// The segment is a TCP segment and has a TCP header.
    /// [`capture::frame`](crate::capture::frame) encodes TCP headers.
    #[error("a TCP segment has no tailcut header")]
    Tcp,
}

/// Decoder of a header's fields, one after another from the first byte.
#[derive(Clone, Debug)]
pub(crate) struct Reader<'a> {
    rest: &'a [u8],
    taken: usize,
}

impl<'a> Reader<'a> {
    pub(crate) const fn new(bytes: &'a [u8]) -> Self {
        Self {
            rest: bytes,
            taken: 0,
        }
    }

    pub(crate) fn take<const N: usize>(&mut self) -> Result<[u8; N], DecodeError> {
        let (first, rest) = self
            .rest
            .split_first_chunk::<N>()
            .ok_or(DecodeError::Short {
                needed: self.taken + N,
                found: self.taken + self.rest.len(),
            })?;
        self.rest = rest;
        self.taken += N;
        Ok(*first)
    }

    pub(crate) fn u8(&mut self) -> Result<u8, DecodeError> {
        self.take::<1>().map(|[byte]| byte)
    }

    pub(crate) fn u16(&mut self) -> Result<u16, DecodeError> {
        self.take().map(u16::from_be_bytes)
    }

    pub(crate) fn u32(&mut self) -> Result<u32, DecodeError> {
        self.take().map(u32::from_be_bytes)
    }

    pub(crate) fn u64(&mut self) -> Result<u64, DecodeError> {
        self.take().map(u64::from_be_bytes)
    }

    /// Checks that the remaining bytes are zeros.
    pub(crate) fn zeros(&mut self, name: &'static str) -> Result<(), DecodeError> {
        match self.rest.iter().find(|byte| **byte != 0) {
            None => Ok(()),
            Some(&byte) => Err(DecodeError::Field {
                name,
                found: byte.into(),
            }),
        }
    }

    /// Decodes a field that must be zero.
    pub(crate) fn reserved<const N: usize>(&mut self) -> Result<(), DecodeError> {
        let bytes = self.take::<N>()?;
        match bytes.iter().find(|byte| **byte != 0) {
            None => Ok(()),
            Some(&byte) => Err(DecodeError::Field {
                name: "reserved",
                found: byte.into(),
            }),
        }
    }
}

/// Encoder of a header's fields, one after another from the start of a buffer.
#[derive(Debug)]
pub(crate) struct Writer<'a> {
    rest: &'a mut [u8],
    written: usize,
}

impl<'a> Writer<'a> {
    /// Creates an encoder of a header of `length` bytes.
    pub(crate) fn new(buffer: &'a mut [u8], length: usize) -> Result<Self, EncodeError> {
        let found = buffer.len();
        let rest = buffer.get_mut(..length).ok_or(EncodeError::Short {
            needed: length,
            found,
        })?;
        Ok(Self { rest, written: 0 })
    }

    pub(crate) fn put<const N: usize>(&mut self, bytes: [u8; N]) -> Result<(), EncodeError> {
        let rest = core::mem::take(&mut self.rest);
        let found = self.written + rest.len();
        let needed = self.written + N;
        let (first, rest) = rest
            .split_first_chunk_mut::<N>()
            .ok_or(EncodeError::Short { needed, found })?;
        *first = bytes;
        self.rest = rest;
        self.written = needed;
        Ok(())
    }

    /// Returns the number of bytes written.
    pub(crate) const fn written(&self) -> usize {
        self.written
    }
}

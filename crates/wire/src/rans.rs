//! RANS headers: `docs/wire/rans.md`.
//! RANS messages either follow each other in a stream, or each RANS message is one message of another transport.

use crate::codec::{DecodeError, EncodeError, Reader, Writer};
use crate::prefix::{self, Magic, VERSION, flag_bits, flags_of, unknown_kind};
use alloc::collections::VecDeque;
use alloc::vec::Vec;
use core::marker::PhantomData;
pub use tailcut_requests::{ANSWER_BYTES, ASK_BYTES, REQUEST_BYTES};
use tailcut_requests::{
    AnswerHeader, ByteRange, CancelScope, CopyId, Framed, Headers, Order, Purpose, RequestHeader,
    RequestId,
};

/// Length of the longest header in bytes.
pub const MAX_BYTES: usize = if ASK_BYTES > ANSWER_BYTES {
    ASK_BYTES
} else {
    ANSWER_BYTES
};

const ASK: u8 = 0;
const MORE: u8 = 1;
const CANCEL: u8 = 2;
const REPRIORITISE: u8 = 3;
const ANSWER: u8 = 4;

/// Header of a message.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RansHeader {
    /// Header of a client's message. After the header of an ask, the application's request follows.
    Request(RequestHeader),
    /// Header of a server's message. Bytes of the object follow the header.
    Answer(AnswerHeader),
}

impl RansHeader {
    /// Returns the byte that encodes the kind of the header.
    const fn kind(&self) -> u8 {
        match self {
            Self::Request(header) => kind_of(header.purpose),
            Self::Answer(_) => ANSWER,
        }
    }
}

const fn kind_of(purpose: Purpose) -> u8 {
    match purpose {
        Purpose::Ask => ASK,
        Purpose::More => MORE,
        Purpose::Cancel(_) => CANCEL,
        Purpose::Reprioritise => REPRIORITISE,
    }
}

impl From<RequestHeader> for RansHeader {
    fn from(header: RequestHeader) -> Self {
        Self::Request(header)
    }
}

impl From<AnswerHeader> for RansHeader {
    fn from(header: AnswerHeader) -> Self {
        Self::Answer(header)
    }
}

impl TryFrom<RansHeader> for RequestHeader {
    type Error = DecodeError;

    fn try_from(header: RansHeader) -> Result<Self, DecodeError> {
        match header {
            RansHeader::Request(header) => Ok(header),
            RansHeader::Answer(_) => Err(unknown_kind(header.kind())),
        }
    }
}

impl TryFrom<RansHeader> for AnswerHeader {
    type Error = DecodeError;

    fn try_from(header: RansHeader) -> Result<Self, DecodeError> {
        match header {
            RansHeader::Answer(header) => Ok(header),
            RansHeader::Request(_) => Err(unknown_kind(header.kind())),
        }
    }
}

/// Bytes of one direction of a stream that have been received and not read.
/// A [`Reader`](tailcut_requests::Reader) gets its headers from the received bytes.
/// The caller must also pass the number of received bytes to the reader.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Unread<H> {
    bytes: VecDeque<u8>,
    /// Bytes of message bodies that the reader has read and the caller has not taken.
    body: Vec<u8>,
    of: PhantomData<H>,
}

impl<H> Default for Unread<H> {
    fn default() -> Self {
        Self {
            bytes: VecDeque::new(),
            body: Vec::new(),
            of: PhantomData,
        }
    }
}

impl<H> Unread<H> {
    /// Adds the next bytes of the stream.
    pub fn push(&mut self, bytes: &[u8]) {
        self.bytes.extend(bytes);
    }

    /// Returns the bytes of message bodies that the reader has read since the last call.
    pub fn take_body(&mut self) -> Vec<u8> {
        core::mem::take(&mut self.body)
    }
}

impl<H> Headers for Unread<H>
where
    H: Framed + TryFrom<RansHeader, Error = DecodeError>,
{
    type Header = H;
    type Error = DecodeError;

    fn next(&mut self, there: u64) -> Result<Option<H>, DecodeError> {
        let mut front = [0; MAX_BYTES];
        let there = usize::try_from(there).unwrap_or(usize::MAX);
        let found = self.bytes.len().min(there).min(MAX_BYTES);
        for (to, from) in front.iter_mut().zip(&self.bytes) {
            *to = *from;
        }
        match decode(front.get(..found).unwrap_or_default()) {
            Ok((header, length)) => {
                self.bytes.drain(..length);
                H::try_from(header).map(Some)
            }
            // The header is not complete yet, so the reader tries again after more bytes.
            Err(DecodeError::Short { .. }) => Ok(None),
            Err(error) => Err(error),
        }
    }

    fn body(&mut self, bytes: u64) {
        let bytes = usize::try_from(bytes).unwrap_or(usize::MAX);
        let taken = self.bytes.len().min(bytes);
        self.body.extend(self.bytes.drain(..taken));
    }
}

/// Encodes a header at the start of `buffer`. Returns its length.
///
/// # Errors
/// The buffer is too small, a range is not within its object or answer, or a message other than an ask has a body.
pub fn encode(header: &RansHeader, buffer: &mut [u8]) -> Result<usize, EncodeError> {
    match header {
        RansHeader::Request(header) => encode_request(header, buffer),
        RansHeader::Answer(header) => encode_answer(header, buffer),
    }
}

/// Decodes the header at the start of `bytes`. Returns the header and its length.
/// If more bytes of a stream are needed, [`DecodeError::Short`] contains the required number of bytes.
///
/// # Errors
/// The bytes are not a RANS header of this version.
pub fn decode(bytes: &[u8]) -> Result<(RansHeader, usize), DecodeError> {
    let (mut reader, length) = prefix::open(bytes, Magic::Rans)?;
    let [kind, flags, priority, copy] = reader.take()?;
    reader.reserved::<1>()?;
    let copy = CopyId {
        request: RequestId(reader.u32()?),
        copy,
    };
    let expected = match kind {
        ASK => ASK_BYTES,
        MORE | CANCEL | REPRIORITISE => REQUEST_BYTES,
        ANSWER => ANSWER_BYTES,
        kind => return Err(unknown_kind(kind)),
    };
    if length != expected {
        return Err(DecodeError::Length {
            expected,
            found: length,
        });
    }
    let header = match kind {
        ANSWER => RansHeader::Answer(decode_answer(&mut reader, flags, priority, copy)?),
        kind => RansHeader::Request(decode_request(&mut reader, kind, flags, priority, copy)?),
    };
    Ok((header, length))
}

fn start<'a>(
    buffer: &'a mut [u8],
    length: usize,
    kind_and_flags: [u8; 2],
    priority: u8,
    copy: CopyId,
) -> Result<Writer<'a>, EncodeError> {
    let [kind, flags] = kind_and_flags;
    let mut writer = Writer::new(buffer, length)?;
    writer.put([Magic::Rans as u8, VERSION, length as u8, kind])?;
    writer.put([flags, priority, copy.copy, 0])?;
    writer.put(copy.request.0.to_be_bytes())?;
    Ok(writer)
}

/// Returns whether `bytes` bytes from `offset` end at or before `of`.
fn fits(offset: u64, bytes: u64, of: u64) -> bool {
    offset.checked_add(bytes).is_some_and(|end| end <= of)
}

const fn lies_within(range: ByteRange, object: u64) -> bool {
    range.from <= range.to && range.to <= object
}

fn encode_request(header: &RequestHeader, buffer: &mut [u8]) -> Result<usize, EncodeError> {
    let RequestHeader {
        copy,
        purpose,
        priority,
        range,
        object,
        order,
        body,
    } = *header;
    if !lies_within(range, object) {
        return Err(EncodeError::Field {
            name: "to",
            found: range.to,
        });
    }
    let kind = kind_of(purpose);
    if kind != ASK && body > 0 {
        let kind = "more, cancel or reprioritise";
        return Err(EncodeError::NotCarried { kind });
    }
    let flags = flag_bits([
        order == Order::Backwards,
        purpose == Purpose::Cancel(CancelScope::Queued),
    ]);
    let length = purpose.header_bytes();
    let mut writer = start(buffer, length, [kind, flags], priority, copy)?;
    for field in [range.from, range.to, object] {
        writer.put(field.to_be_bytes())?;
    }
    if kind == ASK {
        writer.put(body.to_be_bytes())?;
    }
    Ok(writer.written())
}

fn decode_request(
    reader: &mut Reader<'_>,
    kind: u8,
    flags: u8,
    priority: u8,
    copy: CopyId,
) -> Result<RequestHeader, DecodeError> {
    let [backwards, queued] = flags_of(flags)?;
    let purpose = match (kind, queued) {
        (ASK, false) => Purpose::Ask,
        (MORE, false) => Purpose::More,
        (CANCEL, false) => Purpose::Cancel(CancelScope::Running),
        (CANCEL, true) => Purpose::Cancel(CancelScope::Queued),
        (REPRIORITISE, false) => Purpose::Reprioritise,
        _ => {
            return Err(DecodeError::Field {
                name: "flags",
                found: flags.into(),
            });
        }
    };
    let range = ByteRange {
        from: reader.u64()?,
        to: reader.u64()?,
    };
    let object = reader.u64()?;
    if !lies_within(range, object) {
        return Err(DecodeError::Field {
            name: "to",
            found: range.to,
        });
    }
    let body = match purpose {
        Purpose::Ask => reader.u64()?,
        _ => 0,
    };
    Ok(RequestHeader {
        copy,
        purpose,
        priority,
        range,
        object,
        order: match backwards {
            true => Order::Backwards,
            false => Order::Forwards,
        },
        body,
    })
}

fn encode_answer(header: &AnswerHeader, buffer: &mut [u8]) -> Result<usize, EncodeError> {
    let AnswerHeader {
        copy,
        priority,
        offset,
        bytes,
        of,
        is_last,
        window,
    } = *header;
    if !fits(offset, bytes, of) {
        return Err(EncodeError::Field {
            name: "bytes",
            found: bytes,
        });
    }
    let flags = flag_bits([is_last, window.is_some()]);
    let mut writer = start(buffer, ANSWER_BYTES, [ANSWER, flags], priority, copy)?;
    for field in [offset, bytes, of, window.unwrap_or(0)] {
        writer.put(field.to_be_bytes())?;
    }
    Ok(writer.written())
}

fn decode_answer(
    reader: &mut Reader<'_>,
    flags: u8,
    priority: u8,
    copy: CopyId,
) -> Result<AnswerHeader, DecodeError> {
    let [is_last, tells_window] = flags_of(flags)?;
    let (offset, bytes, of) = (reader.u64()?, reader.u64()?, reader.u64()?);
    if !fits(offset, bytes, of) {
        return Err(DecodeError::Field {
            name: "bytes",
            found: bytes,
        });
    }
    let window = match (tells_window, reader.u64()?) {
        (true, window) => Some(window),
        (false, 0) => None,
        (false, found) => {
            return Err(DecodeError::Field {
                name: "window",
                found,
            });
        }
    };
    Ok(AnswerHeader {
        copy,
        priority,
        offset,
        bytes,
        of,
        is_last,
        window,
    })
}

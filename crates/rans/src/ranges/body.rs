//! Body of an object whose bytes are delivered in order.

use super::config::{RangesConfig, Verify};
use super::digest::{Check, Digest};
use super::error::{Cause, RangesError};
use super::reorder_buffer::Reader;
use crate::client::AnswerBody;
use bytes::{Buf, Bytes};
use http::{HeaderMap, StatusCode};
use http_body::{Body, Frame, SizeHint};
use std::fmt;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use tokio::task::AbortHandle;

enum Content<R> {
    /// Body of a single answer.
    Answer(Pin<Box<AnswerBody<R>>>),
    /// Parts of an object. A task receives them and puts them in order. `total` is the size of the object in bytes.
    Parts {
        reader: Reader,
        total: u64,
        _task: EndsTask,
    },
    Over,
}

/// Handle that ends a task when it is dropped.
struct EndsTask(AbortHandle);

impl Drop for EndsTask {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// Body of an object. Dropping it purges all open requests.
pub struct RangesBody<R> {
    content: Content<R>,
    check: Option<Check>,
    /// Size limit in bytes, and the number of bytes that may still arrive. `None`: no limit.
    most: Option<(u64, u64)>,
}

impl<R> fmt::Debug for RangesBody<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RangesBody").finish_non_exhaustive()
    }
}

impl<R: Body> RangesBody<R> {
    /// Creates the body of a single answer. Digests are checked only for a whole object (200).
    pub(super) fn answer(
        body: AnswerBody<R>,
        (status, headers): (StatusCode, &HeaderMap),
        config: &RangesConfig,
    ) -> Result<Self, RangesError> {
        let mut check = None;
        let mut most = None;
        if status == StatusCode::OK {
            // In an answer with the whole object, both digests cover the same bytes, unless the answer is compressed.
            // In a compressed answer, the digest of the object covers the bytes before compression.
            let digest = match super::validators::is_identity(headers) {
                true => Digest::of_object(headers).or_else(|| Digest::of_content(headers)),
                false => Digest::of_content(headers),
            };
            check = match (config.verify, digest) {
                (Verify::Off, _) => None,
                (Verify::Required, None) => return Err(RangesError::NoDigest),
                (_, digest) => digest.map(Check::new),
            };
            most = config.longest.map(|longest| (longest, longest));
        }
        Ok(Self {
            content: Content::Answer(Box::pin(body)),
            check,
            most,
        })
    }

    /// Creates the body of an answer that is forwarded without checks.
    pub(super) fn unchecked(body: AnswerBody<R>) -> Self {
        Self {
            content: Content::Answer(Box::pin(body)),
            check: None,
            most: None,
        }
    }

    pub(super) fn parts(
        reader: Reader,
        total: u64,
        task: AbortHandle,
        check: Option<Check>,
    ) -> Self {
        Self {
            content: Content::Parts {
                reader,
                total,
                _task: EndsTask(task),
            },
            check,
            // The transfer has already compared the size with the limit.
            most: None,
        }
    }

    fn on_bytes(&mut self, bytes: &Bytes) -> Result<(), RangesError> {
        if let Some(check) = &mut self.check {
            check.add(bytes);
        }
        if let Some((longest, left)) = &mut self.most {
            match left.checked_sub(bytes.len() as u64) {
                Some(rest) => *left = rest,
                None => return Err(RangesError::TooLarge(None, *longest)),
            }
        }
        Ok(())
    }

    fn over(&mut self) -> Option<Result<Frame<Bytes>, RangesError>> {
        self.content = Content::Over;
        self.check().err().map(Err)
    }

    /// Compares all received bytes with the digest.
    fn check(&mut self) -> Result<(), RangesError> {
        match self.check.take().is_none_or(Check::holds) {
            true => Ok(()),
            false => Err(RangesError::Digest),
        }
    }
}

impl<R: Body> Body for RangesBody<R>
where
    R::Error: Into<Cause>,
{
    type Data = Bytes;
    type Error = RangesError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, RangesError>>> {
        let frame = match &mut self.content {
            Content::Over => return Poll::Ready(None),
            Content::Parts { reader, total, .. } => match ready!(reader.poll(cx)) {
                None => None,
                Some(Err(error)) => Some(Err(error)),
                Some(Ok(bytes)) => {
                    debug_assert!(reader.taken() <= *total);
                    Some(Ok(Frame::data(bytes)))
                }
            },
            Content::Answer(body) => {
                let frame = ready!(body.as_mut().poll_frame(cx));
                frame.map(|frame| match frame {
                    Ok(frame) => {
                        Ok(frame.map_data(|mut data| data.copy_to_bytes(data.remaining())))
                    }
                    Err(error) => Err(RangesError::Body(error.into())),
                })
            }
        };
        Poll::Ready(match frame {
            None => self.over(),
            Some(Ok(frame)) => {
                let checked = frame
                    .data_ref()
                    .map_or(Ok(()), |bytes| self.on_bytes(bytes));
                // A reader that knows the length may stop after the last byte.
                // So the check cannot wait for the end of the body.
                let checked =
                    checked.and_then(
                        |()| match Body::size_hint(self.as_ref().get_ref()).exact() {
                            Some(0) => self.check(),
                            _ => Ok(()),
                        },
                    );
                Some(match checked {
                    Ok(()) => Ok(frame),
                    Err(error) => {
                        self.content = Content::Over;
                        Err(error)
                    }
                })
            }
            Some(Err(error)) => {
                self.content = Content::Over;
                Some(Err(error))
            }
        })
    }

    fn is_end_stream(&self) -> bool {
        match &self.content {
            // The check may still find an error, so the body has not ended.
            _ if self.check.is_some() => false,
            Content::Answer(body) => body.is_end_stream(),
            Content::Parts { reader, total, .. } => reader.taken() == *total,
            Content::Over => true,
        }
    }

    fn size_hint(&self) -> SizeHint {
        match &self.content {
            Content::Answer(body) => body.size_hint(),
            Content::Parts { reader, total, .. } => SizeHint::with_exact(total - reader.taken()),
            Content::Over => SizeHint::with_exact(0),
        }
    }
}

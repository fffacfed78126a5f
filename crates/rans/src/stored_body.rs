//! Body that has arrived completely, so that it can be sent more than once.

use crate::connection_fields;
use bytes::{Bytes, BytesMut};
use http::HeaderMap;
use http_body::{Body, Frame, SizeHint};
use std::future::poll_fn;
use std::pin::Pin;
use std::time::Duration;
use tokio::time::timeout;

/// Body that has arrived completely.
#[derive(Clone, Default, Debug)]
pub(crate) struct StoredBody {
    data: Bytes,
    trailers: Option<HeaderMap>,
}

impl From<&'static str> for StoredBody {
    fn from(text: &'static str) -> Self {
        Self {
            data: Bytes::from_static(text.as_bytes()),
            trailers: None,
        }
    }
}

impl StoredBody {
    /// Returns the next frame of the body.
    pub fn next<E>(&mut self) -> Option<Result<Frame<Bytes>, E>> {
        if !self.data.is_empty() {
            return Some(Ok(Frame::data(std::mem::take(&mut self.data))));
        }
        Some(Ok(Frame::trailers(self.trailers.take()?)))
    }

    /// Whether no frame is left.
    pub const fn is_over(&self) -> bool {
        self.data.is_empty() && self.trailers.is_none()
    }

    /// Number of bytes that are left. With trailers it is only a lower bound, so that HTTP/1.1 sends a chunked body.
    pub fn size(&self) -> SizeHint {
        let size = self.data.len() as u64;
        match self.trailers {
            None => SizeHint::with_exact(size),
            Some(_) => {
                let mut hint = SizeHint::new();
                hint.set_lower(size);
                hint
            }
        }
    }
}

/// Body, or the beginning of a body, that was read.
pub(crate) enum Collected {
    /// The body has at most the wanted number of bytes.
    Whole(StoredBody),
    /// First bytes of a longer body. The last frame may exceed the wanted number.
    Beginning(Bytes),
}

/// Reads a body to its end, but at most one frame beyond `most` bytes.
pub(crate) async fn collect<B>(body: &mut B, most: u64) -> Result<Collected, B::Error>
where
    B: Body<Data = Bytes> + Unpin,
{
    collect_within(body, most, None).await
}

/// Reads a body to its end, like [`collect`]. If a frame does not arrive within `patience`, the body counts as longer.
pub(crate) async fn collect_within<B>(
    body: &mut B,
    most: u64,
    patience: Option<Duration>,
) -> Result<Collected, B::Error>
where
    B: Body<Data = Bytes> + Unpin,
{
    let mut first = Bytes::new();
    let mut joined = BytesMut::new();
    let mut trailers = None;
    let mut is_longer = false;
    while !is_longer {
        let next = poll_fn(|cx| Pin::new(&mut *body).poll_frame(cx));
        let next = match patience {
            None => next.await,
            // Few bodies have this limit, so its timer has its own allocation. The future of all others stays small.
            Some(patience) => match Box::pin(timeout(patience, next)).await {
                Ok(next) => next,
                Err(_) => {
                    is_longer = true;
                    break;
                }
            },
        };
        let Some(frame) = next else {
            break;
        };
        let mut frame = frame?;
        connection_fields::remove_from_trailers(&mut frame);
        match frame.into_data() {
            // A body in a single frame needs no copy.
            Ok(data) if first.is_empty() => first = data,
            Ok(data) => {
                if joined.is_empty() {
                    joined.extend_from_slice(&first);
                }
                joined.extend_from_slice(&data);
            }
            Err(frame) => trailers = frame.into_trailers().ok(),
        }
        is_longer = first.len().max(joined.len()) as u64 > most;
    }
    let data = match joined.is_empty() {
        true => first,
        false => joined.freeze(),
    };
    Ok(match is_longer {
        true => Collected::Beginning(data),
        false => Collected::Whole(StoredBody { data, trailers }),
    })
}

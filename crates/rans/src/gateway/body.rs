//! Bodies of requests and answers in a gateway. Small bodies are stored completely, so that requests can be sent again.
//! Other bodies are forwarded while they arrive.

use crate::client::AnswerBody;
use crate::connection_fields;
use crate::connections::{ConnectionBody, ConnectionError};
use crate::ranges::{RangesBody, RangesError};
use crate::reason::Reason;
use crate::stall_timer::StallTimer;
use crate::stored_body::{Collected, StoredBody, collect};
use crate::upload::RequestBody;
use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;
use tailcut_proxy::http::RequestSlot;

/// Reason why the body of an answer is not complete.
#[derive(Debug, thiserror::Error)]
pub(super) enum AnswerFault {
    /// The replica ended the answer early.
    #[error("the answer is not complete: {0}")]
    Cut(ConnectionError),
    /// The replica sent no further bytes for too long.
    #[error("no further bytes of the answer arrived")]
    Stalled,
    /// No replica was able to send the rest of an object.
    #[error("{0}")]
    Parts(RangesError),
}

impl From<&AnswerFault> for Reason {
    fn from(fault: &AnswerFault) -> Self {
        match fault {
            AnswerFault::Cut(_) | AnswerFault::Parts(_) => Self::AnswerCut,
            AnswerFault::Stalled => Self::AnswerStalled,
        }
    }
}

/// Answer of a replica that is forwarded while it arrives.
pub(super) struct Download {
    body: ConnectionBody<RequestBody>,
    stall: StallTimer,
}

impl Body for Download {
    type Data = Bytes;
    type Error = AnswerFault;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, AnswerFault>>> {
        match Pin::new(&mut self.body).poll_frame(cx) {
            Poll::Ready(frame) => {
                self.stall.moved();
                let mut frame = frame.map(|frame| frame.map_err(AnswerFault::Cut));
                if let Some(Ok(frame)) = &mut frame {
                    connection_fields::remove_from_trailers(frame);
                }
                Poll::Ready(frame)
            }
            Poll::Pending => {
                ready!(self.stall.poll(cx));
                Poll::Ready(Some(Err(AnswerFault::Stalled)))
            }
        }
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

/// Body of a replica's answer.
pub(super) enum ReplicaBody {
    Stored(StoredBody),
    Streamed(Box<Download>),
}

impl ReplicaBody {
    /// Reads the body of an answer to its end, if its length is known and at most `most`.
    /// Otherwise the body is forwarded.
    pub async fn take(
        body: ConnectionBody<RequestBody>,
        most: u64,
        stall: Duration,
    ) -> Result<Self, AnswerFault> {
        if body.is_end_stream() {
            return Ok(Self::Stored(StoredBody::default()));
        }
        let mut download = Download {
            body,
            stall: StallTimer::after(stall),
        };
        // A small answer counts only when it is complete. So another copy can replace an answer that ends early.
        let length = download.size_hint().exact();
        // hyper and h2 deliver at most the announced length, so `collect` always returns the whole body here.
        if length.is_some_and(|length| length <= most)
            && let Collected::Whole(whole) = collect(&mut download, most).await?
        {
            return Ok(Self::Stored(whole));
        }
        Ok(Self::Streamed(Box::new(download)))
    }
}

impl Body for ReplicaBody {
    type Data = Bytes;
    type Error = AnswerFault;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, AnswerFault>>> {
        match &mut *self {
            Self::Stored(whole) => Poll::Ready(whole.next()),
            Self::Streamed(download) => Pin::new(&mut **download).poll_frame(cx),
        }
    }

    fn is_end_stream(&self) -> bool {
        match self {
            Self::Stored(whole) => whole.is_over(),
            Self::Streamed(download) => download.is_end_stream(),
        }
    }

    fn size_hint(&self) -> SizeHint {
        match self {
            Self::Stored(whole) => whole.size(),
            Self::Streamed(download) => download.size_hint(),
        }
    }
}

/// Bytes of the answer to a client.
pub(super) enum Content {
    /// Text of the gateway itself.
    Text(StoredBody),
    /// Answer of a replica.
    Replica(Box<AnswerBody<ReplicaBody>>),
    /// Object whose parts may come from several replicas.
    Object(Box<RangesBody<ReplicaBody>>),
}

/// Body of the answer to a client.
pub(super) struct ResponseBody {
    content: Content,
    /// Place of the request, which counts as open until the body has been read.
    slot: Option<RequestSlot>,
}

impl ResponseBody {
    /// Creates a body of a text.
    pub fn text(text: &'static str) -> Self {
        Self {
            content: Content::Text(StoredBody::from(text)),
            slot: None,
        }
    }

    /// Creates a body that keeps the place of its request.
    pub const fn of(content: Content, slot: RequestSlot) -> Self {
        let slot = Some(slot);
        Self { content, slot }
    }
}

impl Body for ResponseBody {
    type Data = Bytes;
    type Error = AnswerFault;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, AnswerFault>>> {
        // This call shows that the client has taken the earlier bytes.
        if let Some(slot) = &self.slot {
            slot.moved();
        }
        match &mut self.content {
            Content::Text(whole) => Poll::Ready(whole.next()),
            Content::Replica(body) => Pin::new(&mut **body).poll_frame(cx),
            Content::Object(body) => {
                let frame = ready!(Pin::new(&mut **body).poll_frame(cx));
                Poll::Ready(frame.map(|frame| frame.map_err(AnswerFault::Parts)))
            }
        }
    }

    fn is_end_stream(&self) -> bool {
        match &self.content {
            Content::Text(whole) => whole.is_over(),
            Content::Replica(body) => body.is_end_stream(),
            Content::Object(body) => body.is_end_stream(),
        }
    }

    fn size_hint(&self) -> SizeHint {
        match &self.content {
            Content::Text(whole) => whole.size(),
            Content::Replica(body) => body.size_hint(),
            Content::Object(body) => body.size_hint(),
        }
    }
}

//! Request for one range, and the bytes of its answer.

use super::digest::Check;
use super::error::Cause;
use crate::client::{Answering, InFlight, Sent};
use bytes::{Buf, Bytes};
use http::Response;
use http_body::Body;
use std::future::poll_fn;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use tailcut_requests::AskId;
use tokio::time::Instant;

enum State<R, E> {
    Waiting(Answering<R, E>),
    Reading(Pin<Box<R>>),
}

/// Bytes that count only after their digest has been checked.
pub(super) struct UncheckedBytes {
    pub check: Check,
    pub bytes: Vec<Bytes>,
    pub length: u64,
}

impl UncheckedBytes {
    pub fn add(&mut self, bytes: Bytes) {
        self.check.add(&bytes);
        self.length += bytes.len() as u64;
        self.bytes.push(bytes);
    }
}

/// Requested part of an object.
pub(super) struct Part<R, E> {
    pub side: usize,
    pub replica: usize,
    /// Identifier of the request.
    pub id: AskId,
    pub began: Instant,
    /// Time of the latest event: the request, the head of its answer, or its latest bytes.
    pub last_received: Instant,
    pub unchecked: Option<UncheckedBytes>,
    state: State<R, E>,
    _flight: Option<InFlight>,
}

/// Event of a part.
pub(super) enum PartEvent<R, E> {
    /// Head of the answer arrived, or the request failed.
    Head(Result<Response<R>, E>),
    /// Next bytes of the answer arrived.
    Data(Bytes),
    /// Answer has ended.
    End,
    /// Answer ended early.
    Broken(Cause),
}

impl<R, E> Part<R, E> {
    pub fn new(sent: Sent<R, E>, side: usize, id: AskId) -> Self {
        Self {
            side,
            replica: sent.replica,
            id,
            began: sent.began,
            last_received: sent.began,
            unchecked: None,
            state: State::Waiting(sent.answering),
            _flight: Some(sent.flight),
        }
    }

    /// Creates a part whose answer has begun.
    pub fn begun(
        (replica, side): (usize, usize),
        id: AskId,
        (body, flight): (R, Option<InFlight>),
        unchecked: Option<Check>,
    ) -> Self {
        let now = Instant::now();
        let mut part = Self {
            side,
            replica,
            id,
            began: now,
            last_received: now,
            unchecked: None,
            state: State::Reading(Box::pin(body)),
            _flight: flight,
        };
        part.check(unchecked);
        part
    }

    pub const fn has_begun(&self) -> bool {
        matches!(self.state, State::Reading(_))
    }

    /// Starts to read the body of the answer.
    pub fn read(&mut self, body: R, unchecked: Option<Check>) {
        self.state = State::Reading(Box::pin(body));
        self.check(unchecked);
    }

    fn check(&mut self, unchecked: Option<Check>) {
        self.unchecked = unchecked.map(|check| UncheckedBytes {
            check,
            bytes: Vec::new(),
            length: 0,
        });
    }

    pub fn poll(&mut self, cx: &mut Context<'_>) -> Poll<PartEvent<R, E>>
    where
        R: Body,
        R::Error: Into<Cause>,
    {
        Poll::Ready(match &mut self.state {
            State::Waiting(answering) => PartEvent::Head(ready!(answering.as_mut().poll(cx))),
            State::Reading(body) => loop {
                match ready!(body.as_mut().poll_frame(cx)) {
                    None => break PartEvent::End,
                    Some(Err(error)) => break PartEvent::Broken(error.into()),
                    Some(Ok(frame)) => {
                        // Trailers contain nothing that a part needs.
                        if let Ok(mut data) = frame.into_data() {
                            break PartEvent::Data(data.copy_to_bytes(data.remaining()));
                        }
                    }
                }
            },
        })
    }

    /// Reads the answer to its end and drops the bytes.
    pub async fn run_out(mut self)
    where
        R: Body,
    {
        if let State::Waiting(answering) = &mut self.state {
            let Ok(answer) = answering.await else {
                return;
            };
            self.read(answer.into_body(), None);
        }
        if let State::Reading(body) = &mut self.state {
            while let Some(Ok(_)) = poll_fn(|cx| body.as_mut().poll_frame(cx)).await {}
        }
    }
}

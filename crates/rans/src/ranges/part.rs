//! One range on its way: a request, then the bytes of its answer.

use super::digest::Check;
use super::error::Cause;
use crate::client::{Answering, Flight, Sent};
use bytes::{Buf, Bytes};
use http::Response;
use http_body::Body;
use std::future::poll_fn;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use tailcut_requests::AskId;
use tokio::time::Instant;

/// Purpose of a request that was sent before the object's size was known.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Opening {
    /// The first piece.
    Front,
    /// The last one.
    Back,
}

enum State<R, E> {
    Asking(Answering<R, E>),
    Reading(Pin<Box<R>>),
}

/// Bytes that do not count before they have come to their digest.
pub(super) struct Held {
    pub check: Check,
    pub bytes: Vec<Bytes>,
    pub length: u64,
}

impl Held {
    pub fn add(&mut self, bytes: Bytes) {
        self.check.add(&bytes);
        self.length += bytes.len() as u64;
        self.bytes.push(bytes);
    }
}

/// One part of an object on its way from a replica.
pub(super) struct Part<R, E> {
    pub side: usize,
    pub replica: usize,
    /// `None` while the object's size is not known.
    pub id: Option<AskId>,
    pub opening: Option<Opening>,
    pub began: Instant,
    /// When the last byte came, or the answer's head.
    pub heard: Instant,
    pub held: Option<Held>,
    state: State<R, E>,
    flight: Flight,
}

/// What has become of a part.
pub(super) enum News<R, E> {
    /// It is answered.
    Head(Result<Response<R>, E>),
    /// The next bytes.
    Data(Bytes),
    /// Its answer is over.
    End,
    /// Its answer broke off.
    Broken(Cause),
}

impl<R, E> Part<R, E> {
    pub fn new(sent: Sent<R, E>, side: usize, id: Option<AskId>, opening: Option<Opening>) -> Self {
        Self {
            side,
            replica: sent.replica,
            id,
            opening,
            began: sent.began,
            heard: sent.began,
            held: None,
            state: State::Asking(sent.answering),
            flight: sent.flight,
        }
    }

    pub const fn has_begun(&self) -> bool {
        matches!(self.state, State::Reading(_))
    }

    /// Its answer's bytes follow.
    pub fn read(&mut self, body: R, held: Option<Check>) {
        self.state = State::Reading(Box::pin(body));
        self.held = held.map(|check| Held {
            check,
            bytes: Vec::new(),
            length: 0,
        });
    }

    /// What keeps its replica busy.
    pub fn into_flight(self) -> Flight {
        self.flight
    }

    pub fn poll(&mut self, cx: &mut Context<'_>) -> Poll<News<R, E>>
    where
        R: Body,
        R::Error: Into<Cause>,
    {
        Poll::Ready(match &mut self.state {
            State::Asking(answering) => News::Head(ready!(answering.as_mut().poll(cx))),
            State::Reading(body) => loop {
                match ready!(body.as_mut().poll_frame(cx)) {
                    None => break News::End,
                    Some(Err(error)) => break News::Broken(error.into()),
                    Some(Ok(frame)) => {
                        // Trailers say nothing about a part.
                        if let Ok(mut data) = frame.into_data() {
                            break News::Data(data.copy_to_bytes(data.remaining()));
                        }
                    }
                }
            },
        })
    }

    /// Goes on to its end, unseen.
    pub async fn run_out(mut self)
    where
        R: Body,
    {
        if let State::Asking(answering) = &mut self.state {
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

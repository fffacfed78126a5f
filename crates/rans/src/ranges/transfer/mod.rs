//! Transfer of one object from several replicas. [`tailcut_requests::Ranges`] decides which bytes each replica sends.
//! This module is the driver of that type.

mod answers;

use super::config::RangesConfig;
use super::counts::Counter;
use super::digest::Digest;
use super::error::{Cause, Fault, RangesError};
use super::origin::Origin;
use super::part::{Opening, Part};
use super::validators::StrongTag;
use crate::client::{AnswerBody, Client, Replay};
use bytes::Bytes;
use http::request::Parts;
use http::{HeaderValue, Request, Response, header, response};
use std::collections::VecDeque;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;
use tailcut_requests::{AskId, Class, Idle, Ranges};
use tailcut_units::Time;
use tokio::time::{Instant, Sleep, sleep_until};

/// Destination of bytes. Each byte is written once. The order is arbitrary.
pub(super) trait Sink {
    fn put(&mut self, from: u64, bytes: Bytes) -> io::Result<()>;
    /// Returns the number of bytes that the reader has taken from the front. The task is woken when this number grows.
    fn taken(&mut self, cx: &mut Context<'_>) -> u64;
}

/// Sink that is used before the first byte arrives.
struct NullSink;

impl Sink for NullSink {
    fn put(&mut self, _: u64, _: Bytes) -> io::Result<()> {
        Ok(())
    }

    fn taken(&mut self, _: &mut Context<'_>) -> u64 {
        0
    }
}

/// Result of the first answers of a download.
pub(super) enum Head<R> {
    /// Answer that is forwarded unchanged: the whole object, a redirection, or an error.
    Answer(Response<AnswerBody<R>>),
    /// Object whose parts cannot be combined, so that the whole object has to be requested.
    Whole,
    /// Object that arrives in parts.
    /// The values are the head of an answer with the whole object, the size in bytes, and the digest.
    Object(Box<response::Parts>, u64, Option<Digest>),
}

/// Properties of an object that must be the same at all replicas: entity tag, size in bytes, digest.
struct Identity {
    tag: StrongTag,
    total: u64,
    digest: Option<Digest>,
}

/// Replica that takes part in the transfer.
struct Side {
    replica: usize,
    is_open: bool,
    /// Whether the replica received a request before the object was known.
    has_opened: bool,
    /// Number of temporary failures in a row.
    failures: u32,
    paused_until: Option<Instant>,
}

/// Part of an object, with the types of the origin's answers.
type PartOf<S, B> = Part<<S as Origin<B>>::Body, <S as Origin<B>>::Failure>;

/// Transfer of one object from several replicas.
pub(super) struct Transfer<S: Origin<B>, B> {
    client: Client<S>,
    config: RangesConfig,
    counter: Counter,
    parts: Parts,
    body: B,
    began: Instant,
    /// Replicas that have received no request for this object yet.
    candidates: VecDeque<usize>,
    sides: Vec<Side>,
    requested: Vec<PartOf<S, B>>,
    object: Option<(Identity, Ranges)>,
    head: Option<Head<S::Body>>,
    faults: Vec<(usize, Fault)>,
    /// First answer whose status was not acceptable.
    unacceptable: Option<Response<AnswerBody<S::Body>>>,
    cause: Option<Cause>,
    timer: Option<Pin<Box<Sleep>>>,
    /// Largest distance in bytes by which requests may be ahead of a reader that reads in order.
    /// `None`: no such reader.
    window: Option<u64>,
}

impl<S, B> Transfer<S, B>
where
    S: Origin<B>,
    B: Replay + Send + Sync + 'static,
{
    pub fn new(
        client: Client<S>,
        (config, window): (RangesConfig, Option<u64>),
        counter: Counter,
        request: Request<B>,
    ) -> Self {
        let (parts, body) = request.into_parts();
        let candidates = client.choose().into();
        Self {
            client,
            config,
            counter,
            parts,
            body,
            began: Instant::now(),
            candidates,
            sides: Vec::new(),
            requested: Vec::new(),
            object: None,
            head: None,
            faults: Vec::new(),
            unacceptable: None,
            cause: None,
            timer: None,
            window,
        }
    }

    /// Resolves when the object is known, or when it is clear that it cannot arrive in parts.
    pub fn poll_head(&mut self, cx: &mut Context<'_>) -> Poll<Result<Head<S::Body>, RangesError>> {
        loop {
            self.send_requests();
            if self.sides.iter().all(|side| !side.is_open) {
                return Poll::Ready(match self.unacceptable.take() {
                    Some(unacceptable) => Ok(Head::Answer(unacceptable)),
                    None => Err(self.no_replica()),
                });
            }
            let mut has_moved = false;
            let mut at = 0;
            // `on_event` removes the part at `at`. If the answer continues, it appends the part to the list.
            // So the next part is now at the same position.
            while at < self.requested.len() && self.head.is_none() {
                match self.requested[at].poll(cx) {
                    Poll::Pending => at += 1,
                    Poll::Ready(event) => {
                        has_moved = true;
                        if let Err(error) = self.on_event(at, event, &mut NullSink) {
                            return Poll::Ready(Err(error));
                        }
                    }
                }
            }
            if let Some(head) = self.head.take() {
                return Poll::Ready(Ok(head));
            }
            if !has_moved && self.poll_timer(cx).is_pending() {
                return Poll::Pending;
            }
        }
    }

    /// Resolves when all bytes have been written to the sink.
    pub fn poll_rest(
        &mut self,
        cx: &mut Context<'_>,
        sink: &mut dyn Sink,
    ) -> Poll<Result<(), RangesError>> {
        loop {
            if let Some((_, ranges)) = &mut self.object {
                if ranges.is_whole() {
                    self.purge(|_| true);
                    return Poll::Ready(Ok(()));
                }
                ranges.take(sink.taken(cx));
            }
            self.send_requests();
            if self.sides.iter().all(|side| !side.is_open) {
                return Poll::Ready(Err(self.no_replica()));
            }
            let mut has_moved = false;
            let mut at = 0;
            // `on_event` removes the part at `at`. If the answer continues, it appends the part to the list.
            // So the next part is now at the same position.
            while let Some(part) = self.requested.get_mut(at) {
                let Poll::Ready(event) = part.poll(cx) else {
                    at += 1;
                    continue;
                };
                has_moved = true;
                if let Err(error) = self.on_event(at, event, sink) {
                    return Poll::Ready(Err(error));
                }
            }
            if !has_moved && self.poll_timer(cx).is_pending() {
                return Poll::Pending;
            }
        }
    }

    fn no_replica(&mut self) -> RangesError {
        RangesError::Replicas(std::mem::take(&mut self.faults), self.cause.take())
    }

    fn time(&self, at: Instant) -> Time {
        since(self.began, at)
    }

    /// Opens sides until there are as many sides as copies, and sends the next requests of all sides.
    fn send_requests(&mut self) {
        let copies = usize::from(self.config.copies);
        while self.sides.iter().filter(|side| side.is_open).count() < copies
            && let Some(replica) = self.candidates.pop_front()
        {
            self.sides.push(Side {
                replica,
                is_open: true,
                has_opened: false,
                failures: 0,
                paused_until: None,
            });
            // Each side must have the same number in `ranges` as in `sides`.
            if let Some((_, ranges)) = &mut self.object {
                ranges.open();
            }
        }
        let now = Instant::now();
        for side in 0..self.sides.len() {
            let state = &mut self.sides[side];
            if !state.is_open || state.paused_until.is_some_and(|until| now < until) {
                continue;
            }
            state.paused_until = None;
            match self.object {
                None => self.request_opening(side),
                Some(_) => self.request_ranges(side, now),
            }
        }
    }

    /// Sends the first request of a side, while the size of the object is unknown.
    /// The first side requests the first piece, and the second side requests the last piece.
    fn request_opening(&mut self, side: usize) {
        let is_front = self.is_front(side);
        let opening = match is_front {
            true => Opening::Front,
            false => Opening::Back,
        };
        let taken = |part: &PartOf<S, B>| part.opening == Some(opening);
        if self.sides[side].has_opened || self.requested.iter().any(taken) {
            return;
        }
        self.sides[side].has_opened = true;
        let piece = self.config.piece;
        let range = match opening {
            Opening::Front => format!("bytes=0-{}", piece - 1),
            Opening::Back => format!("bytes=-{piece}"),
        };
        self.send(side, &range, None, Some(opening));
    }

    /// Requests the next ranges of an object whose size is known, or takes a range back from a slower replica.
    fn request_ranges(&mut self, side: usize, now: Instant) {
        let time = self.time(now);
        while let Some((_, ranges)) = &mut self.object {
            if let Some((id, range)) = ranges.ask(time, side) {
                let range = format!("bytes={}-{}", range.from, range.to - 1);
                self.send(side, &range, Some(id), None);
                continue;
            }
            let Some(Idle::TakeBack(id)) = ranges.idle(time, side) else {
                return;
            };
            let Some(at) = self.requested.iter().position(|part| part.id == Some(id)) else {
                return;
            };
            if self.client.may_reset(self.requested[at].replica) {
                ranges.take_back(id);
                self.requested.swap_remove(at);
                self.counter.add(|counts| counts.taken_back += 1);
            } else {
                // The budget of resets is used up, so the replica keeps the request.
                ranges.keep(id);
            }
        }
    }

    fn is_front(&self, side: usize) -> bool {
        self.sides.iter().position(|side| side.is_open) == Some(side)
    }

    fn send(&mut self, side: usize, range: &str, id: Option<AskId>, opening: Option<Opening>) {
        // A request whose body cannot be sent twice is not split, so this branch is never taken.
        let Some(body) = self.body.replay() else {
            return;
        };
        let mut parts = self.parts.clone();
        if let Ok(range) = HeaderValue::from_str(range) {
            parts.headers.insert(header::RANGE, range);
        }
        // Parts of compressed answers cannot be combined.
        let identity = HeaderValue::from_static("identity");
        parts.headers.insert(header::ACCEPT_ENCODING, identity);
        if let Some((identity, _)) = &self.object {
            // A replica that has replaced the object answers 412.
            let tag = identity.tag.value().clone();
            parts.headers.insert(header::IF_MATCH, tag);
        }
        let class = match self.is_front(side) || !self.config.low_priority {
            true => Class::Primary,
            false => Class::Duplicate,
        };
        // The number only marks the request in logs, so several sides may share the last value.
        let copy = u8::try_from(side).unwrap_or(u8::MAX);
        let replica = self.sides[side].replica;
        let sent = self.client.send((replica, copy, class), parts, body);
        self.requested.push(Part::new(sent, side, id, opening));
        self.counter.add(|counts| counts.parts += 1);
    }

    /// Gives up a replica that has stalled, and polls the timer.
    /// Returns `Ready` if a replica was given up or the timer has expired.
    fn poll_timer(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        let now = Instant::now();
        let stalled = |part: &&PartOf<S, B>| {
            let others = self.requested.iter().any(|other| other.side != part.side);
            // A part without an answer may wait in a queue. It counts as stalled only if other replicas answer.
            (part.has_begun() || (self.object.is_some() && others))
                && now >= part.last_received + self.config.stall
        };
        let stalled = self.requested.iter().find(stalled).map(|part| part.side);
        if let Some(side) = stalled {
            self.client.note_failure(self.sides[side].replica);
            self.close(side, Fault::Stalled);
            return Poll::Ready(());
        }
        let Some(due) = self.due(now) else {
            return Poll::Pending;
        };
        let timer = self.timer.get_or_insert_with(|| Box::pin(sleep_until(due)));
        if timer.deadline() != due {
            timer.as_mut().reset(due);
        }
        timer.as_mut().poll(cx)
    }

    /// Returns the next time at which a timer expires.
    fn due(&self, now: Instant) -> Option<Instant> {
        let paused = self.sides.iter().filter(|side| side.is_open);
        let paused = paused.filter_map(|side| side.paused_until);
        let stalls = self
            .requested
            .iter()
            .map(|part| part.last_received + self.config.stall);
        let (time, object) = (self.time(now), self.object.as_ref());
        let idle = (0..self.sides.len()).filter_map(|side| match object?.1.idle(time, side)? {
            // `as_ns` rounds down, so one nanosecond is added. Otherwise `idle` would not see the due time as passed.
            Idle::Until(at) => Some(self.began + Duration::from_nanos(at.as_ns() + 1)),
            Idle::TakeBack(_) => None,
        });
        let all = paused.chain(stalls).chain(idle);
        all.filter(|at| *at > now).min()
    }
}

/// Returns the time since the start of a transfer.
fn since(began: Instant, at: Instant) -> Time {
    let since = at.saturating_duration_since(began).as_nanos();
    Time::from_ns(since.min(u64::MAX.into()) as u64)
}

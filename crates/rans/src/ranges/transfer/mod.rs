//! Transfer of one object from several replicas. [`tailcut_requests::Ranges`] decides which bytes each replica sends.
//! This module is the driver of that type.

mod answers;

use super::config::RangesConfig;
use super::counts::Counter;
use super::digest::{Check, Digest, OfferedDigest};
use super::error::{Cause, Fault, RangesError};
use super::origin::Origin;
use super::part::Part;
use super::validators::StrongTag;
use crate::client::{AnswerBody, Client, Replay};
use bytes::Bytes;
use http::request::Parts;
use http::{HeaderValue, Request, header};
use std::collections::VecDeque;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;
use tailcut_requests::{AskId, ByteRange, Class, Idle, Ranges};
use tailcut_units::Time;
use tokio::time::{Instant, Sleep, sleep_until};

/// Destination of bytes. Each byte is written once. The order is arbitrary.
pub(super) trait Sink {
    fn put(&mut self, from: u64, bytes: Bytes) -> io::Result<()>;
    /// Returns the number of bytes that the reader has taken from the front. The task is woken when this number grows.
    fn taken(&mut self, cx: &mut Context<'_>) -> u64;
}

/// First part of an object. Its answer has begun.
pub(super) struct FirstPart<R> {
    pub replica: usize,
    pub identity: Identity,
    pub range: ByteRange,
    pub body: AnswerBody<R>,
    /// Digest of the part's bytes, if it has to be checked.
    pub content: Option<Digest>,
}

/// Properties of an object that must be the same at all replicas: entity tag, size in bytes, digest.
pub(super) struct Identity {
    pub tag: StrongTag,
    pub total: u64,
    pub digest: OfferedDigest,
}

/// Replica that takes part in the transfer.
struct Side {
    replica: usize,
    is_open: bool,
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
    identity: Identity,
    ranges: Ranges,
    faults: Vec<(usize, Fault)>,
    cause: Option<Cause>,
    timer: Option<Pin<Box<Sleep>>>,
}

impl<S, B> Transfer<S, B>
where
    S: Origin<B>,
    B: Replay + Send + Sync + 'static,
{
    /// Creates the transfer of the object to which `first` belongs. The first side is the replica of this part.
    /// `window` is the largest distance in bytes by which requests may be ahead of a reader that reads in order.
    /// `None`: no such reader.
    pub fn new(
        client: Client<S>,
        (config, window): (RangesConfig, Option<u64>),
        counter: Counter,
        request: Request<B>,
        first: FirstPart<S::Body>,
    ) -> Self {
        let (parts, body) = request.into_parts();
        let mut candidates: VecDeque<usize> = client.choose().into();
        candidates.retain(|replica| *replica != first.replica);
        let (piece, total) = (config.piece, first.identity.total);
        let ranges = match window {
            Some(window) => Ranges::windowed(total, piece, window),
            None => Ranges::new(total, piece),
        };
        let mut transfer = Self {
            client,
            config,
            counter,
            parts,
            body,
            began: Instant::now(),
            candidates,
            sides: Vec::new(),
            requested: Vec::new(),
            identity: first.identity,
            ranges,
            faults: Vec::new(),
            cause: None,
            timer: None,
        };
        let side = transfer.open(first.replica);
        let id = transfer.ranges.note(Time::ZERO, side, first.range);
        // When this request was sent is not known here, so its answer does not count as the quickest one.
        transfer.ranges.keep(id);
        let content = first.content.map(Check::new);
        let body = first.body.into_parts();
        let part = Part::begun((first.replica, side), id, body, content);
        transfer.requested.push(part);
        transfer.counter.add(|counts| counts.parts += 1);
        transfer
    }

    /// Adds a side. It has the same number in `ranges` as in `sides`.
    fn open(&mut self, replica: usize) -> usize {
        self.sides.push(Side {
            replica,
            is_open: true,
            failures: 0,
            paused_until: None,
        });
        self.ranges.open()
    }

    /// Resolves when all bytes have been written to the sink.
    pub fn poll_rest(
        &mut self,
        cx: &mut Context<'_>,
        sink: &mut dyn Sink,
    ) -> Poll<Result<(), RangesError>> {
        loop {
            if self.ranges.is_whole() {
                self.purge(|_| true);
                return Poll::Ready(Ok(()));
            }
            self.ranges.take(sink.taken(cx));
            self.send_requests();
            if self.sides.iter().all(|side| !side.is_open) {
                self.client.note_overload();
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
    /// A further side, and a request after a failure, cost the budget of copies.
    fn send_requests(&mut self) {
        let copies = usize::from(self.config.copies);
        while self.sides.iter().filter(|side| side.is_open).count() < copies
            && self.ranges.has_unrequested()
            && !self.candidates.is_empty()
            && self.client.may_send_copy()
            && let Some(replica) = self.candidates.pop_front()
        {
            self.open(replica);
        }
        let now = Instant::now();
        for side in 0..self.sides.len() {
            let Some(state) = self.sides.get_mut(side).filter(|side| side.is_open) else {
                continue;
            };
            match state.paused_until {
                Some(until) if now < until => continue,
                Some(_) => {
                    state.paused_until = None;
                    if !self.client.may_send_copy() {
                        self.close(side, Fault::Broken);
                        continue;
                    }
                }
                None => {}
            }
            self.request_ranges(side, now);
        }
    }

    /// Sends the next requests of a side, or takes a range back from a slower replica.
    fn request_ranges(&mut self, side: usize, now: Instant) {
        let time = self.time(now);
        loop {
            if let Some((id, range)) = self.ranges.ask(time, side) {
                let range = format!("bytes={}-{}", range.from, range.to - 1);
                self.send(side, &range, id);
                continue;
            }
            let Some(Idle::TakeBack(id)) = self.ranges.idle(time, side) else {
                return;
            };
            let Some(at) = self.requested.iter().position(|part| part.id == id) else {
                return;
            };
            if self.client.may_send_copy() && self.client.may_reset(self.requested[at].replica) {
                self.ranges.take_back(id);
                self.requested.swap_remove(at);
                self.counter.add(|counts| counts.taken_back += 1);
            } else {
                // The budget of copies or of resets is used up, so the replica keeps the request.
                self.ranges.keep(id);
            }
        }
    }

    fn is_front(&self, side: usize) -> bool {
        self.sides.iter().position(|side| side.is_open) == Some(side)
    }

    fn send(&mut self, side: usize, range: &str, id: AskId) {
        // A request whose body cannot be sent twice is not split, so this branch is never taken.
        let Some(body) = self.body.replay() else {
            return;
        };
        let mut parts = self.parts.clone();
        if let Ok(range) = HeaderValue::from_str(range) {
            parts.headers.insert(header::RANGE, range);
        }
        // A replica that has replaced the object answers 412.
        let tag = self.identity.tag.value().clone();
        parts.headers.insert(header::IF_MATCH, tag);
        let class = match self.is_front(side) || !self.config.low_priority {
            true => Class::Primary,
            false => Class::Duplicate,
        };
        // The number only marks the request in logs, so several sides may share the last value.
        let copy = u8::try_from(side).unwrap_or(u8::MAX);
        let replica = self.sides[side].replica;
        let sent = self.client.send((replica, copy, class), parts, body);
        self.requested.push(Part::new(sent, side, id));
        self.counter.add(|counts| counts.parts += 1);
    }

    /// Gives up a replica that has stalled, and polls the timer.
    /// Returns `Ready` if a replica was given up or the timer has expired.
    fn poll_timer(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        let now = Instant::now();
        let stalled = |part: &&PartOf<S, B>| {
            let others = self.requested.iter().any(|other| other.side != part.side);
            // A part without an answer may wait in a queue. It counts as stalled only if other replicas answer.
            (part.has_begun() || others) && now >= part.last_received + self.config.stall
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
        let time = self.time(now);
        let idle = (0..self.sides.len()).filter_map(|side| match self.ranges.idle(time, side)? {
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

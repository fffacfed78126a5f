//! One object on its way from several replicas. [`tailcut_requests::Ranges`] decides which
//! bytes each replica is requested to send; this is its driver.

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

/// Where bytes go, each once, in any order.
pub(super) trait Sink {
    fn put(&mut self, from: u64, bytes: Bytes) -> io::Result<()>;
    /// How many bytes from the front are not here any more. Wakes the task when there are more of them.
    fn taken(&mut self, cx: &mut Context<'_>) -> u64;
}

/// For what has no bytes yet.
struct Nowhere;

impl Sink for Nowhere {
    fn put(&mut self, _: u64, _: Bytes) -> io::Result<()> {
        Ok(())
    }

    fn taken(&mut self, _: &mut Context<'_>) -> u64 {
        0
    }
}

/// What a download begins with.
pub(super) enum Head<R> {
    /// An answer that is handed on as it is: the object by itself, a redirection, an error.
    Answer(Response<AnswerBody<R>>),
    /// The parts of this object's answers cannot be combined: request the whole object.
    Whole,
    /// The object, which comes in parts: the head of a whole answer, and its digest.
    Object(Box<response::Parts>, u64, Option<Digest>),
}

/// Identity of an object.
struct Identity {
    tag: StrongTag,
    total: u64,
    digest: Option<Digest>,
}

/// A replica that takes part in the transfer.
struct Side {
    replica: usize,
    is_open: bool,
    /// Whether it got a request before the object was known.
    has_opened: bool,
    /// Failures in a row.
    failures: u32,
    paused_until: Option<Instant>,
}

/// A part of an answer of such a replica.
type PartOf<S, B> = Part<<S as Origin<B>>::Body, <S as Origin<B>>::Failure>;

/// One object on its way from several replicas.
pub(super) struct Transfer<S: Origin<B>, B> {
    client: Client<S>,
    config: RangesConfig,
    counter: Counter,
    parts: Parts,
    body: B,
    began: Instant,
    /// Replicas that were not asked yet.
    candidates: VecDeque<usize>,
    sides: Vec<Side>,
    asked: Vec<PartOf<S, B>>,
    object: Option<(Identity, Ranges)>,
    head: Option<Head<S::Body>>,
    faults: Vec<(usize, Fault)>,
    /// The first answer that was not acceptable, and the last error.
    poor: Option<Response<AnswerBody<S::Body>>>,
    cause: Option<Cause>,
    timer: Option<Pin<Box<Sleep>>>,
    /// Of a reader in order.
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
            asked: Vec::new(),
            object: None,
            head: None,
            faults: Vec::new(),
            poor: None,
            cause: None,
            timer: None,
            window,
        }
    }

    /// Resolves when the object is known, or is not to come in parts.
    pub fn poll_head(&mut self, cx: &mut Context<'_>) -> Poll<Result<Head<S::Body>, RangesError>> {
        loop {
            self.ask();
            if self.sides.iter().all(|side| !side.is_open) {
                return Poll::Ready(match self.poor.take() {
                    Some(poor) => Ok(Head::Answer(poor)),
                    None => Err(self.no_replica()),
                });
            }
            let mut has_moved = false;
            let mut at = 0;
            while at < self.asked.len() && self.head.is_none() {
                match self.asked[at].poll(cx) {
                    Poll::Pending => at += 1,
                    Poll::Ready(news) => {
                        has_moved = true;
                        if let Err(error) = self.on_news(at, news, &mut Nowhere) {
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

    /// Resolves when every byte has gone into the sink.
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
            self.ask();
            if self.sides.iter().all(|side| !side.is_open) {
                return Poll::Ready(Err(self.no_replica()));
            }
            let mut has_moved = false;
            let mut at = 0;
            while let Some(part) = self.asked.get_mut(at) {
                let Poll::Ready(news) = part.poll(cx) else {
                    at += 1;
                    continue;
                };
                has_moved = true;
                if let Err(error) = self.on_news(at, news, sink) {
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

    /// Sends the next request to every side.
    fn ask(&mut self) {
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
                None => self.ask_unknown(side),
                Some(_) => self.ask_known(side, now),
            }
        }
    }

    /// The object is not known: the first side gets a request for the first piece, the second side for the last piece.
    fn ask_unknown(&mut self, side: usize) {
        let is_front = self.is_front(side);
        let opening = match is_front {
            true => Opening::Front,
            false => Opening::Back,
        };
        let taken = |part: &PartOf<S, B>| part.opening == Some(opening);
        if self.sides[side].has_opened || self.asked.iter().any(taken) {
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

    fn ask_known(&mut self, side: usize, now: Instant) {
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
            let Some(at) = self.asked.iter().position(|part| part.id == Some(id)) else {
                return;
            };
            if self.client.may_reset(self.asked[at].replica) {
                ranges.take_back(id);
                self.asked.swap_remove(at);
                self.counter.add(|counts| counts.taken_back += 1);
            } else {
                ranges.keep(id);
            }
        }
    }

    fn is_front(&self, side: usize) -> bool {
        self.sides.iter().position(|side| side.is_open) == Some(side)
    }

    fn send(&mut self, side: usize, range: &str, id: Option<AskId>, opening: Option<Opening>) {
        // A body that cannot be sent twice never comes here.
        let Some(body) = self.body.replay() else {
            return;
        };
        let mut parts = self.parts.clone();
        if let Ok(range) = HeaderValue::from_str(range) {
            parts.headers.insert(header::RANGE, range);
        }
        let identity = HeaderValue::from_static("identity");
        parts.headers.insert(header::ACCEPT_ENCODING, identity);
        if let Some((identity, _)) = &self.object {
            let tag = identity.tag.value().clone();
            parts.headers.insert(header::IF_MATCH, tag);
        }
        let class = match self.is_front(side) || !self.config.low_priority {
            true => Class::Primary,
            false => Class::Duplicate,
        };
        let copy = u8::try_from(side).unwrap_or(u8::MAX);
        let replica = self.sides[side].replica;
        let sent = self.client.send((replica, copy, class), parts, body);
        self.asked.push(Part::new(sent, side, id, opening));
        self.counter.add(|counts| counts.parts += 1);
    }

    /// Waits for what time brings. Ready where it has brought something.
    fn poll_timer(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        let now = Instant::now();
        let stalled = |part: &&PartOf<S, B>| {
            let others = self.asked.iter().any(|other| other.side != part.side);
            // What has not begun may wait in a queue. It has waited too long where others get on.
            (part.has_begun() || (self.object.is_some() && others))
                && now >= part.heard + self.config.stall
        };
        let stalled = self.asked.iter().find(stalled).map(|part| part.side);
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

    /// When time brings something next.
    fn due(&self, now: Instant) -> Option<Instant> {
        let paused = self.sides.iter().filter(|side| side.is_open);
        let paused = paused.filter_map(|side| side.paused_until);
        let stalls = self.asked.iter().map(|part| part.heard + self.config.stall);
        let (time, object) = (self.time(now), self.object.as_ref());
        let idle = (0..self.sides.len()).filter_map(|side| match object?.1.idle(time, side)? {
            Idle::Until(at) => Some(self.began + Duration::from_nanos(at.as_ns() + 1)),
            Idle::TakeBack(_) => None,
        });
        let all = paused.chain(stalls).chain(idle);
        all.filter(|at| *at > now).min()
    }
}

/// A moment of a transfer that began then.
fn since(began: Instant, at: Instant) -> Time {
    let since = at.saturating_duration_since(began).as_nanos();
    Time::from_ns(since.min(u64::MAX.into()) as u64)
}

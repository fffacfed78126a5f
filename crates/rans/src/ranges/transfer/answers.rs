//! Effects of answers on a transfer: which bytes are used, and which replicas fail.

use super::{Head, Identity, PartOf, Sink, Transfer, since};
use crate::client::{AnswerBody, Replay};
use crate::ranges::config::Verify;
use crate::ranges::digest::{Check, Digest};
use crate::ranges::error::{Fault, RangesError};
use crate::ranges::origin::Origin;
use crate::ranges::part::{Opening, PartEvent, UncheckedBytes};
use crate::ranges::validators::{ContentRange, StrongTag, is_identity};
use bytes::Bytes;
use http::{Response, StatusCode, header, response};
use tailcut_requests::{AskId, ByteRange, Ranges};
use tokio::time::Instant;

impl<S, B> Transfer<S, B>
where
    S: Origin<B>,
    B: Replay + Send + Sync + 'static,
{
    /// Handles the next event of a part.
    pub(super) fn on_event(
        &mut self,
        at: usize,
        event: PartEvent<S::Body, S::Failure>,
        sink: &mut dyn Sink,
    ) -> Result<(), RangesError> {
        // The part is removed from the list, because its event may change the list.
        // The part is added again only if its answer continues.
        let mut part = self.requested.swap_remove(at);
        part.last_received = Instant::now();
        match event {
            PartEvent::Head(answer) => self.on_head(part, answer),
            PartEvent::Data(bytes) => self.on_data(part, bytes, sink),
            PartEvent::End => self.on_end(part, sink),
            PartEvent::Broken(cause) => {
                self.client.note_failure(part.replica);
                self.cause = Some(cause);
                self.fail(&part, Fault::Broken);
                Ok(())
            }
        }
    }

    fn on_head(
        &mut self,
        part: PartOf<S, B>,
        answer: Result<Response<S::Body>, S::Failure>,
    ) -> Result<(), RangesError> {
        self.client.note(part.replica, part.began, &answer);
        let answer = match answer {
            Ok(answer) => answer,
            Err(error) => {
                self.cause = Some(error.into());
                self.fail(&part, Fault::Broken);
                return Ok(());
            }
        };
        let status = answer.status();
        let is_first = self.object.is_none();
        let fault = Fault::Status(status.as_u16());
        // These statuses report a temporary condition.
        let may_pass = status.is_server_error() || matches!(status.as_u16(), 408 | 425 | 429);
        // A copy may run behind all other requests, so the answer to a copy alone decides nothing.
        let decides = is_first && self.is_front(part.side);
        match status {
            StatusCode::PARTIAL_CONTENT => return self.on_part(part, answer),
            // An empty object has no range that a replica could send.
            StatusCode::RANGE_NOT_SATISFIABLE if decides => self.stop(Head::Whole),
            _ if decides && self.client.is_acceptable(status) => {
                let answer = answer.map(|body| AnswerBody::new(body, part.into_flight()));
                self.stop(Head::Answer(answer));
            }
            StatusCode::OK => self.close(part.side, Fault::IgnoresRanges),
            StatusCode::PRECONDITION_FAILED if !is_first => self.close(part.side, Fault::Replaced),
            _ => {
                match may_pass {
                    true => self.fail(&part, fault),
                    false => self.close(part.side, fault),
                }
                // All replicas may be given up before the object is known.
                // Then the client gets the first answer with such a status.
                if is_first && self.unacceptable.is_none() {
                    let flight = part.into_flight();
                    self.unacceptable = Some(answer.map(|body| AnswerBody::new(body, flight)));
                }
            }
        }
        Ok(())
    }

    /// Handles the head of a part's answer.
    /// The part's bytes are used if they belong to this object and to the requested range.
    fn on_part(
        &mut self,
        mut part: PartOf<S, B>,
        answer: Response<S::Body>,
    ) -> Result<(), RangesError> {
        let headers = answer.headers();
        let identity = match (StrongTag::of(headers), ContentRange::of(headers)) {
            (_, None) => Err(Fault::WrongRange),
            (Some(tag), Some(range)) if is_identity(headers) => Ok((
                Identity {
                    tag,
                    total: range.total,
                    digest: Digest::of_object(headers),
                },
                range,
            )),
            _ => Err(Fault::NotComparable),
        };
        let (identity, range) = match identity {
            Ok(found) => found,
            // The primary itself cannot send parts that can be combined, so one replica has to send the whole object.
            Err(Fault::NotComparable) if self.object.is_none() && self.is_front(part.side) => {
                self.stop(Head::Whole);
                return Ok(());
            }
            Err(fault) => {
                self.close(part.side, fault);
                return Ok(());
            }
        };
        let expected = match (&self.object, part.id) {
            (Some((known, ranges)), Some(id)) => match known.is_same(&identity) {
                true => ranges.left(id),
                false => {
                    self.close(part.side, Fault::Differs);
                    return Ok(());
                }
            },
            _ => Some(self.opened(&part, identity.total)),
        };
        let (from, to) = (range.from, range.to);
        if expected != Some(ByteRange { from, to }) {
            self.close(part.side, Fault::WrongRange);
            return Ok(());
        }
        let content = match self.config.verify {
            Verify::Off => None,
            Verify::Offered | Verify::Required => Digest::of_content(headers).map(Check::new),
        };
        let (head, body) = answer.into_parts();
        if self.object.is_none() {
            let digest = identity.digest;
            let total = identity.total;
            self.begin(&mut part, identity)?;
            self.head = Some(Head::Object(Box::new(whole(head, total)), total, digest));
        }
        let now = self.time(Instant::now());
        if let (Some((_, ranges)), Some(id)) = (&mut self.object, part.id) {
            ranges.begun(now, id);
        }
        part.read(body, content);
        self.requested.push(part);
        Ok(())
    }

    /// Returns the range of a request that was sent before the object's size was known.
    fn opened(&self, part: &PartOf<S, B>, total: u64) -> ByteRange {
        let piece = self.config.piece;
        let (from, to) = match part.opening {
            Some(Opening::Back) => (total.saturating_sub(piece), total),
            Some(Opening::Front) | None => (0, total.min(piece)),
        };
        ByteRange { from, to }
    }

    /// Starts the transfer of an object. The answer to the part `first` has shown its identity.
    fn begin(&mut self, first: &mut PartOf<S, B>, identity: Identity) -> Result<(), RangesError> {
        let total = identity.total;
        if let Some(longest) = self.config.longest
            && total > longest
        {
            return Err(RangesError::TooLarge(Some(total), longest));
        }
        if self.config.verify == Verify::Required && identity.digest.is_none() {
            return Err(RangesError::NoDigest);
        }
        let piece = self.config.piece;
        let mut ranges = match self.window {
            Some(window) => Ranges::windowed(total, piece, window),
            None => Ranges::new(total, piece),
        };
        for side in &self.sides {
            // Each side must have the same number in `ranges` as in `sides`.
            // So a closed side is also opened there, and then closed again.
            let opened = ranges.open();
            if !side.is_open {
                ranges.close(opened);
            }
        }
        let mut note = |part: &mut PartOf<S, B>, opened| {
            let at = since(self.began, part.began);
            part.id = Some(ranges.note(at, part.side, opened));
        };
        note(first, self.opened(first, total));
        let opened: Vec<_> = self
            .requested
            .iter()
            .map(|part| self.opened(part, total))
            .collect();
        for (part, opened) in self.requested.iter_mut().zip(opened) {
            note(part, opened);
        }
        self.object = Some((identity, ranges));
        Ok(())
    }

    fn on_data(
        &mut self,
        mut part: PartOf<S, B>,
        bytes: Bytes,
        sink: &mut dyn Sink,
    ) -> Result<(), RangesError> {
        // A part's body is read only after the part has an identifier, so this branch is never taken.
        let (Some((_, ranges)), Some(id)) = (&mut self.object, part.id) else {
            return Ok(());
        };
        let left = ranges.left(id).map_or(0, |left| left.to - left.from);
        let unchecked = part
            .unchecked
            .as_ref()
            .map_or(0, |unchecked| unchecked.length);
        if unchecked + bytes.len() as u64 > left {
            self.close(part.side, Fault::WrongRange);
            return Ok(());
        }
        match &mut part.unchecked {
            Some(unchecked) => unchecked.add(bytes),
            None => self.keep(id, bytes, sink)?,
        }
        self.requested.push(part);
        Ok(())
    }

    /// Writes received bytes of the object to the sink.
    fn keep(
        &mut self,
        id: AskId,
        mut bytes: Bytes,
        sink: &mut dyn Sink,
    ) -> Result<(), RangesError> {
        let Some((_, ranges)) = &mut self.object else {
            return Ok(());
        };
        let length = bytes.len() as u64;
        let Some(left) = ranges.left(id) else {
            return Ok(());
        };
        let (mut at, mut useful) = (left.from, 0);
        for fresh in ranges.arrived(id, length) {
            // The ranges in `fresh` are in order, and are inside these bytes.
            let skipped = (fresh.from - at) as usize;
            let mut rest = bytes.split_off(skipped.min(bytes.len()));
            let count = (fresh.to - fresh.from) as usize;
            bytes = rest.split_off(count.min(rest.len()));
            useful += rest.len() as u64;
            at = fresh.to;
            sink.put(fresh.from, rest)
                .map_err(RangesError::Destination)?;
        }
        self.counter.add(|counts| {
            counts.bytes += useful;
            counts.extra += length - useful;
        });
        Ok(())
    }

    /// Handles the end of a part's answer.
    fn on_end(&mut self, mut part: PartOf<S, B>, sink: &mut dyn Sink) -> Result<(), RangesError> {
        let Some(id) = part.id else {
            return Ok(());
        };
        if let Some(UncheckedBytes { check, bytes, .. }) = part.unchecked.take() {
            if !check.holds() {
                self.close(part.side, Fault::WrongDigest);
                return Ok(());
            }
            for bytes in bytes {
                self.keep(id, bytes, sink)?;
            }
        }
        if let Some((_, ranges)) = &mut self.object {
            if ranges.left(id).is_some_and(|left| left.from < left.to) {
                self.client.note_failure(part.replica);
                self.fail(&part, Fault::Broken);
                return Ok(());
            }
            ranges.end(id);
        }
        self.sides[part.side].failures = 0;
        Ok(())
    }

    /// Handles a temporary failure of a part. The part's replica pauses.
    fn fail(&mut self, part: &PartOf<S, B>, fault: Fault) {
        let side = &mut self.sides[part.side];
        // If it was an opening request, the first or last piece may have to be requested again.
        side.has_opened = false;
        side.failures += 1;
        if side.failures > self.config.retries {
            return self.close(part.side, fault);
        }
        // After many failures, the factor stays at its largest value.
        let doubled = 1_u32.checked_shl(side.failures - 1).unwrap_or(u32::MAX);
        let pause = self.config.pause.saturating_mul(doubled);
        side.paused_until = Instant::now().checked_add(pause);
        if let (Some((_, ranges)), Some(id)) = (&mut self.object, part.id) {
            ranges.end(id);
        }
    }

    /// Gives up a replica. It receives no more requests for this object.
    pub(super) fn close(&mut self, side: usize, fault: Fault) {
        let state = &mut self.sides[side];
        if !state.is_open {
            return;
        }
        // The fault concerns only this object, so the client still sends other requests to the replica.
        state.is_open = false;
        self.faults.push((state.replica, fault));
        self.counter.add(|counts| counts.given_up += 1);
        if let Some((_, ranges)) = &mut self.object {
            ranges.close(side);
        }
        self.purge(|part| part.side == side);
    }

    /// Ends the transfer, because the object cannot arrive in parts.
    fn stop(&mut self, head: Head<S::Body>) {
        self.head = Some(head);
        self.purge(|_| true);
    }

    /// Drops the parts that `which` selects.
    /// If the replica's budget of resets is used up, a part runs to its end instead.
    pub(super) fn purge(&mut self, which: impl Fn(&PartOf<S, B>) -> bool) {
        // The loop starts at the last part, because `swap_remove` changes the order of later parts.
        for at in (0..self.requested.len()).rev() {
            if !which(&self.requested[at]) {
                continue;
            }
            let part = self.requested.swap_remove(at);
            if !self.client.may_reset(part.replica)
                && let Ok(runtime) = tokio::runtime::Handle::try_current()
            {
                let most = self.config.stall;
                runtime.spawn(async move {
                    let _ = tokio::time::timeout(most, part.run_out()).await;
                });
            }
        }
    }
}

impl Identity {
    /// Returns whether both answers come from the same bytes, according to the tags and digests of their origin.
    fn is_same(&self, other: &Self) -> bool {
        let differ = |one: Digest, other: Digest| {
            // Digests of different algorithms cannot be compared.
            std::mem::discriminant(&one) == std::mem::discriminant(&other) && one != other
        };
        let digests = self.digest.zip(other.digest);
        self.tag == other.tag
            && self.total == other.total
            && !digests.is_some_and(|(one, other)| differ(one, other))
    }
}

/// Returns the head of an answer with the whole object, made from the head of a part's answer.
fn whole(mut head: response::Parts, total: u64) -> response::Parts {
    head.status = StatusCode::OK;
    head.headers.remove(header::CONTENT_RANGE);
    // This digest covers only the bytes of the part, so it is removed.
    head.headers.remove("content-digest");
    head.headers.insert(header::CONTENT_LENGTH, total.into());
    head
}

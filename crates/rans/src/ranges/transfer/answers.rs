//! Effects of answers on a transfer: which bytes are used, and which replicas fail.

use super::{PartOf, Sink, Transfer};
use crate::client::Replay;
use crate::ranges::config::Verify;
use crate::ranges::digest::{Check, Digest};
use crate::ranges::error::{Fault, RangesError};
use crate::ranges::origin::Origin;
use crate::ranges::part::{PartEvent, UncheckedBytes};
use crate::ranges::validators::{ContentRange, StrongTag, is_identity};
use bytes::Bytes;
use http::{Response, StatusCode};
use tailcut_requests::{AskId, ByteRange};
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
        let fault = Fault::Status(status.as_u16());
        // These statuses report a temporary condition.
        let may_pass = status.is_server_error() || matches!(status.as_u16(), 408 | 425 | 429);
        match status {
            StatusCode::PARTIAL_CONTENT => self.on_part(part, answer),
            StatusCode::OK => self.close(part.side, Fault::IgnoresRanges),
            StatusCode::PRECONDITION_FAILED => self.close(part.side, Fault::Replaced),
            _ if may_pass => self.fail(&part, fault),
            _ => self.close(part.side, fault),
        }
        Ok(())
    }

    /// Handles the head of a part's answer.
    /// The part's bytes are used if they belong to this object and to the requested range.
    fn on_part(&mut self, mut part: PartOf<S, B>, answer: Response<S::Body>) {
        let headers = answer.headers();
        let fault = match (StrongTag::of(headers), ContentRange::of(headers)) {
            (_, None) => Some(Fault::WrongRange),
            (Some(tag), Some(range)) if is_identity(headers) => {
                let (from, to) = (range.from, range.to);
                let is_same = tag == self.identity.tag
                    && range.total == self.identity.total
                    && self.identity.digest.add(Digest::of_object(headers));
                match is_same {
                    false => Some(Fault::Differs),
                    true if self.ranges.left(part.id) != Some(ByteRange { from, to }) => {
                        Some(Fault::WrongRange)
                    }
                    true => None,
                }
            }
            _ => Some(Fault::NotComparable),
        };
        if let Some(fault) = fault {
            self.close(part.side, fault);
            return;
        }
        let content = match self.config.verify {
            Verify::Off => None,
            Verify::Offered | Verify::Required => Digest::of_content(headers).map(Check::new),
        };
        let now = self.time(Instant::now());
        self.ranges.begun(now, part.id);
        part.read(answer.into_body(), content);
        self.requested.push(part);
    }

    fn on_data(
        &mut self,
        mut part: PartOf<S, B>,
        bytes: Bytes,
        sink: &mut dyn Sink,
    ) -> Result<(), RangesError> {
        let left = self.ranges.left(part.id);
        let left = left.map_or(0, |left| left.to - left.from);
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
            None => self.keep(part.id, bytes, sink)?,
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
        let length = bytes.len() as u64;
        let Some(left) = self.ranges.left(id) else {
            return Ok(());
        };
        let (mut at, mut useful) = (left.from, 0);
        for fresh in self.ranges.arrived(id, length) {
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
        let id = part.id;
        if let Some(UncheckedBytes { check, bytes, .. }) = part.unchecked.take() {
            if !check.holds() {
                self.close(part.side, Fault::WrongDigest);
                return Ok(());
            }
            for bytes in bytes {
                self.keep(id, bytes, sink)?;
            }
        }
        let left = self.ranges.left(id);
        if left.is_some_and(|left| left.from < left.to) {
            self.client.note_failure(part.replica);
            self.fail(&part, Fault::Broken);
            return Ok(());
        }
        self.ranges.end(id);
        self.client.note_success();
        self.sides[part.side].failures = 0;
        Ok(())
    }

    /// Handles a temporary failure of a part. The part's replica pauses.
    fn fail(&mut self, part: &PartOf<S, B>, fault: Fault) {
        let side = &mut self.sides[part.side];
        side.failures += 1;
        if side.failures > self.config.retries {
            return self.close(part.side, fault);
        }
        // After many failures, the factor stays at its largest value.
        let doubled = 1_u32.checked_shl(side.failures - 1).unwrap_or(u32::MAX);
        let pause = self.config.pause.saturating_mul(doubled);
        side.paused_until = Instant::now().checked_add(pause);
        self.ranges.end(part.id);
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
        self.ranges.close(side);
        self.purge(|part| part.side == side);
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

//! Host that transfers copies of requests, and identifies each copy by a number.

use super::carry::{Carry, CopyChange};
use super::order::{CopyNews, CopyOrder, NotCarried, Side, flow_of_copy};
use crate::tcp::Role;
use crate::{Event, FlowStats, Message, NotShared, Part, Segment, Transport};
use alloc::collections::BTreeMap;
use alloc::vec::Vec;
use tailcut_units::{FlowId, Rate, Time};

/// Transport that executes orders about copies, and reports changes of copies as events.
/// Orders and events contain the number of a copy. A host is either the client or the server of a copy, never both.
#[derive(Debug)]
pub struct CopyingHost<C: Carry> {
    inner: C,
    /// Open copies by number, with the side of this host and the identifier of the copy in the transport.
    open: BTreeMap<u32, (Side, C::Handle)>,
}

impl<C: Carry> CopyingHost<C> {
    /// Creates a host without copies.
    pub const fn new(inner: C) -> Self {
        Self {
            inner,
            open: BTreeMap::new(),
        }
    }

    /// Converts a change of a copy into an event for the application.
    fn news(&mut self, number: u32, change: CopyChange<C::Handle>) -> CopyNews {
        match change {
            CopyChange::Accepted { handle, room } => {
                self.open.insert(number, (Side::Server, handle));
                CopyNews::Accepted { room }
            }
            CopyChange::Room(room) => CopyNews::Room(room),
            CopyChange::Message => CopyNews::Message,
            CopyChange::Delivered { total } => CopyNews::Delivered { total },
            CopyChange::Whole => CopyNews::Whole,
            CopyChange::Ended { role, stats, end } => {
                self.open.remove(&number);
                let side = match role {
                    Role::Opener => Side::Client,
                    Role::Acceptor => Side::Server,
                };
                CopyNews::Ended { side, stats, end }
            }
        }
    }
}

impl<C: Carry> Transport for CopyingHost<C> {
    fn submit(&mut self, now: Time, message: Message) {
        self.inner.submit(now, message);
    }
    fn take_part(&mut self, now: Time, part: Part<'_>) -> Result<(), NotShared> {
        self.inner.take_part(now, part)
    }
    /// Executes an order.
    /// An order about a copy that is not open on this host has no effect, because the copy may just have ended.
    fn carry(&mut self, now: Time, order: CopyOrder) -> Result<(), NotCarried> {
        let (open, inner) = (&mut self.open, &mut self.inner);
        let handle = |number: u32| open.get(&number).map(|(_, handle)| *handle);
        match order {
            CopyOrder::Ask(ask) => {
                let handle = inner.ask(now, ask).ok_or(NotCarried)?;
                open.insert(ask.number, (Side::Client, handle));
            }
            CopyOrder::Say { number, bytes } => {
                if let Some(handle) = handle(number) {
                    inner.say(now, handle, bytes);
                }
            }
            CopyOrder::Finish { number } => {
                if let Some(handle) = handle(number) {
                    inner.finish(now, handle);
                }
            }
            CopyOrder::Answer { number, answer } => {
                if let Some(handle) = handle(number) {
                    inner.answer(now, handle, answer);
                }
            }
            CopyOrder::SetClass { number, class } => {
                if let Some((_, handle)) = open.get_mut(&number) {
                    *handle = inner.set_class(now, *handle, class);
                }
            }
            CopyOrder::Reset { number } => {
                // The copy is removed now, because the client receives no further event of a copy that it resets.
                if let Some((_, handle)) = open.remove(&number) {
                    inner.reset(now, handle);
                }
            }
        }
        Ok(())
    }
    fn cancel(&mut self, now: Time, flow: FlowId) -> Option<FlowStats> {
        self.inner.cancel(now, flow)
    }

    fn on_segment(&mut self, now: Time, segment: Segment) {
        self.inner.on_segment(now, segment);
    }
    fn prefetch(&self, arriving: Option<&Segment>) {
        self.inner.prefetch(arriving);
    }

    fn on_timeout(&mut self, now: Time) {
        self.inner.on_timeout(now);
    }
    fn poll_transmit(&mut self, now: Time) -> Option<Segment> {
        self.inner.poll_transmit(now)
    }
    fn set_line_rate(&mut self, now: Time, rate: Rate, overhead: u32) {
        self.inner.set_line_rate(now, rate, overhead);
    }
    fn has_transmit(&self) -> bool {
        self.inner.has_transmit()
    }
    fn poll_event(&mut self) -> Option<Event> {
        if let Some(event) = self.inner.poll_event() {
            return Some(event);
        }
        let event = self.inner.poll_copy()?;
        let news = self.news(event.number, event.change);
        Some(Event::Copy(event.number, news))
    }
    fn next_timeout(&self) -> Option<Time> {
        self.inner.next_timeout()
    }
    fn unfinished(&self) -> Vec<(FlowId, FlowStats)> {
        let answers = self.open.iter().filter_map(|(number, (side, handle))| {
            // Requests are not counted, because `payload_sent` counts only the bytes of answers.
            let sent = match side {
                Side::Server => self.inner.payload_sent(*handle)?,
                Side::Client => return None,
            };
            let stats = FlowStats {
                payload_sent: sent,
                ..FlowStats::default()
            };
            Some((flow_of_copy(*number), stats))
        });
        self.inner.unfinished().into_iter().chain(answers).collect()
    }
}

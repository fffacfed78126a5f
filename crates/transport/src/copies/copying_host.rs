//! A host that carries copies of requests, known by their numbers.

use super::carry::{Carry, CopyChange};
use super::order::{CopyNews, CopyOrder, NotCarried, Side, flow_of_copy};
use crate::tcp::Role;
use crate::{Event, FlowStats, Message, NotShared, Part, Segment, Transport};
use alloc::collections::BTreeMap;
use alloc::vec::Vec;
use tailcut_units::{FlowId, Time};

/// What carries copies, as a [`Transport`] that takes orders about them by number and tells their news as
/// events. A host is the client or the server of a copy, never both.
#[derive(Debug)]
pub struct CopyingHost<C: Carry> {
    inner: C,
    /// This host's end of each copy that is open.
    open: BTreeMap<u32, (Side, C::Handle)>,
}

impl<C: Carry> CopyingHost<C> {
    /// A host that has no copies yet.
    pub const fn new(inner: C) -> Self {
        Self {
            inner,
            open: BTreeMap::new(),
        }
    }

    /// The news that the application gets of a change.
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
    /// An order about a copy that is not open here does nothing: it may have ended a moment ago.
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
    fn on_timeout(&mut self, now: Time) {
        self.inner.on_timeout(now);
    }
    fn poll_transmit(&mut self, now: Time) -> Option<Segment> {
        self.inner.poll_transmit(now)
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

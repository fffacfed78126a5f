//! What stands between a driver and the applications of its run.

use super::desk::Groups;
use super::order::Orders;
use super::spreads::Spreads;
use super::{Application, Desk, Order, Outcome, Together};
use crate::recorder::Recorder;
use crate::recorder::Started;
use tailcut_transport::{Condition, Event, Segment, Transport};
use tailcut_units::{HostId, Time};

/// The applications of a run, what they have ordered, and what is noted of their transfers. A driver
/// brings time, events and segments; it takes orders.
pub(crate) struct Feed {
    application: Box<Together>,
    /// When something is to be done: what has been ordered, or what the application does next.
    due: Time,
    /// Whether something begins by itself, or has been ordered.
    begins_more: bool,
    hears_segments: bool,
    hears_departures: bool,
    orders: Orders,
    spreads: Spreads,
    /// Transfers that have a number.
    numbers: u32,
    hosts: u32,
    pub recorder: Recorder,
}

impl Feed {
    pub fn new(application: Together, hosts: u32, recorder: Recorder) -> Self {
        Self {
            due: application.next().unwrap_or(Time::MAX),
            begins_more: application.begins_more(),
            hears_segments: application.hears_segments(),
            hears_departures: application.hears_departures(),
            application: Box::new(application),
            orders: Orders::default(),
            spreads: Spreads::default(),
            numbers: 0,
            hosts,
            recorder,
        }
    }

    /// When something is to be done for the application, as far as is known; [`Time::MAX`] for never.
    #[inline]
    pub const fn due(&self) -> Time {
        self.due
    }

    /// Whether something begins by itself, or has been ordered.
    #[inline]
    pub const fn begins_more(&self) -> bool {
        self.begins_more
    }

    /// Whether events are to be asked for after segments have left.
    #[inline]
    pub const fn hears_departures(&self) -> bool {
        self.hears_departures
    }

    /// Whether arrivals of segments are to be told.
    #[inline]
    pub const fn hears_arrivals(&self) -> bool {
        self.hears_segments || self.recorder.arrivals.is_some()
    }

    /// What is due is done: what has been ordered, or what the application orders now that its time has
    /// come. [`Feed::order`] gives it.
    pub fn act(&mut self, now: Time, groups: &mut dyn Groups) {
        if self.orders.due_at().is_none() && self.due <= now {
            self.tell(now, groups, |application, desk| application.act(desk));
        }
        self.orders.begin();
    }

    /// The next order that is carried out.
    pub fn order(&mut self) -> Option<Order> {
        let order = self.orders.next();
        self.look();
        order
    }

    /// Carries out an order at its host, and those about other copies there that follow it, which share
    /// what the host sends next.
    pub fn carry_out(
        &mut self,
        now: Time,
        order: &Order,
        transport: &mut impl Transport,
        groups: &mut dyn Groups,
    ) {
        if let Some(event) = order.carry_out(now, transport) {
            self.event(now, order.host(), event, groups, transport);
        }
        if let Order::Copy(host, _) = order {
            self.carry_out_copies(now, *host, transport);
        }
    }

    fn carry_out_copies(&mut self, now: Time, host: HostId, transport: &mut impl Transport) {
        while let Some(order) = self.orders.next_of_copy(host) {
            order.carry_out(now, transport);
        }
        self.look();
    }

    /// Looks what is to be done next.
    fn look(&mut self) {
        let ordered = self.orders.due_at();
        let next = ordered.or_else(|| self.application.next());
        self.due = next.unwrap_or(Time::MAX);
        self.begins_more = ordered.is_some() || self.application.begins_more();
    }

    /// The transport of `host` may have news. What is ordered about copies there is carried out before the
    /// host is asked for segments.
    #[inline]
    pub fn hear(
        &mut self,
        now: Time,
        host: HostId,
        transport: &mut impl Transport,
        groups: &mut dyn Groups,
    ) {
        while let Some(event) = transport.poll_event() {
            self.event(now, host, event, groups, transport);
        }
    }

    #[inline(never)]
    fn event(
        &mut self,
        now: Time,
        host: HostId,
        event: Event,
        groups: &mut dyn Groups,
        transport: &mut impl Transport,
    ) {
        self.tell(now, groups, |application, desk| {
            application.event(host, event, desk);
        });
        self.carry_out_copies(now, host, transport);
    }

    /// A segment reached its host.
    #[inline(never)]
    pub fn arrived(&mut self, now: Time, segment: &Segment, groups: &mut dyn Groups) {
        if segment.condition == Condition::Whole {
            self.recorder.arrived(now, segment);
        }
        if self.hears_segments {
            self.tell(now, groups, |application, desk| {
                application.segment_arrived(segment, desk);
            });
        }
    }

    /// What has started, and what of that has not ended.
    pub fn started(&self) -> Started {
        Started {
            started: self.recorder.flows_started() + self.application.started(),
            unfinished: self.recorder.unfinished() as u64,
        }
    }

    /// The run ends before the flows do that a transport has not ended.
    pub fn cut_off(&mut self, transport: &impl Transport) {
        for (flow, stats) in transport.unfinished() {
            self.recorder.cut_off(flow, stats);
            self.application.cut_off(flow, stats);
        }
    }

    /// The run is over.
    pub fn finish(mut self, now: Time, groups: &mut dyn Groups) -> (Outcome, Recorder) {
        let outcome = self.application.finish(&mut Desk {
            now,
            hosts: self.hosts,
            groups,
            recorder: &mut self.recorder,
            orders: &mut self.orders,
            spreads: &mut self.spreads,
            numbers: &mut self.numbers,
        });
        (outcome, self.recorder)
    }

    fn tell(
        &mut self,
        now: Time,
        groups: &mut dyn Groups,
        what: impl FnOnce(&mut Together, &mut Desk<'_>),
    ) {
        let mut desk = Desk {
            now,
            hosts: self.hosts,
            groups,
            recorder: &mut self.recorder,
            orders: &mut self.orders,
            spreads: &mut self.spreads,
            numbers: &mut self.numbers,
        };
        what(&mut self.application, &mut desk);
        self.look();
    }
}

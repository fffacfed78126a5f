//! Connection between a driver and the applications of a run.

use super::desk::Groups;
use super::multicast::MulticastTransfers;
use super::order::Orders;
use super::{Application, ApplicationSet, Desk, Order, Outcome};
use crate::recorder::Recorder;
use crate::recorder::Started;
use tailcut_transport::{Condition, Event, Segment, Transport};
use tailcut_units::{HostId, Time};

/// Applications of a run, with their orders and the recorder.
/// The driver supplies time, events and segments, and executes the orders.
pub(crate) struct ApplicationRunner {
    application: Box<ApplicationSet>,
    /// Time of the next action: pending orders, or the next action of an application.
    due: Time,
    /// Whether applications will start transfers without an event, or orders are pending.
    begins_more: bool,
    wants_segments: bool,
    wants_departures: bool,
    orders: Orders,
    multicasts: MulticastTransfers,
    /// Number of transfers so far. The next transfer gets this number.
    numbers: u32,
    hosts: u32,
    pub recorder: Recorder,
}

impl ApplicationRunner {
    pub fn new(application: ApplicationSet, hosts: u32, mut recorder: Recorder) -> Self {
        recorder.has_load_only = application.has_load_only;
        Self {
            due: application.next().unwrap_or(Time::MAX),
            begins_more: application.begins_more(),
            wants_segments: application.wants_segments(),
            wants_departures: application.wants_departures(),
            application: Box::new(application),
            orders: Orders::default(),
            multicasts: MulticastTransfers::default(),
            numbers: 0,
            hosts,
            recorder,
        }
    }

    /// Returns the time of the next action, if it is known. [`Time::MAX`] means never.
    #[inline]
    pub const fn due(&self) -> Time {
        self.due
    }

    /// Returns whether applications will start transfers without an event, or orders are pending.
    #[inline]
    pub const fn begins_more(&self) -> bool {
        self.begins_more
    }

    /// Returns whether all flows of the workload have ended, so that only flows that carry load remain.
    #[inline]
    pub fn has_only_load_left(&self) -> bool {
        self.recorder.has_load_only && !self.begins_more && self.recorder.unfinished() == 0
    }

    /// Returns whether the driver must fetch events after each segment that departs.
    #[inline]
    pub const fn wants_departures(&self) -> bool {
        self.wants_departures
    }

    /// Returns whether the driver must report arrivals of segments.
    #[inline]
    pub const fn wants_arrivals(&self) -> bool {
        self.wants_segments || self.recorder.arrivals.is_some()
    }

    /// Makes the orders that are due available to [`ApplicationRunner::order`].
    /// If no order is due, the runner first calls the application that is due.
    pub fn act(&mut self, now: Time, groups: &mut dyn Groups) {
        if self.orders.due_at().is_none() && self.due <= now {
            self.call_application(now, groups, |application, desk| application.act(desk));
        }
        self.orders.begin();
    }

    /// Returns the next order.
    pub fn order(&mut self) -> Option<Order> {
        let order = self.orders.next();
        self.update_due();
        order
    }

    /// Executes an order at its host.
    /// Also executes the next orders, if they are about further copies at the same host.
    /// Together, the orders determine the next segments of the host.
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
        self.update_due();
    }

    /// Updates the time of the next action.
    fn update_due(&mut self) {
        let ordered = self.orders.due_at();
        let next = ordered.or_else(|| self.application.next());
        self.due = next.unwrap_or(Time::MAX);
        self.begins_more = ordered.is_some() || self.application.begins_more();
    }

    /// Passes the events of the transport of `host` to the applications.
    /// The applications' orders about copies at this host are executed here, before the host is polled for segments.
    #[inline]
    pub fn deliver_events(
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
        self.call_application(now, groups, |application, desk| {
            application.event(host, event, desk);
        });
        self.carry_out_copies(now, host, transport);
    }

    /// Reports a segment that reached its host.
    #[inline(never)]
    pub fn arrived(&mut self, now: Time, segment: &Segment, groups: &mut dyn Groups) {
        if segment.condition == Condition::Whole {
            self.recorder.arrived(now, segment);
        }
        if self.wants_segments {
            self.call_application(now, groups, |application, desk| {
                application.segment_arrived(segment, desk);
            });
        }
    }

    /// Returns how many transfers have started, and how many of them are unfinished.
    pub fn started(&self) -> Started {
        Started {
            started: self.recorder.flows_started() + self.application.started(),
            unfinished: self.recorder.unfinished() as u64,
        }
    }

    /// Records the costs of the flows that are unfinished at the end of the run.
    pub fn cut_off(&mut self, transport: &impl Transport) {
        for (flow, stats) in transport.unfinished() {
            self.recorder.cut_off(flow, stats);
            self.application.cut_off(flow, stats);
        }
    }

    /// Ends the run. Returns the results of the applications and the recorder.
    pub fn finish(mut self, now: Time, groups: &mut dyn Groups) -> (Outcome, Recorder) {
        let outcome = self.application.finish(&mut Desk {
            now,
            hosts: self.hosts,
            groups,
            recorder: &mut self.recorder,
            orders: &mut self.orders,
            multicasts: &mut self.multicasts,
            numbers: &mut self.numbers,
        });
        (outcome, self.recorder)
    }

    fn call_application(
        &mut self,
        now: Time,
        groups: &mut dyn Groups,
        call: impl FnOnce(&mut ApplicationSet, &mut Desk<'_>),
    ) {
        let mut desk = Desk {
            now,
            hosts: self.hosts,
            groups,
            recorder: &mut self.recorder,
            orders: &mut self.orders,
            multicasts: &mut self.multicasts,
            numbers: &mut self.numbers,
        };
        call(&mut self.application, &mut desk);
        self.update_due();
    }
}

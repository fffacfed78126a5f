//! The event loop: it merges the events of the network, the hosts' timers and NICs, and the
//! workload's arrivals into one order, and moves segments between transports and the fabric.
//!
//! At one instant the network comes first, then NICs that have become free, then timers, then
//! samples, then arrivals: the same on every engine.

use crate::application::Feed;
use crate::measures::Watch;
use crate::packing::{Packing, unpacked};
use crate::recorder::Started;
use tailcut_fabric::engine::{Engine, EngineKind, Event};
use tailcut_fabric::{Delivery, Fabric, FaultPlan, Output};
use tailcut_transport::{Segment, Transport};
use tailcut_units::{Duration, HostId, Time};

/// Entities of host events: the host's number, and the kind above it.
const TIMER: u32 = 1 << 31;

struct HostState<T> {
    transport: T,
    /// When the earliest timer event of this host is due; later ones that are stale do nothing.
    timer_at: Time,
    /// Whether an event waits for the NIC to become free.
    waits_for_nic: bool,
}

/// What a simulation is put together from.
pub(crate) struct Parts<'a, T> {
    pub fabric: Fabric<Segment, Watch<'a>>,
    /// Links that fail on the way, where any do.
    pub faults: Option<FaultPlan>,
    /// One for each host.
    pub transports: Vec<T>,
    /// What begins transfers, and what is noted of them.
    pub feed: Feed,
    pub packing: Packing,
    pub engine: EngineKind,
}

/// Transports on the hosts of a fabric under a workload.
pub(crate) struct Simulation<'a, T> {
    fabric: Fabric<Segment, Watch<'a>>,
    faults: Option<FaultPlan>,
    hosts: Vec<HostState<T>>,
    engine: Engine,
    feed: Feed,
    packing: Packing,
    now: Time,
    host_events: u64,
}

/// What a run leaves.
pub(crate) struct Remains<'a, B = Segment> {
    pub fabric: Fabric<B, Watch<'a, B>>,
    pub feed: Feed,
    /// Events of hosts: NICs that became free, and timers.
    pub host_events: u64,
    /// When it ended.
    pub end: Time,
}

/// When to stop and what to do on the way.
pub(crate) struct Horizon<'a> {
    /// No event after this instant.
    pub end: Time,
    /// How long the run goes on after the last arrival.
    pub drain: Duration,
    /// The time between samples of queues and links.
    pub sample_every: Option<Duration>,
    /// Asked now and then, with the time and what has started; false ends the run.
    pub go_on: &'a mut dyn FnMut(Time, Started) -> bool,
}

/// Events between two calls of `go_on`.
const LOOK_UP_EVERY: u32 = 1 << 16;

impl<'a, T: Transport> Simulation<'a, T> {
    pub fn new(parts: Parts<'a, T>) -> Self {
        let hosts = parts.transports.into_iter().map(|transport| HostState {
            transport,
            timer_at: Time::MAX,
            waits_for_nic: false,
        });
        Self {
            fabric: parts.fabric,
            faults: parts.faults,
            hosts: hosts.collect(),
            engine: Engine::new(parts.engine),
            feed: parts.feed,
            packing: parts.packing,
            now: Time::ZERO,
            host_events: 0,
        }
    }

    /// Runs to the horizon, or until every flow has ended. Says whether it got that far.
    pub fn run(&mut self, horizon: Horizon<'_>) -> bool {
        let mut next_sample = match horizon.sample_every {
            Some(_) => Time::ZERO,
            None => Time::MAX,
        };
        let mut fault = self.next_fault();
        let mut until_look = LOOK_UP_EVERY;
        loop {
            // A closed loop may have nothing due now and more to come.
            let end = if self.feed.begins_more() {
                horizon.end
            } else {
                let last_start = self.feed.recorder.last_start();
                horizon.end.min(last_start.saturating_add(horizon.drain))
            };
            let host_event = self.engine.peek().unwrap_or(Time::MAX);
            let next_arrival = self.feed.due();
            let limit = host_event.min(next_arrival).min(next_sample).min(end);
            let limit = limit.min(fault);
            until_look -= 1;
            if until_look == 0 {
                until_look = LOOK_UP_EVERY;
                if !(horizon.go_on)(self.now, self.feed.started()) {
                    return false;
                }
            }
            if let Some(output) = self.fabric.advance(limit) {
                if let Output::Delivered(delivery) = &output {
                    self.deliver(delivery);
                }
                continue;
            }
            if limit == Time::MAX {
                return true;
            }
            if fault == limit && limit < end {
                self.change_links(limit);
                fault = self.next_fault();
                continue;
            }
            self.now = limit;
            if host_event == limit {
                self.host_event();
            } else if next_sample == limit && limit < end {
                self.feed.recorder.sample(limit, &self.fabric);
                let every = horizon.sample_every.unwrap_or(Duration::MAX);
                next_sample = limit.saturating_add(every);
                if !self.feed.begins_more() && self.feed.recorder.unfinished() == 0 {
                    next_sample = Time::MAX;
                }
            } else if next_arrival == limit && limit < end {
                self.arrive();
            } else {
                return true;
            }
        }
    }

    /// When a link changes next.
    #[inline]
    fn next_fault(&self) -> Time {
        let next = self.faults.as_ref().and_then(FaultPlan::next);
        next.unwrap_or(Time::MAX)
    }

    #[cold]
    fn change_links(&mut self, now: Time) {
        if let Some(faults) = &mut self.faults {
            let changed = faults.apply(now, &mut self.fabric);
            changed.expect("a port whose rate changes is built so that it can");
        }
    }

    #[inline]
    fn deliver(&mut self, delivery: &Delivery<Segment>) {
        self.now = delivery.time;
        let segment = unpacked(delivery);
        let host = delivery.host;
        if self.feed.hears_arrivals() {
            self.feed.arrived(self.now, &segment, &mut self.fabric);
        }
        self.hosts[host.0 as usize]
            .transport
            .on_segment(self.now, segment);
        self.serve(host);
    }

    fn host_event(&mut self) {
        let Some(event) = self.engine.pop_until(self.now) else {
            return;
        };
        self.host_events += 1;
        let host = HostId(event.entity() & !TIMER);
        let state = &mut self.hosts[host.0 as usize];
        if event.entity() & TIMER == 0 {
            state.waits_for_nic = false;
        } else if state.timer_at == self.now {
            state.timer_at = Time::MAX;
            state.transport.on_timeout(self.now);
        } else {
            return;
        }
        self.serve(host);
    }

    /// The application does what is due.
    #[inline(never)]
    fn arrive(&mut self) {
        self.feed.act(self.now, &mut self.fabric);
        while let Some(order) = self.feed.order() {
            let host = order.host();
            let transport = &mut self.hosts[host.0 as usize].transport;
            self.feed
                .carry_out(self.now, &order, transport, &mut self.fabric);
            self.serve(host);
        }
    }

    /// After any input to a host: its events, its NIC, its timer.
    #[inline]
    fn serve(&mut self, host: HostId) {
        let state = &mut self.hosts[host.0 as usize];
        self.feed
            .hear(self.now, host, &mut state.transport, &mut self.fabric);
        if !state.waits_for_nic && state.transport.has_transmit() {
            let mut free_at = self.fabric.uplink_free_at(host);
            while free_at <= self.now {
                let Some(segment) = state.transport.poll_transmit(self.now) else {
                    break;
                };
                let packet = self.packing.packet(&segment);
                let injected = if self.packing.has_hints(&packet) {
                    let hints = self.packing.hints(&packet, &segment);
                    let fabric = &mut self.fabric;
                    fabric.inject_with(self.now, host, packet, hints, segment)
                } else {
                    self.fabric.inject(self.now, host, packet, segment)
                };
                let departs = injected.free_at;
                free_at = self.fabric.uplink_free_at(host);
                if let Some(bursts) = &mut self.feed.recorder.bursts
                    && segment.payload > 0
                {
                    bursts.departed(self.now, departs, host, packet.size);
                }
            }
            if self.feed.hears_departures() {
                self.feed
                    .hear(self.now, host, &mut state.transport, &mut self.fabric);
            }
            if free_at > self.now && state.transport.has_transmit() {
                state.waits_for_nic = true;
                self.engine.push(Event::new(free_at, host.0, 0));
            }
        }
        if let Some(timeout) = state.transport.next_timeout()
            && timeout < state.timer_at
        {
            state.timer_at = timeout.max(self.now);
            self.engine
                .push(Event::new(state.timer_at, host.0 | TIMER, 0));
        }
    }

    /// What the run has left.
    pub fn finish(mut self) -> Remains<'a> {
        for host in &self.hosts {
            self.feed.cut_off(&host.transport);
        }
        Remains {
            fabric: self.fabric,
            feed: self.feed,
            host_events: self.host_events,
            end: self.now,
        }
    }
}

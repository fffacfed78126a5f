//! The event loop: it merges the events of the network, the hosts' timers and NICs, and the
//! workload's arrivals into one order, and moves segments between transports and the fabric.
//!
//! At one instant the network comes first, then NICs that have become free, then timers, then
//! samples, then arrivals: the same on every engine.

use crate::application::{Application, Desk, Orders, is_transfer};
use crate::extent::Started;
use crate::layer::Layer;
use crate::measures::Watch;
use crate::packing::{Packing, hints, message, unpacked};
use crate::recorder::Recorder;
use tailcut_fabric::engine::{Engine, EngineKind, Event};
use tailcut_fabric::{Delivery, Fabric, FaultPlan, Handshake, Output};
use tailcut_transport::{Condition, Replication, Segment, Transport};
use tailcut_units::{Duration, HostId, Time};
use tailcut_workload::{Flow, Source};

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
pub(crate) struct Parts<'a, T, C, L> {
    pub fabric: Fabric<Segment, Watch<'a>>,
    /// Links that fail on the way, where any do.
    pub faults: Option<FaultPlan>,
    /// One for each host.
    pub transports: Vec<T>,
    /// The workload's flows.
    pub source: Box<dyn Source>,
    /// What feeds the run beside its flows, where anything does.
    pub application: Option<Box<dyn Application>>,
    /// What requests ask of the hosts' transports.
    pub layer: L,
    pub recorder: Recorder,
    pub packing: Packing,
    pub engine: EngineKind,
    pub choose_replication: C,
}

/// Transports on the hosts of a fabric under a workload.
pub(crate) struct Simulation<'a, T, C, L> {
    fabric: Fabric<Segment, Watch<'a>>,
    faults: Option<FaultPlan>,
    hosts: Vec<HostState<T>>,
    engine: Engine,
    source: Box<dyn Source>,
    /// When the source's next flow starts, as far as is known.
    next_flow: Option<Time>,
    application: Option<Box<dyn Application>>,
    hears_segments: bool,
    orders: Orders,
    layer: L,
    recorder: Recorder,
    packing: Packing,
    choose_replication: C,
    now: Time,
    host_events: u64,
}

/// What a run leaves.
pub(crate) struct Remains<'a, T, L> {
    pub fabric: Fabric<Segment, Watch<'a>>,
    pub transports: Vec<T>,
    pub application: Option<Box<dyn Application>>,
    pub orders: Orders,
    pub layer: L,
    pub recorder: Recorder,
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

impl<'a, T: Transport, C: FnMut(&Flow) -> Replication, L: Layer<T>> Simulation<'a, T, C, L> {
    pub fn new(parts: Parts<'a, T, C, L>) -> Self {
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
            next_flow: parts.source.peek(),
            source: parts.source,
            hears_segments: parts
                .application
                .as_ref()
                .is_some_and(|application| application.hears_segments()),
            application: parts.application,
            orders: Orders::default(),
            layer: parts.layer,
            recorder: parts.recorder,
            packing: parts.packing,
            choose_replication: parts.choose_replication,
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
        let mut arrival = self.next_arrival();
        let mut fault = self.next_fault();
        let mut until_look = LOOK_UP_EVERY;
        loop {
            // A closed loop may have nothing due now and more to come.
            let end = match arrival {
                Some(_) => horizon.end,
                None => {
                    let last_start = self.recorder.last_start().max(self.layer.last_start());
                    horizon.end.min(last_start.saturating_add(horizon.drain))
                }
            };
            let host_event = self.engine.peek().unwrap_or(Time::MAX);
            let next_arrival = arrival.unwrap_or(Time::MAX);
            let limit = host_event.min(next_arrival).min(next_sample).min(end);
            let limit = limit.min(fault);
            until_look -= 1;
            if until_look == 0 {
                until_look = LOOK_UP_EVERY;
                if !(horizon.go_on)(self.now, self.started()) {
                    return false;
                }
            }
            if let Some(output) = self.fabric.advance(limit) {
                if let Output::Delivered(delivery) = &output {
                    self.deliver(delivery);
                    arrival = self.next_arrival();
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
                arrival = self.next_arrival();
            } else if next_sample == limit && limit < end {
                self.recorder.sample(limit, &self.fabric);
                let every = horizon.sample_every.unwrap_or(Duration::MAX);
                next_sample = limit.saturating_add(every);
                let is_busy = self.recorder.unfinished() > 0 || self.layer.started().unfinished > 0;
                if arrival.is_none() && !is_busy {
                    next_sample = Time::MAX;
                }
            } else if next_arrival == limit && limit < end {
                self.arrive();
                arrival = self.next_arrival();
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

    /// When an application does something next, as far as is known.
    fn next_arrival(&self) -> Option<Time> {
        let next = Time::earlier(self.next_flow, self.layer.peek());
        match &self.application {
            None => next,
            Some(application) => {
                let due = self.orders.due_at().or_else(|| application.next());
                Time::earlier(next, due)
            }
        }
    }

    fn started(&self) -> Started {
        let layer = self.layer.started();
        let begun = self
            .application
            .as_ref()
            .map_or(0, |application| application.started());
        Started {
            started: self.recorder.flows_started() + begun + layer.started,
            unfinished: self.recorder.unfinished() as u64 + layer.unfinished,
        }
    }

    #[inline]
    fn deliver(&mut self, delivery: &Delivery<Segment>) {
        self.now = delivery.time;
        let segment = unpacked(delivery);
        let host = delivery.host;
        if self.recorder.arrivals.is_some() || self.hears_segments {
            self.note_arrived(&segment);
        }
        self.hosts[host.0 as usize]
            .transport
            .on_segment(self.now, segment);
        self.serve(host);
    }

    /// A segment reached its host, and somebody wants to know.
    #[inline(never)]
    fn note_arrived(&mut self, segment: &Segment) {
        if segment.condition == Condition::Whole {
            self.recorder.arrived(self.now, segment);
        }
        if self.hears_segments && is_transfer(segment.flow) {
            self.tell(|application, desk| application.segment_arrived(segment, desk));
        }
    }

    /// A transport has news of a transfer of the application.
    #[inline(never)]
    fn transfer_event(&mut self, host: HostId, event: tailcut_transport::Event) {
        self.tell(|application, desk| application.event(host, event, desk));
    }

    /// Calls the application, if there is one, at its desk.
    fn tell(&mut self, what: impl FnOnce(&mut dyn Application, &mut Desk<'_>)) {
        if let Some(application) = &mut self.application {
            let mut desk = Desk {
                now: self.now,
                hosts: self.hosts.len() as u32,
                groups: &mut self.fabric,
                recorder: &mut self.recorder,
                orders: &mut self.orders,
            };
            what(&mut **application, &mut desk);
        }
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
            self.layer.on_timeout(self.now, host);
        } else {
            return;
        }
        self.serve(host);
    }

    fn arrive(&mut self) {
        if self.application.is_some() && self.application_acts() {
            return;
        }
        if self.layer.peek() == Some(self.now) {
            if let Some(host) = self.layer.start(self.now) {
                self.serve(host);
            }
            return;
        }
        let flow = self.source.next();
        self.next_flow = self.source.peek();
        let Some(flow) = flow else {
            return;
        };
        self.recorder.started(&flow);
        let replication = (self.choose_replication)(&flow);
        let message = message(&flow, replication);
        self.hosts[flow.src.0 as usize]
            .transport
            .submit(self.now, message);
        self.serve(flow.src);
    }

    /// If the application has something due now it is done: what it has ordered, or what it orders when
    /// its time has come. Says whether there was anything.
    #[inline(never)]
    fn application_acts(&mut self) -> bool {
        if self.orders.due_at().is_none() {
            let next = self.application.as_ref().and_then(|app| app.next());
            if next.is_none_or(|next| next > self.now) {
                return false;
            }
            self.tell(|application, desk| application.act(desk));
        }
        for order in self.orders.take() {
            let host = order.host();
            order.carry_out(self.now, &mut self.hosts[host.0 as usize].transport);
            self.serve(host);
        }
        true
    }

    /// After any input to a host: its events, its NIC, its timer.
    #[inline]
    fn serve(&mut self, host: HostId) {
        while let Some(event) = self.hosts[host.0 as usize].transport.poll_event() {
            if is_transfer(event.flow()) {
                self.transfer_event(host, event);
            } else if let Some(flow) = self.recorder.event(self.now, event) {
                self.source.completed(self.now, flow);
                self.next_flow = self.source.peek();
            }
        }
        let state = &mut self.hosts[host.0 as usize];
        self.layer.serve(self.now, host, &mut state.transport);
        if !state.waits_for_nic && state.transport.has_transmit() {
            let mut free_at = self.fabric.uplink_free_at(host);
            while free_at <= self.now {
                let Some(segment) = state.transport.poll_transmit(self.now) else {
                    break;
                };
                let packet = self.packing.packet(&segment);
                let injected = match L::PURGE_KEYS {
                    None if packet.handshake == Handshake::None => {
                        self.fabric.inject(self.now, host, packet, segment)
                    }
                    keys => {
                        let hints = hints(&packet, &segment, keys);
                        let fabric = &mut self.fabric;
                        fabric.inject_with(self.now, host, packet, hints, segment)
                    }
                };
                let departs = injected.free_at;
                free_at = self.fabric.uplink_free_at(host);
                if let Some(bursts) = &mut self.recorder.bursts
                    && segment.payload > 0
                {
                    bursts.departed(self.now, departs, host, packet.size);
                }
            }
            if free_at > self.now && state.transport.has_transmit() {
                state.waits_for_nic = true;
                self.engine.push(Event::new(free_at, host.0, 0));
            }
            self.layer.sent(&mut state.transport);
        }
        let timeout = Time::earlier(
            state.transport.next_timeout(),
            self.layer.next_timeout(host),
        );
        if let Some(timeout) = timeout
            && timeout < state.timer_at
        {
            state.timer_at = timeout.max(self.now);
            self.engine
                .push(Event::new(state.timer_at, host.0 | TIMER, 0));
        }
    }

    /// What the run has left.
    pub fn finish(mut self) -> Remains<'a, T, L> {
        for host in &self.hosts {
            for (flow, stats) in host.transport.unfinished() {
                self.recorder.cut_off(flow, stats);
            }
        }
        let transports = self.hosts.into_iter().map(|host| host.transport);
        Remains {
            fabric: self.fabric,
            transports: transports.collect(),
            application: self.application,
            orders: self.orders,
            layer: self.layer,
            recorder: self.recorder,
            host_events: self.host_events,
            end: self.now,
        }
    }
}

//! Event loop. The loop passes segments between the transports and the fabric.
//! The loop merges events of the network, timers and NICs of hosts, and arrivals of the workload into one order.
//!
//! At one instant, the order is: events of the network, NICs that become free, timers, samples, arrivals.
//! The order is the same with every event queue.

use crate::application::ApplicationRunner;
use crate::measures::Watch;
use crate::packing::{Packing, unpacked};
use crate::recorder::Started;
use tailcut_fabric::engine::{Engine, EngineKind, Event};
use tailcut_fabric::{Delivery, Fabric, FaultPlan, Output, PrefetchHosts};
use tailcut_transport::{Segment, Transport};
use tailcut_units::{Duration, HostId, Time, prefetch_whole, stream_seed};

/// Flag in the entity of a host event: set for a timer, not set for a NIC.
/// The bits below it are the number of the host.
const TIMER: u32 = 1 << 31;
/// Random stream for the order of hosts within one instant. It must differ from the stream that orders their links.
const HOST_TIES: u64 = 0x686f_7374;

/// Number of host events between the prefetch of a host and its event.
const HOST_AHEAD: usize = 6;
/// Number of host events between the prefetch of a connection and its event. The prefetch of the host must be complete.
const CONNECTION_AHEAD: usize = 3;

struct HostState<T> {
    transport: T,
    /// Time of the earliest timer event of this host. Later timer events are obsolete and have no effect.
    timer_at: Time,
    /// Whether the engine contains an event for the time when the NIC becomes free.
    waits_for_nic: bool,
}

/// Hosts whose state the fabric prefetches.
struct Hosts<'a, T>(&'a [HostState<T>]);

impl<T: Transport> PrefetchHosts<Segment> for Hosts<'_, T> {
    #[inline]
    fn host(&self, host: HostId) {
        prefetch_whole(self.0, host.0 as usize);
    }
    #[inline]
    fn arrival(&self, host: HostId, body: &Segment) {
        if let Some(state) = self.0.get(host.0 as usize) {
            state.transport.prefetch(Some(body));
        }
    }
}

/// Components of a simulation.
pub(crate) struct Parts<'a, T> {
    pub fabric: Fabric<Segment, Watch<'a>>,
    /// Times at which links change. `None` if no link changes.
    pub faults: Option<FaultPlan>,
    /// Transport of each host.
    pub transports: Vec<T>,
    /// Applications that start transfers, and the recorder.
    pub runner: ApplicationRunner,
    pub packing: Packing,
    pub engine: EngineKind,
    /// Seed of the run.
    pub seed: u64,
}

/// Simulation of transports on the hosts of a fabric, with a workload.
pub(crate) struct Simulation<'a, T> {
    fabric: Fabric<Segment, Watch<'a>>,
    faults: Option<FaultPlan>,
    hosts: Vec<HostState<T>>,
    engine: Engine,
    runner: ApplicationRunner,
    packing: Packing,
    now: Time,
    host_events: u64,
}

/// State at the end of a run.
pub(crate) struct FinishedRun<'a, B = Segment> {
    pub fabric: Fabric<B, Watch<'a, B>>,
    pub runner: ApplicationRunner,
    /// Number of host events: NICs that became free, and timers.
    pub host_events: u64,
    /// End of the run.
    pub end: Time,
}

/// Limits and periodic actions of a run.
pub(crate) struct Horizon<'a> {
    /// Instant after which no event is executed.
    pub end: Time,
    /// Duration of the run after the last arrival.
    pub drain: Duration,
    /// Interval between two samples of queues and links.
    pub sample_every: Option<Duration>,
    /// Function that is called regularly, with the time and the number of started transfers.
    /// If the function returns false, the run stops.
    pub keep_running: &'a mut dyn FnMut(Time, Started) -> bool,
}

/// Number of events between two calls of `keep_running`.
const EVENTS_PER_CHECK: u32 = 1 << 16;

impl<'a, T: Transport> Simulation<'a, T> {
    pub fn new(parts: Parts<'a, T>) -> Self {
        let numbers = parts.transports.len() as u32;
        let hosts = parts.transports.into_iter().map(|transport| HostState {
            transport,
            timer_at: Time::MAX,
            waits_for_nic: false,
        });
        Self {
            fabric: parts.fabric,
            faults: parts.faults,
            hosts: hosts.collect(),
            engine: Engine::new(parts.engine, stream_seed(parts.seed, HOST_TIES, 0), numbers),
            runner: parts.runner,
            packing: parts.packing,
            now: Time::ZERO,
            host_events: 0,
        }
    }

    /// Runs until the end of the horizon, or until every flow has ended.
    /// Returns false if `keep_running` stopped the run.
    pub fn run(&mut self, horizon: Horizon<'_>) -> bool {
        let mut next_sample = match horizon.sample_every {
            Some(_) => Time::ZERO,
            None => Time::MAX,
        };
        let mut fault = self.next_fault();
        let mut until_check = EVENTS_PER_CHECK;
        loop {
            // A closed loop can start flows later, even if no flow is due now.
            // The drain begins only after the last start.
            let end = if self.runner.begins_more() {
                horizon.end
            } else if self.runner.has_only_load_left() {
                self.now
            } else {
                let last_start = self.runner.recorder.last_start();
                horizon.end.min(last_start.saturating_add(horizon.drain))
            };
            let host_event = self.engine.peek().unwrap_or(Time::MAX);
            let next_arrival = self.runner.due();
            let limit = host_event.min(next_arrival).min(next_sample).min(end);
            let limit = limit.min(fault);
            until_check -= 1;
            if until_check == 0 {
                until_check = EVENTS_PER_CHECK;
                if !(horizon.keep_running)(self.now, self.runner.started()) {
                    return false;
                }
            }
            if let Some(output) = self.fabric.advance_with(limit, &Hosts(&self.hosts)) {
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
                let every = horizon.sample_every.unwrap_or(Duration::MAX);
                let rows = self.runner.recorder.sample(limit, &self.fabric);
                next_sample = limit.saturating_add(every);
                if !self.runner.begins_more() && self.runner.recorder.unfinished() == 0 {
                    next_sample = Time::MAX;
                } else if rows == 0 && self.fabric.next_timeout().is_none() {
                    // An empty network stays empty until the next event of a host, an arrival, a fault or the end.
                    let quiet_until = host_event.min(next_arrival).min(fault).min(end);
                    let skipped = self.runner.recorder.skip(next_sample, every, quiet_until);
                    next_sample = next_sample.saturating_add(every.saturating_mul(skipped));
                }
            } else if next_arrival == limit && limit < end {
                self.arrive();
            } else {
                return true;
            }
        }
    }

    /// Returns the time of the next change of a link.
    #[inline]
    fn next_fault(&self) -> Time {
        let next = self.faults.as_ref().and_then(FaultPlan::next);
        next.unwrap_or(Time::MAX)
    }

    #[cold]
    fn change_links(&mut self, now: Time) {
        if let Some(faults) = &mut self.faults {
            let changed = faults.apply(now, &mut self.fabric);
            let hosts = changed.expect("a port whose rate changes must support rate changes");
            self.now = now;
            for host in hosts {
                if let Some(rate) = self.fabric.host_rate(host) {
                    let transport = &mut self.hosts[host.0 as usize].transport;
                    transport.set_line_rate(now, rate, self.packing.framing.full_overhead());
                    self.serve(host);
                }
            }
        }
    }

    #[inline]
    fn deliver(&mut self, delivery: &Delivery<Segment>) {
        self.now = delivery.time;
        let segment = unpacked(delivery);
        let host = delivery.host;
        if self.runner.wants_arrivals() {
            self.runner.arrived(self.now, &segment, &mut self.fabric);
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
        if self.fabric.is_large() {
            self.prefetch_hosts();
        }
        let host = HostId(self.engine.number(event));
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

    /// Prefetches the hosts of the next host events, and the connections that send at NICs.
    #[inline]
    fn prefetch_hosts(&self) {
        if let Some(event) = self.engine.upcoming(HOST_AHEAD) {
            prefetch_whole(&self.hosts, self.engine.number(event) as usize);
        }
        if let Some(event) = self.engine.upcoming(CONNECTION_AHEAD)
            && event.entity() & TIMER == 0
            && let Some(state) = self.hosts.get(self.engine.number(event) as usize)
        {
            state.transport.prefetch(None);
        }
    }

    /// Executes the actions of the applications that are due.
    #[inline(never)]
    fn arrive(&mut self) {
        self.runner.act(self.now, &mut self.fabric);
        while let Some(order) = self.runner.order() {
            let host = order.host();
            let transport = &mut self.hosts[host.0 as usize].transport;
            self.runner
                .carry_out(self.now, &order, transport, &mut self.fabric);
            self.serve(host);
        }
    }

    /// Serves a host after an input to the host: its events, its NIC, and last its timer.
    #[inline]
    fn serve(&mut self, host: HostId) {
        let state = &mut self.hosts[host.0 as usize];
        self.runner
            .deliver_events(self.now, host, &mut state.transport, &mut self.fabric);
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
                if let Some(bursts) = &mut self.runner.recorder.bursts
                    && segment.payload > 0
                {
                    bursts.departed(self.now, departs, host, packet.size);
                }
            }
            if self.runner.wants_departures() {
                self.runner
                    .deliver_events(self.now, host, &mut state.transport, &mut self.fabric);
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

    /// Returns the state at the end of the run.
    pub fn finish(mut self) -> FinishedRun<'a> {
        for host in &self.hosts {
            self.runner.cut_off(&host.transport);
        }
        FinishedRun {
            fabric: self.fabric,
            runner: self.runner,
            host_events: self.host_events,
            end: self.now,
        }
    }
}

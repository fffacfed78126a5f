//! Measured run on real hosts, on the wall clock. The simulator's code creates the workload and the record.
//! The transport is the kernel's TCP, or SCDP over UDP.

use crate::emulator::clock::Clock;
use crate::emulator::driver::{World, drive};
use crate::emulator::frames::{Frame, OnFrames};
use crate::emulator::host::Host;
use crate::emulator::lateness::Validity;
use crate::emulator::network::use_exact_timers;
use crate::emulator::plan::LabPlan;
use crate::emulator::poller::Waker;
use crate::emulator::sandbox::lab_process;
use crate::emulator::taps::Taps;
use crate::measured::agent::{Agent, AgentConfig, AgentEvent, KernelHost};
use anyhow::{Context, Result};
use rustix::time::{ClockId, clock_gettime};
use std::cell::RefCell;
use std::collections::VecDeque;
use std::rc::Rc;
use tailcut_capture::Body;
use tailcut_fabric::{Delivery, Dropped, Fabric, LinkError, Observer, PortEvents};
use tailcut_record::{PackedRun, RunCost};
use tailcut_scenario::RealHosts;
use tailcut_sim::transport::{Event, Transport};
use tailcut_sim::{RunClock, RunConfig, RunControl, RunError, RunParts, Watch};
use tailcut_units::{Duration, HostId, Time};

/// Time by which the agents receive an order before the flow starts.
/// The agents need time before the start of a flow to start the flow punctually.
const ORDER_LEAD_TIME: Duration = Duration::from_us(500);
/// Number of actions of the driver between two checks whether the run must stop.
const EVENTS_PER_CHECK: u32 = 4_096;

/// Real hosts on this machine. Studies use them for runs with the wall clock.
#[derive(Clone, Copy, Debug)]
pub struct ThisMachine;

impl RealHosts for ThisMachine {
    fn run(
        &self,
        config: &RunConfig,
        control: &dyn RunControl,
        watch: &mut dyn Observer<dyn Body>,
    ) -> Result<PackedRun, RunError> {
        let slowdown = match config.clock {
            RunClock::Wall { slowdown } => slowdown.get(),
            RunClock::Simulated => 1,
        };
        run(config, slowdown, control, watch)
    }
}

/// Gains the privileges to create hosts. Root already has them.
/// Any user except root gets the privileges in a new user namespace, which this process enters.
/// Call this function before the process starts a thread.
///
/// # Errors
/// The system allows no user namespaces.
pub fn prepare() -> Result<()> {
    lab_process::gain_privileges().map(|_| ())
}

/// Runs one configuration on real hosts. The network's clock is `slowdown` times slower than the wall clock.
/// All times in the record are on the network's clock.
///
/// # Errors
/// [`RunError`] if the hosts cannot run the configuration, or if the run was stopped.
fn run(
    config: &RunConfig,
    slowdown: u32,
    control: &dyn RunControl,
    watch: &mut dyn Observer<dyn Body>,
) -> Result<PackedRun, RunError> {
    let elsewhere = |error: anyhow::Error| RunError::Elsewhere(format!("{error:#}"));
    let mut config = config.clone();
    config.port_events = PortEvents::Two;
    let mut plan = LabPlan::of_run(&config, slowdown).map_err(elsewhere)?;
    // Dropping this value unregisters the congestion control, so it must live until the run ends.
    let _congestion = plan.kernel.congestion.make_available().map_err(elsewhere)?;
    use_exact_timers();
    let hosts = (0..plan.topology.hosts()).map(HostId);
    let hosts = hosts.map(|host| Host::create(host, plan.topology.hosts(), &plan.kernel));
    let hosts = hosts.collect::<Result<Vec<Host>>>().map_err(elsewhere)?;
    let mut shown = OnFrames::new(watch);
    let mut measured = MeasuredRun::new(&config, &plan, hosts, control, &mut shown)?;
    let end = drive(&mut measured).map_err(|error| RunError::Elsewhere(error.to_string()))?;
    measured.finish(&plan, end)
}

/// Returns the CPU time that this thread has used, in seconds.
fn cpu_seconds() -> f64 {
    let cpu = clock_gettime(ClockId::ThreadCPUTime);
    cpu.tv_sec as f64 + cpu.tv_nsec as f64 / 1e9
}

/// State of a measured run.
struct MeasuredRun<'a> {
    parts: RunParts<'a, Frame>,
    taps: Taps,
    clock: Clock,
    agent: Agent,
    /// Events of each host that its applications have not received yet.
    events: Vec<Rc<RefCell<VecDeque<Event>>>>,
    drain: Duration,
    /// Time by which the agents receive an order before the flow starts.
    ahead: Duration,
    /// Time of the last action of the applications. Events with earlier times must not reach the applications.
    /// Used only for requests.
    acted: Time,
    sample_every: Option<Duration>,
    next_sample: Time,
    control: &'a dyn RunControl,
    events_since_check: u32,
    /// CPU seconds of this thread before the run.
    cpu_before: f64,
    is_stopped: bool,
    /// Time at which the last flow ended, or at which the run was stopped.
    ended: Option<Time>,
}

impl<'a> MeasuredRun<'a> {
    fn new(
        config: &RunConfig,
        plan: &LabPlan,
        hosts: Vec<Host>,
        control: &'a dyn RunControl,
        watch: &'a mut OnFrames<'_>,
    ) -> Result<Self, RunError> {
        let elsewhere = |error: anyhow::Error| RunError::Elsewhere(format!("{error:#}"));
        let networks = hosts.iter().map(|host| host.namespace.try_clone());
        let networks = networks.collect::<Result<Vec<_>, _>>();
        let networks = networks.context("too many open files").map_err(elsewhere)?;
        let waker = Waker::new().context("cannot make a file for wake-ups");
        let waker = waker.map_err(elsewhere)?;
        let run_waker = waker.try_clone().context("too many open files");
        let run_waker = run_waker.map_err(elsewhere)?;
        let mut taps = Taps::new(hosts, plan, waker).map_err(elsewhere)?;
        taps.read_pins();
        let clock = Clock::begin(plan.slowdown);
        let port = config.settings.tcp.port;
        let agent = Agent::start(
            networks,
            AgentConfig {
                port,
                replication: plan.replication,
                has_requests: plan.has_requests,
                scdp: plan.scdp.clone(),
            },
            clock,
            run_waker,
        );
        let agent = agent.map_err(elsewhere)?;
        let to_agent = agent.waker.try_clone().context("too many open files");
        let to_agent = Rc::new(to_agent.map_err(elsewhere)?);
        let all = 0..plan.topology.hosts();
        let events: Vec<Rc<RefCell<VecDeque<Event>>>> = all.map(|_| Rc::default()).collect();
        let transports = events.iter().enumerate().map(|(host, events)| {
            let (host, orders) = (HostId(host as u32), agent.orders.clone());
            let host = (host, plan.replication, plan.several());
            let host = KernelHost::new(host, orders, Rc::clone(&to_agent), Rc::clone(events));
            Box::new(host) as Box<dyn Transport>
        });
        let watch = watch.is_on().then_some(watch as &mut dyn Observer<Frame>);
        Ok(Self {
            parts: RunParts::around(config, &plan.uplink, transports.collect(), watch)?,
            taps,
            clock,
            agent,
            events,
            drain: config.drain,
            ahead: match plan.has_requests {
                // Orders for copies contain no start time: the agents execute them immediately.
                // The orders are therefore sent exactly at the start time.
                true => Duration::ZERO,
                false => ORDER_LEAD_TIME,
            },
            acted: Time::ZERO,
            sample_every: config.sample_every,
            next_sample: config.sample_every.map_or(Time::MAX, |_| Time::ZERO),
            control,
            events_since_check: 0,
            cpu_before: cpu_seconds(),
            is_stopped: false,
            ended: None,
        })
    }

    /// Passes an event to the applications.
    fn on_event(&mut self, event: &AgentEvent) {
        self.events[event.host.0 as usize]
            .borrow_mut()
            .push_back(event.event);
        self.parts
            .deliver_events(event.at.max(self.acted), event.host);
    }

    /// Lets the applications submit their next orders, if the orders are due soon.
    /// Returns whether an order was submitted.
    fn order(&mut self, now: Time) -> bool {
        let Some(due) = self.parts.next() else {
            return false;
        };
        if due > now.saturating_add(self.ahead) {
            return false;
        }
        self.parts.act(due);
        if self.ahead == Duration::ZERO {
            self.acted = due;
        }
        while self.parts.carry_out(due).is_some() {}
        true
    }

    fn sample(&mut self, now: Time) -> bool {
        if self.next_sample > now {
            return false;
        }
        self.parts.sample(now);
        let every = self.sample_every.unwrap_or(Duration::MAX);
        while self.next_sample <= now {
            self.next_sample = self.next_sample.saturating_add(every);
        }
        true
    }

    /// Reports the progress of the run, and checks whether it must stop.
    fn check_control(&mut self, now: Time) {
        self.events_since_check += 1;
        if self.events_since_check >= EVENTS_PER_CHECK {
            self.events_since_check = 0;
            let end = self.parts.last_start().saturating_add(self.drain);
            let share = now.as_secs_f64() / end.as_secs_f64().max(1e-9);
            self.control.progress(share.min(1.0));
            self.is_stopped |= self.control.stop();
        }
    }

    /// Returns the record of a run that ended at `end`.
    fn finish(mut self, plan: &LabPlan, end: Time) -> Result<PackedRun, RunError> {
        if self.is_stopped {
            return Err(RunError::Stopped);
        }
        let lost = self.taps.counts().filter_map(|(_, lost)| lost).sum();
        let (lateness, unloaded) = (self.taps.lateness(), plan.unloaded());
        let validity = Validity::new(&lateness, lost, unloaded, plan.slowdown);
        let elapsed = self.clock.elapsed();
        let last = self.agent.end();
        let last = last.map_err(|error| RunError::Elsewhere(format!("{error:#}")))?;
        for event in last {
            self.events[event.host.0 as usize]
                .borrow_mut()
                .push_back(event.event);
        }
        let mut record = self.parts.packed(end, 0);
        record.cost = RunCost {
            cpu_seconds: Some(cpu_seconds() - self.cpu_before),
            wall_seconds: Some(elapsed.as_secs_f64()),
            ..RunCost::default()
        };
        let unloaded_us = unloaded.as_us_f64();
        record.wall = Some(validity.recorded(&lateness, lost, unloaded_us, plan.slowdown));
        Ok(record)
    }
}

impl<'a> World for MeasuredRun<'a> {
    type Body = Frame;
    type Watch = Watch<'a, Frame>;

    fn fabric(&mut self) -> &mut Fabric<Frame, Self::Watch> {
        &mut self.parts.fabric
    }

    fn now(&mut self) -> Time {
        self.clock.now()
    }

    fn wait(&mut self, until: Time) {
        self.taps.wait(&self.clock, until);
    }

    fn change_links(&mut self, now: Time) -> Result<bool, LinkError> {
        let next = self.parts.faults.as_ref().and_then(|faults| faults.next());
        if next.is_none_or(|at| at > now) {
            return Ok(false);
        }
        for host in self.parts.change_links(now)? {
            self.taps.follow_link(now, host, &mut self.parts.fabric);
        }
        Ok(true)
    }

    fn act(&mut self, now: Time) -> bool {
        self.check_control(now);
        if self.is_stopped || !self.parts.begins_more() && self.parts.unfinished() == 0 {
            self.ended.get_or_insert(now);
            return false;
        }
        let mut has_events = false;
        if self.taps.was_woken() {
            while let Ok(event) = self.agent.events.try_recv() {
                self.on_event(&event);
                has_events = true;
            }
        }
        // The events may include the end of the last flow.
        // If there are events, the result is true, so that the driver calls `act` again before it sleeps.
        has_events
            || self.order(now)
            || self.sample(now)
            || self.taps.take(now, &mut self.parts.fabric)
    }

    fn deliver(&mut self, _: Time, delivery: Delivery<Frame>) {
        self.taps.deliver(&self.clock, delivery);
    }

    fn dropped(&mut self, dropped: Dropped<Frame>) {
        self.taps.release(dropped);
    }

    fn next(&self) -> Time {
        let fault = self.parts.faults.as_ref().and_then(|faults| faults.next());
        let order = self.parts.next().unwrap_or(Time::MAX);
        let order = Time::from_ps(order.as_ps().saturating_sub(self.ahead.as_ps()));
        let order = if self.parts.next().is_some() {
            order
        } else {
            Time::MAX
        };
        fault.unwrap_or(Time::MAX).min(order).min(self.next_sample)
    }

    fn next_departure(&self) -> Time {
        self.taps.next_departure()
    }

    fn depart(&mut self, now: Time) {
        self.taps.depart(now, &mut self.parts.fabric);
    }

    fn end(&self) -> Time {
        match (self.ended, self.parts.begins_more()) {
            (Some(ended), _) => ended,
            (None, true) => Time::MAX,
            (None, false) => self.parts.last_start().saturating_add(self.drain),
        }
    }
}

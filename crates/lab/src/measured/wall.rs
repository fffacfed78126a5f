//! A run on real hosts, measured: the simulator's workload and record, the kernel's transports, and the
//! clock on the wall.

use crate::emulator::clock::Clock;
use crate::emulator::driver::{World, drive};
use crate::emulator::frames::{Frame, OnFrames};
use crate::emulator::host::Host;
use crate::emulator::lateness::Validity;
use crate::emulator::network::be_punctual;
use crate::emulator::plan::LabPlan;
use crate::emulator::poller::Waker;
use crate::emulator::taps::Taps;
use crate::emulator::world::birth;
use crate::measured::agent::{Agent, AgentConfig, KernelHost, News};
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

/// How long before they are due flows are handed to the agents, which then start them in time.
const AHEAD: Duration = Duration::from_us(500);
/// Packets and other things that happen between two looks whether the run is to stop.
const OFTEN: u32 = 4_096;

/// Real hosts on this machine, for studies.
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

/// Gets what it takes to make hosts: root has it; others have it in a user namespace, which this process is
/// in afterwards. To be called before there are threads.
///
/// # Errors
/// The system allows no user namespaces.
pub fn prepare() -> Result<()> {
    birth::take_power().map(|_| ())
}

/// Runs one configuration on real hosts, `slowdown` times slower than it says. The record is by the network's
/// clock.
///
/// # Errors
/// [`RunError`] where it cannot be run here, or when it was stopped.
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
    // Held until the run ends.
    let _congestion = plan.kernel.congestion.provide().map_err(elsewhere)?;
    be_punctual();
    let hosts = (0..plan.topology.hosts()).map(HostId);
    let hosts = hosts.map(|host| Host::create(host, plan.topology.hosts(), &plan.kernel));
    let hosts = hosts.collect::<Result<Vec<Host>>>().map_err(elsewhere)?;
    let mut shown = OnFrames::new(watch);
    let mut measured = Measured::new(&config, &plan, hosts, control, &mut shown)?;
    let end = drive(&mut measured).map_err(|error| RunError::Elsewhere(error.to_string()))?;
    measured.finish(&plan, end)
}

/// CPU seconds of this thread so far.
fn cpu_seconds() -> f64 {
    let cpu = clock_gettime(ClockId::ThreadCPUTime);
    cpu.tv_sec as f64 + cpu.tv_nsec as f64 / 1e9
}

/// A run under way.
struct Measured<'a> {
    parts: RunParts<'a, Frame>,
    taps: Taps,
    clock: Clock,
    agent: Agent,
    /// What each host's applications have not heard yet.
    news: Vec<Rc<RefCell<VecDeque<Event>>>>,
    drain: Duration,
    /// How long before they are due things are ordered.
    ahead: Duration,
    /// Until when applications have acted, where they must not hear of what was before.
    acted: Time,
    sample_every: Option<Duration>,
    next_sample: Time,
    control: &'a dyn RunControl,
    looked: u32,
    /// CPU seconds of this thread before the run.
    cpu_before: f64,
    is_stopped: bool,
    /// When nothing was left to do.
    ended: Option<Time>,
}

impl<'a> Measured<'a> {
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
        let told = waker.try_clone().context("too many open files");
        let told = told.map_err(elsewhere)?;
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
            told,
        );
        let agent = agent.map_err(elsewhere)?;
        let to_agent = agent.waker.try_clone().context("too many open files");
        let to_agent = Rc::new(to_agent.map_err(elsewhere)?);
        let all = 0..plan.topology.hosts();
        let news: Vec<Rc<RefCell<VecDeque<Event>>>> = all.map(|_| Rc::default()).collect();
        let transports = news.iter().enumerate().map(|(host, news)| {
            let (host, orders) = (HostId(host as u32), agent.orders.clone());
            let host = (host, plan.replication, plan.several());
            let host = KernelHost::new(host, orders, Rc::clone(&to_agent), Rc::clone(news));
            Box::new(host) as Box<dyn Transport>
        });
        let watch = watch.is_on().then_some(watch as &mut dyn Observer<Frame>);
        Ok(Self {
            parts: RunParts::around(config, &plan.uplink, transports.collect(), watch)?,
            taps,
            clock,
            agent,
            news,
            drain: config.drain,
            ahead: match plan.has_requests {
                // Their orders have no times.
                true => Duration::ZERO,
                false => AHEAD,
            },
            acted: Time::ZERO,
            sample_every: config.sample_every,
            next_sample: config.sample_every.map_or(Time::MAX, |_| Time::ZERO),
            control,
            looked: 0,
            cpu_before: cpu_seconds(),
            is_stopped: false,
            ended: None,
        })
    }

    /// The applications hear something that has happened.
    fn hear(&mut self, news: &News) {
        self.news[news.host.0 as usize]
            .borrow_mut()
            .push_back(news.event);
        self.parts.hear(news.at.max(self.acted), news.host);
    }

    /// Whether applications order something that is due soon; it is ordered.
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

    /// Tells how far the run is, and looks whether it is to stop.
    fn look(&mut self, now: Time) {
        self.looked += 1;
        if self.looked >= OFTEN {
            self.looked = 0;
            let end = self.parts.last_start().saturating_add(self.drain);
            let share = now.as_secs_f64() / end.as_secs_f64().max(1e-9);
            self.control.progress(share.min(1.0));
            self.is_stopped |= self.control.stop();
        }
    }

    /// The record of a run that has ended at `end`.
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
        for news in last {
            self.news[news.host.0 as usize]
                .borrow_mut()
                .push_back(news.event);
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

impl<'a> World for Measured<'a> {
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
        match &mut self.parts.faults {
            Some(faults) if faults.next().is_some_and(|at| at <= now) => {
                faults.apply(now, &mut self.parts.fabric)?;
                Ok(true)
            }
            _ => Ok(false),
        }
    }

    fn act(&mut self, now: Time) -> bool {
        self.look(now);
        if self.is_stopped || !self.parts.begins_more() && self.parts.unfinished() == 0 {
            self.ended.get_or_insert(now);
            return false;
        }
        let mut has_heard = false;
        if self.taps.was_woken() {
            while let Ok(news) = self.agent.news.try_recv() {
                self.hear(&news);
                has_heard = true;
            }
        }
        // What was heard may be the end of the last flow: it is looked at before anything is waited for.
        has_heard
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

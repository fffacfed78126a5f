//! Thread of a lab's fabric. The thread moves packets until the lab ends, and executes requests of other threads.

use crate::emulator::addresses;
use crate::emulator::clock::Clock;
use crate::emulator::control::{LinkChange, Orders};
use crate::emulator::driver::{World, drive};
use crate::emulator::frames::Frame;
use crate::emulator::host::Host;
use crate::emulator::lateness::Validity;
use crate::emulator::plan::LabPlan;
use crate::emulator::poller::Waker;
use crate::emulator::status::{HostStatus, LinkStatus, RouterStatus, Status};
use crate::emulator::taps::Taps;
use crate::emulator::tracker::TrackedFlows;
use anyhow::{Context, Result};
use std::num::NonZeroU64;
use std::sync::mpsc::{Receiver, Sender, channel};
use tailcut_fabric::topology::{Node, Routes};
use tailcut_fabric::{Delivery, Dropped, Fabric, LinkError, LossRate, PortId};
use tailcut_units::{Duration, HostId, Rate, Time};

/// Time between the failure of a link and the reaction of the switches.
/// Before switches react to a failure, they still send packets into the failed link.
const RECONVERGENCE: Duration = Duration::from_ms(10);
/// Maximum number of flows in one reply.
/// A longer reply would delay packets, because one thread sends replies and moves packets.
const FLOWS_AT_ONCE: usize = 4_096;

/// Request of another thread to the fabric's thread.
#[derive(Debug)]
enum Order {
    /// Return the status of the lab.
    Status(Sender<Status>),
    /// Return the flows of programs, from this index in the list of ended flows.
    Flows(u64, Sender<TrackedFlows>),
    /// Change the properties of a link.
    Link(String, LinkChange, Sender<Result<String, String>>),
}

/// Handle of a running fabric, for other threads.
#[derive(Debug)]
pub struct Network {
    orders: Sender<Order>,
    waker: Waker,
}

/// Starts the fabric that connects the hosts.
///
/// # Errors
/// The kernel rejects a call.
pub fn start(plan: LabPlan, hosts: Vec<Host>) -> Result<Network> {
    let (orders, taken) = channel();
    let waker = Waker::new().context("cannot make a file for wake-ups")?;
    let woken = waker.try_clone().context("too many open files")?;
    let (ready, started) = channel();
    let run = move || {
        use_exact_timers();
        match RunningLab::new(plan, hosts, taken, woken) {
            Ok(mut lab) => {
                let _ = ready.send(Ok(()));
                if let Err(error) = drive(&mut lab) {
                    eprintln!("tailcut: the network has stopped: {error}");
                }
            }
            Err(error) => {
                let _ = ready.send(Err(error));
            }
        }
    };
    let thread = std::thread::Builder::new().name("fabric".to_owned());
    thread.spawn(run).context("cannot start a thread")?;
    started.recv().context("the fabric's thread has died")??;
    Ok(Network { orders, waker })
}

/// Gives this thread timers with high resolution and, if the process has the privilege, the highest priority.
pub fn use_exact_timers() {
    let _ = rustix::thread::set_current_timer_slack(NonZeroU64::new(1));
    let _ = rustix::process::setpriority_process(None, -20);
}

impl Network {
    fn request<T>(&self, order: impl FnOnce(Sender<T>) -> Order) -> Option<T> {
        let (answer, answered): (Sender<T>, Receiver<T>) = channel();
        self.orders.send(order(answer)).ok()?;
        self.waker.wake();
        answered.recv().ok()
    }
}

impl Orders for Network {
    fn status(&self) -> Option<Status> {
        self.request(Order::Status)
    }

    fn flows(&self, from: u64) -> Option<TrackedFlows> {
        self.request(|answer| Order::Flows(from, answer))
    }

    fn change_link(&self, link: &str, change: LinkChange) -> Result<String, String> {
        let link = link.to_owned();
        let answer = self.request(|answer| Order::Link(link, change, answer));
        answer.unwrap_or(Err("the lab has ended".to_owned()))
    }
}

/// State of a lab that runs until a user ends it.
struct RunningLab {
    plan: LabPlan,
    clock: Clock,
    fabric: Fabric<Frame>,
    taps: Taps,
    orders: Receiver<Order>,
    /// Links that are down.
    down: Vec<PortId>,
    /// Time at which the switches react to the last link change; [`Time::MAX`] if no reaction is pending.
    noticed_at: Time,
    routes: Routes,
    unloaded: Duration,
}

impl RunningLab {
    fn new(plan: LabPlan, hosts: Vec<Host>, orders: Receiver<Order>, waker: Waker) -> Result<Self> {
        let mut taps = Taps::new(hosts, &plan, waker)?;
        taps.track();
        Ok(Self {
            clock: Clock::begin(plan.slowdown),
            fabric: Fabric::new(&plan.topology, &plan.fabric),
            taps,
            orders,
            down: Vec::new(),
            noticed_at: Time::MAX,
            routes: Routes::new(plan.topology.clone()),
            unloaded: plan.unloaded(),
            plan,
        })
    }

    fn execute(&mut self, now: Time, order: Order) {
        // The reply cannot be sent if the requesting thread has ended. The error is ignored.
        match order {
            Order::Status(answer) => {
                let _ = answer.send(self.status(now));
            }
            Order::Flows(from, answer) => {
                let _ = answer.send(self.taps.flows(from, FLOWS_AT_ONCE));
            }
            Order::Link(link, change, answer) => {
                let _ = answer.send(self.change_link(now, &link, change));
            }
        }
    }

    fn change_link(&mut self, now: Time, text: &str, change: LinkChange) -> Result<String, String> {
        let links = self.plan.links(text)?;
        let mut words = Vec::new();
        for link in links {
            let mut state = self.fabric.link(link).ok_or("there is no such link")?;
            state.is_up = change.is_up.unwrap_or(state.is_up);
            if let Some(rate) = change.rate_bps {
                state.rate = Rate::from_bps(rate)
                    .ok_or_else(|| format!("--rate: found {rate}bps; allowed: above 0"))?;
            }
            if let Some(delay) = change.delay_ns {
                state.delay = Duration::from_ns(delay);
            }
            if let Some(loss) = change.loss_ppb {
                state.loss = LossRate::from_billionths(loss).ok_or_else(|| {
                    format!("--loss: found {loss} billionths; allowed: 10^9 at most")
                })?;
            }
            let set = self.fabric.set_link(now, link, state);
            set.map_err(|error| error.to_string())?;
            if let Node::Host(host) = self.plan.topology.links[link.0 as usize].from {
                self.taps.follow_link(now, host, &mut self.fabric);
            }
            self.down.retain(|down| *down != link);
            if !state.is_up {
                self.down.push(link);
            }
            let (name, rate, delay) = (self.plan.link_name(link), state.rate, state.delay);
            let up = if state.is_up { "up" } else { "down" };
            let loss = match state.loss {
                LossRate::NONE => String::new(),
                loss => format!(", loses {loss}"),
            };
            words.push(format!("{name} {up} {rate} {delay}{loss}"));
        }
        if change.is_up.is_some() {
            self.noticed_at = now.saturating_add(RECONVERGENCE);
        }
        Ok(words.join("\n"))
    }

    fn status(&mut self, now: Time) -> Status {
        let hosts: Vec<HostStatus> = self.hosts();
        let lost = hosts.iter().filter_map(|host| host.tun_dropped).sum();
        let lateness = self.taps.lateness();
        let validity = Validity::new(&lateness, lost, self.unloaded, self.plan.slowdown);
        let totals = tailcut_sim::network_totals(&self.fabric);
        Status {
            lab: self.plan.name.clone(),
            sent: totals.sent,
            delivered: totals.delivered,
            remaining: totals.remaining,
            drops: totals.drops.0,
            design: self.plan.config.key().design,
            topology: self.plan.config.topology.name.clone(),
            slowdown: self.plan.slowdown,
            up_seconds: self.clock.elapsed().as_secs_f64(),
            lateness,
            unloaded_us: self.unloaded.as_us_f64(),
            validity,
            notes: self
                .taps
                .missing()
                .into_iter()
                .chain(self.plan.kernel.congestion.note.clone())
                .collect(),
            hosts,
            routers: self.routers(),
            links: (0..self.fabric.port_count())
                .map(|port| self.link(now, PortId(port)))
                .collect(),
        }
    }

    fn hosts(&mut self) -> Vec<HostStatus> {
        let counts = self.taps.counts().enumerate();
        let status = counts.map(|(number, (counts, tun_dropped))| {
            let refused = counts.refused.iter();
            let refused = refused.map(|(why, n)| (why.name().to_owned(), *n));
            let host = HostId(number as u32);
            HostStatus {
                name: host.to_string(),
                address: addresses::ipv4(host).to_string(),
                sent: counts.sent,
                received: counts.received,
                refused: refused.collect(),
                tun_dropped,
            }
        });
        status.collect()
    }

    fn routers(&self) -> Vec<RouterStatus> {
        let counts = self.plan.routers().into_iter().zip(self.taps.routers());
        let status = counts.map(|((name, address), counts)| RouterStatus {
            name,
            address: address.to_string(),
            ended: counts.ended,
            answered: counts.answered,
        });
        status.collect()
    }

    fn link(&self, now: Time, port: PortId) -> LinkStatus {
        let report = self.fabric.port_report(now, port);
        let state = self.fabric.link(port);
        LinkStatus {
            link: self.plan.link_name(port),
            is_up: state.is_some_and(|state| state.is_up),
            rate_bps: state.map_or(0, |state| state.rate.as_bps()),
            delay_ns: state.map_or(0, |state| state.delay.as_ns()),
            packets: report.sent_packets,
            bytes: report.carried_bytes,
            dropped: report.dropped,
            loss: state.map_or(0.0, |state| state.loss.share()),
            lost: self.fabric.link_losses(port),
            marked: report.marked,
            trimmed: report.trimmed,
            queued_packets: report.backlog_packets,
            queued_bytes: report.backlog_bytes,
            most_queued_bytes: report.longest_backlog_bytes,
        }
    }
}

impl World for RunningLab {
    type Body = Frame;
    type Watch = ();

    fn fabric(&mut self) -> &mut Fabric<Frame> {
        &mut self.fabric
    }

    fn now(&mut self) -> Time {
        self.clock.now()
    }

    fn wait(&mut self, until: Time) {
        self.taps.wait(&self.clock, until);
    }

    fn change_links(&mut self, now: Time) -> Result<bool, LinkError> {
        if self.noticed_at > now {
            return Ok(false);
        }
        self.noticed_at = Time::MAX;
        let down = &self.down;
        self.fabric
            .route_around(&self.routes, |link| !down.contains(&link));
        Ok(true)
    }

    fn act(&mut self, now: Time) -> bool {
        if self.taps.was_woken() {
            while let Ok(order) = self.orders.try_recv() {
                self.execute(now, order);
            }
        }
        self.taps.take(now, &mut self.fabric)
    }

    fn deliver(&mut self, _: Time, delivery: Delivery<Frame>) {
        self.taps.deliver(&self.clock, delivery);
    }

    fn dropped(&mut self, dropped: Dropped<Frame>) {
        self.taps.end(dropped, &mut self.fabric);
    }

    fn next(&self) -> Time {
        self.noticed_at
    }

    fn next_departure(&self) -> Time {
        self.taps.next_departure()
    }

    fn depart(&mut self, now: Time) {
        self.taps.depart(now, &mut self.fabric);
    }

    fn end(&self) -> Time {
        Time::MAX
    }
}

//! The hosts' network cards, from the network's side.

use crate::emulator::clock::Clock;
use crate::emulator::frames::{self, Buffers, Frame, Refusal, TrimCodes};
use crate::emulator::groups::Groups;
use crate::emulator::host::Host;
use crate::emulator::lateness::{Lateness, LatenessSummary};
use crate::emulator::nic::{Rack, Waiting};
use crate::emulator::pins;
use crate::emulator::plan::LabPlan;
use crate::emulator::poller::{Poller, Waker};
use crate::emulator::routers::{RouterCounts, Routers, hop_limit};
use crate::emulator::tracker::{TrackedFlows, Tracker};
use anyhow::{Context, Result};
use std::collections::{BTreeMap, VecDeque};
use tailcut_fabric::{Delivery, Dropped, Fabric, Observer, Packet};
use tailcut_units::{Duration, FiveTuple, HostId, Time};

/// How long before something is due the fabric's thread stops sleeping: the system wakes it some 25 us late,
/// seldom 100.
const EARLY: Duration = Duration::from_us(100);
/// Tells the file for wake-ups from the hosts' network cards.
const WAKE: u64 = u64::MAX;

/// What is counted of a host.
#[derive(Clone, Default, Debug)]
pub struct Counts {
    /// Packets that it has sent into the network.
    pub sent: u64,
    /// Packets that it has got.
    pub received: u64,
    /// Frames that the network did not take, by reason.
    pub refused: BTreeMap<Refusal, u64>,
}

/// The network cards of all hosts.
pub struct Taps {
    hosts: Vec<Host>,
    counts: Vec<Counts>,
    buffers: Buffers,
    groups: Groups,
    /// What the design puts between hosts and their uplinks, if anything.
    nics: Option<Rack>,
    lateness: Lateness,
    /// Follows the flows of programs, where nobody else knows of them.
    tracker: Option<Tracker>,
    purges_by_reset: bool,
    /// The switches as routers, where they are.
    routers: Option<Routers>,
    /// Whether the ports of connections may pin them to paths.
    reads_pins: bool,
    codes: TrimCodes,
    poller: Poller,
    /// Hosts that may have frames.
    ready: VecDeque<u32>,
    waker: Waker,
    is_woken: bool,
}

impl Taps {
    /// Those of the hosts of a lab. `waker` wakes whoever waits for them.
    ///
    /// # Errors
    /// The system refuses, or a parameter is outside its range.
    pub fn new(hosts: Vec<Host>, plan: &LabPlan, waker: Waker) -> Result<Self> {
        let refused = "cannot wait for files";
        let poller = Poller::new().context(refused)?;
        for (number, host) in hosts.iter().enumerate() {
            poller.add(&host.tap, number as u64).context(refused)?;
        }
        poller.add(&waker, WAKE).context(refused)?;
        let nics = plan.nics.as_deref().map(Rack::new).transpose()?;
        Ok(Self {
            nics,
            counts: vec![Counts::default(); hosts.len()],
            buffers: Buffers::new(plan.longest_frame() as usize),
            groups: Groups::new(hosts.len() as u32),
            lateness: Lateness::default(),
            tracker: None,
            purges_by_reset: plan.purges_by_reset,
            routers: plan
                .routed
                .map(|rate| Routers::new(plan.topology.switches.len(), rate)),
            reads_pins: false,
            codes: plan.codes,
            poller,
            ready: VecDeque::new(),
            waker,
            is_woken: false,
            hosts,
        })
    }

    /// Follows the flows of programs from now on.
    pub fn track(&mut self) {
        self.tracker = Some(Tracker::default());
    }

    /// Lets the ports of connections pin them to paths from now on.
    pub const fn read_pins(&mut self) {
        self.reads_pins = true;
    }

    /// Up to `most` flows of programs, from the one at place `from` among those that have ended.
    pub fn flows(&self, from: u64, most: usize) -> TrackedFlows {
        let tracker = self.tracker.as_ref();
        tracker.map_or_else(TrackedFlows::default, |tracker| tracker.flows(from, most))
    }

    /// Waits until a time by `clock`, until a host has a frame, or until somebody wakes us.
    pub fn wait(&mut self, clock: &Clock, until: Time) {
        if !self.ready.is_empty() {
            return;
        }
        let (ready, is_woken) = (&mut self.ready, &mut self.is_woken);
        self.poller
            .wait(clock.sleep(until, EARLY), |file| match file.key {
                WAKE => *is_woken = true,
                host => ready.push_back(host as u32),
            });
    }

    /// Whether somebody has woken us since the last time that this was asked.
    pub fn was_woken(&mut self) -> bool {
        if self.is_woken {
            self.waker.clear();
        }
        std::mem::take(&mut self.is_woken)
    }

    /// Takes one frame of a host into the network; false where no host has any.
    pub fn take<O: Observer<Frame>>(&mut self, now: Time, fabric: &mut Fabric<Frame, O>) -> bool {
        let Some(host) = self.ready.pop_front() else {
            return false;
        };
        if self.take_of(now, host, fabric) {
            self.ready.push_back(host);
        }
        true
    }

    /// Takes a frame of one host; false where it has none.
    fn take_of<O: Observer<Frame>>(
        &mut self,
        now: Time,
        host: u32,
        fabric: &mut Fabric<Frame, O>,
    ) -> bool {
        let tap = &self.hosts[host as usize].tap;
        let read = self.buffers.fill(|buffer| match tap.receive(buffer) {
            Ok(Some(length)) => Ok(length),
            Ok(None) | Err(_) => Err(()),
        });
        let Ok(mut frame) = read else {
            return false;
        };
        frame.set_trimmed_code(self.codes.trimmed);
        let (from, all) = (HostId(host), self.hosts.len() as u32);
        let groups = &mut self.groups;
        let arrival = frames::arrive(frame.bytes(), from, all, &self.codes, |word| {
            groups.hear(now, from, word, fabric);
        });
        let packet = arrival.and_then(|arrival| {
            let address = self.groups.address(&arrival, fabric);
            let dst = address.ok_or(Refusal::NoHost)?;
            let mut packet = Packet {
                dst,
                ..arrival.packet
            };
            if self.routers.is_some() && !dst.is_group() {
                packet.hop_limit = hop_limit(arrival.ttl);
            }
            Ok((packet, arrival.hints, arrival.tcp))
        });
        let counts = &mut self.counts[host as usize];
        match packet {
            Ok((mut packet, mut hints, tcp)) => {
                counts.sent += 1;
                if let (true, Some(tcp)) = (self.reads_pins, &tcp) {
                    packet.path = pins::path_of(tcp.ports);
                }
                if let (true, Some(tcp)) = (self.purges_by_reset, &tcp) {
                    hints = frames::by_reset(from, packet.dst, tcp, hints);
                }
                if let (Some(tracker), Some(tcp)) = (&mut self.tracker, &tcp) {
                    tracker.see(now, from, packet.dst, tcp);
                }
                let Some(nics) = &mut self.nics else {
                    fabric.inject_with(now, from, packet, hints, frame);
                    return true;
                };
                let ends = FiveTuple {
                    src: from,
                    dst: packet.dst,
                    ..FiveTuple::default()
                };
                let waiting = Waiting {
                    tuple: tcp.map_or(ends, |tcp| tcp.tuple(from, packet.dst)),
                    packet,
                    hints,
                    frame,
                };
                nics.send(now, from, tcp.as_ref(), waiting, fabric);
            }
            Err(refusal) => {
                if refusal.is_fault() {
                    *counts.refused.entry(refusal).or_default() += 1;
                }
                self.buffers.release(frame);
            }
        }
        true
    }

    /// Hands a packet to its host.
    pub fn deliver(&mut self, clock: &Clock, delivery: Delivery<Frame>) {
        let mut frame = delivery.body;
        let host = delivery.host.0 as usize;
        // A switch sends nothing back to where it came from.
        if !(delivery.packet.dst.is_group() && delivery.host == delivery.packet.src) {
            frames::leave(&delivery.packet, &mut frame);
            self.counts[host].received += 1;
            // A host that takes no frame has shut its network card down.
            let _ = self.hosts[host].tap.send(frame.bytes());
            self.lateness.note(clock.now().since(delivery.time));
            if let Some(nics) = &mut self.nics {
                let src = delivery.packet.src;
                nics.hear(delivery.time, src, delivery.host, frame.bytes());
            }
        }
        self.buffers.release(frame);
    }

    /// When a host's NIC next has something to do by itself.
    pub fn next_departure(&self) -> Time {
        self.nics.as_ref().map_or(Time::MAX, Rack::next)
    }

    /// Does that, at that time.
    pub fn depart<O: Observer<Frame>>(&mut self, now: Time, fabric: &mut Fabric<Frame, O>) {
        if let Some(nics) = &mut self.nics {
            nics.depart(now, fabric);
        }
    }

    /// A packet will reach no host. The switch where its TTL has ended may answer.
    pub fn end<O: Observer<Frame>>(
        &mut self,
        dropped: Dropped<Frame>,
        fabric: &mut Fabric<Frame, O>,
    ) {
        if let (Some(routers), Some(switch)) = (&mut self.routers, dropped.ended_at) {
            let (packet, mut ended) = (dropped.packet, dropped.body.clone());
            frames::leave(&packet, &mut ended);
            let mut answer = None;
            let frame = self.buffers.fill(|out| {
                answer = routers.answer(dropped.time, switch, &packet, ended.bytes(), out);
                answer.map(|(_, length)| length).ok_or(())
            });
            if let (Ok(frame), Some((packet, _))) = (frame, answer) {
                fabric.inject_at_switch(switch, packet, frame);
            }
        }
        self.release(dropped);
    }

    /// What each switch has done as a router; nothing where they are none.
    pub fn routers(&self) -> impl Iterator<Item = RouterCounts> {
        self.routers.iter().flat_map(Routers::counts)
    }

    /// A packet will reach no host.
    pub fn release(&mut self, dropped: Dropped<Frame>) {
        self.buffers.release(dropped.body);
    }

    /// How late packets were.
    pub fn lateness(&self) -> LatenessSummary {
        self.lateness.summary()
    }

    /// What is counted of each host, with the frames that were lost between its kernel and the network,
    /// where the kernel says.
    pub fn counts(&mut self) -> impl Iterator<Item = (&Counts, Option<u64>)> {
        let lost = self.hosts.iter_mut().map(|host| host.counters.dropped());
        self.counts.iter().zip(lost)
    }

    /// What these hosts' kernels cannot do of what was asked.
    pub fn missing(&self) -> Vec<String> {
        let first = self.hosts.first();
        first.map_or_else(Vec::new, |host| host.missing.clone())
    }
}

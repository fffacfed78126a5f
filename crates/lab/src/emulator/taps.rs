//! Network side of the hosts' network cards. The module reads frames from the TAP devices and writes frames to them.

use crate::emulator::clock::Clock;
use crate::emulator::frames::{self, Buffers, Frame, Refusal, TrimCodes};
use crate::emulator::groups::Groups;
use crate::emulator::host::Host;
use crate::emulator::lateness::{Lateness, LatenessSummary};
use crate::emulator::nic::{Cards, QueuedFrame};
use crate::emulator::pins;
use crate::emulator::plan::LabPlan;
use crate::emulator::poller::{Poller, Waker};
use crate::emulator::routers::{RouterCounts, Routers, hop_limit};
use crate::emulator::tracker::{TrackedFlows, Tracker};
use anyhow::{Context, Result};
use std::collections::{BTreeMap, VecDeque};
use tailcut_fabric::{Delivery, Dropped, Fabric, Observer, Packet};
use tailcut_units::{Duration, FiveTuple, HostId, Time};

/// Time by which the fabric's thread wakes up before an event.
/// The kernel wakes a thread about 25 us late, in rare cases 100 us.
const EARLY: Duration = Duration::from_us(100);
/// Poller key of the file for wake-ups. The key of a network card is the number of its host.
const WAKE: u64 = u64::MAX;

/// Counters of a host.
#[derive(Clone, Default, Debug)]
pub struct Counts {
    /// Packets that the host has sent into the network.
    pub sent: u64,
    /// Packets that the host has received.
    pub received: u64,
    /// Frames that the network has rejected, by reason.
    pub refused: BTreeMap<Refusal, u64>,
}

/// Network cards of all hosts.
pub struct Taps {
    hosts: Vec<Host>,
    counts: Vec<Counts>,
    buffers: Buffers,
    groups: Groups,
    /// Functions of the design between hosts and their uplinks, such as PIAS; `None`: no functions.
    nics: Option<Cards>,
    lateness: Lateness,
    /// Tracker of the flows of programs. Measured runs do not need it, because their agents report all flows.
    tracker: Option<Tracker>,
    purges_by_reset: bool,
    /// Router state of the switches, if they are routers.
    routers: Option<Routers>,
    /// Whether the ports of a connection may select its path.
    reads_pins: bool,
    codes: TrimCodes,
    poller: Poller,
    /// Hosts that may have frames to send.
    ready: VecDeque<u32>,
    waker: Waker,
    is_woken: bool,
}

impl Taps {
    /// Creates the network cards of a lab's hosts. `waker` wakes the thread that calls [`Taps::wait`].
    ///
    /// # Errors
    /// The kernel rejects a call, or a parameter is outside its range.
    pub fn new(hosts: Vec<Host>, plan: &LabPlan, waker: Waker) -> Result<Self> {
        let refused = "cannot wait for files";
        let poller = Poller::new().context(refused)?;
        for (number, host) in hosts.iter().enumerate() {
            poller.add(&host.tap, number as u64).context(refused)?;
        }
        poller.add(&waker, WAKE).context(refused)?;
        let nics = plan.nics.as_deref().map(Cards::new).transpose()?;
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

    /// Starts to track the flows of programs.
    pub fn track(&mut self) {
        self.tracker = Some(Tracker::default());
    }

    /// Enables pinning: the ports of later connections may select their paths.
    pub const fn read_pins(&mut self) {
        self.reads_pins = true;
    }

    /// Returns up to `most` flows of programs, from index `from` in the list of ended flows.
    pub fn flows(&self, from: u64, most: usize) -> TrackedFlows {
        let tracker = self.tracker.as_ref();
        tracker.map_or_else(TrackedFlows::default, |tracker| tracker.flows(from, most))
    }

    /// Waits until a time on `clock`, until a host sends a frame, or until another thread wakes this thread.
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

    /// Returns whether another thread has woken this thread since the last call.
    pub fn was_woken(&mut self) -> bool {
        if self.is_woken {
            self.waker.clear();
        }
        std::mem::take(&mut self.is_woken)
    }

    /// Moves one frame of a host into the network. Returns whether a host was ready.
    pub fn take<O: Observer<Frame>>(&mut self, now: Time, fabric: &mut Fabric<Frame, O>) -> bool {
        let Some(host) = self.ready.pop_front() else {
            return false;
        };
        // The host may have further frames. The host moves to the end of the queue, so that each host gets its turn.
        if self.take_of(now, host, fabric) {
            self.ready.push_back(host);
        }
        true
    }

    /// Moves a frame of one host into the network. Returns whether the host had a frame.
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
            groups.on_membership(now, from, word, fabric);
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
                let queued = QueuedFrame {
                    tuple: tcp.map_or(ends, |tcp| tcp.tuple(from, packet.dst)),
                    packet,
                    hints,
                    frame,
                };
                nics.send(now, from, tcp.as_ref(), queued, fabric);
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

    /// Delivers a packet to its host.
    pub fn deliver(&mut self, clock: &Clock, delivery: Delivery<Frame>) {
        let mut frame = delivery.body;
        let host = delivery.host.0 as usize;
        // The sender may be a member of the multicast group, but a switch sends no packet back to its source.
        if !(delivery.packet.dst.is_group() && delivery.host == delivery.packet.src) {
            frames::leave(&delivery.packet, &mut frame);
            self.counts[host].received += 1;
            // The call fails only if the host has disabled its network card.
            let _ = self.hosts[host].tap.send(frame.bytes());
            self.lateness.note(clock.now().since(delivery.time));
            if let Some(nics) = &mut self.nics {
                let src = delivery.packet.src;
                nics.on_arrival(delivery.time, src, delivery.host, frame.bytes());
            }
        }
        self.buffers.release(frame);
    }

    /// Returns the time of the next action of a NIC; [`Time::MAX`] without a next action.
    pub fn next_departure(&self) -> Time {
        self.nics.as_ref().map_or(Time::MAX, Cards::next)
    }

    /// Executes the next action of a NIC. `now` is the time of this action.
    pub fn depart<O: Observer<Frame>>(&mut self, now: Time, fabric: &mut Fabric<Frame, O>) {
        if let Some(nics) = &mut self.nics {
            nics.depart(now, fabric);
        }
    }

    /// Adapts a host's NIC to the current rate of the host's link.
    pub fn follow_link<O: Observer<Frame>>(
        &mut self,
        now: Time,
        host: HostId,
        fabric: &mut Fabric<Frame, O>,
    ) {
        if let Some(nics) = &mut self.nics {
            nics.follow_link(now, host, fabric);
        }
    }

    /// Handles a packet that the fabric has dropped. If the packet's TTL expired at a switch, this switch may reply.
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

    /// Returns the router counters of each switch. The iterator is empty if switches are not routers.
    pub fn routers(&self) -> impl Iterator<Item = RouterCounts> {
        self.routers.iter().flat_map(Routers::counts)
    }

    /// Releases the buffer of a packet that the fabric has dropped.
    pub fn release(&mut self, dropped: Dropped<Frame>) {
        self.buffers.release(dropped.body);
    }

    /// Returns the lateness of packets.
    pub fn lateness(&self) -> LatenessSummary {
        self.lateness.summary()
    }

    /// Returns the counters of each host, and the number of frames lost between the host's kernel and the network.
    /// The number of lost frames is `None` if the kernel does not count them.
    pub fn counts(&mut self) -> impl Iterator<Item = (&Counts, Option<u64>)> {
        let lost = self.hosts.iter_mut().map(|host| host.counters.dropped());
        self.counts.iter().zip(lost)
    }

    /// Returns the settings that the kernel does not have.
    /// All hosts share one kernel, so the list of the first host is sufficient.
    pub fn missing(&self) -> Vec<String> {
        let first = self.hosts.first();
        first.map_or_else(Vec::new, |host| host.missing.clone())
    }
}

//! The general port: a discipline decides what waits, and a service that others wait for ends with an
//! event of its own.

use crate::engine::Event;
use crate::fabric::{ARRIVAL, Fabric, HOST};
use crate::packet::PacketId;
use crate::queue::{DropReason, Fate, Placement, Queue};
use tailcut_units::Time;

/// A general port's own state. What every packet touches is in its first two cache lines.
#[derive(Debug)]
#[repr(C, align(64))]
pub(crate) struct General {
    /// Whether an event will say that the link is free. There is one while packets wait: else whatever
    /// comes next sees by itself that the link is free.
    pub wakes: bool,
    /// The switch that has the port; with the high bit, the host.
    pub owner: u32,
    /// Packets whose payload was cut off here.
    pub trimmed: u32,
    /// Index of the switch's shared buffer, if it has one.
    pub pool: Option<u32>,
    pub queue: Queue,
}

impl<B: Copy> Fabric<B> {
    pub(crate) fn arrive_at_general_port(&mut self, now: Time, port_id: u32, id: PacketId) {
        // A packet injected at the very instant at which the link becomes free comes after that.
        self.link_free(now, port_id);
        let port = &mut self.ports[port_id as usize];
        let class = &self.classes[usize::from(port.class)];
        let general = &mut self.generals[port.place as usize];
        let packet = self.packets.header(id);
        let idle = port.busy_until_ps <= now.as_ps();
        if let (Some(pool), false) = (general.pool, idle)
            && !self.pools[pool as usize].admits(general.queue.backlog_bytes(), packet.size)
        {
            return self.drop_packet(Some(port_id), id, DropReason::SharedBuffer);
        }
        if let Some(phantom) = &class.phantom
            && phantom.placement == Placement::Parallel
        {
            let state = &mut self.phantoms[port_id as usize];
            port.marked += u32::from(state.pass(now.as_ps(), phantom, packet));
        }
        if let Some(waits) = &mut self.waits {
            waits.arrive(id, now.as_ps());
        }
        if idle && general.queue.passes(packet) {
            return self.begin(now, port_id, id);
        }
        let before = general.queue.backlog_bytes();
        let verdict = general.queue.enqueue(now, id, self.packets.headers());
        let after = general.queue.backlog_bytes();
        if let Some(pool) = general.pool {
            self.pools[pool as usize].change(before, after);
        }
        if !idle {
            let after = u32::try_from(after).unwrap_or(u32::MAX);
            port.longest_backlog = port.longest_backlog.max(after);
        }
        if verdict.arrival != Fate::Queued {
            self.settle(now, port_id, id, verdict.arrival);
        }
        if let Some((displaced, fate)) = verdict.displaced {
            self.settle(now, port_id, displaced, fate);
        }
        if idle {
            self.start_next(now, port_id);
        } else {
            self.wake_when_free(port_id);
        }
    }

    /// Sees to it that what waits at a busy port starts when the link is free.
    #[inline]
    fn wake_when_free(&mut self, port_id: u32) {
        let port = &self.ports[port_id as usize];
        let general = &mut self.generals[port.place as usize];
        if !general.wakes && general.queue.backlog_packets() > 0 {
            general.wakes = true;
            let free_at = Time::from_ps(port.busy_until_ps);
            self.engine.push(Event::new(free_at, port_id, 0));
        }
    }

    /// Counts and disposes of what an arrival did to a packet.
    fn settle(&mut self, now: Time, port_id: u32, id: PacketId, fate: Fate) {
        match fate {
            Fate::Queued => {}
            Fate::Marked => self.ports[port_id as usize].marked += 1,
            Fate::Trimmed { cut } => self.count_trimmed(port_id, cut),
            Fate::Returned { cut } => {
                if cut > 0 {
                    self.count_trimmed(port_id, cut);
                }
                self.return_to_sender(now, port_id, id);
            }
            Fate::Dropped(reason) => self.drop_packet(Some(port_id), id, reason),
        }
    }

    fn count_trimmed(&mut self, port_id: u32, cut: u32) {
        let place = self.ports[port_id as usize].place;
        self.generals[place as usize].trimmed += 1;
        self.books.trimmed.add(cut);
    }

    /// A packet goes back from the switch that could not forward it.
    fn return_to_sender(&mut self, now: Time, port_id: u32, id: PacketId) {
        let place = self.ports[port_id as usize].place;
        let owner = self.generals[place as usize].owner;
        self.strip(id);
        let packet = self.packets.header(id);
        if packet.dst.is_group() {
            self.multicast.leave_network(packet.dst);
        }
        core::mem::swap(&mut packet.src, &mut packet.dst);
        packet.returned = true;
        self.books.returned.add(packet.size);
        if owner & HOST == 0 {
            self.arrive_at_switch(now, owner, id);
        } else {
            self.drop_packet(Some(port_id), id, DropReason::HeaderQueueFull);
        }
    }

    /// If the link behind a general port is free, the next packet that waits starts.
    pub(crate) fn link_free(&mut self, now: Time, port_id: u32) {
        if self.ports[port_id as usize].busy_until_ps <= now.as_ps() {
            self.start_next(now, port_id);
        }
    }

    fn start_next(&mut self, now: Time, port_id: u32) {
        let port = &self.ports[port_id as usize];
        let general = &mut self.generals[port.place as usize];
        general.wakes = false;
        let before = general.queue.backlog_bytes();
        let Some(id) = general.queue.dequeue(now, self.packets.headers()) else {
            return;
        };
        if let Some(pool) = general.pool {
            self.pools[pool as usize].change(before, general.queue.backlog_bytes());
        }
        self.begin(now, port_id, id);
        self.wake_when_free(port_id);
    }

    /// A packet's service begins.
    #[inline]
    fn begin(&mut self, now: Time, port_id: u32, id: PacketId) {
        let port = &mut self.ports[port_id as usize];
        let packet = self.packets.header(id);
        packet.hops += 1;
        let class = &self.classes[usize::from(port.class)];
        let free_at = now.as_ps() + class.serialisation_ps(packet.size);
        if let Some(phantom) = &class.phantom
            && phantom.placement == Placement::Series
        {
            let state = &mut self.phantoms[port_id as usize];
            port.marked += u32::from(state.pass(free_at, phantom, packet));
        }
        if let Some(waits) = &mut self.waits {
            waits.start(id, port_id, now.as_ps());
        }
        port.busy_until_ps = free_at;
        port.transmitted_packets += 1;
        port.transmitted_bytes += u64::from(packet.size);
        self.books.hops += 1;
        let arrives_at = Time::from_ps(free_at + class.delay_ps);
        let arrival = Event::new(arrives_at, port_id | ARRIVAL, id.0);
        self.engine.push(arrival);
    }
}

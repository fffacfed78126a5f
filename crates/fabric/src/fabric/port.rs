//! A packet at a port: queued, marked, trimmed, dropped, sent.

use super::{ARRIVAL, Fabric};
use crate::engine::Event;
use crate::fifo::{self, Outcome};
use crate::network::HOST;
use crate::observer::{Observer, Seen};
use crate::packet::PacketId;
use crate::port::PortId;
use crate::queue::{Dequeued, DropReason, Fate, Placement};
use tailcut_units::{Duration, Time};

impl<B: Clone, O: Observer<B>> Fabric<B, O> {
    #[inline]
    pub(super) fn arrive_at_port(&mut self, now: Time, port_id: u32, id: PacketId) {
        let port = &mut self.network.ports[port_id as usize];
        let class = &self.network.classes[usize::from(port.class)];
        let Some(queue) = &class.drop_tail else {
            return self.arrive_at_general_port(now, port_id, id);
        };
        let packet = self.packets.header(id);
        let rings = &mut self.network.rings;
        match fifo::arrive(now.as_ps(), port, class, queue, rings, packet) {
            Outcome::Arrives(at_ps) => {
                packet.hops = packet.hops.wrapping_add(1);
                self.books.hops += 1;
                let arrival = Event::new(Time::from_ps(at_ps), port_id | ARRIVAL, id.0);
                self.engine.push(arrival);
                if self.observer.is_on() {
                    self.show_settled(now, port_id, id);
                }
            }
            Outcome::Dropped(reason) => self.drop_packet(now, Some(port_id), id, reason),
        }
    }

    /// Shows what a port with one event for each packet has settled: a service that may lie ahead.
    #[cold]
    #[inline(never)]
    fn show_settled(&mut self, now: Time, port_id: u32, id: PacketId) {
        let port = &self.network.ports[port_id as usize];
        let size = self.packets.get(id).size;
        let service_ps = self.network.class(port).serialisation_ps(size);
        let starts = Time::from_ps(port.busy_until_ps - service_ps);
        self.show(now, port_id, id, Observer::enqueued);
        self.show(starts, port_id, id, Observer::started);
    }

    fn arrive_at_general_port(&mut self, now: Time, port_id: u32, id: PacketId) {
        let port = &self.network.ports[port_id as usize];
        // A packet injected at the very instant at which the link becomes free comes after that. Without an
        // event that says so nothing is queued.
        if self.network.generals[port.place as usize].wakes {
            self.link_free(now, port_id);
        }
        let port = &mut self.network.ports[port_id as usize];
        let class = &self.network.classes[usize::from(port.class)];
        let general = &mut self.network.generals[port.place as usize];
        let packet = self.packets.header(id);
        let idle = port.busy_until_ps <= now.as_ps();
        if let (Some(pool), false) = (general.pool, idle)
            && !self.network.pools[pool as usize].admits(general.queue.backlog_bytes(), packet.size)
        {
            return self.drop_packet(now, Some(port_id), id, DropReason::SharedBuffer);
        }
        if let Some(phantom) = &class.phantom
            && phantom.placement == Placement::Parallel
        {
            let state = &mut self.network.phantoms[port_id as usize];
            port.marked += u64::from(state.pass(now.as_ps(), phantom, packet));
        }
        if idle && general.queue.passes(packet) {
            self.show(now, port_id, id, Observer::enqueued);
            return self.begin(now, port_id, id);
        }
        let before = general.queue.backlog_bytes();
        let verdict = general.queue.enqueue(now, id, self.packets.headers());
        let after = general.queue.backlog_bytes();
        if let Some(pool) = general.pool {
            self.network.pools[pool as usize].change(before, after);
        }
        if !idle {
            let after = u32::try_from(after).unwrap_or(u32::MAX);
            port.longest_backlog = port.longest_backlog.max(after);
        }
        if !matches!(verdict.arrival, Fate::Dropped(_) | Fate::Returned { .. }) {
            self.show(now, port_id, id, Observer::enqueued);
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
        let port = &self.network.ports[port_id as usize];
        let general = &mut self.network.generals[port.place as usize];
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
            Fate::Marked => {
                self.network.ports[port_id as usize].marked += 1;
                self.show(now, port_id, id, Observer::marked);
            }
            Fate::Trimmed { cut } => self.count_trimmed(now, port_id, id, cut),
            Fate::Returned { cut } => {
                if cut > 0 {
                    self.count_trimmed(now, port_id, id, cut);
                }
                self.return_to_sender(now, port_id, id);
            }
            Fate::Dropped(reason) => self.drop_packet(now, Some(port_id), id, reason),
        }
    }

    fn count_trimmed(&mut self, now: Time, port_id: u32, id: PacketId, cut: u32) {
        let place = self.network.ports[port_id as usize].place;
        self.network.generals[place as usize].trimmed += 1;
        self.books.trimmed.add(cut);
        self.show(now, port_id, id, |observer, seen| {
            observer.trimmed(seen, cut)
        });
    }

    /// A packet goes back from the switch that could not forward it.
    fn return_to_sender(&mut self, now: Time, port_id: u32, id: PacketId) {
        let place = self.network.ports[port_id as usize].place;
        let owner = self.network.generals[place as usize].owner;
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
            self.drop_packet(now, Some(port_id), id, DropReason::HeaderQueueFull);
        }
    }

    /// If the link behind a general port is free, the next packet that waits starts.
    pub(super) fn link_free(&mut self, now: Time, port_id: u32) {
        if self.network.ports[port_id as usize].busy_until_ps <= now.as_ps() {
            self.start_next(now, port_id);
        }
    }

    fn start_next(&mut self, now: Time, port_id: u32) {
        let port = &self.network.ports[port_id as usize];
        let general = &mut self.network.generals[port.place as usize];
        if general.held_until_ps > now.as_ps() {
            return;
        }
        general.wakes = false;
        let before = general.queue.backlog_bytes();
        let next = general.queue.dequeue(now, self.packets.headers());
        if let Some(pool) = general.pool {
            let after = general.queue.backlog_bytes();
            self.network.pools[pool as usize].change(before, after);
        }
        match next {
            Dequeued::Packet(id) => {
                self.begin(now, port_id, id);
                self.wake_when_free(port_id);
            }
            Dequeued::Empty => {}
            Dequeued::Drop(id, reason) => {
                self.drop_packet(now, Some(port_id), id, reason);
                self.start_next(now, port_id);
            }
            Dequeued::WaitUntil(at) => self.wake_later(now, port_id, at),
        }
    }

    /// A discipline holds back what it has until `at`.
    #[cold]
    fn wake_later(&mut self, now: Time, port_id: u32, at: Time) {
        let port = &self.network.ports[port_id as usize];
        let general = &mut self.network.generals[port.place as usize];
        // Not at this instant again: it would never end.
        let at = at.max(now.saturating_add(Duration::from_ps(1)));
        general.wakes = true;
        general.held_until_ps = at.as_ps();
        self.engine.push(Event::new(at, port_id, 0));
    }

    /// A packet's service begins.
    #[inline]
    fn begin(&mut self, now: Time, port_id: u32, id: PacketId) {
        let port = &mut self.network.ports[port_id as usize];
        let packet = self.packets.header(id);
        packet.hops = packet.hops.wrapping_add(1);
        let class = &self.network.classes[usize::from(port.class)];
        let free_at = now.as_ps() + class.serialisation_ps(packet.size);
        if let Some(phantom) = &class.phantom
            && phantom.placement == Placement::Series
        {
            let state = &mut self.network.phantoms[port_id as usize];
            port.marked += u64::from(state.pass(free_at, phantom, packet));
        }
        port.busy_until_ps = free_at;
        port.transmitted_packets += 1;
        port.transmitted_bytes += u64::from(packet.size);
        self.books.hops += 1;
        let mut arrives_ps = free_at + class.delay_ps;
        if class.is_behind {
            arrives_ps = self.arrive_behind(port_id, arrives_ps);
        }
        self.show(now, port_id, id, Observer::started);
        let arrival = Event::new(Time::from_ps(arrives_ps), port_id | ARRIVAL, id.0);
        self.engine.push(arrival);
    }

    /// When a packet arrives on a link whose delay has become shorter.
    #[cold]
    fn arrive_behind(&mut self, port_id: u32, arrives_ps: u64) -> u64 {
        let (arrives_ps, has_caught_up) = self.links.behind_others(port_id, arrives_ps);
        if has_caught_up {
            self.caught_up(port_id);
        }
        arrives_ps
    }

    /// Shows the observer a packet at a port.
    #[inline(always)]
    fn show(&mut self, now: Time, port: u32, id: PacketId, show: impl FnOnce(&mut O, Seen<'_, B>)) {
        if !self.observer.is_on() {
            return;
        }
        if let Some((packet, body)) = self.packets.seen(id) {
            let port = PortId(port);
            show(
                &mut self.observer,
                Seen {
                    now,
                    port,
                    id,
                    packet,
                    body,
                },
            );
        }
    }
}

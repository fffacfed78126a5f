//! Work of a port on a packet: enqueue, mark, trim, drop and send.

use super::{ARRIVAL, Fabric};
use crate::engine::Event;
use crate::fifo::{self, Outcome};
use crate::network::HOST;
use crate::observer::{ObservedPacket, Observer};
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
                // The switch drops a packet with a hop limit before these 8 bits overflow, so the sum needs no check.
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

    /// Reports a packet at a port with one event per packet to the observer.
    /// The function reports the arrival, and the start of the service, which may be in the future.
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
        // At equal times, links must become free before packets arrive.
        // A packet that is injected when a link becomes free is processed before the event that frees the link.
        // The link is therefore freed here. If no event is scheduled, no packet waits.
        if self.network.generals[port.place as usize].wakes {
            self.link_free(now, port_id);
        }
        let port = &mut self.network.ports[port_id as usize];
        let class = &self.network.classes[usize::from(port.class)];
        let general = &mut self.network.generals[port.place as usize];
        let packet = self.packets.header(id);
        let idle = port.busy_until_ps <= now.as_ps();
        // A packet on an idle link is sent immediately and needs no buffer.
        if let (Some(pool), false) = (general.pool, idle)
            && !self.network.pools[pool as usize].admits(general.queue.backlog_bytes(), packet.size)
        {
            return self.drop_packet(now, Some(port_id), id, DropReason::SharedBuffer);
        }
        // A phantom queue in parallel counts every arriving packet, even if the discipline then drops it.
        if let Some(phantom) = &class.phantom
            && phantom.placement == Placement::Parallel
        {
            let state = &mut self.network.phantoms[port_id as usize];
            port.marked += u64::from(state.pass(now.as_ps(), phantom, class.drain, packet));
        }
        // On an idle link, the packet usually need not be enqueued and dequeued again.
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
        // On an idle link, the packet leaves immediately, so it is not part of the backlog.
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
        let mut displaced = verdict.displaced;
        while let Some((other, fate)) = displaced {
            self.settle(now, port_id, other, fate);
            let place = self.network.ports[port_id as usize].place;
            displaced = self.network.generals[place as usize].queue.also_displaced();
        }
        if idle {
            self.start_next(now, port_id);
        } else {
            self.wake_when_free(port_id);
        }
    }

    /// If packets wait at a busy port, schedules the next service for the time when the link is free.
    #[inline]
    fn wake_when_free(&mut self, port_id: u32) {
        let port = &self.network.ports[port_id as usize];
        let general = &mut self.network.generals[port.place as usize];
        if !general.wakes && general.queue.backlog_packets() > 0 {
            general.wakes = true;
            let free_at = Time::from_ps(port.busy_until_ps);
            // Links that become free at the same time share no state except the total of a shared buffer.
            // The order in which links become free at one time does not affect results, so no random draw is needed.
            self.engine.push_in_order(Event::new(free_at, port_id, 0));
        }
    }

    /// Counts the result of a packet's enqueue. If necessary, drops the packet or returns it to its sender.
    fn settle(&mut self, now: Time, port_id: u32, id: PacketId, fate: Fate) {
        match fate {
            Fate::Queued => {}
            Fate::Marked => {
                self.network.ports[port_id as usize].marked += 1;
                self.show(now, port_id, id, Observer::marked);
            }
            Fate::Trimmed { cut } => self.count_trimmed(now, port_id, id, cut),
            Fate::Returned { cut } => {
                // If `cut` is zero, an earlier switch has trimmed the packet and counted the trimming.
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

    /// Returns a packet to its sender. The packet starts at the switch that could not forward it.
    fn return_to_sender(&mut self, now: Time, port_id: u32, id: PacketId) {
        let place = self.network.ports[port_id as usize].place;
        let owner = self.network.generals[place as usize].owner;
        // Headers that switches have added describe the old direction. They would be wrong in the new direction.
        self.strip(id);
        let packet = self.packets.header(id);
        // The packet now goes to only one host, so it is no longer counted as a packet of its group.
        if packet.dst.is_group() {
            self.multicast.leave_network(packet.dst);
        }
        core::mem::swap(&mut packet.src, &mut packet.dst);
        packet.returned = true;
        self.books.returned.add(packet.size);
        if owner & HOST == 0 {
            self.arrive_at_switch(now, owner, id);
        } else {
            // A packet at its host's own uplink has passed no switch that could return it.
            self.drop_packet(now, Some(port_id), id, DropReason::HeaderQueueFull);
        }
    }

    /// Starts the service of the next waiting packet at a general port, if the link is free.
    pub(super) fn link_free(&mut self, now: Time, port_id: u32) {
        if self.network.ports[port_id as usize].busy_until_ps <= now.as_ps() {
            self.start_next(now, port_id);
        }
    }

    fn start_next(&mut self, now: Time, port_id: u32) {
        let port = &self.network.ports[port_id as usize];
        let general = &mut self.network.generals[port.place as usize];
        // The discipline holds back its packets. The event that ends this pause is already scheduled.
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
            // CoDel can drop several packets before it sends a packet.
            Dequeued::Drop(id, reason) => {
                self.drop_packet(now, Some(port_id), id, reason);
                self.start_next(now, port_id);
            }
            Dequeued::WaitUntil(at) => self.wake_later(now, port_id, at),
        }
    }

    /// Schedules the next attempt of a discipline that holds back its packets until `at`.
    #[cold]
    fn wake_later(&mut self, now: Time, port_id: u32, at: Time) {
        let port = &self.network.ports[port_id as usize];
        let general = &mut self.network.generals[port.place as usize];
        // `at` must be later than `now`. With `at <= now`, the attempts would repeat for ever.
        let at = at.max(now.saturating_add(Duration::from_ps(1)));
        general.wakes = true;
        general.held_until_ps = at.as_ps();
        self.engine.push_in_order(Event::new(at, port_id, 0));
    }

    /// Starts the service of a packet.
    #[inline]
    fn begin(&mut self, now: Time, port_id: u32, id: PacketId) {
        let port = &mut self.network.ports[port_id as usize];
        let packet = self.packets.header(id);
        // The switch drops a packet with a hop limit before these 8 bits overflow, so the sum needs no check.
        packet.hops = packet.hops.wrapping_add(1);
        let class = &self.network.classes[usize::from(port.class)];
        let free_at = now.as_ps() + class.serialisation_ps(packet.size);
        // A phantom queue in series counts the packet when it has left the real queue.
        if let Some(phantom) = &class.phantom
            && phantom.placement == Placement::Series
        {
            let state = &mut self.network.phantoms[port_id as usize];
            port.marked += u64::from(state.pass(free_at, phantom, class.drain, packet));
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

    /// Returns when a packet arrives on a link whose delay has become shorter.
    #[cold]
    fn arrive_behind(&mut self, port_id: u32, arrives_ps: u64) -> u64 {
        let (arrives_ps, has_caught_up) = self.links.behind_others(port_id, arrives_ps);
        if has_caught_up {
            self.caught_up(port_id);
        }
        arrives_ps
    }

    /// Reports a packet at a port to the observer.
    #[inline(always)]
    fn show(
        &mut self,
        now: Time,
        port: u32,
        id: PacketId,
        show: impl FnOnce(&mut O, ObservedPacket<'_, B>),
    ) {
        if !self.observer.is_on() {
            return;
        }
        if let Some((packet, body)) = self.packets.seen(id) {
            let port = PortId(port);
            show(
                &mut self.observer,
                ObservedPacket {
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

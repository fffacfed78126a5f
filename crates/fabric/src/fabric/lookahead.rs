//! Prefetches for the next events. In large networks, the state of ports, packets and hosts is not in the cache.

use super::{ARRIVAL, Fabric};
use crate::forwarding::Forwarding;
use crate::network::{HOST, LOSSY};
use crate::observer::Observer;
use crate::packet::PacketId;
use tailcut_units::{HostId, prefetch, prefetch_whole};

/// Number of links from which a network is large: its ports and hosts then exceed the cache.
// With fewer links, the additional prefetches cost more time than they save.
pub(super) const LARGE: usize = 10_000;

/// Number of events between a prefetch and its event. A read from memory takes about as long as three events.
const NEAR: usize = 3;
/// Number of events between the prefetch of a state and its event, if this state contains the address of more state.
const FAR: usize = 6;
/// Value for large networks that replaces [`NEAR`]. Their events miss more caches, so several reads run together.
const NEAR_IN_LARGE: usize = 4;
/// Value for large networks that replaces [`FAR`].
const FAR_IN_LARGE: usize = 8;

/// Owner of the hosts of a network. Its methods prefetch the state of hosts, and have no effect on results.
pub trait PrefetchHosts<B> {
    /// Prefetches the state of `host`. A packet arrives at this host after a few events.
    fn host(&self, host: HostId);
    /// Prefetches the state that a packet with this body needs at `host`. The packet arrives after a few events.
    fn arrival(&self, host: HostId, body: &B);
}

/// Hosts without prefetches.
impl<B> PrefetchHosts<B> for () {
    fn host(&self, _host: HostId) {}
    fn arrival(&self, _host: HostId, _body: &B) {}
}

impl<B: Clone, O: Observer<B>> Fabric<B, O> {
    /// Returns whether the ports and hosts of the network exceed the processor's cache.
    #[inline]
    pub fn is_large(&self) -> bool {
        self.is_large
    }

    /// Prefetches the data of the next events.
    #[inline]
    pub(super) fn prefetch_upcoming(&self, hosts: &impl PrefetchHosts<B>) {
        if self.is_large {
            // The first events of a day were not upcoming events before the day began.
            if self.engine.has_begun_day() {
                for ahead in 0..FAR_IN_LARGE {
                    self.prefetch_far(hosts, ahead);
                }
            }
            self.prefetch_far(hosts, FAR_IN_LARGE);
            self.prefetch_near(hosts);
            return;
        }
        if let Some(event) = self.engine.upcoming(NEAR) {
            let number = self.engine.number(event) as usize;
            if event.entity() < ARRIVAL {
                return self.prefetch_general(number);
            }
            let id = PacketId(event.payload());
            self.packets.prefetch(id);
            let far_end = self.network.far_ends[number];
            if far_end & HOST == 0 {
                prefetch(&self.network.switches, far_end as usize);
            } else {
                self.packets.prefetch_body(id);
            }
        }
        if let Some(event) = self.engine.upcoming(FAR)
            && event.entity() < ARRIVAL
        {
            prefetch(&self.network.ports, self.engine.number(event) as usize);
        }
    }

    /// Prefetches the state of a general port.
    // The index of this state is in the port, so the port is prefetched a few events earlier.
    #[inline]
    fn prefetch_general(&self, port: usize) {
        let place = self.network.ports[port].place as usize;
        prefetch(&self.network.generals, place);
    }

    /// Prefetches what an event of a large network reads first: a port, or a packet and the node where it arrives.
    #[inline]
    fn prefetch_far(&self, hosts: &impl PrefetchHosts<B>, ahead: usize) {
        let Some(event) = self.engine.upcoming(ahead) else {
            return;
        };
        let number = self.engine.number(event) as usize;
        if event.entity() < ARRIVAL {
            prefetch(&self.network.ports, number);
            return;
        }
        let id = PacketId(event.payload());
        self.packets.prefetch(id);
        let far_end = self.network.far_ends[number];
        if far_end & HOST == 0 {
            prefetch_whole(&self.network.switches, far_end as usize);
        } else if far_end < LOSSY {
            self.packets.prefetch_body(id);
            hosts.host(HostId(far_end ^ HOST));
        }
    }

    /// Prefetches what an event of a large network reads next: the next port, or the state of a connection.
    #[inline]
    fn prefetch_near(&self, hosts: &impl PrefetchHosts<B>) {
        let Some(event) = self.engine.upcoming(NEAR_IN_LARGE) else {
            return;
        };
        let number = self.engine.number(event) as usize;
        if event.entity() < ARRIVAL {
            return self.prefetch_general(number);
        }
        let id = PacketId(event.payload());
        let far_end = self.network.far_ends[number];
        if far_end & HOST == 0 {
            let switch = &self.network.switches[far_end as usize];
            // With another load balancer than ECMP, the prefetched port may be wrong. This costs nothing but time.
            if let Forwarding::Clos(clos) = &switch.forwarding {
                let packet = self.packets.get(id);
                let group = clos.towards(packet.dst);
                let choice = match group.count {
                    0 | 1 => 0,
                    count => switch.balancer.ecmp(packet, count),
                };
                let port = switch.first_port + group.first + choice;
                prefetch(&self.network.ports, port as usize);
            }
        } else if far_end < LOSSY
            && let Some((_, body)) = self.packets.seen(id)
        {
            hosts.arrival(HostId(far_end ^ HOST), body);
        }
    }
}

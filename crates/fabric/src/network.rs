//! State of all links, ports and switches.

use crate::fifo::{self, Rings};
use crate::forwarding::{Choices, Forwarding};
use crate::general::General;
use crate::links::Lossy;
use crate::load_balancer::balancer::Balancer;
use crate::load_balancer::own::PortView;
use crate::packet::{Packet, PacketId};
use crate::port::{Backlog, Port, PortClass};
use crate::queue::PhantomState;
use crate::shared_buffer::Pool;
use alloc::collections::BTreeMap;
use alloc::vec::Vec;
use tailcut_units::{Rate, Time};

/// Bit in the number of a link's far end. If the bit is set, the far end is a host. Otherwise the far end is a switch.
pub(crate) const HOST: u32 = 1 << 31;
/// Far end of a link that is down.
pub(crate) const NOWHERE: u32 = HOST | (HOST - 1);
/// Far end of a link that loses packets at random. [`Network::lossy`] contains the real far end.
pub(crate) const LOSSY: u32 = NOWHERE - 1;

#[derive(Debug)]
pub(crate) struct Switch {
    pub forwarding: Forwarding,
    pub balancer: Balancer,
    pub first_port: u32,
}

/// State of all links, ports and switches.
#[derive(Debug, Default)]
pub(crate) struct Network {
    pub ports: Vec<Port>,
    /// Node at the far end of each port's link.
    pub far_ends: Vec<u32>,
    pub classes: Vec<PortClass>,
    pub rings: Rings,
    pub generals: Vec<General>,
    /// Phantom queue of each port. Empty if no port has a phantom queue.
    pub phantoms: Vec<PhantomState>,
    pub switches: Vec<Switch>,
    /// Shared buffers of switches.
    pub pools: Vec<Pool>,
    /// Number of packets dropped at each port.
    pub dropped: Vec<u64>,
    /// Links that lose packets at random, or have done so before.
    pub lossy: BTreeMap<u32, Lossy>,
}

impl Network {
    #[inline]
    pub fn class(&self, port: &Port) -> &PortClass {
        &self.classes[usize::from(port.class)]
    }

    /// Returns the node at the far end of a port's link, even if the link loses packets.
    /// Returns [`NOWHERE`] if the link is down.
    pub fn far_end(&self, port: u32) -> u32 {
        match self.far_ends[port as usize] {
            LOSSY => self.lossy.get(&port).map_or(NOWHERE, |lossy| lossy.far_end),
            far_end => far_end,
        }
    }

    /// Returns the number of a class of ports. Adds the class if the network does not have it.
    pub fn class_number(&mut self, class: PortClass) -> u16 {
        // A network has few classes, so a linear search is fast enough.
        let known = self.classes.iter().position(|other| *other == class);
        let number = known.unwrap_or_else(|| {
            self.classes.push(class);
            self.classes.len() - 1
        });
        u16::try_from(number).expect("fewer than 65,536 kinds of ports")
    }

    /// Returns the backlog of a port at `now`.
    pub fn backlog(&self, now: Time, port: u32) -> Backlog {
        let port = &self.ports[port as usize];
        let class = self.class(port);
        if class.drop_tail.is_some() {
            return fifo::backlog(now.as_ps(), port, class, &self.rings);
        }
        let queue = &self.generals[port.place as usize].queue;
        Backlog {
            packets: queue.backlog_packets(),
            bytes: queue.backlog_bytes(),
            service_ends_ps: port.busy_until_ps,
        }
    }

    /// Returns the time in picoseconds at which a port will have sent all its packets, if its rate does not change.
    /// `headers` contains the headers of all packets by id.
    pub fn all_sent_at_ps(&self, port: u32, headers: &[Packet]) -> u64 {
        let port = &self.ports[port as usize];
        let class = self.class(port);
        if class.drop_tail.is_some() {
            return port.busy_until_ps;
        }
        let waiting = self.generals[port.place as usize].queue.waiting();
        let service = |id: PacketId| class.serialisation_ps(headers[id.0 as usize].size);
        port.busy_until_ps + waiting.map(service).sum::<u64>()
    }

    /// Returns the number of bytes queued at a port.
    pub fn backlog_bytes(&self, now: Time, port: u32) -> u64 {
        self.backlog(now, port).bytes
    }

    /// Returns the current rate of a port.
    pub fn rate(&self, port: u32) -> Rate {
        self.class(&self.ports[port as usize]).rate
    }

    pub fn first_port(&self, switch: u32) -> u32 {
        self.switches[switch as usize].first_port
    }

    /// Returns the port index that ECMP chooses at a switch.
    pub fn ecmp(&self, switch: u32, packet: &Packet, count: u32) -> u32 {
        self.switches[switch as usize].balancer.ecmp(packet, count)
    }

    pub fn forwarding(&self, switch: u32) -> &Forwarding {
        &self.switches[switch as usize].forwarding
    }

    /// Returns the port through which a packet to one host leaves a switch, or `None` if no port leads to the host.
    #[inline]
    pub fn egress(&mut self, now: Time, switch: u32, packet: &Packet) -> Option<u32> {
        let Switch {
            forwarding,
            balancer,
            first_port,
        } = &mut self.switches[switch as usize];
        // Built-in balancers need only the packet, and not the state of the ports.
        // The state of the ports is collected only for custom balancers (`ask`).
        let within = match forwarding {
            Forwarding::Clos(clos) => {
                let group = clos.towards(packet.dst);
                let choice = match forced(packet, group.count, clos.pin_divisor)? {
                    Some(choice) => choice,
                    None => match balancer.select(now, packet, &Choices::Range(group)) {
                        Some(choice) => choice,
                        None => return self.ask(now, switch, packet),
                    },
                };
                group.first + choice
            }
            Forwarding::Table(table) => {
                let group = table.towards(packet.dst);
                let count = group.len() as u32;
                let choice = match forced(packet, count, table.pin_divisor)? {
                    Some(choice) => choice,
                    None => match balancer.select(now, packet, &Choices::List(group)) {
                        Some(choice) => choice,
                        None => return self.ask(now, switch, packet),
                    },
                };
                u32::from(group[choice as usize])
            }
        };
        Some(*first_port + within)
    }

    /// Returns the port that a custom load balancer chooses.
    #[cold]
    #[inline(never)]
    fn ask(&mut self, now: Time, switch: u32, packet: &Packet) -> Option<u32> {
        let first_port = self.first_port(switch);
        let ports: Vec<u32> = self
            .forwarding(switch)
            .towards(packet.dst)
            .ports()
            .collect();
        let views: Vec<PortView> = ports
            .iter()
            .map(|&port| self.view(now, first_port, port))
            .collect();
        let choice = self.switches[switch as usize]
            .balancer
            .ask(now, packet, &views);
        // The balancer of a user may return any number. If it is too large, the last port is used.
        let choice = choice.min(ports.len().saturating_sub(1));
        ports.get(choice).map(|port| first_port + port)
    }

    /// Returns the state of a port that the load balancer of its switch can read.
    fn view(&self, now: Time, first_port: u32, port: u32) -> PortView {
        let number = first_port + port;
        let state = &self.ports[number as usize];
        let backlog = self.backlog(now, number);
        PortView {
            port,
            backlog_bytes: backlog.bytes,
            backlog_packets: backlog.packets,
            rate: self.rate(number),
            is_up: self.far_ends[number as usize] != NOWHERE,
            accepted_packets: state.transmitted_packets,
            accepted_bytes: state.transmitted_bytes,
            dropped: self.dropped[number as usize],
        }
    }
}

/// Returns the choice that a packet must take among `count` ports.
/// The choice is the only port, or the port of the packet's pinned path.
/// Returns `Some(None)` if every port is allowed, and `None` if there is no port.
#[inline(always)]
pub(crate) fn forced(packet: &Packet, count: u32, pin_divisor: u32) -> Option<Option<u32>> {
    match count {
        0 => None,
        1 => Some(Some(0)),
        n if packet.path != Packet::ANY_PATH => {
            // Each tier uses a different digit of the path number, so that different paths use different ports.
            Some(Some(u32::from(packet.path) / pin_divisor % n))
        }
        _ => Some(None),
    }
}

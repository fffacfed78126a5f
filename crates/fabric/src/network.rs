//! The state of links, ports and switches: what packets move through.

use crate::fifo::{self, Rings};
use crate::forwarding::Forwarding;
use crate::general::General;
use crate::links::Lossy;
use crate::load_balancer::balancer::Balancer;
use crate::load_balancer::own::PortView;
use crate::packet::Packet;
use crate::port::{Backlog, Port, PortClass};
use crate::queue::PhantomState;
use crate::shared_buffer::Pool;
use alloc::collections::BTreeMap;
use alloc::vec::Vec;
use tailcut_units::{Rate, Time};

/// Where a link ends: a switch, or with this bit a host.
pub(crate) const HOST: u32 = 1 << 31;
/// The far end of a link that is down.
pub(crate) const NOWHERE: u32 = HOST | (HOST - 1);
/// The far end of a link that loses packets, which [`Network::lossy`] knows.
pub(crate) const LOSSY: u32 = NOWHERE - 1;

#[derive(Debug)]
pub(crate) struct Switch {
    pub forwarding: Forwarding,
    pub balancer: Balancer,
    pub first_port: u32,
}

/// Links, ports and switches.
#[derive(Debug, Default)]
pub(crate) struct Network {
    pub ports: Vec<Port>,
    /// The node at the other end of each port's link.
    pub far_ends: Vec<u32>,
    pub classes: Vec<PortClass>,
    pub rings: Rings,
    pub generals: Vec<General>,
    /// A phantom queue for each port, where any port has one.
    pub phantoms: Vec<PhantomState>,
    pub switches: Vec<Switch>,
    /// The shared buffers of switches.
    pub pools: Vec<Pool>,
    /// Packets dropped at each port.
    pub dropped: Vec<u64>,
    /// Links that lose packets at random, or have done so.
    pub lossy: BTreeMap<u32, Lossy>,
}

impl Network {
    #[inline]
    pub fn class(&self, port: &Port) -> &PortClass {
        &self.classes[usize::from(port.class)]
    }

    /// The node at the other end of a port's link, whatever the link loses; [`NOWHERE`] if it is down.
    pub fn far_end(&self, port: u32) -> u32 {
        match self.far_ends[port as usize] {
            LOSSY => self.lossy.get(&port).map_or(NOWHERE, |lossy| lossy.far_end),
            far_end => far_end,
        }
    }

    /// The number of a class of ports, new or known.
    pub fn class_number(&mut self, class: PortClass) -> u16 {
        let known = self.classes.iter().position(|other| *other == class);
        let number = known.unwrap_or_else(|| {
            self.classes.push(class);
            self.classes.len() - 1
        });
        u16::try_from(number).expect("fewer than 65,536 kinds of ports")
    }

    /// What is queued at a port at `now`.
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

    /// Bytes that are queued at a port.
    pub fn backlog_bytes(&self, now: Time, port: u32) -> u64 {
        self.backlog(now, port).bytes
    }

    /// A port's rate now.
    pub fn rate(&self, port: u32) -> Rate {
        self.class(&self.ports[port as usize]).rate
    }

    pub fn first_port(&self, switch: u32) -> u32 {
        self.switches[switch as usize].first_port
    }

    /// The choice of ECMP.
    pub fn ecmp(&self, switch: u32, packet: &Packet, count: u32) -> u32 {
        self.switches[switch as usize].balancer.ecmp(packet, count)
    }

    pub fn forwarding(&self, switch: u32) -> &Forwarding {
        &self.switches[switch as usize].forwarding
    }

    /// The port through which a packet to one host leaves a switch; `None` where none leads there.
    #[inline]
    pub fn egress(&mut self, now: Time, switch: u32, packet: &Packet) -> Option<u32> {
        let Switch {
            forwarding,
            balancer,
            first_port,
        } = &mut self.switches[switch as usize];
        let within = match forwarding {
            Forwarding::Clos(clos) => {
                let group = clos.towards(packet.dst);
                let choice = match forced(packet, group.count, clos.pin_divisor)? {
                    Some(choice) => choice,
                    None => match balancer.select(now, packet, group.count) {
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
                    None => match balancer.select(now, packet, count) {
                        Some(choice) => choice,
                        None => return self.ask(now, switch, packet),
                    },
                };
                u32::from(group[choice as usize])
            }
        };
        Some(*first_port + within)
    }

    /// The choice of a user's own load balancer.
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
        let choice = choice.min(ports.len().saturating_sub(1));
        ports.get(choice).map(|port| first_port + port)
    }

    /// What a load balancer sees of a port of its switch.
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

/// Which of `count` ports a packet has to take: the only one, or the one of the path that its sender has
/// pinned; `Some(None)` where it has a choice, `None` where there is no port.
#[inline(always)]
pub(crate) fn forced(packet: &Packet, count: u32, pin_divisor: u32) -> Option<Option<u32>> {
    match count {
        0 => None,
        1 => Some(Some(0)),
        n if packet.path != Packet::ANY_PATH => {
            Some(Some(u32::from(packet.path) / pin_divisor % n))
        }
        _ => Some(None),
    }
}

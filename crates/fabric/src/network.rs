//! The state of links, ports and switches: what packets move through.

use crate::fifo::{self, Rings};
use crate::forwarding::Forwarding;
use crate::general::General;
use crate::load_balancer::balancer::{Balancer, PortView};
use crate::packet::Packet;
use crate::port::{Backlog, Port, PortClass};
use crate::queue::PhantomState;
use crate::shared_buffer::Pool;
use alloc::vec::Vec;
use tailcut_units::{Rate, Time};

/// Where a link ends: a switch, or with this bit a host.
pub(crate) const HOST: u32 = 1 << 31;
/// The far end of a link that is down.
pub(crate) const NOWHERE: u32 = HOST | (HOST - 1);

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
}

impl Network {
    #[inline]
    pub fn class(&self, port: &Port) -> &PortClass {
        &self.classes[usize::from(port.class)]
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
    #[inline]
    pub fn backlog(&self, now: Time, port: u32) -> Backlog {
        backlog(
            now,
            &self.ports,
            &self.classes,
            &self.rings,
            &self.generals,
            port,
        )
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
        let Self {
            ports,
            far_ends,
            classes,
            rings,
            generals,
            switches,
            dropped,
            ..
        } = self;
        let Switch {
            forwarding,
            balancer,
            first_port,
        } = &mut switches[switch as usize];
        let view = |within: u32| {
            let number = *first_port + within;
            let port = &ports[number as usize];
            let backlog = backlog(now, ports, classes, rings, generals, number);
            PortView {
                port: within,
                backlog_bytes: backlog.bytes,
                backlog_packets: backlog.packets,
                rate: classes[usize::from(port.class)].rate,
                is_up: far_ends[number as usize] != NOWHERE,
                accepted_packets: port.transmitted_packets,
                accepted_bytes: port.transmitted_bytes,
                dropped: dropped[number as usize],
            }
        };
        let within = match forwarding {
            Forwarding::Clos(clos) => {
                let group = clos.towards(packet.dst);
                let choice = forced(packet, group.count, clos.pin_divisor)?;
                let select =
                    || balancer.select(now, packet, group.count, |i| view(group.first + i));
                group.first + choice.unwrap_or_else(select)
            }
            Forwarding::Table(table) => {
                let group = table.towards(packet.dst);
                let count = group.len() as u32;
                let choice = forced(packet, count, table.pin_divisor)?;
                let port = |i: u32| u32::from(group[i as usize]);
                let select = || balancer.select(now, packet, count, |i| view(port(i)));
                port(choice.unwrap_or_else(select))
            }
        };
        Some(*first_port + within)
    }
}

/// Which of `count` ports a packet has to take: the only one, or the one that its sender has pinned.
/// `Some(None)` where it is free, `None` where there is no port.
#[inline]
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

/// What is queued at a port at `now`; apart from [`Network`] where a part of it is borrowed.
#[inline]
fn backlog(
    now: Time,
    ports: &[Port],
    classes: &[PortClass],
    rings: &Rings,
    generals: &[General],
    port: u32,
) -> Backlog {
    let port = &ports[port as usize];
    let class = &classes[usize::from(port.class)];
    if class.drop_tail.is_some() {
        return fifo::backlog(now.as_ps(), port, class, rings);
    }
    let queue = &generals[port.place as usize].queue;
    Backlog {
        packets: queue.backlog_packets(),
        bytes: queue.backlog_bytes(),
        service_ends_ps: port.busy_until_ps,
    }
}

//! Where a switch sends a packet: one port down, or a group of equal-cost ports.

use alloc::boxed::Box;
use alloc::vec::Vec;
use tailcut_units::HostId;

/// A switch's ports towards a destination: `count` equal-cost ports from `first`, numbered within
/// the switch.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Group {
    /// The first port.
    pub first: u32,
    /// How many; 0 when no port leads there.
    pub count: u32,
}

/// Forwarding by arithmetic, for regular Clos networks: the hosts below a switch are a range, split
/// evenly over its down ports; everything else goes up.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Clos {
    /// The first host below this switch.
    pub first_host: u32,
    /// Hosts below it.
    pub hosts: u32,
    /// Hosts behind each child.
    pub hosts_per_child: u32,
    /// Parallel ports to each child; ports to child c are `c * ports_per_child ..`.
    pub ports_per_child: u32,
    /// Number of its up ports, which follow the down ports; 0 at the top.
    pub up_ports: u32,
    /// A pinned path p takes up port `(p / pin_divisor) % up_ports`.
    pub pin_divisor: u32,
}

/// Forwarding by table, for any network.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Table {
    /// The group of ports towards each host, by index into `groups`.
    pub by_host: Box<[u16]>,
    /// Lists of ports, numbered within the switch.
    pub groups: Vec<Box<[u16]>>,
    /// A pinned path p takes the port `(p / pin_divisor) % len` of a group.
    pub pin_divisor: u32,
}

/// How a switch forwards.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Forwarding {
    /// By arithmetic.
    Clos(Clos),
    /// By table.
    Table(Table),
}

/// A switch's equal-cost ports towards a destination, whichever way it forwards.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Choices<'a> {
    Range(Group),
    List(&'a [u16]),
}

impl Choices<'_> {
    pub const fn count(&self) -> u32 {
        match self {
            Self::Range(group) => group.count,
            Self::List(ports) => ports.len() as u32,
        }
    }

    /// The port of a choice below `count`, numbered within the switch.
    pub fn port(&self, choice: u32) -> u32 {
        match self {
            Self::Range(group) => group.first + choice,
            Self::List(ports) => u32::from(ports[choice as usize]),
        }
    }

    /// All ports, in the order of the choices.
    pub fn ports(&self) -> impl Iterator<Item = u32> {
        (0..self.count()).map(|choice| self.port(choice))
    }

    /// The choice that is a port, if one is.
    #[inline]
    pub fn position(&self, port: u32) -> Option<u32> {
        match self {
            Self::Range(group) => {
                let choice = port.wrapping_sub(group.first);
                (choice < group.count).then_some(choice)
            }
            Self::List(ports) => {
                let choice = ports.iter().position(|&its| u32::from(its) == port);
                choice.map(|choice| choice as u32)
            }
        }
    }

    pub fn contains(&self, port: u32) -> bool {
        self.position(port).is_some()
    }
}

impl Forwarding {
    /// The ports towards `dst`.
    pub(crate) fn towards(&self, dst: HostId) -> Choices<'_> {
        match self {
            Self::Clos(clos) => Choices::Range(clos.towards(dst)),
            Self::Table(table) => Choices::List(table.towards(dst)),
        }
    }

    /// See [`Clos::pin_divisor`].
    pub(crate) const fn pin_divisor(&self) -> u32 {
        match self {
            Self::Clos(clos) => clos.pin_divisor,
            Self::Table(table) => table.pin_divisor,
        }
    }
}

impl Clos {
    /// The ports towards `dst`.
    #[inline]
    pub const fn towards(&self, dst: HostId) -> Group {
        let below = dst.0.wrapping_sub(self.first_host);
        if below < self.hosts {
            Group {
                first: below / self.hosts_per_child * self.ports_per_child,
                count: self.ports_per_child,
            }
        } else {
            Group {
                first: self.hosts / self.hosts_per_child * self.ports_per_child,
                count: self.up_ports,
            }
        }
    }
}

impl Table {
    /// The ports towards `dst`; empty when there is none.
    #[inline]
    pub fn towards(&self, dst: HostId) -> &[u16] {
        let group = self.by_host.get(dst.0 as usize);
        group
            .and_then(|&group| self.groups.get(usize::from(group)))
            .map_or(&[], |ports| ports)
    }
}

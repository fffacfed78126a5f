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
/// evenly over its down ports, one a child; everything else goes up.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Clos {
    first_host: u32,
    hosts: u32,
    /// The child of a host is its place in the range times this, over 2^63: no division a hop.
    child: u64,
    up: Group,
    pub(crate) pin_divisor: u32,
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
    /// A switch above `hosts` hosts from `first_host` on, `hosts_per_child` (1 or more) behind each of
    /// its down ports; its `up_ports` follow these, none at the top. A pinned path p takes up port
    /// `(p / pin_divisor) % up_ports`.
    pub const fn new(
        first_host: u32,
        hosts: u32,
        hosts_per_child: u32,
        up_ports: u32,
        pin_divisor: u32,
    ) -> Self {
        Self {
            first_host,
            hosts,
            // Rounded up, this is exact: it is off by less than the divisor, and 2^32 times that is
            // below 2^63 for every range of 2^31 hosts.
            child: (1u64 << 63).div_ceil(hosts_per_child as u64),
            up: Group {
                first: hosts / hosts_per_child,
                count: up_ports,
            },
            pin_divisor,
        }
    }

    /// The ports towards `dst`.
    #[inline]
    pub const fn towards(&self, dst: HostId) -> Group {
        let below = dst.0.wrapping_sub(self.first_host);
        if below < self.hosts {
            let product = below as u128 * self.child as u128;
            Group {
                first: (product >> 63) as u32,
                count: 1,
            }
        } else {
            self.up
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

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_host_is_below_the_child_that_a_division_says(
            first in 0..1u32 << 20,
            children in 1..5_000u32,
            each in 1..5_000u32,
            place in any::<u32>(),
        ) {
            let hosts = children * each;
            let clos = Clos::new(first, hosts, each, 3, 1);
            let below = place % hosts;
            let down = Group { first: below / each, count: 1 };
            prop_assert_eq!(clos.towards(HostId(first + below)), down);
            let up = Group { first: children, count: 3 };
            prop_assert_eq!(clos.towards(HostId(first + hosts)), up);
        }
    }
}

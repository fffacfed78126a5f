//! Forwarding at a switch. One port leads down to a destination below the switch.
//! Several equal-cost ports may lead to any other destination.

use alloc::boxed::Box;
use alloc::vec::Vec;
use tailcut_units::HostId;

/// Group of equal-cost ports of a switch towards a destination: `count` ports from `first`.
/// Ports are numbered within the switch.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Group {
    /// First port of the group.
    pub first: u32,
    /// Number of ports. 0 means that no port leads to the destination.
    pub count: u32,
}

/// Forwarding by arithmetic, for regular Clos networks. The hosts below a switch are a range of numbers.
/// The range is divided evenly among the down ports, with one child per port. Packets to all other hosts go up.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Clos {
    first_host: u32,
    hosts: u32,
    /// Factor from which the child of a host is computed without a division.
    /// The child is the host's index in the range times this factor, divided by 2^63.
    /// At each hop, the multiplication by the factor is faster than a division.
    child: u64,
    up: Group,
    pub(crate) pin_divisor: u32,
}

/// Forwarding by table, for any network.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Table {
    /// For each host, the index in `groups` of the ports that lead to the host.
    pub by_host: Box<[u16]>,
    /// Lists of ports. Ports are numbered within the switch.
    pub groups: Vec<Box<[u16]>>,
    /// Divisor for pinned paths. Path p takes the port `(p / pin_divisor) % len` of a group.
    pub pin_divisor: u32,
}

/// Rule by which a switch forwards packets.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Forwarding {
    /// Forwarding by arithmetic.
    Clos(Clos),
    /// Forwarding by table.
    Table(Table),
}

/// Equal-cost ports of a switch towards a destination, from either kind of forwarding.
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

    /// Returns the port of a choice. `choice` must be below `count`. Ports are numbered within the switch.
    pub fn port(&self, choice: u32) -> u32 {
        match self {
            Self::Range(group) => group.first + choice,
            Self::List(ports) => u32::from(ports[choice as usize]),
        }
    }

    /// Returns all ports in the order of their choices.
    pub fn ports(&self) -> impl Iterator<Item = u32> {
        (0..self.count()).map(|choice| self.port(choice))
    }

    /// Returns the choice that gives a port, or `None` if the port is not among the choices.
    #[inline]
    pub fn position(&self, port: u32) -> Option<u32> {
        match self {
            Self::Range(group) => {
                // A port before the group wraps to a large number, so one comparison checks both ends of the group.
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
    /// Returns the ports that lead to the host `dst`.
    pub(crate) fn towards(&self, dst: HostId) -> Choices<'_> {
        match self {
            Self::Clos(clos) => Choices::Range(clos.towards(dst)),
            Self::Table(table) => Choices::List(table.towards(dst)),
        }
    }

    /// Returns the divisor for pinned paths (see [`Table::pin_divisor`]).
    pub(crate) const fn pin_divisor(&self) -> u32 {
        match self {
            Self::Clos(clos) => clos.pin_divisor,
            Self::Table(table) => table.pin_divisor,
        }
    }
}

impl Clos {
    /// Creates the forwarding of a switch above `hosts` hosts, whose numbers start at `first_host`.
    /// Each down port leads to `hosts_per_child` hosts (1 or more). `up_ports` up ports follow the down ports.
    /// A switch at the top has no up ports. A pinned path p uses the up port `(p / pin_divisor) % up_ports`.
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
            // The factor is rounded up, and results are still exact. The error of the factor is less than the divisor.
            // For a range of at most 2^31 hosts, 2^32 times the error is below 2^63.
            child: (1u64 << 63).div_ceil(hosts_per_child as u64),
            up: Group {
                first: hosts / hosts_per_child,
                count: up_ports,
            },
            pin_divisor,
        }
    }

    /// Returns the ports that lead to the host `dst`.
    #[inline]
    pub const fn towards(&self, dst: HostId) -> Group {
        // A host before the range wraps to a large number, so one comparison checks both ends of the range.
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
    /// Returns the ports that lead to the host `dst`, or an empty slice if no port leads there.
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

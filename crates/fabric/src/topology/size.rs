//! Size of a network, which is checked before the network is built.
//! A network that is too large would need too much time and memory.

use super::error::TopologyError;

/// Largest number of hosts. A fat-tree of 64-port switches has this number.
pub const MOST_HOSTS: u64 = 65_536;
/// Largest number of links: about five times the number in a fat-tree of 64-port switches (196,608).
pub const MOST_LINKS: u64 = 1_000_000;
/// Largest number of ports of a switch, because forwarding tables contain numbers of 16 bits.
pub const MOST_PORTS: u64 = 65_535;
/// Largest product of the numbers of hosts and switches in a custom network.
/// Each switch has one entry of two bytes for each host, so the tables need at most 200 MB.
pub const MOST_ENTRIES: u64 = 100_000_000;

/// Number of parts of one kind in a network, and the parameter that determines this number.
pub(super) struct Part {
    pub parameter: &'static str,
    pub count: u64,
}

impl Part {
    pub const fn new(parameter: &'static str, count: u64) -> Self {
        Self { parameter, count }
    }

    /// Rejects the network if it has more than `most` parts of this kind. `what` names the parts in the plural.
    pub fn at_most(&self, most: u64, what: &str) -> Result<(), TopologyError> {
        if self.count <= most {
            return Ok(());
        }
        let found = alloc::format!("{} {what} in total", self.count);
        Err(TopologyError::new(
            self.parameter,
            found,
            alloc::format!("at most {most}"),
        ))
    }
}

/// Numbers of parts in a network.
pub(super) struct Size {
    pub hosts: Part,
    /// Number of links of all kinds. Each link is counted once.
    pub links: Part,
    /// Number of ports of the switch that has the most ports.
    pub ports: Part,
}

impl Size {
    /// Rejects a network that is too large.
    pub fn check(&self) -> Result<(), TopologyError> {
        self.hosts.at_most(MOST_HOSTS, "hosts")?;
        self.links.at_most(MOST_LINKS, "links")?;
        self.ports.at_most(MOST_PORTS, "ports of a switch")
    }
}

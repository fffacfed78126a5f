//! Size of a network. It is checked before the network is built, because the time and the memory of a larger network
//! would grow without a result.

use super::error::TopologyError;

/// Largest number of hosts: a fat-tree of 64-port switches.
pub const MOST_HOSTS: u64 = 65_536;
/// Largest number of links: five times as many as a fat-tree of 64-port switches has (196,608).
pub const MOST_LINKS: u64 = 1_000_000;
/// Largest number of ports of a switch. Forwarding tables store 16-bit numbers.
pub const MOST_PORTS: u64 = 65_535;
/// Largest product of hosts and switches in a network of the user, whose switches have one entry for each host. An
/// entry has two bytes, so the tables need at most 200 MB.
pub const MOST_ENTRIES: u64 = 100_000_000;

/// Number of parts of a kind in a network, with the parameter that determines it.
pub(super) struct Part {
    pub parameter: &'static str,
    pub count: u64,
}

impl Part {
    pub const fn new(parameter: &'static str, count: u64) -> Self {
        Self { parameter, count }
    }

    /// Rejects more than `most` of these parts. `what` is their plural.
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

/// Size of a network.
pub(super) struct Size {
    pub hosts: Part,
    /// Links of all kinds, each counted once.
    pub links: Part,
    /// Ports of the switch with most ports.
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

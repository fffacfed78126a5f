//! Points where packets are captured. A point has the same name as its host or port in output tables.

use tailcut_fabric::PortId;
use tailcut_fabric::topology::{Node, Topology};
use tailcut_units::{HostId, Rate};

/// Largest number of names in an error message.
const NAMES_SHOWN: usize = 3;

/// Interface of a capture.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct CapturePoint {
    /// Name of the host or port.
    pub name: String,
    /// Rate of the links of the host or port.
    pub rate: Rate,
}

/// Points where packets are captured: hosts, or all ports with the same name.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CapturePoints {
    pub(crate) all: Vec<CapturePoint>,
    /// For each port, the index in `all` of the point that captures its packets.
    of_ports: Vec<Option<u32>>,
    /// For each host, the index in `all` of the point that captures packets which reach it.
    of_hosts: Vec<Option<u32>>,
}

/// Error: the network has no host or port of this name.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("no such host or port; allowed: {allowed}")]
pub struct UnknownCapturePoint {
    /// Allowed names.
    pub allowed: String,
}

impl CapturePoints {
    fn none(topology: &Topology) -> Self {
        Self {
            all: Vec::new(),
            of_ports: vec![None; topology.links.len()],
            of_hosts: vec![None; topology.hosts() as usize],
        }
    }

    /// Adds a point that captures the packets of a host's uplinks, and the packets that reach the host.
    fn with_host(mut self, topology: &Topology, host: HostId) -> Self {
        let number = self.all.len() as u32;
        self.all.push(CapturePoint {
            name: topology.name_of(Node::Host(host)),
            rate: topology.host_rate(host),
        });
        for uplink in topology.uplinks_of(host) {
            self.of_ports[uplink as usize] = Some(number);
        }
        self.of_hosts[host.0 as usize] = Some(number);
        self
    }

    /// Adds a point for the port `FROM>TO`.
    fn with_port(mut self, topology: &Topology, port: PortId) -> Self {
        let number = self.all.len() as u32;
        self.all.push(CapturePoint {
            name: topology.link_name(port.0).unwrap_or_default(),
            rate: topology.links[port.0 as usize].config.rate,
        });
        self.of_ports[port.0 as usize] = Some(number);
        self
    }

    /// Returns the capture points that a name selects.
    /// The name is a host such as `h3`, a port such as `h3>leaf[0]` (or `h3>s0`, by numbers), or `all` for every host.
    ///
    /// # Errors
    /// The network has no host or port of this name.
    pub fn named(topology: &Topology, name: &str) -> Result<Self, UnknownCapturePoint> {
        let none = Self::none(topology);
        let hosts = (0..topology.hosts()).map(HostId);
        if name == "all" {
            return Ok(hosts.fold(none, |points, host| points.with_host(topology, host)));
        }
        let is_named = |host: &HostId| topology.name_of(Node::Host(*host)) == name;
        if let Some(host) = hosts.clone().find(is_named) {
            return Ok(none.with_host(topology, host));
        }
        let ports = 0..topology.links.len() as u32;
        let names = |port| [topology.link_name(port), topology.port_name(port)];
        // Parallel links have names such as `a>b#1`.
        // The name without a number selects all parallel links, each with a separate interface.
        let has_name = |port: u32, its: &str| {
            let number = topology.links[port as usize].number;
            let rest = its.strip_prefix(name);
            rest.is_some_and(|rest| rest.is_empty() || number.is_some() && rest.starts_with('#'))
        };
        let ports =
            ports.filter(|&port| names(port).iter().flatten().any(|its| has_name(port, its)));
        let points = ports.fold(none, |points, port| {
            points.with_port(topology, PortId(port))
        });
        match points.all.is_empty() {
            true => Err(unknown(topology)),
            false => Ok(points),
        }
    }

    /// Returns the names of a network's hosts, followed by the names of its ports.
    pub fn names(topology: &Topology) -> impl Iterator<Item = String> {
        let hosts = (0..topology.hosts()).map(|host| topology.name_of(Node::Host(HostId(host))));
        let ports = 0..topology.links.len() as u32;
        hosts.chain(ports.filter_map(|port| topology.link_name(port)))
    }

    /// Returns the index of the point that captures packets of a port.
    pub(crate) fn of_port(&self, port: PortId) -> Option<u32> {
        self.of_ports.get(port.0 as usize).copied().flatten()
    }

    /// Returns the index of the point that captures packets which reach a host.
    pub(crate) fn of_host(&self, host: HostId) -> Option<u32> {
        self.of_hosts.get(host.0 as usize).copied().flatten()
    }
}

fn unknown(topology: &Topology) -> UnknownCapturePoint {
    let hosts = topology.hosts() as usize;
    let listed = |names: &mut dyn Iterator<Item = String>, of: usize| {
        let first: Vec<String> = names.take(NAMES_SHOWN).collect();
        let more = if of > first.len() { ", ..." } else { "" };
        format!("{}{more}", first.join(", "))
    };
    let first_hosts = listed(&mut CapturePoints::names(topology).take(hosts), hosts);
    let ports = topology.links.len();
    let first_ports = listed(&mut CapturePoints::names(topology).skip(hosts), ports);
    UnknownCapturePoint {
        allowed: format!(
            "all, one of {hosts} hosts ({first_hosts}), or one of {ports} ports, FROM>TO \
             ({first_ports}): the table `topology` has their names"
        ),
    }
}

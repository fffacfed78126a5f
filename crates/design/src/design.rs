//! Type of a design. A design is one value with a transport of hosts, queues of switch ports and a load balancer.

use crate::hosts::{Hosts, Nic};
use crate::kernel::Kernel;
use crate::ports::Ports;
use crate::replication::Replication;
use crate::settings::Settings;
use tailcut_fabric::load_balancer::{Choice, NamedBalancer};
use tailcut_units::parameter::Parameter;

/// Transport of hosts and queues of switch ports, as one paper or RFC publishes them.
#[derive(Clone)]
pub struct Design {
    /// Name of the design: a lowercase letter, followed by lowercase letters, digits and `-`.
    pub name: &'static str,
    /// One-line description, which `tailcut list designs` prints.
    pub summary: &'static str,
    /// Paper or RFC that publishes the design. Empty if there is none.
    pub source: &'static str,
    /// Parameters of the design. The section with the design's name contains their keys.
    pub parameters: &'static [Parameter],
    /// Whether a flow starts with a round trip before its data.
    pub handshake: bool,
    /// Whether one transfer may have several senders or several receivers.
    pub several_ends: bool,
    /// Whether the sender can choose the path of each packet, as in the load balancer `permute`.
    pub chooses_paths: bool,
    /// Load balancer of the switches if the name of the stack contains none.
    pub balancer: &'static str,
    /// Transport of the hosts.
    pub hosts: Hosts,
    /// Layer between a host's transport and its link.
    pub nic: Nic,
    /// Queues of the switch ports.
    pub ports: Ports,
}

impl Design {
    /// Returns a design with TCP and ordinary switches. Use this design for default fields: `..Design::over_tcp()`.
    /// The name is empty, and there are no hosts.
    pub fn over_tcp() -> Self {
        Self {
            name: "",
            summary: "",
            source: "",
            parameters: &[],
            handshake: true,
            several_ends: false,
            chooses_paths: false,
            balancer: "ecmp",
            hosts: Hosts::none(),
            nic: Nic::Plain,
            ports: Ports::network(|settings| settings.tcp.classic_ecn),
        }
    }

    /// Returns the program that runs the design's transport on real hosts.
    pub const fn kernel(&self) -> Kernel {
        match self.nic {
            Nic::SmallFirst(..) => Kernel::Missing("kernels have no information about flow sizes"),
            Nic::Plain | Nic::Paced(..) => self.hosts.kernel(),
        }
    }

    /// Returns whether the design sends packets through a network. The design `stations` does not.
    pub const fn has_packets(&self) -> bool {
        !self.hosts.is_none()
    }

    /// Returns whether requests with copies can use the design. There are three conditions:
    /// The hosts carry requests. The ports can have one more class, for copies, below their other classes.
    /// The network card has no layer, because hosts that carry requests have no layer in the network card.
    pub const fn carries_requests(&self) -> bool {
        self.hosts.carry_requests() && matches!(self.nic, Nic::Plain) && self.ports.takes_copies
    }

    /// Returns whether a replication can use the design. RepFlow and RepSYN need TCP connections.
    pub const fn carries(&self, replication: Replication) -> bool {
        match replication {
            Replication::None => true,
            Replication::RepFlow | Replication::RepSyn | Replication::Mixed => self.hosts.are_tcp(),
            Replication::Duplicates(_) => self.carries_requests(),
        }
    }

    /// Returns the reason why the design does not work with a load balancer, or `None` if it works.
    pub fn obstacle(&self, balancer: &NamedBalancer) -> Option<&'static str> {
        if balancer.name == "ecmp" {
            None
        } else if !self.has_packets() {
            Some("stations have no network")
        } else if balancer.choice == Choice::Sender && !self.chooses_paths {
            Some("only the senders of ndp and ndp-plus choose paths")
        } else if balancer.needs_handshake && !self.handshake {
            Some(
                "it chooses a flow's path on its handshake, but flows of this design have no handshake",
            )
        } else {
            None
        }
    }

    /// Returns whether the design reads a key, such as `tcp.min_rto`.
    /// The key may be a key of the hosts, of the ports, or of the design's own section.
    pub fn reads(&self, key: &str, settings: &Settings) -> bool {
        let is_own = |name: &str| self.parameters.iter().any(|own| own.name == name);
        match key.split_once('.') {
            Some(("queue", "mark_above")) => self.ports.marks(settings),
            Some((section, name)) if section == section_of(self.name) && is_own(name) => true,
            _ => self.hosts.reads(key) || self.nic.reads(key) || self.ports.reads(key),
        }
    }
}

/// Returns the section of a part's parameters: the part's name with `_` in place of `-`.
pub fn section_of(name: &str) -> String {
    name.replace('-', "_")
}

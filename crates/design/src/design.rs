//! A design as one value.

use crate::hosts::{Hosts, Nic};
use crate::kernel::Kernel;
use crate::ports::Ports;
use crate::replication::Replication;
use crate::settings::Settings;
use tailcut_fabric::load_balancer::{Choice, NamedBalancer};
use tailcut_units::parameter::Parameter;

/// A published design: the hosts and the switch ports that carry the bytes.
#[derive(Clone)]
pub struct Design {
    /// Name: a lowercase letter, then lowercase letters, digits and `-`.
    pub name: &'static str,
    /// One line for `tailcut list designs`.
    pub summary: &'static str,
    /// Paper or RFC; empty if there is none.
    pub source: &'static str,
    /// Keys that the design adds, in the section of its name.
    pub parameters: &'static [Parameter],
    /// Whether flows begin with a round trip before any data.
    pub handshake: bool,
    /// Whether one transfer may have several senders or several receivers.
    pub several_ends: bool,
    /// Whether the sender can choose the path of each packet (`@permute`).
    pub chooses_paths: bool,
    /// Load balancer of the switches if the name of the run gives none.
    pub balancer: &'static str,
    /// Transport of the hosts.
    pub hosts: Hosts,
    /// Layer between a host's transport and its link.
    pub nic: Nic,
    /// Queues of the switch ports.
    pub ports: Ports,
}

impl Design {
    /// Returns the base of designs over TCP and ordinary switches, for `..Design::over_tcp()`. It has no name and no
    /// hosts.
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
            Nic::SmallFirst(..) => Kernel::Missing("kernels do not know the sizes of flows"),
            Nic::Plain | Nic::Paced(..) => self.hosts.kernel(),
        }
    }

    /// Returns whether packets cross a network; `stations` has none.
    pub const fn has_packets(&self) -> bool {
        !self.hosts.is_none()
    }

    /// Returns whether requests with copies run over the design: its hosts carry them, and a class for copies fits
    /// below the classes of its ports. Requests do not pass layers of network cards.
    pub const fn carries_requests(&self) -> bool {
        self.hosts.carry_requests() && matches!(self.nic, Nic::Plain) && self.ports.takes_copies
    }

    /// Returns whether a replication is a layer over the design. RepNet is a layer over connections of TCP.
    pub const fn carries(&self, replication: Replication) -> bool {
        match replication {
            Replication::None => true,
            Replication::RepFlow | Replication::RepSyn | Replication::Mixed => self.hosts.are_tcp(),
            Replication::Duplicates(_) => self.carries_requests(),
        }
    }

    /// Returns why the design does not work with a load balancer, or `None` if it does.
    pub fn obstacle(&self, balancer: &NamedBalancer) -> Option<&'static str> {
        if balancer.name == "ecmp" {
            None
        } else if !self.has_packets() {
            Some("there is no network between stations")
        } else if balancer.choice == Choice::Sender && !self.chooses_paths {
            Some("only the senders of ndp and ndp-plus choose paths")
        } else if balancer.needs_handshake && !self.handshake {
            Some(
                "it chooses a flow's path on its handshake; without one every flow would stay on ECMP",
            )
        } else {
            None
        }
    }

    /// Returns whether the design reads a key of hosts, ports or its own section, such as `tcp.min_rto`.
    pub fn reads(&self, key: &str, settings: &Settings) -> bool {
        let is_own = |name: &str| self.parameters.iter().any(|own| own.name == name);
        match key.split_once('.') {
            Some(("queue", "mark_above")) => self.ports.marks(settings),
            Some((section, name)) if section == section_of(self.name) && is_own(name) => true,
            _ => self.hosts.reads(key) || self.nic.reads(key) || self.ports.reads(key),
        }
    }
}

/// Returns the section of a part's parameters: its name with `_` for `-`.
pub fn section_of(name: &str) -> String {
    name.replace('-', "_")
}

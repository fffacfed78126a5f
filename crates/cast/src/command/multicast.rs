//! Multicast groups and interfaces on the command line.

use super::common::Failed;
use crate::driver::Endpoint;
use crate::udp::Multicast;
use clap::Args;
use rustix::net::netdevice;
use std::net::{IpAddr, SocketAddr};

/// Flags for sending to multicast groups.
#[derive(Args, Clone, Debug)]
pub(super) struct MulticastOf {
    /// Hops that packets to the group may make, 1 to 255: 1 is the local network only
    #[arg(long, value_name = "N", default_value = "1", value_parser = clap::value_parser!(u8).range(1..))]
    ttl: u8,
    #[command(flatten)]
    interface: Interface,
}

/// Flag for the interface of a multicast group.
#[derive(Args, Clone, Debug)]
pub(super) struct Interface {
    /// Network interface of the group, such as eth0; selected by the routing table unless given
    #[arg(long, value_name = "NAME")]
    interface: Option<String>,
}

impl Interface {
    /// Returns the index of the interface. 0: the routing table selects the interface.
    pub(super) fn number(&self) -> Result<u32, Failed> {
        let Some(name) = &self.interface else {
            return Ok(0);
        };
        let socket = std::net::UdpSocket::bind("127.0.0.1:0");
        let number = socket.and_then(|socket| Ok(netdevice::name_to_index(&socket, name)?));
        number.map_err(|error| {
            Failed::usage(format!(
                "--interface {name}: {error}; allowed: a name that `ip link` prints"
            ))
        })
    }
}

impl MulticastOf {
    /// Converts the flags to options of a socket.
    pub(super) fn resolve(&self) -> Result<Multicast, Failed> {
        Ok(Multicast {
            interface: self.interface.number()?,
            hops: self.ttl,
            ..Multicast::default()
        })
    }
}

/// Parses the address of a multicast group.
pub(super) fn group(text: &str) -> Result<IpAddr, String> {
    let address = text.parse::<IpAddr>();
    address.ok().filter(IpAddr::is_multicast).ok_or(
        "allowed: the address of a multicast group, such as 239.1.2.3 or ff05::1234".to_owned(),
    )
}

/// Checks that all hosts have the IP version of the group, and that all have the same port.
pub(super) fn agrees(group: IpAddr, hosts: &[SocketAddr]) -> Result<(), Failed> {
    let is_other = |host: &&SocketAddr| host.is_ipv4() != group.is_ipv4();
    if let Some(host) = hosts.iter().find(is_other) {
        let words = format!("--group {group}: {host} has the other IP version");
        return Err(Failed::usage(words));
    }
    let port = hosts.first().map(SocketAddr::port);
    match hosts.iter().find(|host| Some(host.port()) != port) {
        Some(host) => Err(Failed::usage(format!(
            "--group {group}: {host} has another port than the other hosts; allowed: one port for all, which \
             is also the port of the group"
        ))),
        None => Ok(()),
    }
}

/// Joins an endpoint to a multicast group.
pub(super) fn join(endpoint: &Endpoint, group: IpAddr, interface: u32) -> Result<(), Failed> {
    let at = endpoint.local();
    let all = match group {
        IpAddr::V4(_) => "0.0.0.0",
        IpAddr::V6(_) => "[::]",
    };
    if !at.ip().is_unspecified() || at.is_ipv4() != group.is_ipv4() {
        // The kernel delivers packets of a group only to sockets that are bound to the unspecified address.
        return Err(Failed::usage(format!(
            "--group {group}: an endpoint at {at} cannot receive from it; allowed: --listen {all}"
        )));
    }
    endpoint.join(group, interface).map_err(|error| {
        let more = match error.raw_os_error() {
            Some(libc::ENODEV | libc::EADDRNOTAVAIL) => {
                "; there is no route to multicast groups: give an interface (--interface)"
            }
            _ => "",
        };
        Failed::system(format!("--group {group}: cannot join: {error}{more}"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_group_is_of_the_version_and_at_the_port_of_all_hosts() {
        let address = group("239.1.2.3").expect("a group");
        assert!(group("10.0.0.1").is_err() && group("x").is_err());
        let hosts = |all: &[&str]| -> Vec<SocketAddr> {
            all.iter()
                .map(|host| host.parse().expect("an address"))
                .collect()
        };
        assert!(agrees(address, &hosts(&["10.0.0.1:7", "10.0.0.2:7"])).is_ok());
        assert!(agrees(address, &hosts(&["10.0.0.1:7", "10.0.0.2:8"])).is_err());
        assert!(agrees(address, &hosts(&["[fd00::1]:7"])).is_err());
    }
}

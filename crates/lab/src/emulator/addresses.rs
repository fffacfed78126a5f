//! Addresses of hosts and routers, computed from their numbers.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use tailcut_units::HostId;

/// IPv4 network of the hosts, 10.0.0.0/16.
const IPV4_NETWORK: u32 = 10 << 24;
/// Prefix length of the IPv4 network in bits.
pub const IPV4_PREFIX: u8 = 16;
/// IPv6 network of the hosts, fd74:6375:74::/64. The network is in the range of unique local addresses (RFC 4193).
const IPV6_NETWORK: u128 = 0xfd74_6375_0074 << 80;
/// Prefix length of the IPv6 network in bits.
pub const IPV6_PREFIX: u8 = 64;
/// First four bytes of a host's Ethernet address. They mark a locally administered unicast address.
const MAC_PREFIX: [u8; 4] = [0x02, 0x74, 0x63, 0x00];
/// First bytes of a switch's Ethernet address.
const SWITCH_MAC_PREFIX: [u8; 4] = [0x02, 0x74, 0x63, 0x01];
/// Number of the first switch's address within the IPv4 network. Each further switch has a number lower by one.
const FIRST_SWITCH: u32 = 65_534;
/// Maximum number of addresses: of hosts, or of hosts and switches together if switches are routers.
pub const MOST_HOSTS: u32 = 65_533;

/// Returns a host's Ethernet address.
pub fn mac(host: HostId) -> [u8; 6] {
    let [high, low] = place(host).to_be_bytes();
    let [a, b, c, d] = MAC_PREFIX;
    [a, b, c, d, high, low]
}

/// Returns a host's IPv4 address.
pub fn ipv4(host: HostId) -> Ipv4Addr {
    Ipv4Addr::from_bits(IPV4_NETWORK | u32::from(place(host)))
}

/// Returns the Ethernet address of a switch that is a router. `switch` is less than [`MOST_HOSTS`].
pub fn switch_mac(switch: u32) -> [u8; 6] {
    let [_, _, high, low] = FIRST_SWITCH.saturating_sub(switch).to_be_bytes();
    let [a, b, c, d] = SWITCH_MAC_PREFIX;
    [a, b, c, d, high, low]
}

/// Returns the IPv4 address of a switch that is a router.
/// Switches have the highest addresses of the network, in descending order.
pub fn switch_ipv4(switch: u32) -> Ipv4Addr {
    Ipv4Addr::from_bits(IPV4_NETWORK | FIRST_SWITCH.saturating_sub(switch))
}

/// Returns a host's IPv6 address.
pub fn ipv6(host: HostId) -> Ipv6Addr {
    Ipv6Addr::from_bits(IPV6_NETWORK | u128::from(place(host)))
}

/// Returns the host with an Ethernet address, among `hosts` hosts.
pub fn host_of_mac(mac: [u8; 6], hosts: u32) -> Option<HostId> {
    let [a, b, c, d, high, low] = mac;
    let is_ours = [a, b, c, d] == MAC_PREFIX;
    is_ours
        .then(|| u16::from_be_bytes([high, low]).checked_sub(1))
        .flatten()
        .map(|number| HostId(number.into()))
        .filter(|host| host.0 < hosts)
}

/// Returns the host with an IPv4 address, among `hosts` hosts.
pub fn host_of_ipv4(address: Ipv4Addr, hosts: u32) -> Option<HostId> {
    let number = address.to_bits().checked_sub(IPV4_NETWORK + 1)?;
    (number < hosts).then_some(HostId(number))
}

/// Returns whether an address belongs to the host.
pub fn is_own(host: HostId, address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => address == ipv4(host),
        IpAddr::V6(address) => address == ipv6(host),
    }
}

/// Returns the number of a host's address within the IPv4 and IPv6 networks. The first host has number 1.
const fn place(host: HostId) -> u16 {
    (host.0 + 1) as u16
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_host_has_addresses_of_its_own_and_is_found_by_them() {
        for number in [0, 1, 254, 255, 256, MOST_HOSTS - 1] {
            let host = HostId(number);
            assert_eq!(host_of_mac(mac(host), MOST_HOSTS), Some(host));
            assert_eq!(host_of_ipv4(ipv4(host), MOST_HOSTS), Some(host));
            assert!(is_own(host, ipv4(host).into()) && is_own(host, ipv6(host).into()));
            assert!(!is_own(HostId(number + 1), ipv4(host).into()));
        }
        assert_eq!(ipv4(HostId(0)), Ipv4Addr::new(10, 0, 0, 1));
        assert_eq!(ipv4(HostId(255)), Ipv4Addr::new(10, 0, 1, 0));
        assert_eq!(ipv6(HostId(1)).to_string(), "fd74:6375:74::2");
    }

    #[test]
    fn switches_have_the_last_addresses_of_the_hosts_network() {
        assert_eq!(switch_ipv4(0), Ipv4Addr::new(10, 0, 255, 254));
        assert_eq!(switch_ipv4(255), Ipv4Addr::new(10, 0, 254, 255));
        assert_eq!(switch_mac(0), [0x02, 0x74, 0x63, 0x01, 0xff, 0xfe]);
        assert_eq!(host_of_mac(switch_mac(7), MOST_HOSTS), None);
        // The network has the maximum number of nodes: 10 switches and as many hosts as possible.
        let last = HostId(MOST_HOSTS - 11);
        assert!(ipv4(last) < switch_ipv4(9));
    }

    #[test]
    fn other_ethernet_addresses_are_nobodys() {
        assert_eq!(host_of_mac([0xff; 6], 4), None);
        assert_eq!(
            host_of_mac(mac(HostId(4)), 4),
            None,
            "there are only 4 hosts"
        );
        assert_eq!(host_of_mac([0x02, 0x74, 0x63, 0, 0, 0], 4), None);
    }
}

//! Identity of a client. Clients share connections and requests fairly.

use std::net::{IpAddr, Ipv6Addr};

/// Returns the address that stands for a client.
/// A provider gives a customer a whole IPv6 prefix of 64 bits, so one prefix is one client.
pub fn client_prefix(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(address) => {
            let prefix = address.to_bits() >> 64 << 64;
            IpAddr::V6(Ipv6Addr::from_bits(prefix))
        }
        canonical => canonical,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_ipv6_prefix_and_a_mapped_address_are_one_client_each() {
        let of = |text: &str| client_prefix(text.parse().expect("an address"));
        assert_eq!(of("2001:db8::1"), of("2001:db8::ffff:1:2:3"));
        assert_ne!(of("2001:db8::1"), of("2001:db8:0:1::1"));
        assert_eq!(of("::ffff:192.0.2.1"), of("192.0.2.1"));
    }
}

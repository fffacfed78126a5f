//! Socket addresses in the kernel's format.

use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, SocketAddrV4, SocketAddrV6};

/// Bytes of a `struct sockaddr_in` or `sockaddr_in6`.
#[derive(Clone, Copy, Debug)]
#[repr(align(8))]
pub(super) struct Name(pub(super) [u8; 28]);

/// The address structures must have Linux's layout, because the code below depends on it.
const _: () =
    assert!(size_of::<libc::sockaddr_in6>() == 28 && size_of::<libc::sockaddr_in>() == 16);

impl Name {
    pub(super) const EMPTY: Self = Self([0; 28]);

    /// Encodes an address. Returns the bytes, and the number of bytes that are used.
    pub(super) fn of(address: SocketAddr) -> (Self, u32) {
        let mut name = Self::EMPTY;
        let mut put = |at: usize, bytes: &[u8]| name.0[at..at + bytes.len()].copy_from_slice(bytes);
        let family = |family: i32| (family as libc::sa_family_t).to_ne_bytes();
        put(2, &address.port().to_be_bytes());
        match address {
            SocketAddr::V4(address) => {
                put(0, &family(libc::AF_INET));
                put(4, &address.ip().octets());
                (name, 16)
            }
            SocketAddr::V6(address) => {
                put(0, &family(libc::AF_INET6));
                put(4, &address.flowinfo().to_be_bytes());
                put(8, &address.ip().octets());
                put(24, &address.scope_id().to_ne_bytes());
                (name, 28)
            }
        }
    }

    /// Decodes the address. Returns `None` if it is neither IPv4 nor IPv6.
    pub(super) fn address(&self) -> Option<SocketAddr> {
        let [f0, f1, p0, p1, rest @ ..] = &self.0;
        let family = i32::from(libc::sa_family_t::from_ne_bytes([*f0, *f1]));
        let port = u16::from_be_bytes([*p0, *p1]);
        let (head, rest) = rest.split_first_chunk::<4>()?;
        if family == libc::AF_INET {
            return Some(SocketAddrV4::new(Ipv4Addr::from(*head), port).into());
        }
        let (ip, scope) = rest.split_first_chunk::<16>()?;
        let scope = u32::from_ne_bytes(*scope.first_chunk()?);
        let flow = u32::from_be_bytes(*head);
        let address = SocketAddrV6::new(Ipv6Addr::from(*ip), port, flow, scope);
        (family == libc::AF_INET6).then_some(address.into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_the_same_after_it_was_the_kernels() {
        for address in ["192.0.2.1:7", "[2001:db8::5]:65535"] {
            let address: SocketAddr = address.parse().expect("an address");
            assert_eq!(Name::of(address).0.address(), Some(address));
        }
        let scoped = SocketAddrV6::new("fe80::1".parse().expect("an address"), 9, 0x1_2345, 3);
        assert_eq!(Name::of(scoped.into()).0.address(), Some(scoped.into()));
        assert_eq!(Name::EMPTY.address(), None);
    }

    #[test]
    fn the_kernel_reads_the_same_address() {
        for address in ["192.0.2.1:7", "[2001:db8::5%3]:65535"] {
            let address: SocketAddr = address.parse().expect("an address");
            let other = socket2::SockAddr::from(address);
            let (name, length) = Name::of(address);
            assert_eq!((length, name.address()), (other.len(), other.as_socket()));
        }
    }
}

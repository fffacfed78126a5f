//! Error queue of a socket. The kernel stores ICMP messages about failed connections there.

use nix::sys::socket::{ControlMessageOwned, MsgFlags, SockaddrStorage, recvmsg};
use std::io::IoSliceMut;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::os::fd::{AsFd, AsRawFd};

/// Value of the field `ee_origin` for an ICMP message (include/uapi/linux/errqueue.h).
const ORIGIN_ICMP: u8 = 2;
const ORIGIN_ICMP6: u8 = 3;
/// ICMP type of the message "time exceeded".
const TIME_EXCEEDED: u8 = 11;
const UNREACHABLE: u8 = 3;
const TIME_EXCEEDED_6: u8 = 3;
const UNREACHABLE_6: u8 = 1;
/// Size of a buffer for the control data of two entries, in bytes.
const CONTROL: usize = 256;

/// ICMP message about a packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Icmp {
    /// The TTL expired at this router.
    TimeExceeded(IpAddr),
    /// The packet cannot reach its destination.
    Unreachable {
        /// Sender of the message, if known.
        from: Option<IpAddr>,
        /// ICMP type.
        kind: u8,
        /// ICMP code.
        code: u8,
    },
}

/// Converts an entry of the error queue to a message. Returns `None` for entries that are not ICMP errors.
pub fn read(origin: u8, kind: u8, code: u8, from: Option<IpAddr>) -> Option<Icmp> {
    // 0.0.0.0 stands for an unknown address.
    let from = from.filter(|from| !from.is_unspecified());
    let unreachable = Icmp::Unreachable { from, kind, code };
    match (origin, kind, code) {
        (ORIGIN_ICMP, TIME_EXCEEDED, 0) | (ORIGIN_ICMP6, TIME_EXCEEDED_6, 0) => {
            from.map(Icmp::TimeExceeded)
        }
        (ORIGIN_ICMP, UNREACHABLE, _) | (ORIGIN_ICMP6, UNREACHABLE_6, _) => Some(unreachable),
        _ => None,
    }
}

/// Returns the first ICMP message in a socket's error queue, or `None` if there is no ICMP message.
pub fn take(socket: impl AsFd) -> Option<Icmp> {
    let mut quoted = [0; 64];
    let mut parts = [IoSliceMut::new(&mut quoted)];
    let mut control = [0; CONTROL];
    let flags = MsgFlags::MSG_ERRQUEUE.union(MsgFlags::MSG_DONTWAIT);
    // Other entries, such as the MTU of the path, may come before the ICMP error. The loop skips up to seven.
    for _ in 0..8 {
        let socket = socket.as_fd().as_raw_fd();
        let message = recvmsg::<SockaddrStorage>(socket, &mut parts, Some(&mut control), flags);
        let message = message.ok()?;
        let Ok(entries) = message.cmsgs() else {
            continue;
        };
        for entry in entries {
            let said = match entry {
                ControlMessageOwned::Ipv4RecvErr(error, from) => {
                    let from = from.map(|from| Ipv4Addr::from(u32::from_be(from.sin_addr.s_addr)));
                    read(
                        error.ee_origin,
                        error.ee_type,
                        error.ee_code,
                        from.map(IpAddr::V4),
                    )
                }
                ControlMessageOwned::Ipv6RecvErr(error, from) => {
                    let from = from.map(|from| Ipv6Addr::from(from.sin6_addr.s6_addr));
                    read(
                        error.ee_origin,
                        error.ee_type,
                        error.ee_code,
                        from.map(IpAddr::V6),
                    )
                }
                _ => None,
            };
            if said.is_some() {
                return said;
            }
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn only_an_address_that_answered_is_a_router(
            origin in any::<u8>(),
            kind in any::<u8>(),
            code in any::<u8>(),
            from in any::<Option<u32>>(),
        ) {
            let from = from.map(|bits| IpAddr::V4(Ipv4Addr::from_bits(bits)));
            match read(origin, kind, code, from) {
                Some(Icmp::TimeExceeded(router)) => {
                    prop_assert_eq!(Some(router), from);
                    prop_assert!(!router.is_unspecified() && code == 0);
                }
                Some(Icmp::Unreachable { kind: told, .. }) => prop_assert_eq!(told, kind),
                None => {}
            }
        }
    }

    #[test]
    fn the_two_versions_of_ip_have_numbers_of_their_own() {
        let router: IpAddr = Ipv4Addr::new(10, 0, 0, 1).into();
        let six: IpAddr = Ipv6Addr::LOCALHOST.into();
        assert_eq!(
            read(2, 11, 0, Some(router)),
            Some(Icmp::TimeExceeded(router))
        );
        assert_eq!(read(3, 3, 0, Some(six)), Some(Icmp::TimeExceeded(six)));
        // Code 1 means that the time for reassembly of fragments was exceeded.
        assert_eq!(read(2, 11, 1, Some(router)), None);
        assert_eq!(read(1, 11, 0, Some(router)), None, "the local system");
        assert_eq!(read(2, 11, 0, None), None);
        let closed = Icmp::Unreachable {
            from: Some(router),
            kind: 3,
            code: 13,
        };
        assert_eq!(read(2, 3, 13, Some(router)), Some(closed));
    }
}

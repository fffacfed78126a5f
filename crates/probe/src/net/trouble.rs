//! Errors of a measurement.

use rustix::io::Errno;
use std::fmt;
use std::net::{IpAddr, SocketAddr};

/// Reason why a target cannot be measured.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Trouble {
    /// The target refuses connections to the port.
    Refused(SocketAddr),
    /// A router or the target reports that the target is unreachable. The last two fields are the ICMP type and code.
    Unreachable(SocketAddr, Option<IpAddr>, u8, u8),
    /// No answer arrives.
    NoAnswer(SocketAddr),
    /// The operating system refuses the connection.
    System(SocketAddr, Errno),
    /// No source port could be bound.
    NoPorts,
    /// The user has interrupted the measurement.
    Interrupted,
}

impl fmt::Display for Trouble {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Refused(to) => write!(
                f,
                "{to} refuses connections; allowed: a port where a server listens"
            ),
            Self::Unreachable(to, from, kind, code) => {
                let from = from.map_or("the network".to_owned(), |from| from.to_string());
                write!(
                    f,
                    "{to} cannot be reached: {from} reports it (ICMP type {kind} code {code}); the cause may be \
                     a firewall or a missing route"
                )
            }
            Self::NoAnswer(to) => write!(
                f,
                "{to} does not answer: the address is wrong, the host is down, or a firewall drops the \
                 packets"
            ),
            Self::System(to, Errno::NETUNREACH | Errno::HOSTUNREACH) => {
                write!(f, "this machine has no route to {}", to.ip())
            }
            Self::System(to, Errno::PERM | Errno::ACCESS) => write!(
                f,
                "this system does not permit connections to {to}: a local firewall, or a sandbox"
            ),
            Self::System(to, error) => write!(f, "cannot connect to {to}: {error}"),
            Self::NoPorts => f.write_str(
                "no free source ports: too many connections are open, or the range \
                 net.ipv4.ip_local_port_range is too small",
            ),
            Self::Interrupted => f.write_str("interrupted"),
        }
    }
}

impl std::error::Error for Trouble {}

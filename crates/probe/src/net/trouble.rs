//! Why there is nothing to measure.

use rustix::io::Errno;
use std::fmt;
use std::net::{IpAddr, SocketAddr};

/// Why there is nothing to measure.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Trouble {
    /// The target has the port closed.
    Refused(SocketAddr),
    /// A router or the target says that the way is closed, with type and code of ICMP.
    Unreachable(SocketAddr, Option<IpAddr>, u8, u8),
    /// Nobody answers.
    NoAnswer(SocketAddr),
    /// This system does not let a connection out.
    System(SocketAddr, Errno),
    /// The source port of this number could not be bound, and no other one instead.
    NoPorts,
    /// The user has interrupted it.
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
                    "{to} cannot be reached: {from} says so (ICMP type {kind} code {code}), as a firewall \
                     or a router without a route does"
                )
            }
            Self::NoAnswer(to) => write!(
                f,
                "{to} does not answer: a wrong address, a host that is down, or a firewall that drops in \
                 silence"
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

//! Addresses of the two ends of an object's transfer.

use std::net::{IpAddr, SocketAddr};

/// Address of another host, and the address of this host from which it gets packets.
/// A host with several addresses must answer from the address that the other host has used.
/// Otherwise the other host drops the answer.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Route {
    /// Address of the other host.
    pub to: SocketAddr,
    /// Address of this host. `None`: the routing table selects it.
    pub from: Option<IpAddr>,
}

impl From<SocketAddr> for Route {
    fn from(to: SocketAddr) -> Self {
        Self { to, from: None }
    }
}

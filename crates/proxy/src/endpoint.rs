//! TCP addresses and their text form.

use std::fmt;
use std::io;
use std::net::{Ipv6Addr, SocketAddr};
use std::ops::RangeInclusive;
use tokio::net::{TcpListener, lookup_host};

/// Host that is used if an address contains only a port.
const LOOPBACK: &str = "127.0.0.1";
/// All ports to which a client can connect.
pub const PORTS: RangeInclusive<u16> = 1..=65_535;

/// TCP address. Only listeners may use port 0, for which the kernel chooses a port.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Endpoint {
    /// Host name or IP address, without brackets.
    pub host: String,
    /// Port.
    pub port: u16,
}

impl fmt::Display for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { host, port } = self;
        match host.contains(':') {
            true => write!(f, "[{host}]:{port}"),
            false => write!(f, "{host}:{port}"),
        }
    }
}

impl Endpoint {
    /// Parses `host:port`, `[ipv6]:port`, or a port without a host, which means 127.0.0.1.
    pub fn parse(text: &str, ports: &RangeInclusive<u16>) -> Option<Self> {
        let (host, port) = text.rsplit_once(':').unwrap_or((LOOPBACK, text));
        let bracketed = host
            .strip_prefix('[')
            .and_then(|rest| rest.strip_suffix(']'));
        // Without brackets, the last part of an IPv6 address could also be a port.
        let is_host = match bracketed {
            Some(address) => address.parse::<Ipv6Addr>().is_ok(),
            None => !host.is_empty() && !host.contains([':', '[', ']', '/', '@', ' ']),
        };
        let port = port.parse().ok().filter(|port| ports.contains(port))?;
        is_host.then(|| Self {
            host: bracketed.unwrap_or(host).to_owned(),
            port,
        })
    }

    /// Returns a description of the texts that [`parse`](Self::parse) accepts.
    pub fn allowed(ports: &RangeInclusive<u16>) -> String {
        format!(
            "\"host:port\", \"[ipv6]:port\", or a port of {LOOPBACK}, with a port from {} to {}",
            ports.start(),
            ports.end()
        )
    }

    /// Returns the address with another port.
    pub fn at_port(&self, port: u16) -> Self {
        let host = self.host.clone();
        Self { host, port }
    }

    /// Resolves the host and returns its first IP address.
    ///
    /// # Errors
    /// The name cannot be resolved.
    pub async fn resolve(&self) -> io::Result<SocketAddr> {
        let mut found = lookup_host((self.host.as_str(), self.port)).await?;
        let none = || io::Error::new(io::ErrorKind::NotFound, "the name has no address");
        found.next().ok_or_else(none)
    }

    /// Opens a listening socket.
    ///
    /// # Errors
    /// The address cannot be opened for listening.
    pub async fn listen(&self) -> io::Result<TcpListener> {
        TcpListener::bind((self.host.as_str(), self.port)).await
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_a_host_and_a_port_or_a_port_of_this_host() {
        for (text, host, port) in [
            ("8080", LOOPBACK, 8080),
            ("db.internal:5432", "db.internal", 5432),
            ("[::1]:80", "::1", 80),
        ] {
            let read = Endpoint::parse(text, &PORTS).expect("an address");
            assert_eq!((read.host.as_str(), read.port), (host, port));
        }
        assert_eq!(
            Endpoint::parse("[::1]:80", &PORTS).map(|at| at.to_string()),
            Some("[::1]:80".to_owned())
        );
        for wrong in [
            "",
            ":80",
            "x",
            "x:",
            "x:65536",
            "::1:80",
            "http://x:80",
            "a@b:1",
            "x:0",
        ] {
            assert_eq!(Endpoint::parse(wrong, &PORTS), None, "{wrong}");
        }
        assert!(Endpoint::parse("x:0", &(0..=1)).is_some());
    }
}

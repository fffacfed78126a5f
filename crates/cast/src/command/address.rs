//! Hosts and addresses on the command line.

use super::common::Failed;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, ToSocketAddrs};

/// Default port of `tailcut cast`.
pub(super) const PORT: u16 = 7413;

/// Returns an address of a host: its first IPv4 address, or its first address if it has no IPv4 address.
pub(super) fn resolve(host: &str) -> Result<SocketAddr, Failed> {
    let unfit = |why: String| {
        Failed::usage(format!(
            "{host}: {why}; allowed: HOST, HOST:PORT, ADDRESS:PORT or [IPv6]:PORT"
        ))
    };
    let bare = host
        .strip_prefix('[')
        .and_then(|rest| rest.strip_suffix(']'));
    // An IPv6 address contains colons, so it is parsed before the host is split at a colon.
    if let Ok(address) = bare.unwrap_or(host).parse::<IpAddr>() {
        return Ok(SocketAddr::new(address, PORT));
    }
    let has_port = host
        .rsplit_once(':')
        .is_some_and(|(_, port)| port.parse::<u16>().is_ok());
    let found = match zoned(host) {
        Some(zoned) => zoned.to_socket_addrs(),
        None if has_port => host.to_socket_addrs(),
        None => (host, PORT).to_socket_addrs(),
    };
    let found: Vec<SocketAddr> = found.map_err(|error| unfit(error.to_string()))?.collect();
    let v4 = found.iter().find(|address| address.is_ipv4());
    let address = v4.or(found.first());
    let address = address.ok_or_else(|| unfit("it has no address".to_owned()))?;
    match address.port() {
        0 => Err(unfit("no program can listen at port 0".to_owned())),
        _ => Ok(*address),
    }
}

/// Splits an IPv6 address with a zone in brackets, such as `[fe80::1%eth0]:7413`. The zone is an interface.
/// The standard library does not read zones in brackets. Returns `None` for all other texts.
fn zoned(text: &str) -> Option<(&str, u16)> {
    let (inside, after) = text.strip_prefix('[')?.split_once(']')?;
    let port = match after.strip_prefix(':') {
        Some(port) => port.parse().ok()?,
        None if after.is_empty() => PORT,
        None => return None,
    };
    inside.contains('%').then_some((inside, port))
}

/// Returns the addresses of several hosts. An address that occurs twice is an error.
/// `once` is the part of the error message that describes the allowed values.
pub(super) fn resolve_all(hosts: &[String], once: &str) -> Result<Vec<SocketAddr>, Failed> {
    let mut all = Vec::with_capacity(hosts.len());
    for host in hosts {
        let address = resolve(host)?;
        if all.contains(&address) {
            let words = format!("{host}: {address} is named twice; allowed: {once}");
            return Err(Failed::usage(words));
        }
        all.push(address);
    }
    Ok(all)
}

/// Parses a listening address with or without a port.
pub(super) fn listen(text: &str) -> Result<SocketAddr, String> {
    let bare = text
        .strip_prefix('[')
        .and_then(|rest| rest.strip_suffix(']'));
    if let Ok(address) = bare.unwrap_or(text).parse::<IpAddr>() {
        return Ok(SocketAddr::new(address, PORT));
    }
    if let Some(address) = zoned(text).and_then(|zoned| zoned.to_socket_addrs().ok()?.next()) {
        return Ok(address);
    }
    if let Ok(port) = text.parse::<u16>() {
        return Ok(SocketAddr::new(Ipv4Addr::LOCALHOST.into(), port));
    }
    text.parse().map_err(|_| {
        "allowed: ADDRESS, ADDRESS:PORT, [IPv6]:PORT or PORT (of 127.0.0.1), such as 0.0.0.0:7413"
            .to_owned()
    })
}

/// Returns the local address for transfers to these peers. It is a loopback address if all peers are on this machine.
pub(super) fn local(to: &[SocketAddr]) -> Result<SocketAddr, Failed> {
    let is_v4 = to.first().is_none_or(SocketAddr::is_ipv4);
    if let Some(other) = to.iter().find(|address| address.is_ipv4() != is_v4) {
        return Err(Failed::usage(format!(
            "{other}: hosts have addresses of IPv4 and of IPv6; allowed: all of one kind"
        )));
    }
    // Other machines cannot reach an endpoint at a loopback address. So the endpoint needs no key.
    let is_loopback = to.iter().all(|address| address.ip().is_loopback());
    let ip: IpAddr = match (is_v4, is_loopback) {
        (true, true) => Ipv4Addr::LOCALHOST.into(),
        (true, false) => Ipv4Addr::UNSPECIFIED.into(),
        (false, true) => Ipv6Addr::LOCALHOST.into(),
        (false, false) => Ipv6Addr::UNSPECIFIED.into(),
    };
    Ok(SocketAddr::new(ip, 0))
}

/// Returns the local address for a peer and a multicast group. It is always the unspecified address.
pub(super) fn all(to: &SocketAddr) -> SocketAddr {
    match to.is_ipv4() {
        true => (Ipv4Addr::UNSPECIFIED, 0).into(),
        false => (Ipv6Addr::UNSPECIFIED, 0).into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_have_a_port_or_the_usual_one() {
        let resolved = |host| resolve(host).expect("an address").to_string();
        assert_eq!(resolved("127.0.0.1"), "127.0.0.1:7413");
        assert_eq!(resolved("127.0.0.1:9"), "127.0.0.1:9");
        assert_eq!(resolved("::1"), "[::1]:7413");
        assert_eq!(resolved("[::1]:9"), "[::1]:9");
        assert!(resolve("127.0.0.1:0").is_err());
        assert!(resolve("").is_err());
        assert_eq!(listen("9").expect("a port").to_string(), "127.0.0.1:9");
        assert_eq!(listen("::").expect("an address").to_string(), "[::]:7413");
        assert!(listen("host").is_err());
    }

    #[test]
    fn a_zone_may_stand_in_brackets() {
        assert_eq!(zoned("[fe80::1%eth0]:9"), Some(("fe80::1%eth0", 9)));
        assert_eq!(zoned("[fe80::1%eth0]"), Some(("fe80::1%eth0", PORT)));
        for other in [
            "[fe80::1]:9",
            "fe80::1%eth0",
            "[fe80::1%eth0]9",
            "[fe80::1%eth0]:x",
        ] {
            assert_eq!(zoned(other), None, "{other}");
        }
        // The loopback interface has the number 1 in each network namespace.
        for text in ["[fe80::1%lo]:9", "[fe80::1%1]:9"] {
            let address = resolve(text).expect("an address");
            assert_eq!(address, listen(text).expect("an address"));
            let SocketAddr::V6(address) = address else {
                panic!("{address}");
            };
            assert_eq!((address.scope_id(), address.port()), (1, 9));
        }
    }
}

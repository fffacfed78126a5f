//! Flows that a workload pins to a path. Their connections come from ports that say which, and the network
//! reads them: programs choose ports so, too, where switches hash them.

use anyhow::{Result, bail};
use tailcut_fabric::Packet;
use tailcut_sim::RunConfig;

/// The first of the ports: kernels choose only lower ones by themselves (`net.ipv4.ip_local_port_range`).
const FIRST: u16 = 61_000;
/// As many paths as can be named. Each has the ports that are so far apart.
const PATHS: u16 = 64;

/// The ports of a path.
pub fn ports(path: u16) -> impl Iterator<Item = u16> {
    (FIRST + path % PATHS..=u16::MAX).step_by(PATHS.into())
}

/// The path that one of a connection's ports says, as packets have it.
pub fn path_of(ports: [u16; 2]) -> u16 {
    let pinned = ports.into_iter().find(|port| *port >= FIRST);
    pinned.map_or(Packet::ANY_PATH, |port| (port - FIRST) % PATHS)
}

/// Whether every pin of a run's workload can be kept.
///
/// # Errors
/// A path that no port names.
pub fn check(config: &RunConfig) -> Result<()> {
    let paths = config.workload.parts.iter().filter_map(|part| part.path);
    match paths.max() {
        Some(path) if path >= PATHS => bail!(
            "workload.path: found {path}; allowed on real hosts: up to {}",
            PATHS - 1
        ),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_port_of_a_path_names_it_at_either_end() {
        for path in [0, 1, 63] {
            assert!(ports(path).count() > 60);
            assert!(ports(path).all(|port| path_of([port, 80]) == path));
            assert!(ports(path).all(|port| path_of([80, port]) == path));
        }
        assert_eq!(path_of([60_999, 80]), Packet::ANY_PATH);
    }
}

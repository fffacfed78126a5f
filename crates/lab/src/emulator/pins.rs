//! Pinned paths. A workload can select the path of a flow.
//! A pinned flow uses a local port that encodes the path, and the network reads the path from the port.
//! In networks whose switches hash ports, programs can also select paths by the choice of ports.

use anyhow::{Result, bail};
use tailcut_fabric::Packet;
use tailcut_sim::RunConfig;

/// First port that encodes a path. Kernels choose only lower ports automatically (`net.ipv4.ip_local_port_range`).
const FIRST: u16 = 61_000;
/// Number of paths that ports can encode. This number is also the distance between two ports that encode the same path.
const PATHS: u16 = 64;

/// Returns the ports that encode a path.
pub fn ports(path: u16) -> impl Iterator<Item = u16> {
    (FIRST + path % PATHS..=u16::MAX).step_by(PATHS.into())
}

/// Returns the path that a port of a connection encodes, or [`Packet::ANY_PATH`] if neither port encodes a path.
pub fn path_of(ports: [u16; 2]) -> u16 {
    let pinned = ports.into_iter().find(|port| *port >= FIRST);
    pinned.map_or(Packet::ANY_PATH, |port| (port - FIRST) % PATHS)
}

/// Checks that ports can encode all pinned paths of a run's workload.
///
/// # Errors
/// The number of a path is too high.
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

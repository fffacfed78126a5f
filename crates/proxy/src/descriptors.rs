//! Limit of open files of this process. Each connection needs a file descriptor.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Files for other purposes than connections: listeners, standard streams, certificates, the name service.
#[cfg(feature = "http")]
const OTHER_FILES: u64 = 32;

/// Raises the limit to the largest one that the process may set. Most systems start processes with a low limit, for
/// programs that use `select`.
pub(crate) fn raise() {
    let Rlimit { maximum, .. } = getrlimit(Resource::Nofile);
    let raised = Rlimit {
        current: maximum,
        maximum,
    };
    // Without the right to raise it, the present limit stays, and `connections` follows it.
    let _ = setrlimit(Resource::Nofile, raised);
}

/// Returns the number of clients' connections that each of `listeners` can have.
#[cfg(feature = "http")]
pub(crate) fn connections_for_each(listeners: usize) -> u32 {
    match getrlimit(Resource::Nofile).current {
        Some(limit) => fitting(limit, listeners),
        None => u32::MAX,
    }
}

/// Half of the files are for connections to services: a request needs one there, too.
#[cfg(feature = "http")]
fn fitting(limit: u64, listeners: usize) -> u32 {
    let clients = (limit / 2).saturating_sub(OTHER_FILES);
    let each = clients / listeners.max(1) as u64;
    each.clamp(1, u32::MAX.into()) as u32
}

#[cfg(all(test, feature = "http"))]
mod tests {
    use super::fitting;

    #[test]
    fn connections_to_clients_and_services_fit_together() {
        assert_eq!(fitting(1_024, 1), 480);
        assert_eq!(fitting(1_024, 3), 160);
        assert_eq!(fitting(65_536, 1), 32_736);
        assert_eq!(fitting(16, 1), 1);
        assert_eq!(fitting(u64::MAX, 1), u32::MAX);
    }
}

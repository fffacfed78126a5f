//! Number of connections that fit under the limit of open files.

use rustix::process::{Resource, getrlimit};

/// Files for other purposes than connections: listeners, standard streams, certificates, the name service.
const OTHER_FILES: u64 = 32;

/// Returns the number of clients' connections that each of `listeners` can have.
pub(super) fn connections_for_each(listeners: usize) -> u32 {
    match getrlimit(Resource::Nofile).current {
        Some(limit) => fitting(limit, listeners),
        None => u32::MAX,
    }
}

/// Only half of the files are for clients. The other half is for connections to services, one for each request.
fn fitting(limit: u64, listeners: usize) -> u32 {
    let clients = (limit / 2).saturating_sub(OTHER_FILES);
    let each = clients / listeners.max(1) as u64;
    each.clamp(1, u32::MAX.into()) as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn connections_to_clients_and_services_fit_together() {
        assert_eq!(fitting(1_024, 1), 480);
        assert_eq!(fitting(1_024, 3), 160);
        assert_eq!(fitting(65_536, 1), 32_736);
        assert_eq!(fitting(16, 1), 1);
        assert_eq!(fitting(u64::MAX, 1), u32::MAX);
    }
}

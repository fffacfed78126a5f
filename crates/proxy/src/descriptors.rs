//! Limit of open files of this process. Each connection needs a file descriptor.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Raises the limit to the largest value that the process may set.
/// Most systems start processes with a low limit, because old programs use `select`.
pub(crate) fn raise() {
    let Rlimit { maximum, .. } = getrlimit(Resource::Nofile);
    let raised = Rlimit {
        current: maximum,
        maximum,
    };
    // If the process may not raise the limit, the limit stays. Listeners then accept fewer connections.
    let _ = setrlimit(Resource::Nofile, raised);
}

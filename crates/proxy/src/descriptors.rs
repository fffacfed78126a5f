//! Limit of open files of this process. Each connection needs a file descriptor.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Raises the limit to the largest one that the process may set. Most systems start processes with a low limit, for
/// programs that use `select`.
pub(crate) fn raise() {
    let Rlimit { maximum, .. } = getrlimit(Resource::Nofile);
    let raised = Rlimit {
        current: maximum,
        maximum,
    };
    // Without the right to raise it, the present limit stays, and `limits.connections` follows it.
    let _ = setrlimit(Resource::Nofile, raised);
}

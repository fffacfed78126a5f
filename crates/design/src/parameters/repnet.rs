//! Parameters of RepNet.

use tailcut_units::{Bytes, Duration};

/// RepNet's parameters (RepNet paper, sections II-C and III).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RepNetParameters {
    /// Flows under this many bytes are replicated (100 KB).
    pub limit: Bytes,
    /// A server that has archived more than this many bytes of writes for a connection that has
    /// not come yet settles on the one it has.
    pub archive_limit: Bytes,
    /// How long a server waits for the second connection of a flow.
    pub waiting_list_timeout: Duration,
}

impl Default for RepNetParameters {
    fn default() -> Self {
        Self {
            limit: Bytes(100_000),
            archive_limit: Bytes(1_000_000),
            waiting_list_timeout: Duration::from_ms(1_000),
        }
    }
}

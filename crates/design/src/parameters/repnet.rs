//! Parameters of RepNet.

use tailcut_transport::repnet::RepNetConfig;
use tailcut_units::{Bytes, Duration};

/// RepNet's parameters (RepNet paper, sections II-C and III).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RepNetParameters {
    /// Flows under this many bytes are replicated (100 KB).
    pub limit: Bytes,
    /// A server that has archived more than this many bytes of writes for a connection that has
    /// not come yet settles on the one it has (100 KB; the paper gives no value).
    pub archive_limit: Bytes,
    /// How long a server waits for the second connection of a flow (1 s; 0.8 to 1 s in the released
    /// code).
    pub waiting_list_timeout: Duration,
}

impl Default for RepNetParameters {
    fn default() -> Self {
        let usual = RepNetConfig::default();
        Self {
            limit: Bytes(usual.limit),
            archive_limit: Bytes(usual.archive_limit),
            waiting_list_timeout: usual.waiting_list_timeout,
        }
    }
}

//! Parameters of RepNet.

use tailcut_transport::repnet::RepNetConfig;
use tailcut_units::{Bytes, Duration};

/// Parameters of RepNet (RepNet paper, sections II-C and III).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RepNetParameters {
    /// Flows below this size are replicated. Default: 100 KB.
    pub limit: Bytes,
    /// Largest number of bytes that a server stores while the second connection of a flow has not arrived.
    /// With more bytes, the server uses only the first connection. Default: 100 KB. The paper gives no value.
    pub archive_limit: Bytes,
    /// Time for which a server waits for the second connection of a flow.
    /// Default: 1 s. The released code uses 0.8 to 1 s.
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

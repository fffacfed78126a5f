//! Parameters of RepNet.

use super::state::Mode;
use crate::config::{ConfigError, positive};
use crate::{Message, Replication};
use tailcut_units::Duration;

/// Parameters of RepNet (RepNet paper, sections II-C and III).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RepNetConfig {
    /// Replication mode of messages that do not set a mode.
    pub mode: Mode,
    /// Messages of fewer bytes are replicated (100 KB in the paper). With 0, no message is replicated.
    pub limit: u64,
    /// Number of written bytes after which a server does not wait for a missing second connection any more.
    /// A server that does not wait continues on the first connection. The paper gives no value.
    pub archive_limit: u64,
    /// Time for which a server waits for the second connection of a flow.
    /// A client tries for the same time to open the second connection, after the first is established.
    /// The time is more than 0. The released code has 0.8 to 1 s.
    pub waiting_list_timeout: Duration,
}

impl Default for RepNetConfig {
    fn default() -> Self {
        Self {
            mode: Mode::RepFlow,
            limit: 100_000,
            // The archive limit equals `limit`.
            // With an archive of `limit` bytes, a server that writes a replicated message keeps its second connection.
            archive_limit: 100_000,
            waiting_list_timeout: Duration::from_ms(1_000),
        }
    }
}

impl RepNetConfig {
    /// Returns the replication mode of a message; `None` for a plain connection without a copy.
    pub fn mode_of(&self, message: &Message) -> Option<Mode> {
        match message.replication {
            Replication::AsConfigured => (message.bytes < self.limit).then_some(self.mode),
            Replication::Off => None,
            Replication::RepFlow => Some(Mode::RepFlow),
            Replication::RepSyn => Some(Mode::RepSyn),
        }
    }

    /// Checks every parameter.
    ///
    /// # Errors
    /// A parameter is outside its range. The error contains the first such parameter.
    pub fn validate(&self) -> Result<(), ConfigError> {
        positive("waiting_list_timeout", self.waiting_list_timeout)
    }
}

//! RepNet's parameters.

use super::state::Mode;
use crate::config::{ConfigError, positive};
use crate::{Message, Replication};
use tailcut_units::Duration;

/// RepNet's parameters (RepNet paper, sections II-C and III).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RepNetConfig {
    /// What is replicated where a message does not say.
    pub mode: Mode,
    /// Messages under this many bytes are replicated (100 KB in the paper); 0 for none.
    pub limit: u64,
    /// A server that has written more than this many bytes to a flow whose second connection has
    /// not come settles on the first. The paper gives no value.
    pub archive_limit: u64,
    /// How long a server waits for the second connection of a flow, and how long a client tries to
    /// open it once the first one is established. More than 0; 0.8 to 1 s in the released code.
    pub waiting_list_timeout: Duration,
}

impl Default for RepNetConfig {
    fn default() -> Self {
        Self {
            mode: Mode::RepFlow,
            limit: 100_000,
            archive_limit: 100_000,
            waiting_list_timeout: Duration::from_ms(1_000),
        }
    }
}

impl RepNetConfig {
    /// What is replicated of a message; `None` for one plain connection.
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
    /// The first one outside its range.
    pub fn validate(&self) -> Result<(), ConfigError> {
        positive("waiting_list_timeout", self.waiting_list_timeout)
    }
}

//! Subcommands of guard and gateway.

use super::flags::Flags;
use clap::Subcommand;
use std::path::PathBuf;

/// Work of a proxy command that does not serve.
#[derive(Subcommand, Debug)]
pub enum Action {
    /// Check a configuration file and exit; a start has the same errors, with line and column
    Check {
        /// Configuration file
        file: PathBuf,
        /// Set a key that has a single value, as for a start; can be repeated
        #[arg(long, value_name = "KEY=VALUE")]
        set: Vec<String>,
    },
}

impl Action {
    /// Returns the flags that have the same effect.
    pub fn flags(&self) -> Flags {
        let Self::Check { file, set } = self;
        Flags {
            config: Some(file.clone()),
            set: set.clone(),
            check: true,
            ..Flags::default()
        }
    }
}

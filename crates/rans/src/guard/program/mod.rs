//! Library of `tailcut guard`: the guard as a separate process in front of any HTTP service.

mod acceptor;
mod answer;
mod command;
mod config;
mod forward;
mod metrics;

pub use acceptor::Program;
pub use command::{GuardCommand, execute};
pub use config::ProgramConfig;

//! `tailcut guard`: the guard before any HTTP service, as a process of its own.

mod command;
mod config;
mod door;
mod metrics;
mod pass;

pub use command::{GuardCommand, execute};
pub use config::ProgramConfig;
pub use door::Program;

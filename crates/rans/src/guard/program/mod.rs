//! `tailcut guard`: the guard before any HTTP service, as a process of its own.

mod command;
mod metrics;
mod pass;

pub use command::{GuardCommand, execute};

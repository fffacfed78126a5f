//! What programs do in a measured run: they open connections between hosts when the workload says so, send
//! what it says, and tell when what was received. Their sockets are the kernel's; one thread serves those of
//! all hosts.

mod connection;
mod copies;
mod host;
mod objects;
mod orders;
mod replicas;
mod replicated;
mod report;
mod tcp_info;
#[cfg(test)]
mod tests;
mod thread;

pub use host::KernelHost;
pub use report::News;
pub use thread::{Agent, AgentConfig};

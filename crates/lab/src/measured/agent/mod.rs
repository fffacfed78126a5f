//! Agents generate the traffic of a measured run.
//! An agent opens the connections of the workload's flows, sends the bytes, and reports when the bytes have arrived.
//! The transport is the kernel's TCP, or SCDP over UDP. One thread serves the sockets of all hosts.

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
pub use report::AgentEvent;
pub use thread::{Agent, AgentConfig};

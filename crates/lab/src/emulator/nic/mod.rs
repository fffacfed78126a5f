//! What designs put into the network cards of hosts: PIAS' tags and HULL's pacer, the simulator's own, between
//! a host's TAP and its uplink. Such a card keeps what its host sends, and hands over the next packet when the
//! uplink is free.
//!
//! Deviations from the simulator's hosts
//! - Connections of a class are served as their packets came, not in turn.
//! - What waits in the pacer counts against the length of the host's queue, and what does not fit is dropped.

mod card;
mod connections;
mod queue;
mod rack;
#[cfg(test)]
mod tests;

pub use card::CardConfig;
pub use queue::Waiting;
pub use rack::Rack;

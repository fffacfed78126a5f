//! Network cards of hosts with functions of designs: the tags of PIAS and the pacer of HULL.
//! A card connects a host's TAP device with its uplink.
//! The card queues the frames of its host, and sends the next packet when the uplink is free.
//! Tags and pacer use the same code as the simulator.
//!
//! Differences from the simulator's hosts:
//! - Packets of a class leave in order of arrival. The simulator serves the connections of a class in turn.
//! - Packets in the pacer count against the limit of the host's queue. Packets above the limit are dropped.

mod card;
mod cards;
mod connections;
mod queue;
#[cfg(test)]
mod tests;

pub use card::CardConfig;
pub use cards::Cards;
pub use queue::QueuedFrame;

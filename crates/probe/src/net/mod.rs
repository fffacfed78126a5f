//! Handshakes over real sockets, of an ordinary user: no raw socket, no capability.

mod handshake;
mod ports;
mod queue;
mod trace;
mod trouble;
mod volleys;

pub use handshake::handshake_of;
pub use ports::Ports;
pub use queue::{Icmp, read};
pub use trace::{Tracing, trace};
pub use trouble::Trouble;
pub use volleys::{PATIENCE, Shooter};

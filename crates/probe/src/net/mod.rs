//! Handshakes over real sockets as an ordinary user, without raw sockets or capabilities.

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

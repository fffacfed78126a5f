//! TCP: RFC 9293's connection, RFC 5681/6582 (NewReno), RFC 9438 (CUBIC), RFC 8257 (DCTCP), RFC 6298
//! (timers), RFC 3042 (limited transmit), RFC 2018/6675 (SACK), RFC 3168 (classic ECN).
//!
//! [`Endpoint`] holds many connections of one host; [`Host`] makes a plain
//! [`Transport`](crate::Transport) of it: one message, one connection.
//!
//! Deviations, all for the sake of a transport that runs in a simulator over virtual bytes:
//! - Sequence numbers are 64-bit stream offsets that start at 0; the SYN takes none. Without random
//!   initial numbers nothing tells an old incarnation of a connection from a new one, so *both* ends
//!   keep a closed connection for two RTOs (TCP: one end, for two maximum segment lifetimes).
//! - The receive window is unlimited: the receiving application always reads at once.
//! - No Nagle algorithm (RFC 896): what is written leaves when the window allows.
//! - A window is kept over idle times (RFC 5681, 4.1 would restart it); it just does not grow.
//! - No simultaneous open, no urgent data, no keep-alive, no timestamps.
//! - A passive connection is reported when its handshake is complete, as `accept` does.
//! - An ACK is made when its segment arrives and leaves before data at the next chance of the NIC.
//! - After a lost SYN the backed-off RTO stays in force until the first sample (RFC 6298 (5.7) falls
//!   back to 3 s, which is meant for the wide area).

mod config;
pub mod congestion;
mod connection;
pub(crate) mod demux;
mod endpoint;
mod header;
mod host;
pub(crate) mod ranges;
mod receiver;
pub(crate) mod rtt;
mod scoreboard;
mod sender;
pub(crate) mod timers;

pub use config::{Congestion, ControllerFactory, DelayedAck, InitialWindow, TcpConfig};
pub use connection::{ConnectionId, Role, Summary};
pub use endpoint::{ConnectError, ConnectionEvent, Endpoint};
pub use header::{SackBlock, TcpFlags, TcpHeader, TcpKind};
pub use host::Host;
pub(crate) use host::{Messages, sent};

//! TCP: connections (RFC 9293), timers (RFC 6298), limited transmit (RFC 3042) and SACK (RFC 2018 and 6675).
//! The congestion controls are NewReno (RFC 5681 and 6582), CUBIC (RFC 9438) and DCTCP (RFC 8257).
//! Classic ECN follows RFC 3168.
//!
//! [`Endpoint`] holds the connections of one host.
//! [`Host`] implements [`Transport`](crate::Transport) with an endpoint: each message uses one connection.
//!
//! Deviations. The transport runs in a simulator, and its bytes have no content, so the following is enough:
//! - Sequence numbers are 64-bit stream offsets that start at 0, and the SYN takes no number.
//!   Without random initial numbers, nothing distinguishes an old incarnation of a connection from a new one.
//!   So *both* ends keep a closed connection for two RTOs (in TCP one end does, for two maximum segment lifetimes).
//! - The receive window is unlimited: the receiving application always reads immediately.
//! - There is no Nagle algorithm (RFC 896): written data leaves when the window allows it.
//! - Without `restart_after_idle` the window does not change while the connection is idle.
//!   RFC 5681, 4.1 would reset the window.
//! - Time stamps (RFC 7323) have 24 bits and are not used for samples of the round-trip time.
//! - There is no simultaneous open, no urgent data, and no keep-alive.
//! - The endpoint reports a passive connection after its handshake, as `accept` does.
//! - An ACK is built when its segment arrives. It leaves before data, at the next opportunity of the NIC.
//! - After a lost SYN the backed-off RTO remains until the first sample.
//!   RFC 6298 (5.7) resets the RTO to 3 s, which suits wide-area networks.
//!   With `lost_syn_keeps_window`, the RTO becomes three times `initial_rto`: 3 s, if `initial_rto` is 1 s.

mod config;
pub mod congestion;
mod connection;
pub(crate) mod demux;
mod endpoint;
mod header;
mod host;
mod profile;
pub(crate) mod ranges;
mod receiver;
pub(crate) mod rtt;
mod scoreboard;
mod sender;
pub(crate) mod timers;

pub use config::{
    Congestion, ControllerFactory, DelayedAck, InitialWindow, LossRecovery, TcpConfig, WindowUse,
};
pub use congestion::HyStartClock;
pub use connection::{ConnectionId, Role, Summary};
pub use endpoint::{ConnectError, ConnectionEvent, Endpoint};
pub use header::{SackBlock, Stamp, Stamps, TcpFlags, TcpHeader, TcpKind};
pub use host::Host;
pub(crate) use host::{Messages, sent};
pub use profile::{Profile, TimerSet};
